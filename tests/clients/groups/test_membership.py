"""The group member as a state machine: what it sends, and what each answer does to it."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_tools.clients.groups.membership import ConsumerMembership, State
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.errors import BrokerError, KafkaToolsError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.codec import decode_prefix, encode_versioned
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_tools.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka_tools.values import TopicPartition

SETTINGS = ConsumerSettings(group_id="g")


def member(**settings: Any) -> ConsumerMembership:
    membership = ConsumerMembership(SETTINGS._replace(**settings))
    membership.subscribe(["t"])
    return membership


def subscription(*topics: str) -> bytes:
    return encode_versioned(ConsumerProtocolSubscription(topics=list(topics)), 1)


def assignment(topic: str, *numbers: int) -> bytes:
    rows = [ConsumerProtocolAssignment.TopicPartition(topic=topic, partitions=list(numbers))]
    return encode_versioned(ConsumerProtocolAssignment(assigned_partitions=rows), 1)


def joined(*others: str, leader: str = "me", generation: int = 1, protocol: str = "range") -> JoinGroupResponse:
    rows = [
        JoinGroupResponse.ResponseMember(member_id=name, metadata=subscription("t", *(["u"] if name != "me" else [])))
        for name in ("me", *others)
    ]
    return JoinGroupResponse(
        generation_id=generation,
        protocol_name=protocol,
        leader=leader,
        member_id="me",
        members=rows if leader == "me" else [],
    )


def settle(membership: ConsumerMembership, now_s: float = 0.0) -> None:
    """Through join and sync as a follower with partition t-0."""
    assert isinstance(membership.next_request(now_s), JoinGroupRequest)
    membership.on_response(joined(leader="other"), now_s)
    assert isinstance(membership.next_request(now_s), SyncGroupRequest)
    membership.on_response(SyncGroupResponse(assignment=assignment("t", 0)), now_s)
    assert membership.state is State.STABLE
    assert membership.take_assignment() == [TopicPartition("t", 0)]


def test_first_join_offers_every_assignor_with_the_subscription() -> None:
    request = member().next_request(0.0)
    assert isinstance(request, JoinGroupRequest)
    assert (request.group_id, request.member_id, request.protocol_type) == ("g", "", "consumer")
    assert (request.session_timeout_ms, request.rebalance_timeout_ms) == (45_000, 300_000)
    assert [protocol.name for protocol in request.protocols] == ["range", "cooperative-sticky"]
    found, _ = decode_prefix(ConsumerProtocolSubscription, 3, request.protocols[0].metadata, 2)
    assert found.topics == ["t"]


def test_one_request_at_a_time() -> None:
    membership = member()
    assert membership.next_request(0.0) is not None
    assert membership.next_request(100.0) is None


def test_required_member_id_is_used_at_once() -> None:
    # KIP-394
    membership = member()
    membership.next_request(0.0)
    membership.on_response(JoinGroupResponse(error_code=error_codes.MEMBER_ID_REQUIRED, member_id="me"), 0.0)
    request = membership.next_request(0.0)
    assert isinstance(request, JoinGroupRequest)
    assert request.member_id == "me"


def test_leader_assigns_the_partitions_of_all_members() -> None:
    membership = member()
    membership.next_request(0.0)
    membership.on_response(joined("you"), 0.0)
    assert membership.state is State.ASSIGNING
    assert membership.group_topics == ("t", "u")
    assert membership.next_request(0.0) is None
    membership.assign({"t": 3, "u": 1})
    request = membership.next_request(0.0)
    assert isinstance(request, SyncGroupRequest)
    shares = {}
    for row in request.assignments:
        found, _ = decode_prefix(ConsumerProtocolAssignment, 3, row.assignment, 2)
        shares[row.member_id] = {each.topic: each.partitions for each in found.assigned_partitions}
    assert shares == {"me": {"t": [0, 1]}, "you": {"t": [2], "u": [0]}}


def test_leader_that_is_told_to_skip_assigns_nothing() -> None:
    # A static leader that comes back (KAFKA-13435): the old assignment stays.
    membership = member()
    membership.next_request(0.0)
    response = joined("you")
    response.skip_assignment = True
    membership.on_response(response, 0.0)
    request = membership.next_request(0.0)
    assert isinstance(request, SyncGroupRequest)
    assert request.assignments == []


def test_follower_takes_what_it_is_given() -> None:
    settle(member())


def test_subscription_and_assignment_newer_than_known_are_read() -> None:
    # KIP-429: newer versions only append fields.
    membership = member()
    membership.next_request(0.0)
    response = joined("you")
    newest = encode_versioned(ConsumerProtocolSubscription(topics=["v"]), 3)
    response.members[1].metadata = b"\x00\x09" + newest[2:] + b"more"
    membership.on_response(response, 0.0)
    assert membership.group_topics == ("t", "v")


def test_unreadable_subscription_names_group_and_member() -> None:
    membership = member()
    membership.next_request(0.0)
    response = joined("you")
    response.members[1].metadata = b"\x00\x01\xff"
    with pytest.raises(KafkaToolsError, match="group 'g': cannot read the subscription of member 'you'"):
        membership.on_response(response, 0.0)


def test_heartbeats_come_at_their_interval() -> None:
    membership = member()
    settle(membership, 10.0)
    assert membership.next_request(12.9) is None
    assert membership.wait_s(12.0) == pytest.approx(1.0)
    request = membership.next_request(13.0)
    assert isinstance(request, HeartbeatRequest)
    assert (request.generation_id, request.member_id) == (1, "me")
    membership.on_response(HeartbeatResponse(), 13.1)
    assert membership.next_request(15.9) is None
    assert isinstance(membership.next_request(16.0), HeartbeatRequest)


def test_rebalance_makes_the_member_join_again_with_its_id() -> None:
    membership = member()
    settle(membership)
    membership.next_request(5.0)
    membership.on_response(HeartbeatResponse(error_code=error_codes.REBALANCE_IN_PROGRESS), 5.0)
    assert membership.needs_rejoin
    request = membership.next_request(5.0)
    assert isinstance(request, JoinGroupRequest)
    assert (request.member_id, request.reason) == ("me", "the group is rebalancing")


@pytest.mark.parametrize(
    ("code", "member_id"), [(error_codes.UNKNOWN_MEMBER_ID, ""), (error_codes.ILLEGAL_GENERATION, "me")]
)
def test_member_that_was_put_out_starts_over(code: int, member_id: str) -> None:
    membership = member()
    settle(membership)
    membership.next_request(5.0)
    membership.on_response(HeartbeatResponse(error_code=code), 5.0)
    request = membership.next_request(5.0)
    assert isinstance(request, JoinGroupRequest)
    assert request.member_id == member_id
    assert membership.owned == []


@pytest.mark.req("CONS-39")
@pytest.mark.parametrize(
    "code", [error_codes.UNKNOWN_MEMBER_ID, error_codes.REBALANCE_IN_PROGRESS, error_codes.ILLEGAL_GENERATION]
)
def test_join_is_repeated_at_once_after_errors_of_the_moment(code: int) -> None:
    membership = member()
    membership.next_request(0.0)
    membership.on_response(JoinGroupResponse(error_code=code), 0.0)
    assert isinstance(membership.next_request(0.0), JoinGroupRequest)


@pytest.mark.req("CONS-39")
def test_join_backs_off_after_other_retriable_errors() -> None:
    membership = member()
    membership.next_request(0.0)
    membership.on_response(JoinGroupResponse(error_code=error_codes.COORDINATOR_LOAD_IN_PROGRESS), 0.0)
    assert membership.next_request(0.05) is None
    assert isinstance(membership.next_request(0.1), JoinGroupRequest)
    assert not membership.coordinator_lost


@pytest.mark.req("CONS-39")
def test_join_raises_what_no_retry_mends() -> None:
    membership = member()
    membership.next_request(0.0)
    with pytest.raises(BrokerError, match=r"GROUP_AUTHORIZATION_FAILED: .* \(group 'g'\)"):
        membership.on_response(JoinGroupResponse(error_code=error_codes.GROUP_AUTHORIZATION_FAILED), 0.0)


@pytest.mark.parametrize("code", [error_codes.NOT_COORDINATOR, error_codes.COORDINATOR_NOT_AVAILABLE])
def test_moved_coordinator_is_looked_up_again(code: int) -> None:
    membership = member()
    settle(membership)
    membership.next_request(5.0)
    membership.on_response(HeartbeatResponse(error_code=code), 5.0)
    assert membership.coordinator_lost
    assert membership.state is State.STABLE, "the generation may well survive the move"


def test_lost_connection_while_joining_joins_again_and_while_stable_does_not() -> None:
    membership = member()
    membership.next_request(0.0)
    membership.on_failure(0.0)
    assert membership.coordinator_lost
    settle(membership, 1.0)
    membership.next_request(10.0)
    membership.on_failure(10.0)
    assert membership.state is State.STABLE
    membership.next_request(50.0)
    membership.on_failure(60.0)
    assert membership.needs_rejoin, "no heartbeat was answered within the session timeout"


def test_changed_subscription_asks_for_a_rebalance() -> None:
    membership = member()
    settle(membership)
    membership.subscribe(["t"])
    assert not membership.needs_rejoin
    membership.subscribe(["t", "u"])
    assert membership.needs_rejoin


def test_join_while_a_heartbeat_is_out_waits_for_its_answer() -> None:
    membership = member()
    settle(membership)
    membership.next_request(5.0)
    membership.subscribe(["t", "u"])
    assert membership.next_request(5.0) is None
    membership.on_response(HeartbeatResponse(), 5.0)
    assert isinstance(membership.next_request(5.0), JoinGroupRequest)


def test_dynamic_member_says_goodbye_and_a_static_one_does_not() -> None:
    # KIP-345
    membership = member()
    assert membership.leave_request(5) is None, "not a member yet"
    settle(membership)
    old, new = membership.leave_request(2), membership.leave_request(5)
    assert old is not None and new is not None
    assert (old.member_id, old.members) == ("me", [])
    assert (new.member_id, new.members[0].member_id) == ("", "me")
    static = member(group_instance_id="i")
    settle(static)
    assert static.leave_request(5) is None


def test_fenced_static_member_is_told() -> None:
    membership = member(group_instance_id="i")
    settle(membership)
    membership.next_request(5.0)
    with pytest.raises(BrokerError, match="FENCED_INSTANCE_ID"):
        membership.on_response(HeartbeatResponse(error_code=error_codes.FENCED_INSTANCE_ID), 5.0)


def test_assignor_that_was_not_offered_is_refused() -> None:
    membership = member()
    membership.next_request(0.0)
    with pytest.raises(KafkaToolsError, match="chose the assignor 'sticky', which this consumer did not offer"):
        membership.on_response(joined(protocol="sticky"), 0.0)
