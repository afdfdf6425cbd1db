"""A transactional producer of the tests, and what a consumer reads of it."""

from __future__ import annotations

from typing import Any, Protocol

from kafka_tools.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_tools.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, Topic
from kafka_tools.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_tools.protocol.messages.end_txn import EndTxnRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafka_tools.protocol.schema import Request
from kafka_tools.records.batches import batches
from kafka_tools.records.control import read_marker
from kafka_tools.values import TopicPartition
from tests.broker_embedded.disk_broker import DiskBroker, fetch_request


class Peer(Protocol):
    """Whoever answers requests: a broker without listeners, or one at the other end of a connection."""

    def call(self, request: Request, version: int) -> Any: ...

    def batch(self, *values: bytes, **fields: Any) -> bytes: ...


class Client:
    """A transactional producer that does as it is told. ``bumps``: as clients of transaction version 2 do."""

    def __init__(self, broker: Peer, id: str = "tx", *, bumps: bool = False, timeout_ms: int = 60_000) -> None:
        self.broker, self.id, self.bumps, self.timeout_ms = broker, id, bumps, timeout_ms
        self.producer_id, self.epoch = -1, -1
        self.sequences: dict[TopicPartition, int] = {}
        broker.call(FindCoordinatorRequest(key=id, key_type=1), 1)

    def init(self, version: int = 5, **fields: Any) -> int:
        request = InitProducerIdRequest(transactional_id=self.id, transaction_timeout_ms=self.timeout_ms, **fields)
        answer = self.broker.call(request, version)
        if not answer.error_code:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()
        else:
            assert (answer.producer_id, answer.producer_epoch) == (-1, -1), answer
        return int(answer.error_code)

    def add(self, *partitions: int, topic: str = "t", version: int = 3) -> list[int]:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.id, v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[Topic(name=topic, partitions=list(partitions))],
        )  # fmt: skip
        (answer,) = self.broker.call(request, version).results_by_topic_v3_and_below
        assert [each.partition_index for each in answer.results_by_partition] == list(partitions)
        return [each.partition_error_code for each in answer.results_by_partition]

    def batch(self, *values: bytes, partition: int = 0, topic: str = "t", **changes: Any) -> bytes:
        at = TopicPartition(topic, partition)
        first = self.sequences.get(at, 0)
        fields = {"producer_id": self.producer_id, "producer_epoch": self.epoch, "base_sequence": first,
                  "transactional": True, **changes}  # fmt: skip
        self.sequences[at] = first + len(values)
        return self.broker.batch(*values, **fields)

    def produce(self, *values: bytes, partition: int = 0, topic: str = "t", version: int = 0, **changes: Any) -> Any:
        Data = ProduceRequest.TopicProduceData
        batch = self.batch(*values, partition=partition, topic=topic, **changes)
        data = Data(name=topic, partition_data=[Data.PartitionProduceData(index=partition, records=batch)])
        request = ProduceRequest(transactional_id=self.id, acks=-1, timeout_ms=1000, topic_data=[data])
        answer = self.broker.call(request, version or (12 if self.bumps else 9))
        return answer.responses[0].partition_responses[0]

    def end(self, commit: bool, version: int = 0) -> int:
        request = EndTxnRequest(
            transactional_id=self.id, producer_id=self.producer_id, producer_epoch=self.epoch, committed=commit
        )
        answer = self.broker.call(request, version or (5 if self.bumps else 4))
        if self.bumps and not answer.error_code:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()
        return int(answer.error_code)

    def commit_offset(self, offset: int, *, version: int = 3, group: str = "g", **fields: Any) -> int:
        Asked = TxnOffsetCommitRequest.RequestTopic
        partition = Asked.RequestPartition(partition_index=0, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id=self.id, group_id=group, producer_id=self.producer_id, producer_epoch=self.epoch,
            topics=[Asked(name="t", partitions=[partition])], **fields,
        )  # fmt: skip
        return int(self.broker.call(request, version).topics[0].partitions[0].error_code)

    def add_offsets(self, group: str = "g", version: int = 3) -> int:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.id, producer_id=self.producer_id, producer_epoch=self.epoch, group_id=group
        )
        return int(self.broker.call(request, version).error_code)

    def state(self) -> Any:
        (found,) = self.broker.call(DescribeTransactionsRequest(transactional_ids=[self.id]), 0).transaction_states
        return found


def read(broker: DiskBroker, partition: int = 0, *, committed: bool = True, topic: str = "t") -> list[bytes | None]:
    """Values as a consumer hands them out: without markers and, read committed, without what was aborted."""
    return read_from(broker, topic, partition, 0, committed=committed)[0]


def read_from(
    broker: DiskBroker, topic: str, partition: int, offset: int, *, committed: bool = True
) -> tuple[list[bytes | None], int]:
    """(values, the offset after them) of one fetch, which ends with its segment."""
    answer = broker.call(
        fetch_request(topic, offset, partition=partition, isolation_level=int(committed), max_wait_ms=0), 11
    )
    found = answer.responses[0].partitions[0]
    assert found.error_code == 0
    aborted = sorted((each.first_offset, each.producer_id) for each in found.aborted_transactions or ())
    assert committed or not aborted
    skipping: set[int] = set()
    values: list[bytes | None] = []
    for view in batches(bytes(found.records)):
        offset = view.last_offset + 1
        while aborted and aborted[0][0] <= view.last_offset:
            skipping.add(aborted.pop(0)[1])
        if view.is_control:
            marker = read_marker(view)
            assert marker is not None
            skipping.discard(view.producer_id)
        elif not (view.is_transactional and view.producer_id in skipping):
            values += [record.value for record in view.records()]
    return values, offset
