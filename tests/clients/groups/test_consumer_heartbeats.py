"""The member of a KIP-848 group as a state machine: what it sends, and what each response does to it."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from kafka_tools.clients.groups.consumer_heartbeats import ConsumerHeartbeats
from kafka_tools.clients.groups.heartbeats import MemberState
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kafka_tools.values import TopicPartition

SETTINGS = ConsumerSettings(group_id="g", is_new_protocol=True)
T, U = uuid.UUID(int=1), uuid.UUID(int=2)
NAMES = {T: "t", U: "u"}
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def member(**settings: Any) -> ConsumerHeartbeats:
    found = ConsumerHeartbeats(SETTINGS._replace(**settings))
    found.subscribe(("t",))
    return found


def answer(epoch: int, target: dict[uuid.UUID, list[int]] | None = None) -> ConsumerGroupHeartbeatResponse:
    assignment = None
    if target is not None:
        rows = [TopicPartitions(topic_id=topic_id, partitions=numbers) for topic_id, numbers in target.items()]
        assignment = ConsumerGroupHeartbeatResponse.Assignment(topic_partitions=rows)
    return ConsumerGroupHeartbeatResponse(
        member_id=None, member_epoch=epoch, heartbeat_interval_ms=5_000, assignment=assignment
    )


def refusal(code: int, message: str | None = None) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=code, error_message=message)


def sent(found: ConsumerHeartbeats, now_s: float) -> ConsumerGroupHeartbeatRequest:
    request = found.next_request(now_s)
    assert request is not None
    return request


def settle(
    found: ConsumerHeartbeats, owned: list[TopicPartition], target: dict[uuid.UUID, list[int]], now_s: float = 0.0
) -> None:
    """Through a heartbeat that brings ``target``, its reconciliation and its acknowledgement."""
    sent(found, now_s)
    found.on_response(answer(found.epoch + 1, target), now_s)
    found.learn(NAMES)
    change = found.change(owned)
    assert change is not None
    found.apply(change)
    assert sent(found, now_s).topic_partitions is not None
    found.on_response(answer(found.epoch), now_s)
    assert found.state is MemberState.STABLE


def test_join_has_epoch_0_everything_that_was_configured_and_no_partitions() -> None:
    request = sent(member(client_rack="r", remote_assignor="range", group_instance_id="i"), 0.0)
    assert (request.group_id, request.member_epoch, request.instance_id, request.rack_id) == ("g", 0, "i", "r")
    assert len(request.member_id) == 22, "a random UUID, which the member chooses (KIP-1082)"
    assert (request.rebalance_timeout_ms, request.server_assignor) == (300_000, "range")
    assert (request.subscribed_topic_names, request.subscribed_topic_regex) == (["t"], None)
    assert request.topic_partitions == []


def test_heartbeats_follow_the_interval_of_the_coordinator_and_say_only_what_changed() -> None:
    found = member()
    settle(found, [], {T: [0]})
    assert found.next_request(4.9) is None
    assert found.wait_s(4.0) == pytest.approx(1.0)
    request = sent(found, 5.0)
    assert (request.member_epoch, request.rebalance_timeout_ms) == (1, -1)
    assert (request.subscribed_topic_names, request.topic_partitions) == (None, None)
    assert found.next_request(50.0) is None, "one at a time"


def test_target_is_revoked_assigned_and_then_acknowledged() -> None:
    found = member()
    settle(found, [], {T: [0, 1]})
    sent(found, 5.0)
    found.on_response(answer(2, {T: [1], U: [0]}), 5.0)
    assert found.state is MemberState.RECONCILING
    found.learn(NAMES)
    change = found.change([T0, T1])
    assert change is not None
    assert (change.revoked, change.added, change.assigned) == ([T0], [U0], [T1, U0])
    assert found.next_request(6.0) is None, "nothing to say before the change is complete"
    found.apply(change)
    request = sent(found, 6.0)
    assert request.member_epoch == 2
    assert request.topic_partitions is not None
    assert {row.topic_id: row.partitions for row in request.topic_partitions} == {T: [1], U: [0]}
    assert found.state is MemberState.STABLE


def test_target_that_changes_while_it_is_applied_is_reconciled_again() -> None:
    found = member()
    settle(found, [], {T: [0]})
    sent(found, 5.0)
    found.on_response(answer(2, {T: [0, 1]}), 5.0)
    change = found.change([T0])
    assert change is not None
    sent(found, 10.0)
    found.on_response(answer(3, {T: [1]}), 10.0)
    found.apply(change)
    sent(found, 10.0)
    assert found.state is MemberState.RECONCILING
    following = found.change([T0, T1])
    assert following is not None and following.revoked == [T0]


def test_topic_that_the_metadata_does_not_know_yet_waits_and_the_others_do_not() -> None:
    # Trap: the broker's expression assigns a topic before the client's metadata has its name.
    found = ConsumerHeartbeats(SETTINGS)
    found.subscribe_regex("t|u")
    sent(found, 0.0)
    found.on_response(answer(1, {T: [0], U: [0]}), 0.0)
    found.learn({})
    assert found.unnamed == {T, U}
    first = found.change([])
    assert first is None, "no name is known, so nothing can be assigned"
    found.learn({T: "t"})
    change = found.change([])
    assert change is not None and change.assigned == [T0]
    found.apply(change)
    request = sent(found, 1.0)
    assert request.topic_partitions is not None
    assert [row.topic_id for row in request.topic_partitions] == [T]
    assert found.state is MemberState.RECONCILING
    found.on_response(answer(1), 1.0)
    assert found.change([T0]) is None
    assert found.next_request(1.1) is None, "and no heartbeat goes round and round meanwhile"
    found.learn(NAMES)
    rest = found.change([T0])
    assert rest is not None and (rest.added, rest.revoked) == ([U0], [])


@pytest.mark.parametrize("code", [error_codes.FENCED_MEMBER_EPOCH, error_codes.UNKNOWN_MEMBER_ID])
def test_fenced_member_drops_its_partitions_and_joins_with_epoch_0_and_none(code: int) -> None:
    # Trap: a join with epoch 0 that names partitions is refused.
    found = member()
    settle(found, [], {T: [0]})
    member_id = found.member_id
    sent(found, 5.0)
    found.on_response(refusal(code), 5.0)
    assert found.must_drop
    assert found.next_request(6.0) is None, "not before the partitions were dropped"
    found.rejoin()
    request = sent(found, 6.0)
    assert (request.member_epoch, request.member_id, request.topic_partitions) == (0, member_id, [])
    assert request.subscribed_topic_names == ["t"]


def test_response_to_a_heartbeat_of_the_earlier_membership_is_ignored() -> None:
    found = member()
    settle(found, [], {T: [0]})
    sent(found, 5.0)
    found.lapse()
    found.rejoin()
    assert found.next_request(5.0) is None, "one at a time"
    found.on_response(answer(7, {T: [0]}), 5.1)
    assert (found.epoch, found.state) == (0, MemberState.JOINING)
    assert sent(found, 5.1).member_epoch == 0


def test_expression_is_sent_to_the_broker_and_taken_back() -> None:
    found = ConsumerHeartbeats(SETTINGS)
    found.subscribe_regex("t.*")
    request = sent(found, 0.0)
    assert (request.subscribed_topic_regex, request.subscribed_topic_names) == ("t.*", [])
    found.on_response(answer(1, {}), 0.0)
    assert found.state is MemberState.STABLE
    found.subscribe(("u",))
    request = sent(found, 1.0)
    assert (request.subscribed_topic_regex, request.subscribed_topic_names) == ("", ["u"])
    found.on_response(answer(1), 1.0)
    assert sent(found, 6.0).subscribed_topic_regex is None


def test_members_leave_with_minus_1_and_static_ones_with_minus_2() -> None:
    assert member().leave_request() is not None
    for instance_id, epoch in ((None, -1), ("i", -2)):
        found = member(group_instance_id=instance_id)
        settle(found, [], {T: [0]})
        request = found.leave_request()
        assert request is not None
        assert (request.member_epoch, request.instance_id, request.topic_partitions) == (epoch, instance_id, None)
        assert found.leave_request() is None


def test_everything_is_sent_again_after_a_heartbeat_without_response() -> None:
    found = member()
    settle(found, [], {T: [0]})
    sent(found, 5.0)
    found.on_failure(6.0)
    assert found.coordinator_lost
    assert found.next_request(6.05) is None
    request = sent(found, 11.0)
    assert (request.member_epoch, request.rebalance_timeout_ms) == (1, 300_000)
    assert request.topic_partitions is not None
    assert request.topic_partitions[0].partitions == [0]


@pytest.mark.parametrize(
    ("code", "lost"),
    [
        (error_codes.NOT_COORDINATOR, True),
        (error_codes.COORDINATOR_NOT_AVAILABLE, True),
        (error_codes.COORDINATOR_LOAD_IN_PROGRESS, False),
    ],
)
def test_coordinator_that_moves_or_loads_costs_no_partition(code: int, lost: bool) -> None:
    found = member()
    settle(found, [], {T: [0]})
    sent(found, 5.0)
    found.on_response(refusal(code), 5.0)
    assert (found.coordinator_lost, found.state, found.epoch) == (lost, MemberState.STABLE, 1)
    assert found.next_request(5.05) is None
    assert sent(found, 10.0).member_epoch == 1


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        (error_codes.UNRELEASED_INSTANCE_ID, "another member uses this group.instance.id"),
        (error_codes.UNSUPPORTED_VERSION, "set group.protocol=classic"),
        (error_codes.UNSUPPORTED_ASSIGNOR, "set group.remote.assignor"),
        (error_codes.INVALID_REGULAR_EXPRESSION, ""),
        (error_codes.GROUP_AUTHORIZATION_FAILED, ""),
    ],
)
def test_errors_that_no_retry_mends_are_raised_and_end_the_membership(code: int, hint: str) -> None:
    found = member()
    sent(found, 0.0)
    with pytest.raises(BrokerError, match=r"in words.* \(group 'g'\)") as caught:
        found.on_response(refusal(code, "in words"), 0.0)
    assert hint in (caught.value.hint or "")
    assert found.failure is caught.value
    assert found.next_request(100.0) is None


def test_missing_right_to_a_topic_is_raised_but_the_member_stays() -> None:
    found = member()
    settle(found, [], {T: [0]})
    sent(found, 5.0)
    with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
        found.on_response(refusal(error_codes.TOPIC_AUTHORIZATION_FAILED), 5.0)
    assert found.state is MemberState.STABLE
    assert sent(found, 10.0).member_epoch == 1


def test_member_that_is_not_polled_leaves_and_joins_again_at_the_next_poll() -> None:
    # KIP-62: max.poll.interval.ms
    found = member()
    settle(found, [], {T: [0]})
    request = found.leave_request()
    assert request is not None and request.member_epoch == -1
    found.lapse()
    assert found.next_request(20.0) is None
    assert (found.must_drop, found.is_member) == (True, False)
    found.rejoin()
    assert sent(found, 30.0).member_epoch == 0


def test_nothing_joins_while_nobody_polls() -> None:
    found = member()
    assert (found.next_beat(0.0), found.beat_in_s(0.0)) == (None, float("inf"))
    settle(found, [], {T: [0]})
    assert found.beat_in_s(1.0) == pytest.approx(4.0)
    assert found.next_beat(5.0) is not None


def test_commit_with_a_stale_epoch_asks_for_the_new_one_at_once() -> None:
    found = member()
    settle(found, [], {T: [0]})
    assert found.next_request(1.0) is None
    assert found.fence(error_codes.STALE_MEMBER_EPOCH)
    assert sent(found, 1.0).member_epoch == 1
    assert not found.fence(error_codes.REBALANCE_IN_PROGRESS)


def test_topic_that_was_created_again_is_revoked_and_added() -> None:
    found = member()
    settle(found, [], {T: [0]})
    sent(found, 5.0)
    found.on_response(answer(2, {U: [0]}), 5.0)
    found.learn({U: "t"})
    change = found.change([T0])
    assert change is not None
    assert (change.revoked, change.added) == ([T0], [T0])


def test_empty_assignment_makes_the_member_stable() -> None:
    found = member()
    sent(found, 0.0)
    found.on_response(answer(1, {}), 0.0)
    assert found.state is MemberState.STABLE
