"""The broker without sockets: all its state, on one thread. The caller passes the clock and the storage.

The core creates every owner of state and passes its dependencies; no owner knows the core. Only records of the
``journal`` change the state of the cluster (topics, configs, quotas, credentials, ACLs, tokens, features). A start
replays them. A start rebuilds the state of this broker from the logs (partitions that it leads, groups that it
coordinates) or begins without it (sessions, rates). Handlers access the core as ``call.broker``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.cluster.features import FinalizedFeatures
from kafka_tools.broker_embedded.cluster.journal import Journal
from kafka_tools.broker_embedded.cluster.metadata import Cluster, RegisteredBroker
from kafka_tools.broker_embedded.configs.alter import cluster_wide_min_isr, left_out
from kafka_tools.broker_embedded.configs.limits import BrokerLimits
from kafka_tools.broker_embedded.configs.store import ConfigStore, check_properties
from kafka_tools.broker_embedded.configs.together import check_together
from kafka_tools.broker_embedded.coordinators.groups import GroupCoordinator
from kafka_tools.broker_embedded.coordinators.producer_ids import ProducerIds
from kafka_tools.broker_embedded.coordinators.runtime import IsHeld, Runtime
from kafka_tools.broker_embedded.coordinators.transactions.coordinator import TransactionCoordinator
from kafka_tools.broker_embedded.coordinators.transactions.markers import Markers
from kafka_tools.broker_embedded.coordinators.transactions.verification import Verification
from kafka_tools.broker_embedded.directories.group_commit import GroupCommit
from kafka_tools.broker_embedded.directories.state_checks import check_topics
from kafka_tools.broker_embedded.metrics.counts import Counts
from kafka_tools.broker_embedded.partitions.disk_watch import DiskWatch
from kafka_tools.broker_embedded.partitions.fetch_sessions import FetchSessions
from kafka_tools.broker_embedded.partitions.hosted import Partitions
from kafka_tools.broker_embedded.partitions.topic_changes import TopicChanges
from kafka_tools.broker_embedded.purgatory import Purgatory
from kafka_tools.broker_embedded.quotas.limits import Quotas
from kafka_tools.broker_embedded.quotas.throttling import Throttling
from kafka_tools.broker_embedded.security.acls import Acls
from kafka_tools.broker_embedded.security.delegation_tokens import DelegationTokens
from kafka_tools.broker_embedded.security.scram_credentials import Credentials
from kafka_tools.broker_embedded.slices import Slices
from kafka_tools.broker_embedded.telemetry.instances import ClientTelemetry
from kafka_tools.broker_embedded.timers import Timers
from kafka_tools.clock import Clock
from kafka_tools.errors import ConfigError
from kafka_tools.protocol.stored.cluster_metadata import PartitionChangeRecord

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.store import ClusterStore
    from kafka_tools.broker_embedded.directories.data_dirs import DataDirs
    from kafka_tools.broker_embedded.directories.reached import StateEnd
    from kafka_tools.protocol.schema import Stored

log = logging.getLogger(__name__)

DEFAULT_NODE_ID = 1

Authorizer = Callable[[str, str, int, int, str], bool]
"""(principal, client host, AclOperation, AclResourceType, resource name) -> allowed."""


class Core:
    """All state of one broker. Every method must be called on the thread that owns it.

    ``release`` (such as "2.2") limits the advertised API versions to that Kafka release. The core owns ``store`` and
    ``dirs``: ``close`` closes them. ``hosted`` is the class of the partitions that this broker leads. A start does not
    load the coordinator partitions for which ``is_loading_held`` is true; ``load_released`` loads them.
    """

    def __init__(
        self,
        *,
        properties: Mapping[str, str],
        dirs: DataDirs,
        store: ClusterStore,
        clock: Clock,
        release: str | None = None,
        hosted: type[Partitions] = Partitions,
        is_loading_held: IsHeld = lambda at, partitions: False,
        limits: BrokerLimits = BrokerLimits(),  # noqa: B008 - frozen
    ) -> None:
        check_properties(properties)
        check_together(properties)
        self.clock = clock
        self.store = store
        self.dirs = dirs
        self.release = release
        self.limits = limits
        self.timers = Timers(clock)
        self.purgatory = Purgatory(self.timers)
        self.slices = Slices(self.timers, slice_s=limits.slice_s)
        self.group_commit = None if dirs.unsynced is None else GroupCommit(dirs.unsynced, self.timers)
        """Delays answers until the data that they acknowledge is on the disk. None: answers do not wait."""
        self.slices.group_commit = self.group_commit
        self.loading = Slices(self.timers, threads=self.slices, slice_s=limits.slice_s)
        """The line of the work that loads coordinators after a start. It is separate: no request waits behind it."""
        # State of the cluster
        self.node_id = node_id_of(properties)
        self.registration = RegisteredBroker(self.node_id, properties.get("broker.rack") or None)
        self.journal = Journal(store)
        self.state_end: StateEnd | None = None
        """Records how far the store is on the disk, if the store is a local one."""
        self.features = FinalizedFeatures(self.journal, self.node_id, release)  # first in snapshots too, as in Kafka's
        self.cluster = Cluster(self.journal, dirs.cluster_id, self.registration)
        self.counts = Counts(clock, self.cluster.topics.__contains__)
        self.configs = ConfigStore(self.journal, properties, self.node_id, self.features)
        self.quotas = Quotas(self.journal)
        self.credentials = Credentials(self.journal)
        self.tokens = DelegationTokens(self.journal, self.configs, self.timers)
        self.acls = Acls(self.journal, properties)
        self.producer_ids = ProducerIds(self.journal, self.node_id)
        # State of this broker
        self.authorizer: Authorizer | None = self.acls.authorize if self.acls.enabled else None
        self.throttling = Throttling(self.quotas, self.configs, clock)
        self.partitions = hosted(dirs, self.cluster, self.configs, self.timers, self.slices, self.purgatory)
        self.disk_watch = DiskWatch(dirs, self.partitions, store, self.purgatory, self.timers, limits.answering_s)
        if self.group_commit is not None:
            self.group_commit.on_lost = self.disk_watch.look
        self.fetch_sessions = FetchSessions(self.configs)
        self.telemetry = ClientTelemetry(self.configs, self.timers, self.counts.telemetry)
        self.topics = TopicChanges(self.cluster, self.journal, self.configs, self.partitions, self.timers, self.slices)
        self.runtime = Runtime(
            self.journal, self.cluster, self.configs, self.features, self.partitions, self.topics, self.purgatory,
            self.timers, self.slices, self.loading, is_loading_held, self.counts,
        )  # fmt: skip
        self.groups = GroupCoordinator(self.runtime)
        self.markers = Markers(self.runtime, self.groups.offsets)
        self.transactions = TransactionCoordinator(self.runtime, self.producer_ids, self.markers)
        self.verification = Verification(self.runtime, self.transactions)

    def start(self, first: Sequence[Stored] = ()) -> None:
        """Replay the store, open every log, start a leader epoch, start to load the coordinators.

        ``first``: the first records of a cluster whose store is empty. Raises LogError or OSError.
        """
        self.journal.replay()
        check_topics(self.cluster)
        self.partitions.locate()
        self.features.begin(cluster_wide_min_isr(self.configs), first)
        unfit = left_out(self.configs)
        if unfit:
            self.journal.commit(unfit)
        self._begin_leader_epochs()
        self.partitions.open_all()
        self.partitions.start_timers()
        self.tokens.start_timers()
        self.transactions.load(self.groups.load(self.limits.loaded_first_bytes))
        if self.dirs.unsynced is not None:  # writes of a killed broker may be only in the page cache
            self.dirs.unsynced.take()
            self.dirs.sync()

    def load_released(self) -> None:
        """Load the coordinator partitions that are no longer held."""
        self.groups.loading.go_on()
        self.transactions.loading.go_on()

    def _begin_leader_epochs(self) -> None:
        """A broker that starts increases its leader epochs (KIP-320): clients of the old epoch check for truncation."""
        changes = [
            PartitionChangeRecord(partition_id=number, topic_id=topic.id, leader=info.leader)
            for topic in self.cluster.topics.values()
            for number, info in topic.partitions.items()
        ]
        if changes:
            self.journal.commit(changes)

    def step(self) -> float | None:
        """Run the due timers; returns when the next one is due on the monotonic clock, or None."""
        self.timers.run_due()
        return self.timers.next_due_s()

    def close(self, *, clean: bool = True) -> None:
        """Close logs and store. ``clean=False`` leaves the files as ``kill -9`` does.

        A directory with incomplete writes is not marked as clean: the next start checks its logs.
        """
        unfinished = self.partitions.close(clean=clean)
        is_complete = self.store.close(clean=clean)
        if not is_complete:
            unfinished.add(self.disk_watch.state_dir)
        if self.state_end is not None:
            self.state_end.end(is_complete=is_complete)
        if clean:
            self._mark_clean([path for path in self.dirs.live if path not in unfinished])
        self.dirs.unlock()

    def _mark_clean(self, paths: list[str]) -> None:
        if self.dirs.unsynced is not None:
            try:
                self.dirs.sync()
            except OSError as error:
                log.error("cannot flush writes to the disk: %s. The next start checks the logs", error)
                return
        self.dirs.mark_clean(paths)


def node_id_of(properties: Mapping[str, str]) -> int:
    """The broker's id: node.id, else broker.id, else 1. Raises ConfigError for an invalid id."""
    given = given_node_id(properties)
    return DEFAULT_NODE_ID if given is None else given


def given_node_id(properties: Mapping[str, str]) -> int | None:
    """The broker's id in the settings, None without one. Raises ConfigError for an invalid id."""
    text = properties.get("node.id") or properties.get("broker.id")
    if not text:
        return None
    if not (text.isascii() and text.strip().isdigit()):
        raise ConfigError(f"invalid node.id '{text}': expected a number of at least 0")
    return int(text)
