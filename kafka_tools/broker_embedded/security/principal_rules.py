"""``ssl.principal.mapping.rules`` (KIP-371): maps the name in a certificate to the name of a principal.

Grammar and meaning are those of Kafka's ``SslPrincipalMapper``: ``DEFAULT`` and ``RULE:pattern/replacement/[LU]``. The
first rule that matches applies. Patterns are Java's regular expressions, as far as Python's have the same meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from kafka_tools.errors import ConfigError, InputError
from kafka_tools.texts.blanks import trim

KEY = "ssl.principal.mapping.rules"

_PART = r"((?:\\.|[^\\/])*)"
_RULE = rf"(DEFAULT)|RULE:{_PART}/{_PART}/([LU]?).*?|(.*?)"
_SPLITTER = re.compile(rf"\s*({_RULE})\s*(,\s*|$)", re.ASCII)
_PARSER = re.compile(_RULE)
_NAMED_GROUP = re.compile(r"\(\?<([A-Za-z][A-Za-z0-9]*)>")
_MAX_NAME = 10_000


class Rule(NamedTuple):
    """One rule. Without a pattern it returns the name unchanged."""

    pattern: re.Pattern[str] | None
    replacement: Callable[[re.Match[str]], str]
    case: str

    def apply(self, name: str) -> str | None:
        """The mapped name; None if the rule does not match."""
        if self.pattern is None:
            return name
        if not self.pattern.fullmatch(name):
            return None
        made = self.pattern.sub(self.replacement, name)
        return {"L": made.lower(), "U": made.upper()}.get(self.case, made)


class PrincipalRules:
    """The rules of a listener."""

    def __init__(self, text: str | None) -> None:
        """``text``: the value of the setting, None for the default. Raises ConfigError."""
        self._rules = [rule for rule in map(_parsed, _split("DEFAULT" if text is None else text)) if rule is not None]

    def name(self, distinguished_name: str) -> str:
        """The principal's name. InputError if no rule matches, or the name is too long."""
        if len(distinguished_name) > _MAX_NAME:
            raise InputError("the name in the certificate is too long")
        for rule in self._rules:
            made = rule.apply(distinguished_name)
            if made is not None:
                return made
        raise InputError(f"no rule of {KEY} applies to {distinguished_name}")


def _split(text: str) -> list[str]:
    return [match[1] for match in _SPLITTER.finditer(trim(text))]


def _parsed(text: str) -> Rule | None:
    match = _PARSER.match(text)
    if match is None or match.end() != len(text):
        raise ConfigError(f"{KEY}: Invalid rule: {text}")
    if match[1] is not None:
        return Rule(None, lambda _: "", "")
    if match[2] is None:
        return None
    try:
        pattern = re.compile(_NAMED_GROUP.sub(r"(?P<\1>", match[2]), re.ASCII)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(f"{KEY}: Invalid rule: {text}: {error}") from error
    return Rule(pattern, _replacement(pattern, match[3]), match[4] or "")


def _replacement(pattern: re.Pattern[str], text: str) -> Callable[[re.Match[str]], str]:
    """Java's replacement text: ``$1`` and ``${name}`` are groups, a backslash escapes the next character.

    If a number exceeds the pattern's groups, its last digits are literal. If no digits match a group, all are literal.
    """
    parts: list[str | int] = []
    position = 0
    while position < len(text):
        char = text[position]
        position += 1
        if char == "\\" and position < len(text):
            parts.append(text[position])
            position += 1
        elif char == "$" and (found := re.match(r"\{([A-Za-z][A-Za-z0-9]*)\}", text[position:])):
            if found[1] not in pattern.groupindex:
                raise ConfigError(f"{KEY}: the pattern has no capture group {found[1]}")
            parts.append(pattern.groupindex[found[1]])
            position += found.end()
        elif char == "$" and (found := re.match(r"[0-9]+", text[position:])):
            digits = found[0][:9] if not found[0].startswith("0") else "0"
            while int(digits) > pattern.groups and len(digits) > 1:
                digits = digits[:-1]
            if int(digits) > pattern.groups:
                parts.append("$" + digits)
            else:
                parts.append(int(digits))
            position += len(digits)
        else:
            parts.append(char)
    return lambda match: "".join(part if isinstance(part, str) else match[part] or "" for part in parts)
