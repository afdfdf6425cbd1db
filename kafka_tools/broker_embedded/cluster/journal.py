"""Changes of the cluster metadata are records, which are appended to the store and then applied.

Records are Kafka's own (``protocol.stored.cluster_metadata``). The owner of a kind of state calls ``on_record`` in its
constructor. A start replays the store through the same functions, so that live and replayed state agree. The owner
also calls ``on_image`` with a function that returns the records of its state. A snapshot contains those of all owners.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_tools.protocol.schema import Stored

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.store import ClusterStore

R = TypeVar("R", bound=Stored)


class Journal:
    """``commit`` is the only way to change the cluster's state."""

    def __init__(self, store: ClusterStore) -> None:
        self._store = store
        self._appliers: dict[type[Stored], list[Callable[[Any], None]]] = {}
        self._images: list[Callable[[], Iterator[Stored]]] = []
        self.on_committed: list[Callable[[], None]] = []
        """Called after each change."""

    @property
    def end_offset(self) -> int:
        """The offset of the next record in the metadata log."""
        return self._store.end_offset

    def on_record(self, kind: type[R], apply: Callable[[R], None]) -> None:
        """Call ``apply`` with every record of this class, during replay and live, in the order of commits."""
        self._appliers.setdefault(kind, []).append(apply)

    def on_image(self, records: Callable[[], Iterator[Stored]]) -> None:
        """``records`` returns the records of an owner's present state, even if the state changes during iteration.

        Owners are called in the order of their creation, so that each record comes after those that it needs.
        """
        self._images.append(records)

    def image(self) -> Iterator[Stored]:
        """The whole present state as the fewest records, created during iteration."""
        return chain.from_iterable([records() for records in self._images])

    def replay(self) -> None:
        """Apply the records of the store. Raises LogError or OSError."""
        for record in self._store.replay():
            self._apply(record)

    def commit(self, records: Sequence[Stored]) -> None:
        """Append one change to the store, then apply it. If the append fails, nothing is applied."""
        if not records:
            return  # a batch without records would be the end of the log
        self._store.append(records)
        for record in records:
            self._apply(record)
        for committed in self.on_committed:
            committed()

    def sync(self) -> None:
        """Wait until all commits are on disk. Raises LogError or OSError."""
        self._store.sync()

    def _apply(self, record: Stored) -> None:
        for apply in self._appliers.get(type(record), ()):
            apply(record)
