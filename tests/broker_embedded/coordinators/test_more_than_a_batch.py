"""What expires, or goes with its topic, with more tombstones than fit into one batch: they are written in several."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.list_transactions import ListTransactionsRequest
from tests.broker_embedded.coordinators.test_offsets import (
    SWEEP_MS,
    commit,
    delete_groups,
    fetch,
    group_ids,
    lone_member,
    stored,
)
from tests.broker_embedded.memory_broker import MemoryBroker

TOPIC = "t" * 100
COUNT = 20
"""Offsets of the topic; a batch holds seven tombstones of them."""
HOUR_MS = 3_600_000
GROUP_TOMBSTONE = (b"\x00\x02\x00\x01g", None)


@pytest.fixture
def broker() -> MemoryBroker:
    broker = MemoryBroker({
        "message.max.bytes": "1000", "offsets.retention.minutes": "60", "transaction.state.log.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
    })  # fmt: skip
    broker.create_topic(TOPIC, COUNT)
    broker.create_topic("u")
    return broker


def fill(broker: MemoryBroker, **options: Any) -> None:
    for number in range(COUNT):
        assert not any(commit(broker, {(TOPIC, number): (7, "")}, **options).values())


def rest(work: Work[None]) -> None:
    for _ in work:
        pass


def test_all_offsets_of_a_group_expire_and_the_group_ends_with_the_last(broker: MemoryBroker) -> None:
    fill(broker, generation=1, member=lone_member(broker, TOPIC))
    broker.advance(HOUR_MS + 3 * SWEEP_MS)
    assert group_ids(broker) == []
    tombstones = [each for each in stored(broker) if each[1] is None]
    assert len(tombstones) == COUNT + 1 and tombstones[-1] == GROUP_TOMBSTONE
    broker.restart()
    assert group_ids(broker) == []


def test_offsets_expire_though_the_group_stays(broker: MemoryBroker) -> None:
    fill(broker)
    broker.advance(HOUR_MS - SWEEP_MS)
    commit(broker, {("u", 0): (1, "")})
    broker.advance(2 * SWEEP_MS)
    for _ in range(2):
        assert list(fetch(broker)) == [("u", 0)]
        broker.restart()


def test_an_offset_that_is_committed_between_two_batches_of_tombstones_stays(broker: MemoryBroker) -> None:
    fill(broker)
    broker.clock.advance(HOUR_MS / 1000)
    work = broker.core.groups.removal._expire()
    while len(fetch(broker)) == COUNT:
        next(work)
    assert fetch(broker)
    commit(broker, {(TOPIC, COUNT - 1): (8, "")})
    rest(work)
    rest(broker.core.groups.removal._expire())
    for _ in range(2):
        assert fetch(broker) == {(TOPIC, COUNT - 1): (8, -1, "", 0)}
        broker.restart()


def test_offsets_of_a_deleted_topic_go_with_it(broker: MemoryBroker) -> None:
    fill(broker)
    commit(broker, {("u", 0): (1, "")})
    broker.delete_topic(TOPIC)
    broker.create_topic(TOPIC, COUNT)
    for _ in range(2):
        assert list(fetch(broker)) == [("u", 0)]
        broker.restart()


def test_an_offset_for_the_new_topic_that_is_committed_between_two_batches_stays(
    broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(broker)
    begun: list[Work[None]] = []
    with monkeypatch.context() as patched:
        patched.setattr(broker.core.slices, "begin", lambda work, done: begun.append(work))
        broker.delete_topic(TOPIC)
    broker.create_topic(TOPIC, COUNT)
    (work,) = begun
    while len(fetch(broker)) == COUNT:
        next(work)
    left = min(number for _, number in fetch(broker))
    commit(broker, {(TOPIC, left): (8, "")})
    rest(work)
    for _ in range(2):
        assert fetch(broker) == {(TOPIC, left): (8, -1, "", 0)}
        broker.restart()


def test_a_group_that_is_deleted_goes_whole_or_not_at_all(broker: MemoryBroker) -> None:
    fill(broker)
    assert delete_groups(broker, "g")["g"] != 0
    assert len(fetch(broker)) == COUNT


def test_long_transactional_ids_expire_and_hold_no_other_one_up(broker: MemoryBroker) -> None:
    broker.call(FindCoordinatorRequest(key="x", key_type=1), 1)
    for name in [*(f"{number}" + "i" * 400 for number in range(9)), "an ordinary one"]:
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1000)
        assert broker.call(request, 1).error_code == 0
    broker.advance(9 * 24 * HOUR_MS)
    for _ in range(2):
        assert broker.call(ListTransactionsRequest(), 0).transaction_states == []
        broker.restart()


@pytest.mark.parametrize("steps", range(1, 6))
def test_a_sweep_does_not_bring_a_deleted_log_back(broker: MemoryBroker, steps: int) -> None:
    for group in ("g", "h"):
        commit(broker, {("u", 0): (1, "")}, group=group)
    broker.clock.advance(HOUR_MS / 1000)
    work = broker.core.groups.removal._expire()
    for _ in range(steps):
        next(work)
    broker.delete_topic("__consumer_offsets")
    rest(work)
    assert broker.core.cluster.topic("__consumer_offsets") is None
