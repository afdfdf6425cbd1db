"""The classic group protocol on a clock that only the test moves (KIP-62, 134, 345, 394, 814).

Behaviour: ``GroupMetadataManager`` and ``ClassicGroup`` of Kafka 4; most cases have a counterpart in its
``GroupMetadataManagerTest``.
"""

from __future__ import annotations

from typing import Any

import pytest

from kafka_tools.broker_embedded.coordinators.classic.group import ClassicGroup
from kafka_tools.broker_embedded.coordinators.classic.member import Member
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.codec import encode_versioned
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest
from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolSubscription
from tests.broker_embedded.memory_broker import Answer, MemoryBroker

INITIAL_DELAY_MS = 3000
SESSION_MS = 10_000
REBALANCE_MS = 60_000


@pytest.fixture
def broker() -> MemoryBroker:
    return MemoryBroker({"group.initial.rebalance.delay.ms": str(INITIAL_DELAY_MS)})


def subscription(*topics: str) -> bytes:
    return encode_versioned(ConsumerProtocolSubscription(topics=list(topics)), 1)


def join(
    broker: MemoryBroker,
    member_id: str = "",
    *,
    group: str = "g",
    instance: str | None = None,
    protocols: dict[str, bytes] | None = None,
    protocol_type: str = "consumer",
    session_ms: int = SESSION_MS,
    rebalance_ms: int = REBALANCE_MS,
    version: int = 9,
) -> Answer:
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=rebalance_ms if version >= 1 else -1,
        member_id=member_id,
        group_instance_id=instance,
        protocol_type=protocol_type,
    )
    given = {"range": subscription("t")} if protocols is None else protocols
    request.protocols = [request.RequestProtocol(name=name, metadata=data) for name, data in given.items()]
    return broker.send(request, version)


def new_member(broker: MemoryBroker, **options: Any) -> tuple[str, Answer]:
    """Join as KIP-394 has it: ask for an id, join with it."""
    answer = join(broker, **options)
    assert answer.response.error_code == codes.MEMBER_ID_REQUIRED
    member_id = answer.response.member_id
    return member_id, join(broker, member_id, **options)


def sync(
    broker: MemoryBroker,
    member_id: str,
    generation: int,
    assignments: dict[str, bytes] | None = None,
    *,
    group: str = "g",
    instance: str | None = None,
    protocol: str = "range",
    version: int = 5,
) -> Answer:
    request = SyncGroupRequest(
        group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance
    )
    if version >= 5:
        request.protocol_type, request.protocol_name = "consumer", protocol
    request.assignments = [
        request.RequestAssignment(member_id=name, assignment=data) for name, data in (assignments or {}).items()
    ]
    return broker.send(request, version)


def heartbeat(broker: MemoryBroker, member_id: str, generation: int, instance: str | None = None) -> int:
    request = HeartbeatRequest(group_id="g", generation_id=generation, member_id=member_id, group_instance_id=instance)
    return int(broker.call(request).error_code)


def leave(broker: MemoryBroker, *members: tuple[str, str | None]) -> list[int]:
    request = LeaveGroupRequest(group_id="g")
    request.members = [request.MemberIdentity(member_id=m, group_instance_id=i) for m, i in members]
    return [member.error_code for member in broker.call(request).members]


def describe(broker: MemoryBroker, group: str = "g", version: int | None = None) -> Any:
    return broker.call(DescribeGroupsRequest(groups=[group]), version).groups[0]


def state(broker: MemoryBroker) -> str:
    return str(describe(broker).group_state)


def stable_group(broker: MemoryBroker, size: int = 2) -> tuple[int, list[str]]:
    """A group of ``size`` dynamic members, the first of which leads; (generation, member ids)."""
    joins = [new_member(broker) for _ in range(size)]
    until(broker, *(answer for _, answer in joins))
    generation = joins[0][1].response.generation_id
    members = [member_id for member_id, _ in joins]
    assert joins[0][1].response.leader == members[0]
    assignments = {member_id: member_id.encode() for member_id in members}
    for member_id in reversed(members):
        sync(broker, member_id, generation, assignments if member_id == members[0] else None)
    assert state(broker) == "Stable"
    return generation, members


def until(broker: MemoryBroker, *answers: Answer) -> None:
    """Let time pass until all are answered, and no longer."""
    for _ in range(1000):
        if all(answer.done for answer in answers):
            return
        broker.advance(100)
    raise AssertionError("no answer in 100 s")


# joining


@pytest.mark.req("GC-51")
def test_a_first_join_is_given_an_id_to_join_with(broker: MemoryBroker) -> None:
    answer = join(broker)
    assert answer.response.error_code == codes.MEMBER_ID_REQUIRED
    assert answer.response.member_id.startswith("client-")
    assert state(broker) == "Empty"
    again = join(broker, answer.response.member_id)
    assert not again.done
    assert state(broker) == "PreparingRebalance"


def test_before_version_4_a_join_without_id_is_taken_at_once(broker: MemoryBroker) -> None:
    answer = join(broker, version=3)
    assert not answer.done
    broker.advance(REBALANCE_MS)
    assert answer.response.error_code == codes.NONE
    assert answer.response.member_id.startswith("client-")


def test_an_id_that_is_never_used_is_forgotten_after_its_session(broker: MemoryBroker) -> None:
    member_id = join(broker).response.member_id
    broker.advance(SESSION_MS)
    assert join(broker, member_id).response.error_code == codes.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("taken", [False, True])
def test_an_id_that_was_given_in_advance_is_no_static_members(
    broker: MemoryBroker, caplog: pytest.LogCaptureFixture, taken: bool
) -> None:
    if taken:
        join(broker, instance="i1")
    member_id = join(broker).response.member_id
    answer = join(broker, member_id, instance="i1").response
    assert (answer.error_code, answer.member_id) == (codes.UNKNOWN_SERVER_ERROR, ""), "as Kafka answers it"
    assert not caplog.records
    assert len(describe(broker).members) == taken
    assert not join(broker, member_id).done, "it is taken as what it is"


@pytest.mark.parametrize(("older", "newer"), [(0, 9), (6, 7), (7, 5)])
def test_an_older_join_of_a_member_is_answered_in_its_own_version(
    broker: MemoryBroker, caplog: pytest.LogCaptureFixture, older: int, newer: int
) -> None:
    join(broker, version=3)
    (member_id,) = broker.core.groups.store.find_as(ClassicGroup, "g").members
    waiting = join(broker, member_id, version=older)
    assert not waiting.done
    join(broker, member_id, version=newer)
    assert waiting.response.error_code == codes.REBALANCE_IN_PROGRESS
    assert waiting.response.protocol_name == ("" if older < 7 else None)
    assert not caplog.records


def test_a_pending_member_holds_the_rebalance_up_until_its_session_ends(broker: MemoryBroker) -> None:
    generation, (first, second) = stable_group(broker)
    join(broker)  # asks for an id, never comes back
    rejoin = [join(broker, first), join(broker, second)]
    broker.advance(SESSION_MS - 1)
    assert not rejoin[0].done
    broker.advance(1)
    assert [answer.response.generation_id for answer in rejoin] == [generation + 1, generation + 1]


@pytest.mark.req("GC-50")
def test_only_the_leader_is_told_the_members(broker: MemoryBroker) -> None:
    leader, first = new_member(broker)
    _, second = new_member(broker)
    until(broker, first, second)
    assert [member.metadata for member in first.response.members] == [subscription("t")] * 2
    assert second.response.members == []
    assert first.response.leader == second.response.leader == leader
    assert first.response.protocol_name == "range"
    assert first.response.protocol_type == "consumer"


@pytest.mark.parametrize("version", range(10))
def test_a_lone_member_joins_in_every_version(broker: MemoryBroker, version: int) -> None:
    answer = join(broker, version=version)
    if version >= 4:
        answer = join(broker, answer.response.member_id, version=version)
    broker.advance(INITIAL_DELAY_MS)
    assert answer.response.error_code == codes.NONE
    assert answer.response.generation_id == 1


def test_in_version_0_the_session_timeout_is_the_rebalance_timeout(broker: MemoryBroker) -> None:
    join(broker, version=0)
    (member,) = broker.core.groups.store.find_as(ClassicGroup, "g").members.values()
    assert member.rebalance_timeout_ms == SESSION_MS


@pytest.mark.req("GC-52")
def test_joins_that_cannot_be_are_refused(broker: MemoryBroker) -> None:
    def error(**options: Any) -> int:
        return int(join(broker, **options).response.error_code)

    assert error(group="") == codes.INVALID_GROUP_ID
    assert error(session_ms=5999) == codes.INVALID_SESSION_TIMEOUT
    assert error(session_ms=1_800_001) == codes.INVALID_SESSION_TIMEOUT
    assert error(protocol_type="") == codes.INCONSISTENT_GROUP_PROTOCOL
    assert error(protocols={}) == codes.INCONSISTENT_GROUP_PROTOCOL
    assert error(member_id="nobody") == codes.UNKNOWN_MEMBER_ID
    assert error(member_id="nobody", group="no such group") == codes.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("version", "protocol_name"), [(6, ""), (7, None), (9, None)])
def test_a_refused_join_has_no_generation_and_no_protocol(
    broker: MemoryBroker, version: int, protocol_name: str | None
) -> None:
    response = join(broker, "nobody", version=version).response
    assert (response.generation_id, response.protocol_name, response.member_id) == (-1, protocol_name, "nobody")


def test_members_without_a_common_protocol_are_refused(broker: MemoryBroker) -> None:
    stable_group(broker, 1)
    assert join(broker, protocols={"sticky": b""}).response.error_code == codes.INCONSISTENT_GROUP_PROTOCOL
    assert join(broker, protocol_type="connect").response.error_code == codes.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.req("GC-45")
def test_the_protocol_that_most_members_like_best_is_chosen(broker: MemoryBroker) -> None:
    meta = subscription("t")
    _, first = new_member(broker, protocols={"range": meta, "roundrobin": meta, "only-mine": meta})
    new_member(broker, protocols={"roundrobin": meta, "range": meta})
    new_member(broker, protocols={"roundrobin": meta, "range": meta})
    broker.advance(REBALANCE_MS)
    assert first.response.protocol_name == "roundrobin"


@pytest.mark.req("GC-45")
def test_a_member_votes_for_its_first_protocol_that_others_have() -> None:
    protocols = [("range", b"r"), ("sticky", b"s")]
    member = Member(
        "m", instance_id=None, client_id="c", client_host="/h", rebalance_timeout_ms=1, session_timeout_ms=1,
        protocol_type="consumer", protocols=protocols,
    )  # fmt: skip
    assert (member.vote({"sticky", "range"}), member.vote({"sticky", "other"})) == ("range", "sticky")
    with pytest.raises(ValueError, match=r"^Member does not support any of the candidate protocols$"):
        member.vote({"other"})
    assert member.metadata("sticky") == b"s"
    with pytest.raises(ValueError, match=r"^Member does not support protocol$"):
        member.metadata("other")


@pytest.mark.req("GC-49")
def test_heartbeats_joins_and_syncs_of_the_wrong_member_generation_or_moment_have_their_errors(
    broker: MemoryBroker,
) -> None:
    generation, (first, second) = stable_group(broker)
    assert heartbeat(broker, first, generation + 1) == codes.ILLEGAL_GENERATION
    assert heartbeat(broker, "nobody", generation) == codes.UNKNOWN_MEMBER_ID
    assert sync(broker, first, generation + 1).response.error_code == codes.ILLEGAL_GENERATION
    assert sync(broker, "nobody", generation).response.error_code == codes.UNKNOWN_MEMBER_ID
    assert join(broker, "nobody").response.error_code == codes.UNKNOWN_MEMBER_ID
    join(broker, first, protocols={"range": subscription("u")})
    assert state(broker) == "PreparingRebalance"
    assert heartbeat(broker, second, generation) == codes.REBALANCE_IN_PROGRESS
    assert sync(broker, second, generation).response.error_code == codes.REBALANCE_IN_PROGRESS
    broker.core.authorizer = lambda *_: False
    assert heartbeat(broker, second, generation) == codes.GROUP_AUTHORIZATION_FAILED
    assert sync(broker, second, generation).response.error_code == codes.GROUP_AUTHORIZATION_FAILED
    assert join(broker, second).response.error_code == codes.GROUP_AUTHORIZATION_FAILED


@pytest.mark.req("GC-51")
def test_a_full_group_takes_nobody_in() -> None:
    broker = MemoryBroker({"group.max.size": "2", "group.initial.rebalance.delay.ms": "0"})
    generation, (first, second) = stable_group(broker)
    assert join(broker).response.error_code == codes.GROUP_MAX_SIZE_REACHED
    assert heartbeat(broker, first, generation) == codes.NONE
    assert heartbeat(broker, second, generation) == codes.NONE


# syncing


def test_followers_wait_for_the_leaders_assignment(broker: MemoryBroker) -> None:
    leader, _first = new_member(broker)
    follower, last = new_member(broker)
    until(broker, last)
    waiting = sync(broker, follower, 1)
    assert not waiting.done
    assert state(broker) == "CompletingRebalance"
    answer = sync(broker, leader, 1, {leader: b"a", follower: b"b"})
    assert (answer.response.assignment, waiting.response.assignment) == (b"a", b"b")
    assert (waiting.response.protocol_type, waiting.response.protocol_name) == ("consumer", "range")
    assert sync(broker, follower, 1).response.assignment == b"b"  # asked again, told again


def test_syncs_that_cannot_be_are_refused(broker: MemoryBroker) -> None:
    generation, (first, second) = stable_group(broker)

    def error(member_id: str, generation: int, **options: Any) -> int:
        return int(sync(broker, member_id, generation, **options).response.error_code)

    assert error(first, generation, group="") == codes.INVALID_GROUP_ID
    assert error(first, generation, group="nope") == codes.UNKNOWN_MEMBER_ID
    assert error("nobody", generation) == codes.UNKNOWN_MEMBER_ID
    assert error(first, generation + 1) == codes.ILLEGAL_GENERATION
    assert error(first, generation, protocol="sticky") == codes.INCONSISTENT_GROUP_PROTOCOL
    request = SyncGroupRequest(group_id="g", generation_id=generation, member_id=first)
    assert broker.call(request, 5).error_code == codes.INCONSISTENT_GROUP_PROTOCOL
    assert broker.call(request, 4).error_code == codes.NONE
    join(broker, first)
    assert error(second, generation) == codes.REBALANCE_IN_PROGRESS


def test_a_new_member_sends_waiting_syncs_back_to_join(broker: MemoryBroker) -> None:
    _, _ = new_member(broker)
    follower, last = new_member(broker)
    until(broker, last)
    waiting = sync(broker, follower, 1)
    new_member(broker)
    assert waiting.response.error_code == codes.REBALANCE_IN_PROGRESS
    assert state(broker) == "PreparingRebalance"


def test_members_that_never_sync_are_removed(broker: MemoryBroker) -> None:
    leader, _ = new_member(broker, session_ms=1_000_000)
    follower, _ = new_member(broker, session_ms=1_000_000)
    broker.advance(INITIAL_DELAY_MS)
    broker.advance(INITIAL_DELAY_MS)
    assert state(broker) == "CompletingRebalance"
    sync(broker, leader, 1, {leader: b"a"})
    assert state(broker) == "Stable"
    broker.advance(REBALANCE_MS)
    assert heartbeat(broker, follower, 1) == codes.UNKNOWN_MEMBER_ID
    assert heartbeat(broker, leader, 1) == codes.REBALANCE_IN_PROGRESS


def test_an_assignment_that_cannot_be_stored_is_not_given_out(broker: MemoryBroker) -> None:
    leader, _ = new_member(broker)
    broker.advance(INITIAL_DELAY_MS)
    broker.fail_appends(OSError("disk full"))
    answer = sync(broker, leader, 1, {leader: b"a"})
    assert (answer.response.error_code, answer.response.assignment) == (codes.NOT_COORDINATOR, b"")
    assert state(broker) == "PreparingRebalance"
    broker.fail_appends(None)
    again = join(broker, leader)
    assert again.response.generation_id == 2


# heartbeats and sessions


def test_heartbeats_that_cannot_be_are_refused(broker: MemoryBroker) -> None:
    generation, (first,) = stable_group(broker, 1)
    assert heartbeat(broker, "nobody", generation) == codes.UNKNOWN_MEMBER_ID
    assert heartbeat(broker, first, generation + 1) == codes.ILLEGAL_GENERATION
    assert broker.call(HeartbeatRequest(group_id="")).error_code == codes.INVALID_GROUP_ID
    assert broker.call(HeartbeatRequest(group_id="nope")).error_code == codes.UNKNOWN_MEMBER_ID


def test_a_waiting_join_or_sync_outlives_the_session(broker: MemoryBroker) -> None:
    generation, (first, second) = stable_group(broker)
    rejoin = join(broker, first, rebalance_ms=REBALANCE_MS)
    for _ in range(4):
        broker.advance(SESSION_MS - 1)
        assert heartbeat(broker, second, generation) == codes.REBALANCE_IN_PROGRESS
    assert not rejoin.done
    join(broker, second)
    assert rejoin.response.error_code == codes.NONE
    waiting = sync(broker, second, generation + 1)
    broker.advance(SESSION_MS - 1)
    assert heartbeat(broker, first, generation + 1) == codes.NONE
    broker.advance(SESSION_MS - 1)
    sync(broker, first, generation + 1, {second: b"x"})
    assert waiting.response.assignment == b"x"


def test_a_new_member_whose_join_waits_too_long_is_removed(broker: MemoryBroker) -> None:
    generation, (first,) = stable_group(broker, 1)
    _, answer = new_member(broker, rebalance_ms=10 * 60_000)
    for _ in range(31):
        broker.advance(SESSION_MS - 1)
        heartbeat(broker, first, generation)
    assert answer.response.error_code == codes.UNKNOWN_MEMBER_ID


def test_dynamic_members_that_do_not_rejoin_in_time_are_removed(broker: MemoryBroker) -> None:
    generation, (first, second, third) = stable_group(broker, 3)
    answer = join(broker, second, protocols={"range": subscription("t", "u")})
    for _ in range(7):
        broker.advance(SESSION_MS - 1)
        for member in (first, third):
            heartbeat(broker, member, generation)
    assert answer.response.error_code == codes.NONE
    assert answer.response.leader == second  # the old leader is gone
    assert [member.member_id for member in answer.response.members] == [second]


# rejoining


def test_a_follower_that_rejoins_unchanged_is_told_the_current_generation(broker: MemoryBroker) -> None:
    generation, (_, follower) = stable_group(broker)
    response = join(broker, follower).response
    assert (response.generation_id, response.members, response.skip_assignment) == (generation, [], False)
    assert state(broker) == "Stable"


def test_a_follower_with_new_metadata_and_a_rejoining_leader_rebalance(broker: MemoryBroker) -> None:
    generation, (leader, follower) = stable_group(broker)
    changed = join(broker, follower, protocols={"range": subscription("t", "u")})
    assert state(broker) == "PreparingRebalance"
    join(broker, leader)
    assert changed.response.generation_id == generation + 1
    assert state(broker) == "CompletingRebalance"


def test_a_join_repeated_while_the_assignment_is_awaited_gets_the_same_answer(broker: MemoryBroker) -> None:
    leader, first = new_member(broker)
    broker.advance(INITIAL_DELAY_MS)
    assert join(broker, leader).response == first.response


# leaving


def test_several_members_leave_with_one_answer_each(broker: MemoryBroker) -> None:
    _, (first, second) = stable_group(broker)
    pending = join(broker).response.member_id
    unknown = codes.UNKNOWN_MEMBER_ID
    answers = leave(broker, (first, None), ("nobody", None), ("", "no-instance"), (pending, None))
    assert answers == [codes.NONE, unknown, unknown, codes.NONE]
    assert state(broker) == "PreparingRebalance"
    assert join(broker, second).response.leader == second


@pytest.mark.parametrize("version", range(6))
def test_leaving_works_in_every_version(broker: MemoryBroker, version: int) -> None:
    _, (first,) = stable_group(broker, 1)
    request = LeaveGroupRequest(group_id="g")
    if version < 3:
        request.member_id = first
    else:
        request.members = [request.MemberIdentity(member_id=first)]
    response = broker.call(request, version)
    assert response.error_code == codes.NONE
    assert [member.error_code for member in response.members] == ([codes.NONE] if version >= 3 else [])
    again = broker.call(request, version)
    found = again.error_code if version < 3 else again.members[0].error_code
    assert found == codes.UNKNOWN_MEMBER_ID


def test_a_group_that_does_not_exist_cannot_be_left(broker: MemoryBroker) -> None:
    assert leave(broker, ("a", None)) == [codes.UNKNOWN_MEMBER_ID]
    assert broker.call(LeaveGroupRequest(group_id="")).error_code == codes.INVALID_GROUP_ID


# static members


def static_pair(broker: MemoryBroker) -> tuple[str, str]:
    """A stable group of the static members "a", which leads, and "b"; generation 1."""
    joins = {name: join(broker, instance=name) for name in "ab"}
    until(broker, *joins.values())
    a, b = (joins[name].response.member_id for name in "ab")
    sync(broker, b, 1, instance="b")
    sync(broker, a, 1, {a: b"for a", b: b"for b"}, instance="a")
    assert state(broker) == "Stable"
    return a, b


def test_before_version_9_a_static_leader_that_comes_back_follows(broker: MemoryBroker) -> None:
    a, _ = static_pair(broker)
    response = join(broker, instance="a", version=8).response
    assert response.leader == a != response.member_id
    assert response.members == []


def test_a_static_member_that_changes_the_protocol_rebalances(broker: MemoryBroker) -> None:
    meta = subscription("t")
    joins = {name: join(broker, instance=name, protocols={"range": meta, "rr": meta}) for name in "ab"}
    broker.advance(REBALANCE_MS)
    a = joins["a"].response.member_id
    sync(broker, a, 1, {}, instance="a")
    answer = join(broker, instance="b", protocols={"rr": meta})
    assert not answer.done
    assert state(broker) == "PreparingRebalance"


def test_a_static_member_that_comes_back_while_the_assignment_is_made_rebalances(broker: MemoryBroker) -> None:
    joins = {name: join(broker, instance=name) for name in "ab"}
    until(broker, *joins.values())
    waiting = sync(broker, joins["b"].response.member_id, 1, instance="b")
    answer = join(broker, instance="b")
    assert waiting.response.error_code == codes.FENCED_INSTANCE_ID
    assert not answer.done
    assert state(broker) == "PreparingRebalance"


def test_a_waiting_join_of_a_replaced_static_member_is_fenced(broker: MemoryBroker) -> None:
    waiting = join(broker, instance="a")
    again = join(broker, instance="a")
    assert waiting.response.error_code == codes.FENCED_INSTANCE_ID
    broker.advance(REBALANCE_MS)
    assert again.response.error_code == codes.NONE


def test_a_replacement_that_cannot_be_stored_is_undone(broker: MemoryBroker) -> None:
    _a, b = static_pair(broker)
    broker.fail_appends(OSError("disk full"))
    response = join(broker, instance="b").response
    assert response.error_code == codes.NOT_COORDINATOR
    assert heartbeat(broker, b, 1, "b") == codes.NONE
    broker.fail_appends(None)
    assert describe(broker).members[1].member_id == b


def test_static_members_that_do_not_rejoin_stay_until_their_session_ends(broker: MemoryBroker) -> None:
    joins = {name: join(broker, instance=name, session_ms=200_000) for name in "ab"}
    broker.advance(REBALANCE_MS)
    a, b = (joins[name].response.member_id for name in "ab")
    sync(broker, b, 1, instance="b")
    sync(broker, a, 1, {}, instance="a")
    rejoin = join(broker, a, instance="a", session_ms=200_000)
    broker.advance(REBALANCE_MS)
    assert {member.member_id for member in rejoin.response.members} == {a, b}


@pytest.mark.parametrize("rebalance_ms", [-(2**31), -1, 0])
@pytest.mark.parametrize("restarted", [False, True])
def test_static_members_whose_rebalances_take_no_time_are_waited_for_and_hold_nobody_up(
    broker: MemoryBroker, rebalance_ms: int, restarted: bool
) -> None:
    static_pair(broker)
    for name in "ab":
        assert join(broker, instance=name, rebalance_ms=rebalance_ms).response.error_code == codes.NONE
    if restarted:
        broker.restart()
    assert leave(broker, ("", "b")) == [codes.NONE]
    broker.advance(SESSION_MS - 1)
    assert state(broker) == "PreparingRebalance"
    assert len(broker.core.timers._heap) < 100
    broker.advance(1)
    assert state(broker) == "Empty"


# describing and listing


@pytest.mark.req("GC-1")
def test_a_group_goes_through_kafkas_states(broker: MemoryBroker) -> None:
    assert state(broker) == "Dead"
    member_id = join(broker).response.member_id
    assert state(broker) == "Empty"
    answer = join(broker, member_id)
    assert state(broker) == "PreparingRebalance"
    until(broker, answer)
    assert state(broker) == "CompletingRebalance"
    sync(broker, member_id, 1, {})
    assert state(broker) == "Stable"
    leave(broker, (member_id, None))
    assert state(broker) == "Empty"
    whole(broker.core.groups.removal.delete("g"))
    assert state(broker) == "Dead"


@pytest.mark.req("CG-6")
def test_a_described_group_shows_protocol_and_metadata_only_while_stable(broker: MemoryBroker) -> None:
    _generation, (first, _second) = stable_group(broker)
    group = describe(broker)
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    (member, _) = group.members
    assert (member.member_id, member.client_id, member.client_host) == (first, "client", "/127.0.0.1")
    assert (member.member_metadata, member.member_assignment) == (subscription("t"), first.encode())
    join(broker, first)
    group = describe(broker)
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert [m.member_metadata for m in group.members] == [b"", b""]
    assert group.members[0].member_assignment == first.encode()  # the last one, as Kafka 4 has it


def test_an_unknown_group_is_dead_and_from_version_6_on_not_found(broker: MemoryBroker) -> None:
    group = describe(broker, "nope", 5)
    assert (group.group_state, group.error_code) == ("Dead", codes.NONE)
    group = describe(broker, "nope", 6)
    assert (group.group_state, group.error_code) == ("Dead", codes.GROUP_ID_NOT_FOUND)
    assert group.error_message == "Group nope not found."


def test_groups_are_listed_by_state_and_type(broker: MemoryBroker) -> None:
    stable_group(broker, 1)
    join(broker, group="empty")

    def listed(version: int = 5, **filters: Any) -> list[tuple[str, str]]:
        groups = broker.call(ListGroupsRequest(**filters), version).groups
        return [(group.group_id, group.group_state) for group in groups]

    assert listed() == [("empty", "Empty"), ("g", "Stable")]
    assert listed(states_filter=["stable"]) == [("g", "Stable")]
    assert listed(states_filter=["Dead", "EMPTY"]) == [("empty", "Empty")]
    assert listed(types_filter=["Classic"], states_filter=["Stable"]) == [("g", "Stable")]
    assert listed(types_filter=["consumer"]) == []
    (group,) = broker.call(ListGroupsRequest(states_filter=["Stable"])).groups
    assert (group.group_type, group.protocol_type) == ("classic", "consumer")
    assert [group.group_id for group in broker.call(ListGroupsRequest(), 0).groups] == ["empty", "g"]


# the coordinator and its log


def test_the_coordinator_of_a_group_is_this_broker_and_its_topic_appears(broker: MemoryBroker) -> None:
    broker.core.registration.endpoints = {"PLAINTEXT": ("localhost", 9092)}
    response = broker.call(FindCoordinatorRequest(coordinator_keys=["g", "h"]))
    assert [(c.key, c.node_id, c.host, c.port, c.error_code) for c in response.coordinators] == [
        ("g", 1, "localhost", 9092, 0),
        ("h", 1, "localhost", 9092, 0),
    ]
    assert len(broker.core.cluster.topic("__consumer_offsets").partitions) == 3
    old = broker.call(FindCoordinatorRequest(key="g"), 1)
    assert (old.node_id, old.host, old.port, old.error_message) == (1, "localhost", 9092, "NONE")


def test_share_groups_have_no_coordinator(broker: MemoryBroker) -> None:
    for key_type, code in ((2, codes.INVALID_REQUEST), (9, codes.INVALID_REQUEST)):
        response = broker.call(FindCoordinatorRequest(coordinator_keys=["x"], key_type=key_type))
        assert response.coordinators[0].error_code == code
        old = broker.call(FindCoordinatorRequest(key="x", key_type=key_type), 2)
        assert (old.error_code, old.node_id) == (code, -1)


def test_a_replaced_static_member_is_replaced_after_a_restart_too(broker: MemoryBroker) -> None:
    static_pair(broker)
    new_id = join(broker, instance="b").response.member_id
    broker.restart()
    assert sync(broker, new_id, 1, instance="b").response.assignment == b"for b"


@pytest.mark.req("GC-26")
def test_when_the_offsets_topic_is_deleted_all_groups_go_and_waiting_members_are_told(broker: MemoryBroker) -> None:
    member_id, waiting = new_member(broker)
    broker.delete_topic("__consumer_offsets")
    broker.batches.clear()
    assert (waiting.response.error_code, waiting.response.member_id) == (codes.NOT_COORDINATOR, member_id)
    assert broker.call(ListGroupsRequest()).groups == []
    broker.advance(REBALANCE_MS)
    stable_group(broker)


def test_a_group_that_cannot_be_written_is_not_made(broker: MemoryBroker) -> None:
    broker.create_topic("__consumer_offsets")
    broker.fail_appends(OSError("disk full"))
    assert join(broker).response.error_code == codes.NOT_COORDINATOR
    assert describe(broker).group_state == "Dead"


def test_a_smaller_group_max_size_after_a_restart_rebalances_the_group(broker: MemoryBroker) -> None:
    _generation, members = stable_group(broker, 3)
    broker.properties["group.max.size"] = "2"
    broker.restart()
    assert state(broker) == "PreparingRebalance"
    answers = [join(broker, member) for member in members]
    assert answers[2].response.error_code == codes.GROUP_MAX_SIZE_REACHED
    assert [len(answer.response.members) for answer in answers[:2]] == [2, 0]
