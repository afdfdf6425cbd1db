"""The broker without sockets: owns all state, on one thread, with time and storage given to it.

What the other modules build on:

- ``commit(records)`` is the only way to change the cluster's state: Kafka's metadata records
  (``protocol.stored.cluster_metadata``) are appended to the store, then applied. Whoever owns a kind of
  state calls ``on_record(RecordClass, apply)`` in its constructor; a start replays through the same calls.
- ``configs``, ``quotas``, ``credentials`` and ``groups`` are made as ``Class(core)`` and may read
  ``core.properties`` (the static server.properties, text -> text).
- ``configs.topic(name).get(key)`` and ``configs.broker.get(key)`` give typed values, defaults included.
- ``timers.call_later(delay_ms, fn)``; ``purgatory.wake(key)``; ``clock``.
- ``internal_append(topic, partition, batch)`` and ``read_batches(topic, partition)`` for coordinators, which
  replay their partitions in ``groups.load()``, called once every log is open.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_tools.broker_embedded.cluster.metadata import Cluster
from kafka_tools.broker_embedded.directories.state_checks import check_topics
from kafka_tools.broker_embedded.partitions.fetch_sessions import FetchSessions
from kafka_tools.broker_embedded.partitions.hosted import Partitions
from kafka_tools.broker_embedded.purgatory import Purgatory
from kafka_tools.broker_embedded.slices import Slices, whole
from kafka_tools.broker_embedded.timers import Timers
from kafka_tools.clock import Clock
from kafka_tools.errors import ConfigError
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import PartitionChangeRecord
from kafka_tools.values import Node, TopicPartition

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.store import ClusterStore
    from kafka_tools.broker_embedded.directories.data_dirs import DataDirs
    from kafka_tools.records.batches import BatchView

log = logging.getLogger(__name__)

NEWEST_RELEASE = "4.3"
R = TypeVar("R", bound=Stored)

Authorizer = Callable[[str, str, str, str, str], bool]
"""(principal, client host, operation, resource type, resource name) -> allowed."""


class Core:
    """All state of one broker. Every method must be called on the thread that owns it.

    ``release`` (such as "2.2") narrows what is advertised to that Kafka release. ``store`` and ``dirs``
    belong to the core from here on: ``close`` closes them.
    """

    def __init__(
        self,
        *,
        properties: Mapping[str, str],
        dirs: DataDirs,
        store: ClusterStore,
        clock: Clock,
        release: str | None = None,
    ) -> None:
        from kafka_tools.broker_embedded.cluster.features import Features
        from kafka_tools.broker_embedded.configs.store import ConfigStore, check_properties
        from kafka_tools.broker_embedded.coordinators.groups import Groups
        from kafka_tools.broker_embedded.coordinators.producer_ids import ProducerIds
        from kafka_tools.broker_embedded.quotas.limits import Quotas
        from kafka_tools.broker_embedded.quotas.throttling import Throttling
        from kafka_tools.broker_embedded.security.acls import Acls
        from kafka_tools.broker_embedded.security.delegation_tokens import DelegationTokens
        from kafka_tools.broker_embedded.security.scram_credentials import Credentials

        check_properties(properties)
        self.properties = dict(properties)
        self.clock = clock
        self.store = store
        self.dirs = dirs
        self.release = release
        self.authorizer: Authorizer | None = None
        self.on_broker_config: Callable[[], None] | None = None
        """Called after a broker config was changed, by the listeners if there are any."""
        self.check_broker_config: Callable[[Mapping[str, str]], None] | None = None
        """Asked, by all configs as they would be, before a broker config is changed; ConfigError refuses."""
        self.timers = Timers(clock)
        self.purgatory = Purgatory(self.timers)
        self.slices = Slices(self.timers)
        self._appliers: dict[type[Stored], list[Callable[[Any], None]]] = {}
        node = Node(node_id_of(properties), "", -1, properties.get("broker.rack") or None)
        self.cluster = Cluster(self, dirs.cluster_id, node)
        self.configs = ConfigStore(self)
        self.features = Features(self)
        self.quotas = Quotas(self)
        self.throttling = Throttling(self)
        self.credentials = Credentials(self)
        self.tokens = DelegationTokens(self)
        self.acls = Acls(self)
        if self.acls.enabled:
            self.authorizer = self.acls.authorize
        self.partitions = Partitions(self, dirs)
        self.groups = Groups(self)
        self.producer_ids = ProducerIds(self)
        self.fetch_sessions = FetchSessions(self)

    def start(self) -> None:
        """Replay the store, open every log, begin a leader epoch, load the coordinators. Raises LogError or OSError."""
        for record in self.store.replay():
            self.apply(record)
        check_topics(self.cluster)
        self.features.begin()
        self._begin_leader_epochs()
        self.partitions.open_all()
        self.partitions.start_timers()
        self.tokens.start_timers()
        self.groups.load()

    def _begin_leader_epochs(self) -> None:
        """A broker that starts leads anew (KIP-320): clients that knew the old epoch check for truncation."""
        changes = [
            PartitionChangeRecord(partition_id=number, topic_id=topic.id, leader=info.leader)
            for topic in self.cluster.topics.values()
            for number, info in topic.partitions.items()
        ]
        if changes:
            self.commit(changes)

    @property
    def tells_features(self) -> bool:
        """Whether ApiVersions names features: only as the release whose levels they are."""
        return self.release in (None, NEWEST_RELEASE)

    def on_record(self, kind: type[R], apply: Callable[[R], None]) -> None:
        """``apply`` sees every metadata record of this class, at replay and live, in commit order."""
        self._appliers.setdefault(kind, []).append(apply)

    def commit(self, records: Sequence[Stored]) -> None:
        """Append one change to the store, then apply it. If the store fails nothing is applied."""
        self.store.append(records)
        for record in records:
            self.apply(record)

    def apply(self, record: Stored) -> None:
        for apply in self._appliers.get(type(record), ()):
            apply(record)

    def step(self) -> float | None:
        """Run what is due; returns when the next timer is due on the monotonic clock, None for never."""
        self.timers.run_due()
        return self.timers.next_due_s()

    # Logs, for coordinators and handlers

    def internal_append(self, topic: str, partition: int, batch: bytes | bytearray) -> int:
        """Append a batch of the broker's own to a partition it leads; returns its base offset.

        Kept when this returns. Raises KeyError if the partition does not exist, LogError or OSError.
        """
        found = self.partitions.get(topic, partition)
        if found is None:
            raise KeyError(f"{topic}-{partition}")
        appended = found.log.append(bytearray(batch), leader_epoch=found.leader_epoch, from_client=False)
        found.appended_bytes += len(batch)
        self.on_record_append(found.id)
        return appended.base_offset

    def read_batches(self, topic: str, partition: int) -> Iterator[BatchView]:
        """Every batch of a partition from its log start on; none if it does not exist."""
        found = self.partitions.get(topic, partition)
        return iter(()) if found is None else found.log.walk()

    def ensure_topic(self, name: str) -> None:
        """Make a topic with its defaults if it is missing. BrokerError if it cannot be made."""
        if self.cluster.topic(name) is None:
            from kafka_tools.broker_embedded.cluster.topics import auto_create, check_settled

            check_settled(self, name)
            whole(auto_create(self, name))

    def on_record_append(self, id: TopicPartition) -> None:
        """Wake the fetches that wait for this partition."""
        self.purgatory.wake(id)

    def topic_config_changed(self, name: str) -> None:
        self.partitions.configs_changed(name)

    def broker_config_changed(self) -> None:
        self.partitions.configs_changed(None)
        if self.on_broker_config is not None:
            self.on_broker_config()

    def close(self, *, clean: bool = True) -> None:
        """Close logs and store. ``clean=False`` leaves the files as a killed process would.

        A directory in which something could not be completed is not marked as clean: the next start checks its logs.
        """
        unfinished = self.partitions.close(clean=clean)
        if not self.store.close(clean=clean):
            unfinished.add(self.dirs.metadata_dir)
        if clean:
            self.dirs.mark_clean([path for path in self.dirs.paths if path not in unfinished])
        self.dirs.unlock()


def node_id_of(properties: Mapping[str, str]) -> int:
    """The broker's id: node.id, else broker.id, else 1. Raises ConfigError for what is not an id."""
    text = properties.get("node.id") or properties.get("broker.id") or "1"
    if not text.strip().isdigit():
        raise ConfigError(f"node.id '{text}' is not a number from 0 on")
    return int(text)
