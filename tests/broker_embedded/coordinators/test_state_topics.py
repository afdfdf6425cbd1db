"""The internal topics of coordinators are made when first needed: partition by partition, while others are served."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, TRANSACTION_STATE
from kafka_tools.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from tests.broker_embedded.coordinators.slow_start import PIECES, TickingClock
from tests.broker_embedded.disk_broker import DiskBroker

PARTITIONS = 50
Topic = OffsetCommitRequest.RequestTopic


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[DiskBroker]:
    made = DiskBroker(tmp_path / "data")
    made.core.close()
    made.clock = TickingClock(made.clock.now_ms())
    made.open()
    made.create("t")
    yield made
    made.core.close()


def commit() -> OffsetCommitRequest:
    asked = [Topic.RequestPartition(partition_index=0, committed_offset=1)]
    return OffsetCommitRequest(
        group_id="g", generation_id_or_member_epoch=-1, topics=[Topic(name="t", partitions=asked)]
    )


ASKED: list[tuple[str, Callable[[], Any], int]] = [
    (CONSUMER_OFFSETS, lambda: FindCoordinatorRequest(key="g"), 3),
    (CONSUMER_OFFSETS, lambda: FindCoordinatorRequest(coordinator_keys=["g"]), 4),
    (TRANSACTION_STATE, lambda: FindCoordinatorRequest(key="tx", key_type=1), 3),
    (CONSUMER_OFFSETS, commit, 8),
    (CONSUMER_OFFSETS, lambda: AddOffsetsToTxnRequest(transactional_id="tx", group_id="g"), 3),
    (CONSUMER_OFFSETS, lambda: JoinGroupRequest(
        group_id="g", session_timeout_ms=30_000, rebalance_timeout_ms=1, protocol_type="consumer",
        protocols=[JoinGroupRequest.RequestProtocol(name="range")],
    ), 4),
    (CONSUMER_OFFSETS, lambda: ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=0, rebalance_timeout_ms=1000, subscribed_topic_names=["t"],
        topic_partitions=[],
    ), 1),
]  # fmt: skip


@pytest.mark.parametrize(("topic", "ask", "version"), ASKED, ids=lambda value: getattr(value, "__name__", str(value)))
def test_no_piece_makes_many_partitions(broker: DiskBroker, topic: str, ask: Callable[[], Any], version: int) -> None:
    making: list[Any] = []
    make = broker.core.partitions._make

    def noted(*given: Any) -> Any:
        making.append(make(*given))
        return making[-1]

    broker.core.partitions._make = noted  # type: ignore[method-assign]
    assert isinstance(broker.clock, TickingClock)
    broker.clock.tick_s = 0.0005
    others = [Connection(f"c-{number}", "PLAINTEXT", "127.0.0.1") for number in (2, 3)]
    asked = [broker.send(ask(), version, connection) for connection in (None, *others)]
    assert 0 < len(making) <= PIECES
    while any(each.response is None for each in asked):
        before = len(making)
        broker.step()
        assert len(making) - before <= PIECES
        broker.clock.tick_s = 0.0
        assert broker.call(MetadataRequest(topics=[]), 5).brokers, "others are served"
        broker.clock.tick_s = 0.0005
    assert len(making) == PARTITIONS, "it is made once"
    expected = {codes.INVALID_PRODUCER_ID_MAPPING, codes.NOT_COORDINATOR} if version == 3 else set()
    for each in asked:
        code = getattr(each.response, "error_code", codes.NONE)
        assert code in {codes.NONE, codes.MEMBER_ID_REQUIRED, *expected}, each.response
    assert {partition.id.topic for partition in making} == {topic}


def test_a_client_that_goes_leaves_a_whole_topic(broker: DiskBroker) -> None:
    assert isinstance(broker.clock, TickingClock)
    broker.clock.tick_s = 0.0005
    pending = broker.send(FindCoordinatorRequest(key="g"), 3)
    assert pending.response is None
    for sliced in [*broker.core.slices._line, broker.core.slices._current]:
        if sliced is not None:
            broker.core.slices.cancel(sliced)
    while len(broker.core.slices):
        broker.step()
    topic = broker.core.cluster.topic(CONSUMER_OFFSETS)
    assert topic is not None
    assert len(topic.partitions) == PARTITIONS
