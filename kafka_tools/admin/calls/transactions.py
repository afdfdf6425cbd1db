"""Transactions (KIP-664): list, describe, the producers of a partition, abort a hanging one, fence (KIP-360)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.calls.records import by_topic
from kafka_tools.admin.driver import AdminCall, KeysRefused, Reply
from kafka_tools.admin.lookups import CoordinatorLookup, LeaderLookup, Lookup, SameNodeLookup
from kafka_tools.clock import Deadline
from kafka_tools.net.broker_errors import broker_error
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CoordinatorType
from kafka_tools.protocol.schema import Request
from kafka_tools.values import Node, TopicPartition

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.describe_producers import DescribeProducersResponse
    from kafka_tools.protocol.messages.describe_transactions import DescribeTransactionsResponse
    from kafka_tools.protocol.messages.init_producer_id import InitProducerIdResponse
    from kafka_tools.protocol.messages.list_transactions import ListTransactionsResponse
    from kafka_tools.protocol.messages.write_txn_markers import WriteTxnMarkersResponse


class TransactionListing(NamedTuple):
    """One transactional id."""

    transactional_id: str
    producer_id: int
    state: str


class TransactionDescription(NamedTuple):
    """A transactional id's state. ``start_time_ms`` is None while no transaction is open."""

    coordinator_id: int
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_time_ms: int | None
    partitions: tuple[TopicPartition, ...]


class ProducerState(NamedTuple):
    """A producer that wrote to a partition; the last two are None where there is none."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int | None
    current_transaction_start_offset: int | None


class AbortSpec(NamedTuple):
    """The transaction of a partition to abort, as ``describe_producers`` returns it."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


class ListTransactions(AdminCall[Node, list[TransactionListing], "ListTransactionsResponse"]):
    """Node -> the transactional ids it coordinates; durations in ms, pattern a regular expression (4.1)."""

    name = "list transactions"
    lookup = SameNodeLookup()

    states: Sequence[str]
    producer_ids: Sequence[int]
    longer_than_ms: int | None
    pattern: str | None

    def build(self, keys: list[Node], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.list_transactions import ListTransactionsRequest

        versions.require(ListTransactionsRequest, 0, "listing transactions")
        if self.longer_than_ms is not None:
            versions.require(ListTransactionsRequest, 1, "listing transactions by duration")
        if self.pattern is not None:
            versions.require(ListTransactionsRequest, 2, "listing transactions by a pattern of their ids")
        return ListTransactionsRequest(
            state_filters=list(self.states),
            producer_id_filters=list(self.producer_ids),
            duration_filter=-1 if self.longer_than_ms is None else self.longer_than_ms,
            transactional_id_pattern=self.pattern,
        )

    def interpret(self, reply: Reply[Node, list[TransactionListing], ListTransactionsResponse]) -> None:
        found = [
            TransactionListing(item.transactional_id, item.producer_id, item.transaction_state)
            for item in reply.response.transaction_states
        ]
        for key in reply.keys:
            reply.take(key, reply.response.error_code, None, found)


class DescribeTransactions(AdminCall[str, TransactionDescription, "DescribeTransactionsResponse"]):
    """Transactional id -> its state, from its coordinator."""

    name = "describe transactions"
    lookup = CoordinatorLookup(CoordinatorType.TRANSACTION)

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.describe_transactions import DescribeTransactionsRequest

        versions.require(DescribeTransactionsRequest, 0, "describing transactions")
        return DescribeTransactionsRequest(transactional_ids=keys)

    def interpret(self, reply: Reply[str, TransactionDescription, DescribeTransactionsResponse]) -> None:
        for item in reply.response.transaction_states:
            partitions = sorted(
                TopicPartition(topic.topic, number) for topic in item.topics for number in topic.partitions
            )
            description = TransactionDescription(
                reply.node.id,
                item.transaction_state,
                item.producer_id,
                item.producer_epoch,
                item.transaction_timeout_ms,
                item.transaction_start_time_ms if item.transaction_start_time_ms >= 0 else None,
                tuple(partitions),
            )
            reply.take(item.transactional_id, item.error_code, None, description)


class DescribeProducers(AdminCall[TopicPartition, list[ProducerState], "DescribeProducersResponse"]):
    """Partition -> its producers, as the leader or one given broker knows them."""

    name = "describe producers"

    lookup: Lookup[TopicPartition]

    def build(self, keys: list[TopicPartition], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.describe_producers import DescribeProducersRequest

        versions.require(DescribeProducersRequest, 0, "describing producers")
        Topic = DescribeProducersRequest.TopicRequest
        topics = [Topic(name=name, partition_indexes=numbers) for name, numbers in by_topic(keys).items()]
        return DescribeProducersRequest(topics=topics)

    def interpret(self, reply: Reply[TopicPartition, list[ProducerState], DescribeProducersResponse]) -> None:
        for topic in reply.response.topics:
            for item in topic.partitions:
                key = TopicPartition(topic.name, item.partition_index)
                producers = [_producer(state) for state in item.active_producers]
                reply.take(key, item.error_code, item.error_message, producers)


def _producer(state: DescribeProducersResponse.TopicResponse.PartitionResponse.ProducerState) -> ProducerState:
    return ProducerState(
        state.producer_id,
        state.producer_epoch,
        state.last_sequence,
        state.last_timestamp,
        state.coordinator_epoch if state.coordinator_epoch >= 0 else None,
        state.current_txn_start_offset if state.current_txn_start_offset >= 0 else None,
    )


class AbortTransactions(AdminCall[TopicPartition, None, "WriteTxnMarkersResponse"]):
    """Partition -> the transaction to abort there, by writing its end marker to the leader."""

    name = "abort transactions"
    lookup = LeaderLookup()

    specs: Mapping[TopicPartition, AbortSpec]

    def build(self, keys: list[TopicPartition], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.write_txn_markers import WriteTxnMarkersRequest

        Marker = WriteTxnMarkersRequest.WritableTxnMarker
        markers = []
        for key in keys:
            spec = self.specs[key]
            topic = Marker.WritableTxnMarkerTopic(name=key.topic, partition_indexes=[key.partition])
            markers.append(
                Marker(
                    producer_id=spec.producer_id,
                    producer_epoch=spec.producer_epoch,
                    coordinator_epoch=spec.coordinator_epoch,
                    transaction_result=False,
                    topics=[topic],
                )
            )
        return WriteTxnMarkersRequest(markers=markers)

    def interpret(self, reply: Reply[TopicPartition, None, WriteTxnMarkersResponse]) -> None:
        for marker in reply.response.markers:
            for topic in marker.topics:
                for item in topic.partitions:
                    reply.take(TopicPartition(topic.name, item.partition_index), item.error_code, None, None)


class FenceProducers(AdminCall[str, tuple[int, int], "InitProducerIdResponse"]):
    """Transactional id -> the producer id and epoch that fence all producers that use it now."""

    name = "fence producers"
    lookup = CoordinatorLookup(CoordinatorType.TRANSACTION)
    per_request = 1

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest

        if not keys[0]:
            error = broker_error(error_codes.INVALID_REQUEST, "a transactional id must not be empty")
            raise KeysRefused({keys[0]: error})
        # The transaction that this opens must expire immediately: 1 ms is the shortest timeout that brokers accept.
        return InitProducerIdRequest(transactional_id=keys[0], transaction_timeout_ms=1)

    def interpret(self, reply: Reply[str, tuple[int, int], InitProducerIdResponse]) -> None:
        response = reply.response
        reply.settle(reply.keys[0], response.error_code, None, (response.producer_id, response.producer_epoch))
