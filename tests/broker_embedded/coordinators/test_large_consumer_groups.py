"""Large consumer groups and expressions over many topics take turns with everybody else's requests."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.broker_embedded.coordinators.consumer_member import ModernMember, describe, state
from tests.broker_embedded.memory_broker import MemoryBroker

MEMBERS = 60
PARTITIONS = 3000


def pauses(work: Work[Any]) -> int:
    """How often work lets others go first."""
    count = 0
    for _ in work:
        count += 1
    return count


def heartbeat(broker: MemoryBroker, member_id: str, may_describe: Callable[[str], bool] = lambda _: True) -> Work[Any]:
    """A join, in slices."""
    request = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id=member_id, rebalance_timeout_ms=1000, subscribed_topic_names=["t"], topic_partitions=[]
    )
    work: Work[Any] = broker.core.groups.consumer.heartbeat(request, 1, "client", "/127.0.0.1", may_describe)
    return work


def test_target_of_a_large_group_is_computed_in_slices() -> None:
    broker = MemoryBroker({"group.consumer.assignment.interval.ms": "0"})
    broker.create_topic("t", PARTITIONS)
    for number in range(MEMBERS):
        pauses(heartbeat(broker, f"m{number}"))
    longest_s, began_s = 0.0, time.thread_time()
    work = heartbeat(broker, "last")
    count = 0
    for _ in work:
        longest_s = max(longest_s, time.thread_time() - began_s)
        began_s = time.thread_time()
        count += 1
    assert count > MEMBERS
    assert longest_s < 0.25, "of processor time: some ten milliseconds, but for a collection of garbage"
    assert len(describe(broker).members) == MEMBERS + 1


def test_step_that_another_one_overtakes_begins_anew() -> None:
    broker = MemoryBroker({"group.consumer.assignment.interval.ms": "0"})
    broker.create_topic("t", 4)
    ModernMember(broker, "any", "another").join("t")  # which makes the log of groups
    slow = heartbeat(broker, "slow")
    next(slow)
    quick = ModernMember(broker, "quick")
    quick.join("t")
    assert quick.epoch == 2
    try:
        while True:
            next(slow)
    except StopIteration as over:
        assert over.value.member_epoch == 3
    assert {each.member_id for each in describe(broker).members} == {"slow", "quick"}
    quick.beat()
    assert len(quick.assigned["t"]) == 2


def test_step_that_is_overtaken_again_and_again_ends_all_the_same() -> None:
    broker = MemoryBroker({"group.consumer.assignment.interval.ms": "0"})
    broker.create_topic("t", 4)
    quick = ModernMember(broker, "quick")
    ModernMember(broker, "any", "another").join("t")  # which makes the log of groups
    slow = heartbeat(broker, "slow")
    answered = False
    for number in range(100):
        try:
            next(slow)
        except StopIteration:
            answered = True
            break
        quick.join("t", rebalance_timeout_ms=1000 + number)
    assert answered


def test_expression_over_many_topics_is_resolved_between_requests() -> None:
    broker = MemoryBroker()
    for number in range(300):
        broker.create_topic(f"topic-{number}")
    member = ModernMember(broker, "m")
    assert member.join(regex="topic-.*9").error_code == 0
    assert state(broker) == "Stable", "with nothing, until it is known what matches"
    while len(broker.core.slices):
        assert ModernMember(broker, "other", "another").join("topic-1").error_code == 0
        broker.advance(0)
    broker.advance(1000)
    member.beat()
    assert len(member.assigned) == 30


def test_topics_that_may_not_be_described_are_not_matched() -> None:
    broker = MemoryBroker()
    broker.create_topic("shown")
    broker.create_topic("hidden")
    request = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", rebalance_timeout_ms=1000, subscribed_topic_regex=".*", topic_partitions=[]
    )
    pauses(broker.core.groups.consumer.heartbeat(request, 1, "client", "/h", lambda name: name == "shown"))
    broker.advance(1000)
    member = ModernMember(broker, "m")
    member.epoch = describe(broker).members[0].member_epoch
    member.beat()
    assert list(member.assigned) == ["shown"]
