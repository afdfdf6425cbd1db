"""Converts config values with a unit (``retention.ms=7d``) to numbers, and prints each on stderr.

It also prints values whose unit may be missing (``retention.ms=8``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_tools.commands import running
from kafka_tools.errors import ConfigError, InputError

if TYPE_CHECKING:
    from kafka_tools.config_definitions.units import Unit


def with_numbers(
    entity_type: str, configs: Mapping[str, str], place: str, error: type[InputError] = InputError
) -> dict[str, str]:
    """``configs`` with values in the config's own unit (ms or bytes). Each replaced value is printed on stderr.

    ``entity_type`` is that of kafka-configs. Raises ``error``, with ``place`` in its message, for a unit that does not
    fit the config, a fraction of ms or bytes, and a number too large for the config's type.
    """
    from kafka_tools.config_definitions.units import far_below_default, resolved, unit_of

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
    for name, text in configs.items():
        default = far_below_default(entity_type, name, text)
        unit = unit_of(name)
        if default is not None and unit is not None:
            running.note(_missing_unit(name, text.strip(), unit, default))
    return {**configs, **numbers}


def _missing_unit(name: str, text: str, unit: Unit, default: str) -> str:
    example, meant = ("d", "ms") if unit.is_time else ("MB", "B")
    return (
        f"warning: {name}={text} means {text} {unit.word}, and the default is {default}. If you left out a unit, type "
        f"it, for example {text}{example}. Type {text}{meant} to avoid this warning."
    )
