"""Commits of very many offsets: made in slices between which others are served, and bounded before they are built."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.errors import DecodeError
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.codec import encode_into, encoder
from kafka_tools.protocol.headers import RequestHeader
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from tests.broker_embedded.disk_broker import DiskBroker
from tests.broker_embedded.transactional_client import Client

FEW = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}
LONG = "x" * 40_000
TOO_MANY = 40_000
"""Offsets whose records are larger together than a batch may be."""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[DiskBroker]:
    made = DiskBroker(tmp_path / "data", FEW)
    made.create("t", 1)
    yield made
    made.core.close()


def commit_of(count: int) -> OffsetCommitRequest:
    Topic = OffsetCommitRequest.RequestTopic
    asked = [Topic.RequestPartition(partition_index=0, committed_offset=each) for each in range(count)]
    return OffsetCommitRequest(
        group_id="g", generation_id_or_member_epoch=-1, topics=[Topic(name="t", partitions=asked)]
    )


def answer_to(broker: DiskBroker, request: Any, version: int) -> tuple[Any, int]:
    """The answer, and how often others were served before it was there."""
    pending, turns = broker.send(request, version), 0
    while pending.response is None:
        turns += 1
        broker.advance(0)
    return pending.response, turns


def committed(broker: DiskBroker) -> int:
    answer = broker.call(OffsetFetchRequest(group_id="g", topics=None), 5)
    return answer.topics[0].partitions[0].committed_offset if answer.topics else -1


def codes_of(answer: Any) -> set[int]:
    return {each.error_code for topic in answer.topics for each in topic.partitions}


def test_of_a_partition_that_is_named_often_the_last_offset_is_committed_in_slices(broker: DiskBroker) -> None:
    answer, turns = answer_to(broker, commit_of(5_000), 2)
    assert (codes_of(answer), len(answer.topics[0].partitions)) == ({codes.NONE}, 5_000)
    assert turns > 0
    assert committed(broker) == 4_999


def test_a_commit_that_no_batch_can_hold_is_refused_before_it_is_built(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def built(*_: object, **__: object) -> bytes:
        raise AssertionError("a batch was built")

    monkeypatch.setattr("kafka_tools.records.build.build_batch", built)
    answer, _ = answer_to(broker, commit_of(TOO_MANY), 2)
    assert codes_of(answer) == {codes.INVALID_COMMIT_OFFSET_SIZE}
    assert committed(broker) == -1


def test_the_same_holds_in_a_transaction(broker: DiskBroker) -> None:
    broker.call(commit_of(1), 2)  # which makes the topic of offsets
    client = Client(broker, bumps=True)
    client.init()
    Topic = TxnOffsetCommitRequest.RequestTopic
    for count, code in ((5_000, codes.NONE), (TOO_MANY, codes.INVALID_COMMIT_OFFSET_SIZE)):
        asked = [Topic.RequestPartition(partition_index=0, committed_offset=each) for each in range(count)]
        request = TxnOffsetCommitRequest(
            transactional_id="tx", group_id="g", producer_id=client.producer_id, producer_epoch=client.epoch,
            topics=[Topic(name="t", partitions=asked)],
        )  # fmt: skip
        answer, turns = answer_to(broker, request, 5)
        assert codes_of(answer) == {code}
        assert turns > 0
    client.end(commit=True)
    assert committed(broker) == 4_999


@pytest.mark.parametrize(
    ("ask", "version"),
    [
        (lambda: OffsetCommitRequest(group_id=LONG, generation_id_or_member_epoch=-1, topics=commit_of(1).topics), 8),
        (lambda: JoinGroupRequest(group_id=LONG, session_timeout_ms=10_000, group_instance_id="i",
                                  protocol_type="consumer",
                                  protocols=[JoinGroupRequest.RequestProtocol(name="range")]), 6),
        (lambda: InitProducerIdRequest(transactional_id=LONG, transaction_timeout_ms=1000), 5),
        (lambda: ConsumerGroupHeartbeatRequest(group_id="g", member_id=LONG, member_epoch=0, topic_partitions=[],
                                               rebalance_timeout_ms=1000, subscribed_topic_names=["t"]), 1),
    ],
)  # fmt: skip
def test_names_that_no_record_can_hold_are_not_even_taken(
    broker: DiskBroker, ask: Callable[[], Any], version: int
) -> None:
    request, frame = ask(), bytearray()
    encode_into(RequestHeader(request_api_key=request.API_KEY, request_api_version=version), 2, frame)
    encoder(type(request), version, True, False)(request, frame)
    with pytest.raises(DecodeError, match="claims 40000 bytes, more than 32767"):
        broker.dispatcher.handle_frame(broker.connection, bytes(frame), print)
    assert not broker.core.groups.store.groups
