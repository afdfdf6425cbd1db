"""Creates and deletes topics, and adds partitions: the records of each change, and the logs.

Rules and texts are those of Kafka's ``ReplicationControlManager``. A creation creates logs first and commits then, so
that an error of the disk leaves no topic. A deletion commits first. A start completes changes that a crash interrupted.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.cluster.placement import Assignment, place
from kafka_tools.broker_embedded.cluster.topic_names import check_new_name
from kafka_tools.broker_embedded.configs.internal_topics import SYSTEM_CONFIGS
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work, shielded, sleep
from kafka_tools.errors import BrokerError, LogError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, INTERNAL_TOPICS, TRANSACTION_STATE, ConfigResourceType
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import (
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kafka_tools.values import uuid_text

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.journal import Journal
    from kafka_tools.broker_embedded.cluster.metadata import Cluster
    from kafka_tools.broker_embedded.configs.store import ConfigStore, View
    from kafka_tools.broker_embedded.partitions.hosted import Partitions
    from kafka_tools.broker_embedded.slices import Slices
    from kafka_tools.broker_embedded.timers import Timers
    from kafka_tools.cluster_image.topics import Topic

log = logging.getLogger(__name__)

MAX_PARTITIONS_PER_REQUEST = 10_000


class TopicChanges:
    """Atomic changes of topics. Before a change, a caller waits until the topic is ``settled``."""

    def __init__(
        self,
        cluster: Cluster,
        journal: Journal,
        configs: ConfigStore,
        partitions: Partitions,
        timers: Timers,
        slices: Slices,
    ) -> None:
        self._cluster = cluster
        self._journal = journal
        self._configs = configs
        self._partitions = partitions
        self._timers = timers
        self._slices = slices
        self.wanted: dict[str, None] = {}
        """Names of topics that will be created automatically, in order."""
        self._is_making_wanted = False
        self.changing: set[str] = set()
        """Names of topics whose partitions are being created or removed, by one request at a time."""

    def create(self, name: str, assignment: Assignment, configs: Mapping[str, str]) -> Work[Topic]:
        """Create a topic with valid name, assignment and configs. An error of the disk raises BrokerError."""
        topic_id = self.new_id()
        records: list[Stored] = [TopicRecord(name=name, topic_id=topic_id)]
        records += [
            ConfigRecord(resource_type=ConfigResourceType.TOPIC, resource_name=name, name=key, value=value)
            for key, value in sorted(configs.items())
        ]
        records += [_partition_record(topic_id, number, replicas) for number, replicas in enumerate(assignment)]
        view = self._configs.topic_with(configs)
        yield from self._make_partitions(name, topic_id, range(len(assignment)), view, records)
        return self._cluster.topics[name]

    def add_partitions(self, topic: Topic, assignment: Assignment) -> Work[None]:
        """Add partitions to a topic, all or none. An error of the disk raises BrokerError."""
        first = len(topic.partitions)
        records = [_partition_record(topic.id, first + at, replicas) for at, replicas in enumerate(assignment)]
        numbers = range(first, first + len(assignment))
        yield from self._make_partitions(topic.name, topic.id, numbers, self._configs.topic(topic.name), records)

    @shielded
    def _make_partitions(
        self, name: str, topic_id: uuid.UUID, numbers: range, configs: View, records: Sequence[Stored]
    ) -> Work[None]:
        """Create the logs, then commit ``records``, which add them to the cluster, atomically."""
        self.check_settled(name)
        self.changing.add(name)
        try:
            made = yield from self._partitions.make(name, topic_id, numbers, configs)
            try:
                self._journal.commit(records)
            except Exception:
                yield from self._partitions.unmake(made)
                raise
        except (LogError, OSError) as error:
            log.error("%s: cannot create %d partitions, none of them was created: %s", name, len(numbers), error)
            reason = error.strerror if isinstance(error, OSError) else None
            text = "The disk refused the partitions" + (f": {reason}." if reason else ".")
            raise error_for(error_codes.KAFKA_STORAGE_ERROR, text) from error
        finally:
            self.changing.discard(name)
        self._partitions.add(made)
        if len(made) > 1:
            self._partitions.configs_changed(name)  # configs may have changed while the logs were created

    @shielded
    def delete(self, topic: Topic) -> Work[None]:
        """Delete a topic and its configs. Its files are deleted later."""
        self.check_settled(topic.name)
        numbers = list(topic.partitions)
        self._journal.commit([RemoveTopicRecord(topic_id=topic.id)])
        self.changing.add(topic.name)
        try:
            taken = self._partitions.take_out(topic.name, numbers)
            yield from self._slices.durable()  # else the topic could come back without its records
            if (yield from self._partitions.delete(taken)):
                self._cluster.forget_removed([topic.id])
        finally:
            self.changing.discard(topic.name)

    def settled(self, name: str) -> Work[None]:
        """Wait until no other request creates or removes partitions of this topic."""
        while name in self.changing:
            yield from sleep(0)

    def check_settled(self, name: str) -> None:
        """Raises a retriable BrokerError while another request creates or removes partitions of this topic."""
        if name in self.changing:
            raise error_for(error_codes.COORDINATOR_NOT_AVAILABLE, f"Topic '{name}' is being created or deleted.")

    def others(self, own: Collection[str] = ()) -> Iterator[str]:
        """Names that a new topic must not collide with: all topics, also in progress, except ``own``."""
        return (name for name in chain(self._cluster.topics, self.changing) if name not in own)

    def auto_create(self, name: str) -> Work[Topic]:
        """Create a topic with the broker's defaults, or with an internal topic's. Raises BrokerError."""
        broker = self._configs.broker
        self.check_settled(name)
        check_new_name(self._cluster, name, self.others())
        if name in INTERNAL_TOPICS:
            kind = {CONSUMER_OFFSETS: "offsets.topic", TRANSACTION_STATE: "transaction.state.log"}.get(
                name, "share.coordinator.state.topic"
            )
            partitions = broker.integer(f"{kind}.num.partitions")
            segment_bytes = broker.get(f"{kind}.segment.bytes")
            configs = {**SYSTEM_CONFIGS.get(name, {"cleanup.policy": "delete"}), "segment.bytes": str(segment_bytes)}
            return (yield from self.create(name, place(self._cluster.brokers, partitions, 1), configs))
        factor = min(broker.integer("default.replication.factor"), len(self._cluster.brokers))
        return (
            yield from self.create(name, place(self._cluster.brokers, broker.integer("num.partitions"), factor), {})
        )

    def auto_create_soon(self, name: str) -> None:
        """Create a topic as ``auto_create`` does, after the answer to the request, as Kafka's brokers do.

        Errors are only logged; a retry of the client finds the topic or not. Topics are created in slices, because a
        request may name thousands, and each may have thousands of partitions.
        """
        wanted = self.wanted

        def create() -> Work[None]:
            while wanted:
                name = next(iter(wanted))
                try:
                    yield from self.settled(name)
                    if self._cluster.topic(name) is None:
                        yield from self.auto_create(name)
                except (BrokerError, LogError, OSError) as error:
                    log.info("cannot create topic %s automatically: %s", name, error)
                finally:
                    del wanted[name]
                yield

        def done(_: None, error: BaseException | None) -> None:
            self._is_making_wanted = False
            if error is not None:
                log.error("cannot create topics automatically", exc_info=error)

        def begin() -> None:
            self._slices.begin(create(), done)

        if not self._is_making_wanted:  # one at a time: two concurrent ones could use the same name
            self._is_making_wanted = True
            self._timers.call_later(0, begin)
        wanted[name] = None

    def new_id(self) -> uuid.UUID:
        """A random id whose text does not begin with a dash, which command lines would take for an option."""
        while True:
            found = uuid.uuid4()
            if not uuid_text(found).startswith("-") and found not in self._cluster.topics_by_id:
                return found


def check_total(partitions: Iterable[int]) -> None:
    """Raises BrokerError if all topics of one request together have too many partitions for one change."""
    if sum(count for count in partitions if count > 0) > MAX_PARTITIONS_PER_REQUEST:
        raise error_for(error_codes.POLICY_VIOLATION, "Excessively large number of partitions per request.")


def _partition_record(topic_id: uuid.UUID, number: int, replicas: list[int]) -> PartitionRecord:
    return PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        replicas=list(replicas),
        isr=list(replicas),
        leader=replicas[0],
        leader_epoch=0,
        partition_epoch=0,
    )
