"""From what an operator has at hand to explanations: a number, a name, or a text that contains one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kafka_tools.config_definitions import client
from kafka_tools.config_definitions.lookup import table_of
from kafka_tools.explain import subjects
from kafka_tools.explain.subjects import Explanation
from kafka_tools.protocol import error_codes, registry
from kafka_tools.texts.near_names import near_names

MOST_TEXT = 10_000
"""Characters of a text that are searched."""
_MOST_FOUND = 5
"""The maximum number of explanations of one text."""

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.]*[A-Za-z0-9]")
_CODE = re.compile(r"\b(?:error[ _-]?code|code|error|errno|err)\b\W{0,3}(-?\d{1,3})\b", re.IGNORECASE)
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_EXCEPTIONS = {
    "CorruptRecordException": "CORRUPT_MESSAGE",
    "TimeoutException": "REQUEST_TIMED_OUT",
    "RecordTooLargeException": "MESSAGE_TOO_LARGE",
    "RecordBatchTooLargeException": "RECORD_LIST_TOO_LARGE",
    "ControllerMovedException": "STALE_CONTROLLER_EPOCH",
    "InvalidTopicException": "INVALID_TOPIC_EXCEPTION",
    "NotEnoughReplicasAfterAppendException": "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "TopicExistsException": "TOPIC_ALREADY_EXISTS",
    "InvalidConfigurationException": "INVALID_CONFIG",
    "OutOfOrderSequenceException": "OUT_OF_ORDER_SEQUENCE_NUMBER",
    "DuplicateSequenceException": "DUPLICATE_SEQUENCE_NUMBER",
    "InvalidPidMappingException": "INVALID_PRODUCER_ID_MAPPING",
    "InvalidTxnTimeoutException": "INVALID_TRANSACTION_TIMEOUT",
    "SaslAuthenticationException": "SASL_AUTHENTICATION_FAILED",
    "GroupNotEmptyException": "NON_EMPTY_GROUP",
    "GroupIdNotFoundException": "GROUP_ID_NOT_FOUND",
    "UnsupportedByAuthenticationException": "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
    "DelegationTokenDisabledException": "DELEGATION_TOKEN_AUTH_DISABLED",
    "SecurityDisabledException": "SECURITY_DISABLED",
    "BrokerIdNotRegisteredException": "BROKER_ID_NOT_REGISTERED",
}
"""Kafka's exception -> error, where the names differ in more than their form."""


def explain(text: str) -> list[Explanation]:
    """Explanations of a number, of a name in any case, or of what a text contains; empty if nothing is known."""
    asked = text.strip()[:MOST_TEXT]
    whole = list(_numbered(asked)) if re.fullmatch(r"-?\d{1,5}", asked) else list(_named(asked))
    if whole:
        return whole
    found: dict[tuple[str, str], Explanation] = {}
    for number in _CODE.findall(asked):
        _put(found, _coded(int(number)))
    for word in dict.fromkeys(_WORD.findall(asked)):
        for each in _in_text(word):
            _put(found, each)
            if len(found) >= _MOST_FOUND:
                return list(found.values())
    return list(found.values())


def near(text: str) -> list[str]:
    """Known names that resemble ``text``."""
    return near_names(text.strip()[:100], names())


def _put(found: dict[tuple[str, str], Explanation], each: Explanation | None) -> None:
    if each is not None:
        found.setdefault((each["subject"], each["name"]), each)


def _coded(number: int) -> Explanation | None:
    code = next((each for each in error_codes.all_codes() if each.code == number), None)
    return None if code is None else subjects.error(code)


def _numbered(text: str) -> Iterator[Explanation]:
    """The error code and the API of a number."""
    code = _coded(int(text))
    if code is not None:
        yield code
    row = registry.find_row(int(text))
    if row is not None:
        yield subjects.api(row)


def _named(text: str) -> Iterator[Explanation]:
    """All that has exactly this name, whatever its case."""
    code = _errors().get(_plain(text))
    if code is not None:
        yield subjects.error(code)
    for row in registry.rows():
        if _plain(row.name) == _plain(text).removesuffix("request").removesuffix("response"):
            yield subjects.api(row)
    yield from _configs(text.lower())


def _in_text(word: str) -> Iterator[Explanation]:
    """What a word of a text names beyond doubt: an error in capitals, an exception of Java, a config with a dot."""
    last = word.rpartition(".")[2]
    if re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+", last) and _plain(last) in _errors():
        yield subjects.error(_errors()[_plain(last)])
    elif last.endswith(("Exception", "Error")):
        code = _errors().get(_plain(exception_name(last)))
        if code is not None:
            yield subjects.error(code)
    elif "." in word:
        yield from _configs(word)


def exception_name(exception: str) -> str:
    """The error of one of Kafka's exceptions, by its simple class name."""
    simple = exception.removesuffix("Exception").removesuffix("Error")
    return _EXCEPTIONS.get(exception) or _CAPITAL.sub("_", simple).upper()


def _configs(name: str) -> Iterator[Explanation]:
    for kind in subjects.ENTITY_TYPES:
        row = table_of(kind).get(name)
        if row is not None and len(row) == 3:
            yield subjects.config(kind, name)
    if name in client.KNOWN:
        yield subjects.config("clients", name)


def names() -> list[str]:
    """All names that can be explained, sorted: errors, APIs, configs."""
    found = {code.name for code in error_codes.all_codes()} | {row.name for row in registry.rows()}
    for kind in subjects.ENTITY_TYPES:
        found |= {name for name, row in table_of(kind).items() if len(row) == 3}
    return sorted(found | client.KNOWN)


def _errors() -> dict[str, error_codes.ErrorCode]:
    return {_plain(code.name): code for code in error_codes.all_codes()}


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")
