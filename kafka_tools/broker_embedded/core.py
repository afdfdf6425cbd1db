"""The broker without sockets: owns all state, on one thread, with time and storage given to it.

What the other modules build on:

- ``commit(records)`` is the only way to change the cluster's state: Kafka's metadata records
  (``protocol.stored.cluster_metadata``) are appended to the store, then applied. Whoever owns a kind of
  state calls ``on_record(RecordClass, apply)`` in its constructor; a start replays through the same calls.
- ``configs`` (config_store.ConfigStore), ``quotas`` (quotas.Quotas), ``credentials``
  (credentials.Credentials) and ``groups`` (coordinators.groups.Groups) are made as ``Class(core)``.
  They may read ``core.properties`` (the static server.properties, text -> text).
- ``configs.topic(name).get(key)`` and ``configs.broker.get(key)`` give typed values (int, bool, float, str,
  list of str), defaults included. After a change of a topic's configs the store calls
  ``core.topic_config_changed(name)``, after a broker's ``core.broker_config_changed()``.
- ``timers.call_later(delay_ms, fn)``; ``purgatory.wake(key)``; ``clock``.
- ``internal_append(topic, partition, batch)`` and ``read_batches(topic, partition)`` for coordinators, which
  replay their partitions in ``groups.load()``, called once every log is open.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_tools.broker_embedded.purgatory import Purgatory
from kafka_tools.broker_embedded.timers import Timers
from kafka_tools.clock import Clock
from kafka_tools.protocol.schema import Struct
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster_store import ClusterStore
    from kafka_tools.records.batches import BatchView

log = logging.getLogger(__name__)
R = TypeVar("R", bound=Struct)

Authorizer = Callable[[str, str, str, str, str], bool]
"""(principal, client host, operation, resource type, resource name) -> allowed."""


class Core:
    """All state of one broker. Every method must be called on the thread that owns it."""

    def __init__(
        self, *, properties: Mapping[str, str], store: ClusterStore, clock: Clock, release: str | None = None
    ) -> None:
        self.properties = dict(properties)
        self.clock = clock
        self.store = store
        self.authorizer: Authorizer | None = None
        self.timers = Timers(clock)
        self.purgatory = Purgatory(self.timers)
        self._appliers: dict[type[Struct], list[Callable[[Any], None]]] = {}

    def on_record(self, kind: type[R], apply: Callable[[R], None]) -> None:
        """``apply`` sees every metadata record of this class, at replay and live, in commit order."""
        self._appliers.setdefault(kind, []).append(apply)

    def commit(self, records: Sequence[Struct]) -> None:
        """Append one change to the store, then apply it. If the store fails nothing is applied."""
        self.store.append(records)
        for record in records:
            self.apply(record)

    def apply(self, record: Struct) -> None:
        for apply in self._appliers.get(type(record), ()):
            apply(record)

    def step(self) -> float | None:
        """Run what is due; returns when the next timer is due on the monotonic clock, None for never."""
        self.timers.run_due()
        return self.timers.next_due_s()
