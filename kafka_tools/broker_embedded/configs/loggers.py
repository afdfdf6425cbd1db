"""Log levels of the running broker (KIP-412): resource type BROKER_LOGGER of the config requests.

The loggers are Python's loggers below ``kafka_tools``. "root" is the package's logger, so that a broker in another
program does not change that program's logging. Levels last until the process ends. Rules and texts are those of
Kafka's ``RuntimeLoggerManager``.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from kafka_tools.broker_embedded.configs.alter import APPEND, DELETE, SET, SUBTRACT, Change
from kafka_tools.broker_embedded.refusals import bad_config, bad_request
from kafka_tools.protocol.enums import ConfigOperation
from kafka_tools.texts.java_numbers import parse_int

ROOT = "root"

_PACKAGE = "kafka_tools"
_LEVELS = {
    "DEBUG": logging.DEBUG,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "INFO": logging.INFO,
    "TRACE": 5,
    "WARN": logging.WARNING,
}


def logger_levels() -> dict[str, str]:
    """Every logger with its effective level, sorted; the root first."""
    names = sorted(
        name
        for name, logger in logging.root.manager.loggerDict.items()
        if name.startswith(f"{_PACKAGE}.") and isinstance(logger, logging.Logger)
    )
    return {name: _level_name(_logger(name).getEffectiveLevel()) for name in (ROOT, *names)}


def alter_loggers(node_name: str, resource: str, changes: Sequence[Change], *, validate_only: bool) -> None:
    """Set and unset levels, all or none. Raises BrokerError for invalid changes."""
    number = parse_int(resource)
    if number is None:
        raise bad_request(f"Node id must be an integer, but it is: {resource}")
    if str(number) != node_name:
        raise bad_request(f"Unexpected node id. Expected {node_name}, but received {number}")
    known = logger_levels()
    for change in changes:
        _check(change, known)
    if not validate_only:
        for change in changes:
            _logger(change.name).setLevel(_LEVELS[change.value or ""] if change.operation == SET else logging.NOTSET)


def _check(change: Change, known: dict[str, str]) -> None:
    if change.operation in (APPEND, SUBTRACT):
        operation = ConfigOperation.word(change.operation)
        raise bad_request(f"{operation} operation is not allowed for the BROKER_LOGGER resource")
    if change.name not in known:
        raise bad_config(f"Logger {change.name} does not exist!")
    if change.operation == DELETE and change.name == ROOT:
        raise bad_request("Removing the log level of the root logger is not allowed")
    if change.operation == SET and change.value not in _LEVELS:
        raise bad_config(
            f"Cannot set the log level of {change.name} to {change.value} as it is not a supported log level. "
            f"Valid log levels are {', '.join(sorted(_LEVELS))}"
        )


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(_PACKAGE if name == ROOT else name)


def _level_name(level: int) -> str:
    """The strongest of Kafka's levels that is not above the logger's."""
    return next((name for name in ("FATAL", "ERROR", "WARN", "INFO", "DEBUG") if level >= _LEVELS[name]), "TRACE")
