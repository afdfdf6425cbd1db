"""Making, growing and deleting topics: names, placement, the records of each change, and the logs.

Rules and texts are those of Kafka's ``ReplicationControlManager`` and ``Topic``. Logs are made first and committed
then, so that a disk that refuses leaves no topic; what is deleted is committed first. A start finishes what a crash
interrupted in between.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.cluster.metadata import METADATA_TOPIC, Topic
from kafka_tools.broker_embedded.refusals import refuse
from kafka_tools.broker_embedded.slices import BEHIND, Work
from kafka_tools.errors import BrokerError, LogError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, INTERNAL_TOPICS, TRANSACTION_STATE
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import (
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.store import View
    from kafka_tools.broker_embedded.core import Core

log = logging.getLogger(__name__)

MAX_NAME_LENGTH = 249
MAX_PARTITIONS_PER_REQUEST = 10_000
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
TOPIC_RESOURCE = 2
"""``ConfigResource.Type.TOPIC`` in a ConfigRecord."""
SYSTEM_CONFIGS = {
    CONSUMER_OFFSETS: {"cleanup.policy": "compact", "compression.type": "producer"},
    TRANSACTION_STATE: {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "1",
    },
}

Assignment = list[list[int]]
"""Replicas (broker ids, the leader first) by partition number."""


def name_problem(name: str) -> str | None:
    """Why this cannot be a topic's name; None if it can (``Topic.detectInvalidTopic``)."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_NAME_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    if not _LEGAL.fullmatch(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


def check_total(partitions: Iterable[int]) -> None:
    """BrokerError if all topics of one request together ask for more partitions than one change may hold."""
    if sum(count for count in partitions if count > 0) > MAX_PARTITIONS_PER_REQUEST:
        raise refuse(error_codes.POLICY_VIOLATION, "Excessively large number of partitions per request.")


def check_not_the_brokers_own(name: str) -> None:
    """BrokerError for the name of the cluster's metadata log, whoever asks (``ControllerApis.createTopics``)."""
    if name == METADATA_TOPIC:
        raise refuse(error_codes.INVALID_REQUEST, f"Creation of internal topic {METADATA_TOPIC} is prohibited.")


def check_new_name(core: Core, name: str, others: Iterable[str]) -> None:
    """BrokerError if a topic of this name cannot be made. ``others`` are those whose names it must not resemble."""
    check_not_the_brokers_own(name)
    if core.cluster.topic(name):
        raise refuse(error_codes.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    problem = name_problem(name)
    if problem:
        raise refuse(error_codes.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")
    folded = name.replace(".", "_")
    if "." in name or "_" in name:
        for other in others:
            if other.replace(".", "_") == folded:
                raise refuse(
                    error_codes.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}"
                )


def place(core: Core, partitions: int, replication_factor: int, *, first: int = 0) -> Assignment:
    """Spread partitions over the brokers, round robin from number ``first`` on. BrokerError if they are too few."""
    nodes = sorted(core.cluster.nodes)
    if replication_factor <= 0:
        raise refuse(
            error_codes.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if partitions <= 0:
        raise refuse(
            error_codes.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
        )  # fmt: skip
    if replication_factor > len(nodes):
        raise refuse(
            error_codes.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): The target replication factor of "
            f"{replication_factor} cannot be reached because only {len(nodes)} broker(s) are registered or some "
            "brokers have all their log directories cordoned.",
        )
    return [
        [nodes[(first + number + copy) % len(nodes)] for copy in range(replication_factor)]
        for number in range(partitions)
    ]


def check_assignment(core: Core, assignment: Assignment) -> None:
    """BrokerError if a manual assignment names brokers twice, unknown ones, or differently many."""
    for replicas in assignment:
        if not replicas:
            raise refuse(
                error_codes.INVALID_REPLICA_ASSIGNMENT,
                "The manual partition assignment includes an empty replica list.",
            )
        in_order = sorted(replicas)
        for before, broker in zip([None, *in_order], in_order, strict=False):
            if broker not in core.cluster.nodes:
                raise refuse(
                    error_codes.INVALID_REPLICA_ASSIGNMENT,
                    f"The manual partition assignment includes broker {broker}, but no such broker is registered.",
                )
            if broker == before:
                raise refuse(
                    error_codes.INVALID_REPLICA_ASSIGNMENT,
                    f"The manual partition assignment includes the broker {broker} more than once.",
                )
        if len(replicas) != len(assignment[0]):
            raise refuse(
                error_codes.INVALID_REPLICA_ASSIGNMENT,
                "The manual partition assignment includes a partition with "
                f"{len(replicas)} replica(s), but this is not consistent with previous partitions, which have "
                f"{len(assignment[0])} replica(s).",
            )


def create_topic(core: Core, name: str, assignment: Assignment, configs: Mapping[str, str]) -> Work[Topic]:
    """Make a topic whose name, assignment and configs were checked; BrokerError, and no topic, if the disk refuses."""
    topic_id = new_id(core)
    records: list[Stored] = [TopicRecord(name=name, topic_id=topic_id)]
    records += [
        ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name=name, name=key, value=value)
        for key, value in sorted(configs.items())
    ]
    records += [_partition_record(topic_id, number, replicas) for number, replicas in enumerate(assignment)]
    view = core.configs.topic_with(configs)
    yield from _make_partitions(core, name, topic_id, range(len(assignment)), view, records)
    return core.cluster.topics[name]


def add_partitions(core: Core, topic: Topic, assignment: Assignment) -> Work[None]:
    """Append partitions to a topic; BrokerError, and none of them, if the disk refuses."""
    first = len(topic.partitions)
    records = [_partition_record(topic.id, first + at, replicas) for at, replicas in enumerate(assignment)]
    numbers = range(first, first + len(assignment))
    yield from _make_partitions(core, topic.name, topic.id, numbers, core.configs.topic(topic.name), records)


def _make_partitions(
    core: Core, name: str, topic_id: uuid.UUID, numbers: range, configs: View, records: Sequence[Stored]
) -> Work[None]:
    """Make the logs, then commit ``records``, which make them the cluster's: the commit is all or nothing."""
    check_settled(core, name)
    core.cluster.changing_topics.add(name)
    try:
        made = yield from core.partitions.make(name, topic_id, numbers, configs)
        try:
            core.commit(records)
        except Exception:
            yield from core.partitions.unmake(made)
            raise
    except (LogError, OSError) as error:
        log.error("%s: %d partitions could not be made, there are none of them: %s", name, len(numbers), error)
        reason = error.strerror if isinstance(error, OSError) else None
        text = "The disk refused the partitions" + (f": {reason}." if reason else ".")
        raise refuse(error_codes.KAFKA_STORAGE_ERROR, text) from error
    finally:
        core.cluster.changing_topics.discard(name)
    core.partitions.add(made)
    if len(made) > 1:
        core.partitions.configs_changed(name)  # which may have been while they were made


def delete_topic(core: Core, topic: Topic) -> Work[None]:
    """Forget a topic and its configs; its files are deleted a little later."""
    check_settled(core, topic.name)
    numbers = list(topic.partitions)
    core.commit([RemoveTopicRecord(topic_id=topic.id)])
    core.cluster.changing_topics.add(topic.name)
    try:
        yield from core.partitions.delete(core.partitions.take_out(topic.name, numbers))
    finally:
        core.cluster.changing_topics.discard(topic.name)


def settled(core: Core, name: str) -> Work[None]:
    """Wait until no other request makes or removes partitions of this topic: what is checked then holds."""
    while name in core.cluster.changing_topics:
        yield BEHIND


def check_settled(core: Core, name: str) -> None:
    """BrokerError, which clients retry, while another request makes or removes partitions of this topic."""
    if name in core.cluster.changing_topics:
        raise refuse(error_codes.COORDINATOR_NOT_AVAILABLE, f"Topic '{name}' is being made or deleted.")


def auto_create(core: Core, name: str) -> Work[Topic]:
    """Make a topic with the broker's defaults; internal topics with theirs. BrokerError if it cannot be made."""
    broker = core.configs.broker
    check_new_name(core, name, core.cluster.topics)
    if name in INTERNAL_TOPICS:
        kind = {CONSUMER_OFFSETS: "offsets.topic", TRANSACTION_STATE: "transaction.state.log"}.get(
            name, "share.coordinator.state.topic"
        )
        partitions = broker.integer(f"{kind}.num.partitions")
        segment_bytes = broker.get(f"{kind}.segment.bytes")
        configs = {**SYSTEM_CONFIGS.get(name, {"cleanup.policy": "delete"}), "segment.bytes": str(segment_bytes)}
        return (yield from create_topic(core, name, place(core, partitions, 1), configs))
    factor = min(broker.integer("default.replication.factor"), len(core.cluster.nodes))
    return (yield from create_topic(core, name, place(core, broker.integer("num.partitions"), factor), {}))


def auto_create_soon(core: Core, name: str) -> None:
    """Make a topic as ``auto_create`` does, once the request that asked for it is answered: as Kafka's brokers do.

    Who asks again finds it, or is told once more that there is none: what went wrong is in the log. They are made in
    slices: a request may name thousands, and each may have thousands of partitions.
    """
    wanted = core.cluster.wanted_topics

    def create() -> Work[None]:
        while wanted:
            name = next(iter(wanted))
            try:
                yield from settled(core, name)
                if core.cluster.topic(name) is None:
                    yield from auto_create(core, name)
            except (BrokerError, LogError, OSError) as error:
                log.info("topic %s could not be made by itself: %s", name, error)
            finally:
                del wanted[name]
            yield

    def done(_: None, error: BaseException | None) -> None:
        if error is not None:
            log.error("topics could not be made by themselves", exc_info=error)

    def begin() -> None:
        core.slices.begin(create(), done)

    if not wanted:
        core.timers.call_later(0, begin)
    wanted[name] = None


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


def new_id(core: Core) -> uuid.UUID:
    """A random id whose text does not begin with a dash, which command lines would take for an option."""
    from kafka_tools.values import uuid_text

    while True:
        found = uuid.uuid4()
        if not uuid_text(found).startswith("-") and found not in core.cluster.topics_by_id:
            return found
