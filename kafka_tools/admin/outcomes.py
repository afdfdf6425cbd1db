"""The outcome of each key of a call: a value or an error, in the order of the keys.

The failure of one key is a value here, not an exception, so that a call can succeed in part. ``raise_any`` raises the
failures.
"""

from __future__ import annotations

from collections.abc import Hashable, ItemsView, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

from kafka_tools.errors import KafkaToolsError, PartialFailure, WireError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Outcome(NamedTuple, Generic[V]):
    """The outcome of one key: ``error`` is None, or there is no ``value``."""

    value: V | None
    error: KafkaToolsError | None = None

    def get(self) -> V:
        """The value; raises the error."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]


class Outcomes(Mapping[K, Outcome[V]]):
    """Key -> Outcome, in the order in which the keys were given."""

    def __init__(self, items: Iterable[tuple[K, Outcome[V]]]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: K) -> Outcome[V]:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def items(self) -> ItemsView[K, Outcome[V]]:
        return self._items.items()

    def __repr__(self) -> str:
        return f"Outcomes({self._items})"

    def succeeded(self) -> dict[K, V]:
        """The values of the keys that succeeded."""
        return {key: outcome.get() for key, outcome in self._items.items() if outcome.error is None}

    def failures(self) -> dict[K, KafkaToolsError]:
        """The errors of the keys that failed."""
        return {key: outcome.error for key, outcome in self._items.items() if outcome.error is not None}

    def raise_any(self) -> Outcomes[K, V]:
        """Returns itself when every key succeeded. Raises the error of a single failure, PartialFailure for several."""
        failures = self.failures()
        if not failures:
            return self
        if len(failures) == 1:
            raise next(iter(failures.values()))
        causes = "; ".join(f"{key}: {error}" for key, error in failures.items())
        raise PartialFailure(f"{len(failures)} of {len(self)} failed: {causes}", self)


def answered(wanted: Iterable[K], found: Mapping[K, Outcome[V]], told_by: object) -> Outcomes[K, V]:
    """An outcome for every wanted key, in order; a key that the response of ``told_by`` lacks is a WireError."""

    def outcome(key: K) -> Outcome[V]:
        if key in found:
            return found[key]
        return Outcome(None, WireError(f"{told_by} did not report a result for {key} in its response"))

    return Outcomes((key, outcome(key)) for key in dict.fromkeys(wanted))


class Listing(list[V]):
    """Items of several nodes, with the errors of the nodes that did not return theirs."""

    def __init__(self, items: Iterable[V], errors: Iterable[KafkaToolsError] = ()) -> None:
        super().__init__(items)
        self.errors = tuple(errors)

    def complete(self) -> list[V]:
        """The items; raises the first error when a node's part is missing."""
        if self.errors:
            raise self.errors[0]
        return list(self)
