"""The server-side assignors of consumer groups that ``group.consumer.assignors`` names (``GroupCoordinatorConfig``)."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_tools.errors import ConfigError

_BUILT_IN = ("uniform", "range")
_CLASSES = {f"org.apache.kafka.coordinator.group.assignor.{name.title()}Assignor": name for name in _BUILT_IN}
"""Kafka's assignors by class name. Without a JVM, no other class can be loaded."""


def consumer_assignors(named: Sequence[str]) -> list[str]:
    """The names of the assignors, the default one first. Raises ConfigError for unknown classes and duplicates."""
    found: list[str] = []
    for text in named:
        name = _CLASSES.get(text, text)
        if name not in _BUILT_IN:
            raise ConfigError(
                f"group.consumer.assignors: cannot find class {text}",
                hint=f"use {' or '.join(_BUILT_IN)}, or Kafka's class of either; there is no JVM to load other classes",
            )
        if name in found:
            raise ConfigError(f"group.consumer.assignors: {text} is the assignor {name}, which is already in the list")
        found.append(name)
    return found
