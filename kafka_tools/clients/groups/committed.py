"""Requests for the committed offsets of a group and their responses, by topic name or by topic id.

A member of a consumer group (KIP-848) commits with its epoch, and names topics by id where the broker and the metadata
can (OffsetCommit and OffsetFetch 10). Follows ``CommitRequestManager`` and ``ConsumerCoordinator`` of Kafka's Java
client.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kafka_tools.errors import InputError, UnsupportedVersion
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_tools.values import ZERO_UUID, TopicPartition, check_keys

TOPIC_IDS_VERSION = 10
"""First OffsetCommit and OffsetFetch that name topics by id."""
MEMBER_EPOCH_VERSION = 9
"""First OffsetCommit and OffsetFetch for members with an epoch."""
NO_GENERATION = -1
TOPIC_GONE = (error_codes.UNKNOWN_TOPIC_ID, error_codes.UNKNOWN_TOPIC_OR_PARTITION)

TopicIds = Callable[[str], uuid.UUID]
"""Topic name -> id, the zero uuid if it is not known."""


class OffsetAndMetadata(NamedTuple):
    """A committed offset: the next one to read, the leader epoch of the record before it (-1: not known)."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


class GroupMetadata(NamedTuple):
    """The consumer whose offsets a transaction commits. Without ``member_id`` the group does not check who it is."""

    group_id: str
    generation_id: int = -1
    """Generation, or epoch of a member of a consumer group (KIP-848)."""
    member_id: str = ""
    group_instance_id: str | None = None


Committed = dict[TopicPartition, OffsetAndMetadata | None]


class OffsetCommitter(NamedTuple):
    """Who commits or asks. Without member id: a consumer that assigns its partitions itself.

    ``epoch`` is the generation of a classic member, or the member epoch if ``has_member_epoch``.
    """

    group_id: str
    member_id: str = ""
    epoch: int = NO_GENERATION
    instance_id: str | None = None
    has_member_epoch: bool = False


def commit_request(
    versions: NodeVersions,
    by: OffsetCommitter,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    topic_ids: TopicIds,
) -> tuple[OffsetCommitRequest, int]:
    """The request and its version. Raises UnsupportedVersion for a member epoch that the broker does not know."""
    rows: dict[str, list[OffsetCommitRequest.RequestTopic.RequestPartition]] = {}
    for (name, number), committed in sorted(offsets.items()):
        rows.setdefault(name, []).append(
            OffsetCommitRequest.RequestTopic.RequestPartition(
                partition_index=number,
                committed_offset=committed.offset,
                committed_leader_epoch=committed.leader_epoch,
                committed_metadata=committed.metadata,
            )
        )
    ids = {name: topic_ids(name) for name in rows}
    request = OffsetCommitRequest(
        group_id=by.group_id,
        generation_id_or_member_epoch=by.epoch,
        member_id=by.member_id,
        group_instance_id=by.instance_id,
        topics=[
            OffsetCommitRequest.RequestTopic(name=name, topic_id=ids[name], partitions=rows[name]) for name in rows
        ],
    )
    return request, _version(versions.newest(OffsetCommitRequest), by, ids)


def commit_codes(response: OffsetCommitResponse, names: Mapping[uuid.UUID, str]) -> list[tuple[TopicPartition, int]]:
    """(partition, error code) of every partition."""
    return [
        (
            TopicPartition(topic.name or names.get(topic.topic_id, str(topic.topic_id)), row.partition_index),
            row.error_code,
        )
        for topic in response.topics
        for row in topic.partitions
    ]


def fetch_request(
    versions: NodeVersions, by: OffsetCommitter, partitions: Iterable[TopicPartition], topic_ids: TopicIds
) -> tuple[OffsetFetchRequest, int]:
    """The request and its version."""
    wanted: dict[str, list[int]] = {}
    for name, number in sorted(partitions):
        wanted.setdefault(name, []).append(number)
    ids = {name: topic_ids(name) for name in wanted}
    version = _version(versions.newest(OffsetFetchRequest), by, ids)
    if version < 8:
        topics = [OffsetFetchRequest.RequestTopic(name=name, partition_indexes=wanted[name]) for name in wanted]
        return OffsetFetchRequest(group_id=by.group_id, topics=topics, require_stable=version >= 7), version
    group = OffsetFetchRequest.RequestGroup(
        group_id=by.group_id,
        topics=[
            OffsetFetchRequest.RequestGroup.RequestTopics(name=name, topic_id=ids[name], partition_indexes=wanted[name])
            for name in wanted
        ],
    )
    if by.has_member_epoch and by.epoch > 0:
        group.member_id, group.member_epoch = by.member_id, by.epoch
    return OffsetFetchRequest(groups=[group], require_stable=True), version


class FetchedOffsets(NamedTuple):
    """What an OffsetFetch found. ``code``: an error, of ``about`` (None: of the group).

    A partition whose topic is gone is neither in ``offsets`` nor an error: the others count.
    """

    offsets: Committed
    code: int = 0
    about: TopicPartition | None = None


def fetched(response: OffsetFetchResponse, version: int, names: Mapping[uuid.UUID, str]) -> FetchedOffsets:
    """Read a response."""
    group = response.groups[0] if version >= 8 and response.groups else response
    if group.error_code:
        return FetchedOffsets({}, group.error_code)
    found: Committed = {}
    for topic in group.topics:
        topic_id = getattr(topic, "topic_id", ZERO_UUID)
        for row in topic.partitions:
            topic_partition = TopicPartition(topic.name or names.get(topic_id, str(topic_id)), row.partition_index)
            if row.error_code in TOPIC_GONE:
                continue
            if row.error_code:
                return FetchedOffsets(found, row.error_code, topic_partition)
            found[topic_partition] = (
                OffsetAndMetadata(row.committed_offset, row.committed_leader_epoch, row.metadata or "")
                if row.committed_offset >= 0
                else None
            )
    return FetchedOffsets(found)


def _version(newest: int, by: OffsetCommitter, ids: Mapping[str, uuid.UUID]) -> int:
    if by.has_member_epoch and newest < MEMBER_EPOCH_VERSION:
        raise UnsupportedVersion(
            "the coordinator does not know member epochs",
            hint="set group.protocol=classic until the brokers support the protocol of KIP-848",
        )
    # Classic members name topics, as Java's do.
    can_use_ids = by.has_member_epoch and ZERO_UUID not in ids.values()
    return newest if can_use_ids else min(newest, TOPIC_IDS_VERSION - 1)


def checked_offsets(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> dict[TopicPartition, OffsetAndMetadata]:
    """The offsets to commit. Raises InputError for another type and for an offset below 0."""
    check_keys("offsets", offsets, "TopicPartition")
    for topic_partition, value in offsets.items():
        if not isinstance(value, OffsetAndMetadata):
            raise InputError(f"{topic_partition}: expected OffsetAndMetadata, not {type(value).__name__}")
        if not isinstance(value.offset, int) or value.offset < 0:
            raise InputError(f"{topic_partition}: invalid offset {value.offset!r}: expected an integer from 0 on")
    return dict(offsets)


def committing(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> str:
    """What a commit of ``offsets`` does, in Kafka's words."""
    return "committing offsets " + ", ".join(f"{key}={value.offset}" for key, value in offsets.items())
