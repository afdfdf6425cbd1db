"""Work in slices that another request overtakes: what was acknowledged meanwhile is not undone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from kafka_tools.broker_embedded.coordinators.offsets import Offsets
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.values import TopicPartition
from tests.broker_embedded.coordinators.consumer_member import ModernMember, describe, settled
from tests.broker_embedded.coordinators.test_mixed_groups import OldMember
from tests.broker_embedded.memory_broker import MemoryBroker

SWEEP_MS = 20 * 60 * 1000


def made() -> MemoryBroker:
    broker = MemoryBroker({"group.initial.rebalance.delay.ms": "0", "offsets.retention.minutes": "60"})
    broker.create_topic("t", 4)
    return broker


def commit(broker: MemoryBroker, *partitions: int, offset: int = 5) -> None:
    topic = OffsetCommitRequest.RequestTopic
    asked = [topic.RequestPartition(partition_index=each, committed_offset=offset) for each in partitions]
    request = OffsetCommitRequest(
        group_id="g", generation_id_or_member_epoch=-1, topics=[topic(name="t", partitions=asked)]
    )
    (answer,) = broker.call(request, 9).topics
    assert {each.error_code for each in answer.partitions} == {codes.NONE}


def committed(broker: MemoryBroker) -> dict[int, int]:
    answer = broker.call(OffsetFetchRequest(group_id="g", topics=None), 5)
    return {each.partition_index: each.committed_offset for topic in answer.topics for each in topic.partitions}


def rest(work: Work[Any]) -> Any:
    while True:
        try:
            next(work)
        except StopIteration as over:
            return over.value


def test_an_offset_that_is_committed_while_its_group_is_deleted_goes_too() -> None:
    broker = made()
    commit(broker, 0, 1)
    work = broker.core.groups.removal.delete("g")
    next(work)
    commit(broker, 2)
    rest(work)
    assert committed(broker) == {}
    broker.restart()
    assert committed(broker) == {}


def test_an_offset_that_is_committed_anew_while_expired_ones_go_stays() -> None:
    broker = made()
    commit(broker, 0, 1)
    broker.clock.advance(2 * 3600)
    offsets: Offsets = broker.core.groups.offsets
    found = rest(offsets.expired(broker.core.groups.store.groups["g"], broker.clock.now_ms()))
    assert found == [TopicPartition("t", 0), TopicPartition("t", 1)]
    work = broker.core.groups.removal._expire()
    next(work)
    next(work)
    commit(broker, 0, offset=7)
    rest(work)
    assert committed(broker) == {0: 7, 1: 5}, "what changed meanwhile is left to the next sweep"
    broker.advance(SWEEP_MS)
    assert committed(broker) == {0: 7}
    broker.restart()
    assert committed(broker) == {0: 7}


def test_an_offset_that_is_committed_while_it_is_deleted_goes_too() -> None:
    broker = made()
    commit(broker, 0)
    work = broker.core.groups.offsets.delete("g", [TopicPartition("t", number) for number in (0, 1, 2)])
    next(work)
    commit(broker, 1)
    rest(work)
    broker.restart()
    assert committed(broker) == {}


def test_no_offset_is_for_a_new_topic_that_took_the_name_of_its_own() -> None:
    broker = made()
    broker.create_topic("many", 250)
    topic = OffsetCommitRequest.RequestTopic
    asked = [topic.RequestPartition(partition_index=each, committed_offset=5) for each in range(250)]
    request = OffsetCommitRequest(
        group_id="g", generation_id_or_member_epoch=-1, topics=[topic(name="many", partitions=asked)]
    )
    held: list[Callable[[], None]] = []
    broker.core.slices.offload = lambda run, done: held.append(lambda: done(run(), None))
    answer = broker.send(request, 9)
    broker.step()
    broker.delete_topic("many")
    broker.create_topic("many", 250)
    while held:
        held.pop()()
        broker.step()
    told = {each.error_code for each in answer.response.topics[0].partitions}
    assert told == {codes.COORDINATOR_LOAD_IN_PROGRESS}, "which every client asks again after"
    assert committed(broker) == {}
    broker.restart()
    assert committed(broker) == {}


def test_a_topic_that_is_deleted_while_an_assignment_of_it_is_computed_fails_no_heartbeat() -> None:
    """Whichever of its pauses it is deleted in: a consumer does not survive an error that it does not know."""
    for pauses in range(50):
        broker = MemoryBroker({"group.consumer.assignment.interval.ms": "0"})
        broker.create_topic("t", 4)
        broker.create_topic("other", 2)
        first = ModernMember(broker, "m1")
        first.join("t", "other")
        settled(first)
        request = ConsumerGroupHeartbeatRequest(
            group_id="g", member_id="m2", rebalance_timeout_ms=1000, subscribed_topic_names=["t", "other"],
            topic_partitions=[],
        )  # fmt: skip
        work = broker.core.groups.consumer.heartbeat(request, 1, "client", "/127.0.0.1", lambda _: True)
        is_over = len(list(islice(work, pauses))) < pauses
        broker.delete_topic("t")
        if is_over:
            break
        second = ModernMember(broker, "m2")
        second.epoch = rest(work).member_epoch
        del first.assigned["t"]
        settled(first, second)
        assert sorted([*first.assigned["other"], *second.assigned["other"]]) == [0, 1]
        assert {*first.assigned, *second.assigned} == {"other"}
    assert is_over and pauses > 5


def test_a_static_member_that_comes_back_while_its_group_is_upgraded_is_not_lost() -> None:
    broker = made()
    first = OldMember(broker, instance="i")
    first.join("t")
    assert first.sync(**{first.id: {"t": [0, 1, 2, 3]}}) == codes.NONE
    request = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", rebalance_timeout_ms=1000, subscribed_topic_names=["t"], topic_partitions=[]
    )
    work = broker.core.groups.consumer.heartbeat(request, 1, "client", "/127.0.0.1", lambda _: True)
    next(work)
    back = OldMember(broker, instance="i")
    assert back.join("t").error_code == codes.NONE
    assert back.id != first.id
    rest(work)
    assert {each.member_id for each in describe(broker).members} == {"m", back.id}
