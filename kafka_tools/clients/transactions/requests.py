"""The requests of a transactional producer, each in a version that the node and the transaction protocol permit.

With version 2 of the protocol (KIP-890) the brokers add partitions and groups by themselves, and every transaction has
an epoch of its own. The versions of requests say which protocol the client speaks, so the older one needs older ones.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping

from kafka_tools.clients.groups.committed import GroupMetadata, OffsetAndMetadata
from kafka_tools.clients.producing.batch import ProducerIdentity
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_tools.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, Topic
from kafka_tools.protocol.messages.end_txn import EndTxnRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafka_tools.protocol.schema import Request
from kafka_tools.values import ZERO_UUID, TopicPartition

FEATURE = "transaction.version"
PRODUCE_BEFORE_V2, OFFSETS_BEFORE_V2, END_BEFORE_V2 = 11, 4, 4
"""Newest versions of Produce, TxnOffsetCommit and EndTxn that mean version 1 of the protocol."""
ADD_OF_CLIENTS = 3
"""Newest AddPartitionsToTxn of clients. Later versions are between brokers."""
OFFSETS_BY_ID = 6

Versioned = tuple[Request, int]
TopicIds = Callable[[str], uuid.UUID]


class TransactionRequests:
    """Builds requests. Pure."""

    def __init__(self, transactional_id: str, topic_id: TopicIds) -> None:
        self._id = transactional_id
        self._topic_id = topic_id

    def find(self, key: str, key_type: int, versions: NodeVersions) -> Request:
        """FindCoordinator of a transactional id or group."""
        if versions.newest(FindCoordinatorRequest) >= 4:
            return FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        return FindCoordinatorRequest(key=key, key_type=key_type)

    def add_partitions(
        self, identity: ProducerIdentity, partitions: Iterable[TopicPartition], versions: NodeVersions
    ) -> Versioned:
        """AddPartitionsToTxn, of version 1 of the protocol."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=identity.producer_id,
            v3_and_below_producer_epoch=identity.epoch,
            v3_and_below_topics=[Topic(name=name, partitions=numbers) for name, numbers in _by_topic(partitions)],
        )
        return request, min(versions.newest(AddPartitionsToTxnRequest), ADD_OF_CLIENTS)

    def add_offsets(self, identity: ProducerIdentity, group_id: str) -> Request:
        """AddOffsetsToTxn, of version 1 of the protocol."""
        return AddOffsetsToTxnRequest(
            transactional_id=self._id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            group_id=group_id,
        )

    def commit_offsets(
        self,
        identity: ProducerIdentity,
        group: GroupMetadata,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        is_v2: bool,
        versions: NodeVersions,
    ) -> Versioned:
        """TxnOffsetCommit, by topic id where the node takes and the metadata has them."""
        version = versions.newest(TxnOffsetCommitRequest)
        ids = {name: self._topic_id(name) for name, _ in offsets}
        if ZERO_UUID in ids.values():
            version = min(version, OFFSETS_BY_ID - 1)
        version = version if is_v2 else min(version, OFFSETS_BEFORE_V2)
        topics = []
        for name, numbers in _by_topic(offsets):
            rows = []
            for number in numbers:
                value = offsets[TopicPartition(name, number)]
                rows.append(
                    TxnOffsetCommitRequest.RequestTopic.RequestPartition(
                        partition_index=number,
                        committed_offset=value.offset,
                        committed_leader_epoch=value.leader_epoch,
                        committed_metadata=value.metadata,
                    )
                )
            topics.append(TxnOffsetCommitRequest.RequestTopic(name=name, topic_id=ids[name], partitions=rows))
        has_member = version >= 3  # before, the coordinator does not check the member (KIP-447)
        request = TxnOffsetCommitRequest(
            transactional_id=self._id,
            group_id=group.group_id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            generation_id_or_member_epoch=group.generation_id if has_member else -1,
            member_id=group.member_id if has_member else "",
            group_instance_id=group.group_instance_id if has_member else None,
            topics=topics,
        )
        return request, version

    def end(self, identity: ProducerIdentity, commit: bool, is_v2: bool, versions: NodeVersions) -> Versioned:
        """EndTxn."""
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            committed=commit,
        )
        version = versions.newest(EndTxnRequest)
        return request, version if is_v2 else min(version, END_BEFORE_V2)


def _by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    grouped: dict[str, list[int]] = {}
    for name, number in sorted(partitions):
        grouped.setdefault(name, []).append(number)
    return list(grouped.items())
