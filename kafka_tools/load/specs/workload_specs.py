"""The specifications of the workloads, with the members and defaults of Trogdor's classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from kafka_tools.errors import InputError
from kafka_tools.load.specs.generators import Flushes, Rates, Transactions, read_flushes, read_rates, read_transactions
from kafka_tools.load.specs.members import JsonMembers
from kafka_tools.load.specs.payloads import (
    ConstantPayloads,
    Payloads,
    SequentialPayloads,
    UniformRandomPayloads,
    read_payloads,
)
from kafka_tools.load.specs.task_spec import ClientConfs, TaskSpec
from kafka_tools.load.specs.topic_ranges import (
    DEFAULT_REPLICATION_FACTOR,
    MOST_NAMES,
    MOST_PARTITIONS,
    TopicLayout,
    Topics,
    read_partitions,
    read_topics,
)

_WORKLOAD = "org.apache.kafka.trogdor.workload"
_FIRST_TOPIC_PREFIX = "produceBenchTopic"
MOST_THREADS = 1_000
MOST_CONNECTIONS = 10_000
_INT = 2**31 - 1

DEFAULT_KEYS = SequentialPayloads(4)
DEFAULT_VALUES = ConstantPayloads(bytes(512))


@dataclass(frozen=True, kw_only=True)
class ProduceBenchSpec(TaskSpec):
    """Sends messages and measures how long their acknowledgements take.

    Trogdor 1.1 (KIP-213's time) described the topics by numbers: ``totalTopics`` topics with a prefix, and each of
    ``maxMessages`` rounds sends one message to partition 0 of each active topic. Later Trogdor has maps of topics, and
    ``maxMessages`` counts messages.
    """

    CLASS: ClassVar[str] = f"{_WORKLOAD}.ProduceBenchSpec"

    node: str
    clients: ClientConfs
    per_second: int
    max_messages: int
    keys: Payloads
    values: Payloads
    active: Topics
    inactive: Topics
    in_rounds: bool
    """Whether each message goes to partition 0 of every active topic: the form of Trogdor 1.1."""
    with_partitioner: bool
    transactions: Transactions | None

    @classmethod
    def read(cls, members: JsonMembers, times: Mapping[str, Any]) -> Self:
        active, inactive, in_rounds = _topics(members)
        found = cls(
            **times,
            node=members.text("producerNode"),
            clients=ClientConfs.read(members, "producer"),
            per_second=members.whole("targetMessagesPerSec", low=-1, high=_INT),
            max_messages=members.whole("maxMessages"),
            keys=read_payloads(members, "keyGenerator") or DEFAULT_KEYS,
            values=read_payloads(members, "valueGenerator") or DEFAULT_VALUES,
            active=active,
            inactive=inactive,
            in_rounds=in_rounds,
            with_partitioner=members.flag("useConfiguredPartitioner"),
            transactions=read_transactions(members, "transactionGenerator"),
        )
        # Trogdor flushes before its pauses, to keep them out of its latencies. Here latencies count from the intended
        # send time, and records leave by linger.ms.
        members.flag("skipFlush")
        members.raw("classLoader")  # Trogdor 1.1 writes an empty object
        return found

    @property
    def node_names(self) -> tuple[str, ...]:
        return (self.node,)

    @property
    def total_operations(self) -> int:
        return self.max_messages * (len(self.active) if self.in_rounds else 1)


def _topics(members: JsonMembers) -> tuple[Topics, Topics, bool]:
    """Active and inactive topics of ProduceBench, and whether they were given by numbers."""
    if isinstance(members.raw("activeTopics"), Mapping):
        active = read_topics(members, "activeTopics")
        if not active:
            raise InputError(f"{members.place}: invalid activeTopics: expected at least one topic")
        return active, read_topics(members, "inactiveTopics"), False
    active_count = members.whole("activeTopics", low=0, high=MOST_NAMES)
    if active_count == 0:
        raise InputError(f"{members.place}: invalid activeTopics: expected at least one topic")
    total = members.whole("totalTopics", high=MOST_NAMES)
    if total < active_count:
        raise members.refuse("totalTopics", f"at least the number of activeTopics, {active_count}")
    old_name = members.whole("partitionsPerTopic", high=MOST_PARTITIONS)
    partitions = members.whole("numPartitions", old_name, high=MOST_PARTITIONS)
    replication = members.whole("replicationFactor", high=32767)
    prefix = members.text("topicPrefix", _FIRST_TOPIC_PREFIX)
    layout = TopicLayout(partitions or 1, replication or DEFAULT_REPLICATION_FACTOR)
    names = [f"{prefix}{number:05d}" for number in range(total)]
    return dict.fromkeys(names[:active_count], layout), dict.fromkeys(names[active_count:], layout), True


@dataclass(frozen=True, kw_only=True)
class RoundTripSpec(TaskSpec):
    """Sends messages and reads each of them back."""

    CLASS: ClassVar[str] = f"{_WORKLOAD}.RoundTripWorkloadSpec"

    node: str
    clients: ClientConfs
    per_second: int
    max_messages: int
    values: Payloads
    active: Topics

    @classmethod
    def read(cls, members: JsonMembers, times: Mapping[str, Any]) -> Self:
        per_second = members.whole("targetMessagesPerSec", high=_INT)
        if per_second == 0:
            raise members.refuse("targetMessagesPerSec", "a whole number of at least 1")
        active = read_topics(members, "activeTopics")
        if not active:
            raise InputError(f"{members.place}: invalid activeTopics: expected at least one topic")
        return cls(
            **times,
            node=members.text("clientNode"),
            clients=ClientConfs.read(members, "producer", "consumer"),
            per_second=per_second,
            max_messages=members.whole("maxMessages", high=_INT),
            values=read_payloads(members, "valueGenerator") or UniformRandomPayloads(32, 123, 10),
            active=active,
        )

    @property
    def node_names(self) -> tuple[str, ...]:
        return (self.node,)

    @property
    def total_operations(self) -> int:
        return self.max_messages


@dataclass(frozen=True, kw_only=True)
class ConsumeBenchSpec(TaskSpec):
    """Reads messages with one or more consumers. Rate and maximum apply to each consumer."""

    CLASS: ClassVar[str] = f"{_WORKLOAD}.ConsumeBenchSpec"

    node: str
    clients: ClientConfs
    per_second: int
    max_messages: int
    group: str
    """Empty: each consumer has a group of its own with a random name."""
    threads: int
    topics: dict[str, tuple[int, ...]]
    """Topic -> partitions to assign. If no topic has any, the consumers subscribe."""
    with_timestamps: bool
    """Whether values start with the time of their creation, as those of the timestamp generators."""

    @classmethod
    def read(cls, members: JsonMembers, times: Mapping[str, Any]) -> Self:
        topics = read_partitions(members, "activeTopics")
        if not topics:
            raise InputError(f"{members.place}: invalid activeTopics: expected at least one topic")
        group, threads = members.text("consumerGroup"), members.whole("threadsPerWorker", 1, low=1, high=MOST_THREADS)
        if group and threads > 1 and any(topics.values()):
            raise InputError(
                f"{members.place}: invalid activeTopics: consumers of one group cannot be assigned the same partitions",
                hint="leave out consumerGroup or the partitions, or use one thread",
            )
        return cls(
            **times,
            node=members.text("consumerNode"),
            clients=ClientConfs.read(members, "consumer"),
            per_second=members.whole("targetMessagesPerSec", low=-1, high=_INT),
            max_messages=members.whole("maxMessages"),
            group=group,
            threads=threads,
            topics=topics,
            with_timestamps=_timestamps(members),
        )

    @property
    def node_names(self) -> tuple[str, ...]:
        return (self.node,)

    @property
    def total_operations(self) -> int:
        return self.max_messages * self.threads


def _timestamps(members: JsonMembers) -> bool:
    """Whether there is the record processor ``timestamp``. The sizes of Trogdor's histogram are not needed here."""
    inner = members.inner("recordProcessor")
    if inner is None:
        return False
    inner.kind({"timestamp": None}, "a record processor")
    for name in ("histogramMaxMs", "histogramMinMs", "histogramStepMs"):
        inner.whole(name)
    inner.end()
    return True


@dataclass(frozen=True, kw_only=True)
class SustainedConnectionSpec(TaskSpec):
    """Keeps many connections open and uses each of them every ``refresh_ms``."""

    CLASS: ClassVar[str] = f"{_WORKLOAD}.SustainedConnectionSpec"

    node: str
    clients: ClientConfs
    keys: Payloads
    values: Payloads
    connections: dict[str, int]
    """``producer``, ``consumer`` and ``metadata`` -> number of connections."""
    topic: str
    threads: int
    refresh_ms: int

    @classmethod
    def read(cls, members: JsonMembers, times: Mapping[str, Any]) -> Self:
        kinds = ("producer", "consumer", "metadata")
        connections = {kind: members.whole(f"{kind}ConnectionCount", high=MOST_CONNECTIONS) for kind in kinds}
        if not any(connections.values()):
            raise InputError(f"{members.place}: no connection: set producerConnectionCount, consumerConnectionCount or "
                             "metadataConnectionCount")  # fmt: skip
        topic = members.text("topicName")
        if not topic and (connections["producer"] or connections["consumer"]):
            raise InputError(f"{members.place}: topicName is missing")
        return cls(
            **times,
            node=members.text("clientNode"),
            clients=ClientConfs.read(members, "producer", "consumer"),
            keys=read_payloads(members, "keyGenerator") or DEFAULT_KEYS,
            values=read_payloads(members, "valueGenerator") or DEFAULT_VALUES,
            connections=connections,
            topic=topic,
            threads=max(1, members.whole("numThreads", 1, high=MOST_THREADS)),
            refresh_ms=max(1, members.whole("refreshRateMs", 1)),
        )

    @property
    def node_names(self) -> tuple[str, ...]:
        return (self.node,)


@dataclass(frozen=True, kw_only=True)
class ConfigurableProducerSpec(TaskSpec):
    """Sends to one topic until it is stopped, with a rate and flushes that can vary."""

    CLASS: ClassVar[str] = f"{_WORKLOAD}.ConfigurableProducerSpec"

    node: str
    clients: ClientConfs
    rates: Rates
    flushes: Flushes | None
    keys: Payloads
    values: Payloads
    topic: str
    layout: TopicLayout
    partition: int | None
    """None lets the partitioner choose."""

    @classmethod
    def read(cls, members: JsonMembers, times: Mapping[str, Any]) -> Self:
        topics = read_topics(members, "activeTopic")
        if len(topics) != 1:
            raise InputError(f"{members.place}: invalid activeTopic: expected exactly one topic")
        ((topic, layout),) = topics.items()
        partition = members.whole("activePartition", low=-1, high=layout.partitions - 1)
        return cls(
            **times,
            node=members.text("producerNode"),
            clients=ClientConfs.read(members, "producer"),
            rates=read_rates(members, "throughputGenerator"),
            flushes=read_flushes(members, "flushGenerator"),
            keys=read_payloads(members, "keyGenerator") or DEFAULT_KEYS,
            values=read_payloads(members, "valueGenerator") or DEFAULT_VALUES,
            topic=topic,
            layout=layout,
            partition=None if partition == -1 else partition,
        )

    @property
    def node_names(self) -> tuple[str, ...]:
        return (self.node,)
