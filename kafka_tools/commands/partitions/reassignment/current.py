"""The current replicas of topics and partitions, and their log directories."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_tools.admin.calls.log_dirs import ReplicaPlace
from kafka_tools.commands import running
from kafka_tools.errors import InputError, NetworkError, UnsupportedVersion
from kafka_tools.net.broker_errors import has_code
from kafka_tools.protocol import error_codes
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.calls.log_dirs import LogDirs, ReplicaInfo
    from kafka_tools.admin.calls.reassignments import Reassignment
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.commands.partitions.reassignment.documents import Replicas
    from kafka_tools.errors import KafkaToolsError

MOST_NAMED = 5_000
"""For more partitions than this, a broker returns all its partitions, so that it need not search each."""
Assignment = dict[TopicPartition, tuple[int, ...]]
"""Partition -> ids of its brokers, the preferred leader first."""
_UNCHANGED = "check the topic and the partition; nothing was changed"


TOO_OLD = "brokers before Kafka 2.4 do not list reassignments"


def reassignments(
    admin: AdminClient, partitions: Sequence[TopicPartition] | None = None
) -> dict[TopicPartition, Reassignment] | None:
    """The reassignments in progress, of some partitions or of all. None if the brokers are too old to list them (before
    2.4). Moves between log directories and plans need no list."""
    try:
        return admin.list_partition_reassignments(partitions)
    except UnsupportedVersion:
        if admin.config.is_controllers:
            raise
        return None


def check_old_brokers(
    admin: AdminClient, wanted: Mapping[TopicPartition, Replicas], log_dirs: Collection[ReplicaPlace]
) -> None:
    """Raise the error of brokers that are too old to list reassignments, which names the tool for them. Do not raise it
    if the replicas are as ``wanted`` and only move between ``log_dirs``."""
    if log_dirs:
        found = replicas_of_topics(admin, {partition.topic for partition in wanted}, all_exist=False)
        if all(found.get(partition) == tuple(replicas) for partition, replicas in wanted.items()):
            return
    admin.list_partition_reassignments()


def is_unknown_topic(error: KafkaToolsError) -> bool:
    """Whether the error says that the topic does not exist."""
    return has_code(error, error_codes.UNKNOWN_TOPIC_OR_PARTITION)


def described(admin: AdminClient, topics: Iterable[str]) -> tuple[Assignment, dict[str, KafkaToolsError]]:
    """The replicas of every partition of these topics, and the errors of topics that could not be described."""
    found: Assignment = {}
    errors = {}
    for name, outcome in admin.describe_topics(sorted(set(topics))).items():
        if outcome.error is not None:
            errors[str(name)] = outcome.error
        else:
            found |= {TopicPartition(str(name), each.partition): each.replicas for each in outcome.get().partitions}
    return found, errors


def replicas_of_topics(admin: AdminClient, topics: Iterable[str], *, all_exist: bool = True) -> Assignment:
    """The replicas of every partition, by topic and number. Raises InputError for a topic that does not exist.

    Without ``all_exist`` missing topics are skipped: they may have been deleted since they were listed.
    """
    found, errors = described(admin, topics)
    for name, error in errors.items():
        if is_unknown_topic(error):
            if not all_exist:
                continue
            error = InputError(f"Topic {name} not found.", hint=_UNCHANGED)
        error.item = name
        error.hint = error.hint or f"of topic {name}; nothing was changed"
        raise error
    return found


def replicas_of(admin: AdminClient, partitions: Collection[TopicPartition]) -> Assignment:
    """The replicas of these partitions, in their order. Raises InputError if one does not exist."""
    found = replicas_of_topics(admin, (partition.topic for partition in partitions))
    missing = [str(partition) for partition in partitions if partition not in found]
    if missing:
        raise InputError(f"Unable to find partition: {', '.join(missing)}", hint=_UNCHANGED)
    return {partition: found[partition] for partition in partitions}


def missing(admin: AdminClient, partitions: Collection[TopicPartition]) -> dict[TopicPartition, KafkaToolsError]:
    """The partitions that do not exist or cannot be described, with the reason."""
    found, errors = described(admin, (partition.topic for partition in partitions))
    return {
        partition: errors.get(partition.topic) or InputError("no such partition")
        for partition in partitions
        if partition not in found
    }


def log_dirs_of(admin: AdminClient, assignment: Mapping[TopicPartition, Replicas]) -> dict[ReplicaPlace, str]:
    """Replica -> its log directory.

    Replicas in offline directories and on brokers that are down are left out. Brokers that do not respond are named on
    stderr.
    """
    alive = {node.id for node in admin.nodes()}
    wanted: dict[int, list[TopicPartition]] = {}
    for partition, replicas in assignment.items():
        for id in replicas:
            if id in alive:
                wanted.setdefault(id, []).append(partition)
    found: dict[ReplicaPlace, str] = {}
    named = {id: partitions for id, partitions in wanted.items() if len(partitions) <= MOST_NAMED}
    # A live broker that does not respond must not use up the time of the whole command.
    for id, outcome in admin.describe_log_dirs(wanted, named, timeout_s=share_s(admin)).items():
        if outcome.error is not None:
            running.note(f"warning: the log directories of broker {id} are unknown and shown as any: {outcome.error}")
            continue
        note_offline(id, outcome.get())
        found |= {place: path for place, path, replica in replicas_in(id, outcome.get()) if not replica.is_future}
    return found


def replicas_in(broker_id: int, directories: LogDirs) -> Iterator[tuple[ReplicaPlace, str, ReplicaInfo]]:
    """The replicas in the online directories of a broker, each with the path of its directory."""
    for path, outcome in directories.items():
        if outcome.value is not None:
            for partition, replica in outcome.value.replicas.items():
                yield ReplicaPlace(*partition, broker_id), path, replica


def note_offline(broker_id: int, directories: LogDirs) -> None:
    """Note the log directories of a broker whose contents are unknown."""
    for path, directory in sorted(directories.items()):
        if directory.error is not None:
            running.note(f"warning: the contents of {path} on broker {broker_id} are unknown: {directory.error}")


def is_offline(error: KafkaToolsError) -> bool:
    """Whether an error says that the log directory is offline."""
    return has_code(error, error_codes.KAFKA_STORAGE_ERROR)


def is_away(error: KafkaToolsError) -> bool:
    """Whether a broker could not be reached, did not respond in time, or is not in the cluster now."""
    codes = error_codes.BROKER_ID_NOT_REGISTERED, error_codes.REQUEST_TIMED_OUT
    return isinstance(error, NetworkError) or any(has_code(error, code) for code in codes)


def share_s(admin: AdminClient) -> float:
    """Seconds for the requests to each broker, so that time remains if one does not respond."""
    return admin.deadline().left_s() / 3
