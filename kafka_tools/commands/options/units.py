"""Configs whose values were typed with a unit (``retention.ms=7d``): what they resolve to, and the echo of that."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_tools.commands import running
from kafka_tools.errors import ConfigError, InputError


def with_numbers(
    entity_type: str, configs: Mapping[str, str], place: str, error: type[InputError] = InputError
) -> dict[str, str]:
    """``configs`` with numbers where they have units, each of those told on stderr; the others as they are typed.

    ``entity_type`` is that of kafka-configs. ``error``, with ``place`` in its line, for a unit that the config does not
    have, a fraction of one, or more than its type holds.
    """
    from kafka_tools.config_definitions.units import resolved, unit_of

    numbers = {}
    for name, text in configs.items():
        try:
            number = resolved(entity_type, name, text)
        except ConfigError as refused:
            raise error(f"{place}: {refused}") from refused
        if number is not None:
            numbers[name] = number
    for name, number in numbers.items():
        unit = unit_of(name)
        assert unit is not None, "it was resolved"
        running.note(f"{name}={configs[name].strip()} is {number} {unit.word}")
    return {**configs, **numbers}
