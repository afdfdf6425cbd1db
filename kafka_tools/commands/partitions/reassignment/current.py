"""Where replicas are now: of topics, of partitions, and in which log directories of their brokers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_tools.admin.calls.log_dirs import ReplicaPlace
from kafka_tools.commands import running
from kafka_tools.errors import InputError, NetworkError, UnsupportedVersion
from kafka_tools.protocol import error_codes
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.calls.log_dirs import LogDirs
    from kafka_tools.admin.calls.reassignments import Reassignment
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.commands.partitions.reassignment.documents import Replicas
    from kafka_tools.errors import KafkaToolsError

MOST_NAMED = 5_000
"""A broker that is asked where more partitions lie is asked for all it has: it need not look for each."""
Assignment = dict[TopicPartition, tuple[int, ...]]
"""Partition -> ids of its brokers, the preferred leader first."""


TOO_OLD = "brokers before Kafka 2.4 do not list reassignments"


def reassignments(
    admin: AdminClient, partitions: Sequence[TopicPartition] | None = None
) -> dict[TopicPartition, Reassignment] | None:
    """The reassignments under way, of some partitions or of all; None if the brokers are too old to tell (before 2.4),
    where moves between log directories and plans need no more."""
    try:
        return admin.list_partition_reassignments(partitions)
    except UnsupportedVersion:
        if admin.config.is_controllers:
            raise
        return None


def check_old_brokers(
    admin: AdminClient, wanted: Mapping[TopicPartition, Replicas], log_dirs: Collection[ReplicaPlace]
) -> None:
    """On brokers that are too old to be asked for reassignments: raise their error, which names the tool that does
    them, unless the replicas are where they are ``wanted`` and only move between ``log_dirs``."""
    if log_dirs:
        found = replicas_of_topics(admin, {partition.topic for partition in wanted}, all_exist=False)
        if all(found.get(partition) == tuple(replicas) for partition, replicas in wanted.items()):
            return
    admin.list_partition_reassignments()


def is_unknown_topic(error: KafkaToolsError) -> bool:
    """Whether a broker said that the topic does not exist."""
    return getattr(getattr(error, "code", None), "code", None) == error_codes.UNKNOWN_TOPIC_OR_PARTITION


def replicas_of_topics(admin: AdminClient, topics: Iterable[str], *, all_exist: bool = True) -> Assignment:
    """The replicas of every partition, by topic and number. Raises InputError for a topic that does not exist.

    Without ``all_exist`` a missing topic is passed over: it may have been deleted since it was listed.
    """
    found = {}
    for name, outcome in admin.describe_topics(sorted(set(topics))).items():
        if outcome.error is not None and is_unknown_topic(outcome.error):
            if not all_exist:
                continue
            error = InputError(f"Topic {name} not found.", hint="nothing was changed")
            error.item = str(name)
            raise error
        if outcome.error is not None:
            outcome.error.item = str(name)
            outcome.error.hint = outcome.error.hint or f"of topic {name}; nothing was changed"
        for partition in outcome.get().partitions:
            found[TopicPartition(str(name), partition.partition)] = partition.replicas
    return found


def replicas_of(admin: AdminClient, partitions: Collection[TopicPartition]) -> Assignment:
    """The replicas of these partitions, in their order; InputError if one does not exist."""
    described = replicas_of_topics(admin, (partition.topic for partition in partitions))
    missing = [str(partition) for partition in partitions if partition not in described]
    if missing:
        raise InputError(f"Unable to find partition: {', '.join(missing)}", hint="nothing was changed")
    return {partition: described[partition] for partition in partitions}


def missing(admin: AdminClient, partitions: Collection[TopicPartition]) -> dict[TopicPartition, KafkaToolsError]:
    """Those of the partitions that do not exist, or cannot be described, with the reason."""
    if not partitions:
        return {}
    described = admin.describe_topics(sorted({partition.topic for partition in partitions}))
    errors: dict[TopicPartition, KafkaToolsError] = {}
    for partition in partitions:
        outcome = described[partition.topic]
        if outcome.error is not None:
            errors[partition] = outcome.error
        elif all(each.partition != partition.partition for each in outcome.get().partitions):
            errors[partition] = InputError("no such partition")
    return errors


def log_dirs_of(admin: AdminClient, assignment: Mapping[TopicPartition, Replicas]) -> dict[ReplicaPlace, str]:
    """Replica -> its log directory.

    Replicas in offline directories and on brokers that are down are left out; brokers that do not answer are named on
    stderr.
    """
    alive = {node.id for node in admin.nodes()}
    wanted: dict[int, list[TopicPartition]] = {}
    for partition, replicas in assignment.items():
        for id in replicas:
            if id in alive:
                wanted.setdefault(id, []).append(partition)
    found = {}
    named = {id: partitions for id, partitions in wanted.items() if len(partitions) <= MOST_NAMED}
    # A broker that is known and does not answer must not use up the time of the whole command.
    for id, outcome in admin.describe_log_dirs(wanted, named, timeout_s=share_s(admin)).items():
        if outcome.error is not None:
            running.note(f"warning: the log directories of broker {id} are unknown and shown as any: {outcome.error}")
            continue
        note_offline(id, outcome.get())
        for path, directory in outcome.get().items():
            if directory.error is None:
                for partition, replica in directory.get().replicas.items():
                    if not replica.is_future:
                        found[ReplicaPlace(*partition, id)] = path
    return found


def note_offline(broker_id: int, directories: LogDirs) -> None:
    """Name the log directories of a broker that do not tell what lies in them."""
    for path, directory in sorted(directories.items()):
        if directory.error is not None:
            running.note(f"warning: the contents of {path} on broker {broker_id} are unknown: {directory.error}")


def is_offline(error: KafkaToolsError) -> bool:
    """Whether an error says that the log directory is offline."""
    return getattr(getattr(error, "code", None), "code", None) == error_codes.KAFKA_STORAGE_ERROR


def is_away(error: KafkaToolsError) -> bool:
    """Whether an error says that a broker was not reached, did not answer in time, or is not in the cluster now."""
    code = getattr(getattr(error, "code", None), "code", None)
    return isinstance(error, NetworkError) or code in (
        error_codes.BROKER_ID_NOT_REGISTERED,
        error_codes.REQUEST_TIMED_OUT,
    )


def share_s(admin: AdminClient) -> float:
    """Seconds for questions to each broker, so that one that does not answer leaves time for the rest."""
    return admin.deadline().left_s() / 3
