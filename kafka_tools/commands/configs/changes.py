"""The changes of ``kafka-configs --alter``: values of ``--add-config``, ``--delete-config`` and similar options.

``k1=v1,k2=[v1,v2],k3=v3``: commas separate pairs except inside square brackets. The first ``=`` splits a pair. One pair
of brackets around the whole value is removed. (Kafka removes brackets anywhere and refuses a second ``=``.)
Values may be passwords, so no message repeats one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.commands.configs.entities import Target
from kafka_tools.commands.configs.targets import is_resource
from kafka_tools.errors import InputError, UsageError
from kafka_tools.scram_math import DEFAULT_ITERATIONS, MECHANISMS
from kafka_tools.texts.near_names import did_you_mean

if TYPE_CHECKING:
    from kafka_tools.admin.calls.config_changes import ConfigChange

USER_QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
IP_QUOTAS = ("connection_creation_rate",)

LIST_OPERATIONS = ("append", "subtract")
_SIGNS = {"+": "append", "-": "subtract"}
_KEY = re.compile(r"[a-zA-Z0-9._-]+")
_CREDENTIAL = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)", re.DOTALL)


class ScramChange(NamedTuple):
    """A credential to store. ``password`` is the clear text, which ``repr`` masks."""

    mechanism: str
    iterations: int
    password: str

    def __repr__(self) -> str:
        return f"ScramChange({self.mechanism}, {self.iterations}, password=***)"


def parse_settings(text: str, place: str = "--add-config", operation: str = "set") -> list[ConfigChange]:
    """The changes of ``k1=v1,k2=[v1,v2]``, the value of the option ``place``. Raises UsageError for other forms.

    ``k+=v`` appends to a list and ``k-=v`` removes from it, whatever ``operation`` is. After them, a part that is not a
    pair belongs to the list before it: ``k+=v1,v2``.
    """
    from kafka_tools.admin.calls.config_changes import ConfigChange

    changes: list[ConfigChange] = []
    for part in split_outside_brackets(text, place):
        key, equals, value = part.partition("=")
        key, value = key.strip(), value.strip()
        if not equals and key and changes and changes[-1].operation in LIST_OPERATIONS:
            changes[-1] = changes[-1]._replace(value=f"{changes[-1].value},{key}")
            continue
        if not equals or not key:
            shown = key if _KEY.fullmatch(key) and len(key) < 60 else "(not shown)"
            raise UsageError(
                f"{place}: invalid value {shown}: expected key=value; group a value that contains commas "
                "as key=[val1,val2]"
            )
        sign = _SIGNS.get(key[-1])
        key = key[:-1].rstrip() if sign else key
        _check_key(key, place)
        unbracketed = value[1:-1].strip() if value.startswith("[") and value.endswith("]") else value
        change = ConfigChange(key, sign or operation, unbracketed)
        if change.operation in LIST_OPERATIONS and not unbracketed:
            raise UsageError(f"{place}: no values to {change.operation} for {key}")
        changes.append(change)
    refuse_repeated(changes, place)
    return changes


def _no_list(change: ConfigChange) -> str:
    direction = "to" if change.operation == "append" else "from"
    return f"cannot {change.operation} values {direction} {change.name}: it is not a list"


def parse_added(text: str, place: str = "--add-config") -> dict[str, str]:
    """Key -> value of ``k1=v1,k2=[v1,v2]``, without list operations. Raises UsageError for other forms."""
    changes = parse_settings(text, place)
    for change in changes:
        if change.operation in LIST_OPERATIONS:
            raise UsageError(f"{place}: {_no_list(change)}")
    return {change.name: change.value or "" for change in changes}


def refuse_repeated(changes: Sequence[ConfigChange], place: str = "--alter") -> None:
    """Raise UsageError if a key is changed twice: brokers refuse it, and the order would matter."""
    seen: set[str] = set()
    for change in changes:
        if change.name in seen:
            raise UsageError(f"{place}: {change.name} is given twice")
        seen.add(change.name)


def parse_added_file(data: bytes, place: str) -> dict[str, str]:
    """Key -> value of a Java properties file. No message repeats a line of one word, which may be a password."""
    from kafka_tools.texts.properties import load_properties

    added = load_properties(data, place)
    lone = {key for key, value in added.items() if not value}
    for number, line in enumerate(data.decode("iso-8859-1").splitlines(), 1):
        if line.strip() in lone:
            raise InputError(f"{place}: line {number} has no value: expected key=value (key= for an empty value)")
    for key in added:
        _check_key(key, place)
    return added


def parse_deleted(texts: Sequence[str]) -> list[str]:
    """The keys of all ``--delete-config`` options, in order, without duplicates."""
    keys = [key.strip() for text in texts for key in text.split(",")]
    if "" in keys:
        raise UsageError("--delete-config: empty config name")
    return list(dict.fromkeys(keys))


def parse_scram(mechanism: str, value: str) -> ScramChange:
    """The credential of ``SCRAM-SHA-512=[iterations=8192,password=...]``. Iterations default to 4096, and so does
    -1."""
    match = _CREDENTIAL.fullmatch(value)
    if match is None:
        raise UsageError(f"invalid credential of {mechanism}: expected [iterations=N,password=...] or [password=...]")
    text, password = match.groups()
    if text == "" or not password:
        raise UsageError(
            f"invalid credential of {mechanism}: "
            f"{('a number of iterations' if text == '' else 'a password')} is missing"
        )
    if text is not None and len(text) > 10:
        raise UsageError(f"invalid number of iterations of {mechanism}: {len(text)} digits")
    iterations = DEFAULT_ITERATIONS if text in (None, "-1") else int(text)
    least = MECHANISMS[mechanism].min_iterations
    if iterations < least:
        raise UsageError(f"Iterations {iterations} is less than the minimum {least} required for {mechanism}")
    return ScramChange(mechanism, iterations, password)


def parse_quota(key: str, value: str) -> float:
    """The number of a quota. Raises UsageError for other texts."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    # "nan" and "inf" are numbers in Python, but not rates that a broker can apply.
    if not math.isfinite(number):
        raise UsageError(f"Cannot parse quota configuration value for {key}: {value}")
    return number


def split_outside_brackets(text: str, place: str) -> list[str]:
    """Split at commas outside square brackets. Raises UsageError for unbalanced brackets."""
    parts = [""]
    depth = 0
    for character in text:
        depth += {"[": 1, "]": -1}.get(character, 0)
        if depth < 0:
            break
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    if depth != 0:
        raise UsageError(f"{place}: unbalanced square brackets", hint="use --add-config-file for values of any form")
    return parts


def _check_key(key: str, place: str) -> None:
    if not _KEY.fullmatch(key):
        raise UsageError(f"{place}: invalid config name '{key[:60]}': expected letters, digits, '.', '_' and '-'")


def missing_quotas(changes: Iterable[ConfigChange], existing: Mapping[str, object]) -> InputError | None:
    """The error for deletions of quotas or credentials that do not exist."""
    missing = [change.name for change in changes if change.operation == "delete" and change.name not in existing]
    if not missing:
        return None
    return InputError(f"Invalid config(s): {','.join(missing)}", hint="the entity has no such config to delete")


def check(targets: Sequence[Target], changes: Sequence[ConfigChange]) -> None:
    """Raise UsageError for changes, including values, that no target of these types can have."""
    if is_resource(targets[0]):
        return
    check_names(targets, [change.name for change in changes])
    for change in changes:
        if change.operation in LIST_OPERATIONS:
            raise UsageError(_no_list(change))
        if change.operation == "set":
            value = change.value or ""
            parse_scram(change.name, value) if change.name in MECHANISMS else parse_quota(change.name, value)


def check_names(targets: Sequence[Target], names: Sequence[str]) -> None:
    """Raise UsageError unless the targets can have these quotas or SCRAM credentials."""
    kinds = [entity.type for entity in targets[0]]
    alone = kinds == ["users"]
    known = IP_QUOTAS if kinds == ["ips"] else (*USER_QUOTAS, *(MECHANISMS if alone else ()))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(
            f"Only {', '.join(known)} can be changed for {' and '.join(kinds)}. "
            f"Unexpected config names: {', '.join(unknown)}",
            hint=did_you_mean(unknown, known),
        )
    scram = [name for name in names if name in MECHANISMS]
    if scram:
        if not all(target[0].name for target in targets):
            raise UsageError("cannot set SCRAM credentials of the default user: credentials belong to a user")
        if len(scram) < len(names):
            raise UsageError("Cannot alter both quota and SCRAM credential configs simultaneously for 'users'.")
