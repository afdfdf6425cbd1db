"""What a member may change again and again stays in memory once: a group lives for months, and its members are free."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.headers import encode_request
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest
from tests.broker_embedded.disk_broker import DiskBroker

LONG = 10_000
TIMES = 150
ROUND_ABOUT = 50_000
"""Bytes that come and go with anything."""


@pytest.fixture
def broker(tmp_path: Path) -> DiskBroker:
    made = DiskBroker(tmp_path / "data", {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"})
    made.create("t", 2)
    made.call(FindCoordinatorRequest(key="g"), 3)
    return made


def long(number: int) -> str:
    return f"{number:06}".ljust(LONG, "x")


def beat(broker: DiskBroker, member: str, epoch: int = 0, **fields: Any) -> Any:
    joins = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": ["t"], "topic_partitions": []}
    asked = {**(joins if epoch == 0 else {}), **fields}
    return broker.call(ConsumerGroupHeartbeatRequest(group_id="g", member_id=member, member_epoch=epoch, **asked), 1)


def as_client(broker: DiskBroker, client_id: str) -> None:
    request = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=0, rebalance_timeout_ms=30_000, subscribed_topic_names=["t"],
        topic_partitions=[],
    )  # fmt: skip
    frame = memoryview(bytearray(encode_request(request, 1, 7, client_id)))
    broker.dispatcher.handle_frame(broker.connection, frame, lambda payload: None)


def joined(broker: DiskBroker, member_id: str = "", **fields: Any) -> Any:
    """A classic member that is alone joins, and syncs; the answer to its join."""
    Protocol = JoinGroupRequest.RequestProtocol
    metadata = (
        b"\0\0\0\0\0\1\0\1t" + len(fields.get("user_data", b"")).to_bytes(4, "big") + fields.pop("user_data", b"")
    )
    request = JoinGroupRequest(
        group_id="c", session_timeout_ms=30_000, rebalance_timeout_ms=30_000, protocol_type="consumer",
        member_id=member_id, protocols=[Protocol(name=fields.pop("name", "range"), metadata=metadata)], **fields,
    )  # fmt: skip
    pending = broker.send(request, 5)
    broker.step()
    answer = pending.response
    if not answer.error_code:
        sync = SyncGroupRequest(group_id="c", generation_id=answer.generation_id, member_id=answer.member_id)
        broker.send(sync, 4)
    return answer


MODERN: dict[str, Callable[[DiskBroker, int], object]] = {
    "instance id": lambda b, n: beat(b, "m", instance_id=long(n)),
    "instance id of many members": lambda b, n: (
        beat(b, f"m{n}", instance_id=long(n)), beat(b, f"m{n}", -1, instance_id=long(n))
    ),
    "instance id that moves": lambda b, n: (
        beat(b, f"m{n % 2}", instance_id=long(n // 2)), beat(b, f"m{n % 2}", -2, instance_id=long(n // 2))
    ),
    "rack id": lambda b, n: beat(b, "m", rack_id=long(n)),
    "client id": lambda b, n: as_client(b, long(n)),
    "topics": lambda b, n: beat(b, "m", subscribed_topic_names=[long(n)]),
    "expression": lambda b, n: (
        beat(b, "m", subscribed_topic_names=None, subscribed_topic_regex=f"a{n:06}" + "b" * 500), b.step()
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", MODERN)
def test_what_a_member_of_a_consumer_group_changes_stays_once(broker: DiskBroker, what: str) -> None:
    assert beat(broker, "keeps").error_code == 0
    change = MODERN[what]
    size = 500 if what == "expression" else LONG
    assert grown_bytes(broker, change) < TIMES * size / 4 + ROUND_ABOUT
    group = broker.core.groups.store.find_as(ConsumerGroup, "g")
    assert group is not None and len(group.members) <= 3 and len(group.expressions) <= 1
    assert len(group.static_members) <= 2


def test_what_a_classic_member_changes_stays_once(broker: DiskBroker) -> None:
    member = joined(broker).member_id
    assert joined(broker, member).error_code == 0
    assert grown_bytes(broker, lambda b, n: joined(b, member, user_data=long(n).encode())) < TIMES * LONG / 4
    assert joined(broker, member, group_instance_id="i").error_code == codes.UNKNOWN_MEMBER_ID


def grown_bytes(broker: DiskBroker, change: Callable[[DiskBroker, int], object]) -> int:
    """How many bytes more the process has after many changes than after a few."""
    for number in range(10):
        change(broker, number)
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(10, 10 + TIMES):
            change(broker, number)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
