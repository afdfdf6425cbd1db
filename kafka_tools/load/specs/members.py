"""Reads the members of a JSON object: their types and ranges, with the place and the nearest name of a mistake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from kafka_tools.errors import InputError
from kafka_tools.texts.near_names import did_you_mean

LARGEST = 2**63 - 1
_MOST_SHOWN = 60


def shown(value: object) -> str:
    """A value in a message, cut if it is long."""
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


class JsonMembers:
    """One JSON object. ``place`` starts every message: ``bench.yaml: task produce``.

    Each method reads one member and returns the default for a missing one or null. ``end`` raises InputError for the
    members that nobody read. All methods raise InputError for a value of another type.
    """

    def __init__(self, value: object, place: str) -> None:
        if not isinstance(value, Mapping):
            # The value may be the text of another file, with a password.
            kind = "a list" if isinstance(value, list) else "a string" if isinstance(value, str) else shown(value)
            raise InputError(f"{place}: invalid value: expected an object, not {kind}")
        if not all(isinstance(name, str) for name in value):
            raise InputError(f"{place}: invalid name: expected a string")
        self.place = place
        self._values = {str(name): each for name, each in value.items() if each is not None}
        self._known: set[str] = set()
        self._all = [str(name) for name in value]

    def refuse(self, name: str, expected: str) -> InputError:
        """The error for the value of a member."""
        return InputError(f"{self.place}: invalid {name} '{shown(self._values.get(name))}': expected {expected}")

    def raw(self, name: str) -> Any:
        """The value as it is; None if it is missing."""
        self._known.add(name)
        return self._values.get(name)

    def text(self, name: str, default: str = "") -> str:
        value = self.raw(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.refuse(name, "a string")
        return value

    def whole(self, name: str, default: int = 0, *, low: int = 0, high: int = LARGEST) -> int:
        """A whole number from ``low`` to ``high``."""
        value = self.raw(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            upper = "" if high == LARGEST else f" and at most {high}"
            raise self.refuse(name, f"a whole number of at least {low}{upper}")
        return value

    def number(self, name: str, default: float = 0.0) -> float:
        """A number of at least 0."""
        value = self.raw(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not 0 <= value < 2**63:
            raise self.refuse(name, "a number of at least 0")
        return float(value)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.raw(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.refuse(name, "true or false")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        return tuple(self._strings(name, self.raw(name)))

    def lists_of_texts(self, name: str) -> tuple[tuple[str, ...], ...]:
        """A list of lists of strings."""
        value = self.raw(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.refuse(name, "a list of lists of strings")
        return tuple(tuple(self._strings(name, each)) for each in value)

    def _strings(self, name: str, value: Any) -> Iterator[str]:
        if value is None:
            return
        if not isinstance(value, list):
            raise self.refuse(name, "a list of strings")
        for each in value:
            if not isinstance(each, str) or not each:
                raise self.refuse(name, "a list of strings")
            yield each

    def settings(self, name: str) -> dict[str, str]:
        """Configs of a client or a topic: name -> value as text. The message does not repeat a value."""
        value = self.raw(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise InputError(f"{self.place}: invalid {name}: expected an object with names and values of configs")
        found = {}
        for key, each in value.items():
            if not isinstance(key, str) or not isinstance(each, str | int | float | Decimal):
                raise InputError(f"{self.place}: invalid {name}: expected a string or a number as {shown(key)}")
            found[key] = str(each).lower() if isinstance(each, bool) else str(each)
        return found

    def inner(self, name: str) -> JsonMembers | None:
        """The members of an object; None if it is missing."""
        value = self.raw(name)
        return None if value is None else JsonMembers(value, f"{self.place}: {name}")

    def kind(self, table: Mapping[str, Any], what: str) -> str:
        """The member ``type``, one of the names of ``table``."""
        value = self.text("type")
        if value not in table:
            listed = ", ".join(table)
            message = f"{self.place}: invalid type '{shown(value)}' of {what}: expected {listed}"
            raise InputError(message, hint=did_you_mean([value], table) if value else None)
        return value

    def names(self) -> list[str]:
        """The names of all members, also of those that are null."""
        return self._all

    def end(self) -> None:
        """Raise InputError if there are members that nobody read."""
        unknown = [name for name in self._all if name not in self._known]
        if unknown:
            hint = did_you_mean(unknown[:1], self._known, near=0.7)
            raise InputError(
                f"{self.place}: unknown field '{shown(unknown[0])}'",
                hint=hint or f"known: {', '.join(sorted(self._known))}",
            )
