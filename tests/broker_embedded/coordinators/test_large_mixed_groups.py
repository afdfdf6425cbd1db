"""Large groups that change their kind do so in slices, however many members they have, and at once for everybody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.broker_embedded.coordinators.classic.group import ClassicGroup
from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.headers import encode_request
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from tests.broker_embedded.coordinators.consumer_member import ModernMember, describe, state
from tests.broker_embedded.coordinators.pieces import counted
from tests.broker_embedded.coordinators.test_mixed_groups import REBALANCE_MS, SESSION_MS, OldMember, made
from tests.broker_embedded.memory_broker import Answer, MemoryBroker

MEMBERS = 300
MOST_STEPS = 15_000
"""Of the interpreter in one piece: up to forty for each member, where to convert one takes hundreds."""


def joined(broker: MemoryBroker, count: int) -> list[OldMember]:
    """The members of a stable classic group."""
    members = [OldMember(broker) for _ in range(count)]
    for member in members:
        member.join("t")
    for _ in range(2):  # the first one began without the others
        for member in members:
            member.join("t")
    group = broker.core.groups.store.groups["g"]
    for member in members:
        member.generation = group.generation
    leader = next(member for member in members if member.id == group.leader)
    assert leader.sync(**{member.id: {"t": [number]} for number, member in enumerate(members[:4])}) == codes.NONE
    assert group.state == "Stable"
    return members


def large() -> tuple[MemoryBroker, list[OldMember]]:
    broker = made()
    return broker, joined(broker, MEMBERS - 1)


def heartbeat(epoch: int) -> ConsumerGroupHeartbeatRequest:
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id="new", member_epoch=epoch)
    if not epoch:
        request.rebalance_timeout_ms, request.subscribed_topic_names = REBALANCE_MS, ["t"]
        request.topic_partitions = []
    return request


def leave() -> LeaveGroupRequest:
    return LeaveGroupRequest(group_id="g", members=[LeaveGroupRequest.MemberIdentity(member_id="new")])


def answered(broker: MemoryBroker, request: Any, version: int | None = None) -> Any:
    answer = broker.send(request, version)
    while not answer.done:
        broker.step()
    return answer.response


def sent(broker: MemoryBroker, request: Any, answer: Answer) -> Any:
    """What stands for the request while it is worked on."""
    frame = encode_request(request, 1, 1, "client")
    return broker.dispatcher.handle_frame(
        Connection("test", "PLAINTEXT", "127.0.0.1"), frame, lambda payload: setattr(answer, "response", payload)
    )


def classic_state(broker: MemoryBroker) -> str:
    return str(broker.call(DescribeGroupsRequest(groups=["g"]), 5).groups[0].group_state)


def sessions(broker: MemoryBroker) -> int:
    """How many members of the classic group have a session that will end."""
    members = broker.core.groups.store.find_as(ClassicGroup, "g").members.values()
    return sum(member.heartbeat is not None and member.heartbeat.active for member in members)


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Codecs are compiled when they are first used, which is part of no piece."""
    broker = made()
    joined(broker, 4)
    for epoch in (0, -1):
        assert not answered(broker, heartbeat(epoch), 1).error_code


@pytest.mark.parametrize("leaving", [lambda: (heartbeat(-1), 1), lambda: (leave(), 5)])
def test_groups_change_their_kind_in_slices(
    monkeypatch: pytest.MonkeyPatch, leaving: Callable[[], tuple[Any, int]]
) -> None:
    broker, members = large()
    with counted(monkeypatch) as pieces:
        assert not answered(broker, heartbeat(0), 1).error_code
    assert pieces.longest < MOST_STEPS
    assert len(describe(broker).members) == MEMBERS
    with counted(monkeypatch) as pieces:
        assert not answered(broker, *leaving()).error_code
    assert pieces.longest < MOST_STEPS
    assert (classic_state(broker), sessions(broker)) == ("PreparingRebalance", MEMBERS - 1)
    assert broker.core.groups.store.find_as(ClassicGroup, "g").members.keys() == {member.id for member in members}
    broker.advance(SESSION_MS - 1)
    assert len(broker.core.groups.store.find_as(ClassicGroup, "g").members) == MEMBERS - 1
    broker.advance(1)
    assert classic_state(broker) == "Empty", "nobody joined again"


class Turns:
    """The line of long work, which goes on when the test says so: one pause after the other."""

    def __init__(self, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch) -> None:
        self.broker = broker
        self._moment = iter(range(1_000_000_000))
        clock = broker.core.clock
        monkeypatch.setattr(clock, "monotonic_s", lambda: float(next(self._moment)) * 5e-3)  # more than a slice

    def until(self, answer: Answer) -> Iterator[int]:
        """Between one pause and the next, until there is an answer."""
        for number in range(1_000_000):
            if answer.done:
                return
            yield number
            self.broker.step()


def mixed(monkeypatch: pytest.MonkeyPatch, count: int = 3) -> tuple[MemoryBroker, list[OldMember], Turns]:
    broker = made()
    members = joined(broker, count)
    assert not ModernMember(broker, "new").join("t").error_code
    return broker, members, Turns(broker, monkeypatch)


@pytest.mark.parametrize("count", [1, 3])
def test_a_leave_that_is_overtaken_at_any_moment_leaves_one_group(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    last = 0
    for moment in range(1000):
        with monkeypatch.context() as patched:
            broker, members, turns = mixed(patched, count)
            answer = broker.send(heartbeat(-1), 1)
            for last in turns.until(answer):
                if last == moment:
                    assert members[0].leave() == codes.NONE
        assert answer.response.error_code == codes.NONE
        staying = {member.id for member in members[1 if moment <= last else 0 :]}
        assert broker.core.groups.store.groups["g"].members.keys() == staying
        broker.restart()
        assert broker.core.groups.store.groups["g"].members.keys() >= staying
        if moment > last:
            break
    assert last > 3 * count, "it took turns"


def test_a_leave_is_not_given_up_when_its_client_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = last = 0
    while moment <= last:
        with monkeypatch.context() as patched:
            broker, _, turns = mixed(patched)
            answer = Answer()
            parked = sent(broker, heartbeat(-1), answer)
            for last in turns.until(answer):
                if last == moment:
                    parked.cancel()
                if last > moment and not len(broker.core.slices):
                    break
        assert state(broker) == "GROUP_ID_NOT_FOUND", "it is a classic one"
        moment += 1
    assert last > 3 * 3


def test_a_session_that_ends_makes_the_group_classic() -> None:
    broker = made()
    members = joined(broker, 3)
    ModernMember(broker, "new").join("t")
    while broker.core.groups.store.find_as(ConsumerGroup, "g") is not None:
        broker.advance(SESSION_MS // 2)
        for member in members:
            member.join("t")
    group = broker.core.groups.store.find_as(ClassicGroup, "g")
    assert group.members.keys() == {member.id for member in members}
    assert sessions(broker) == 3


def test_a_leave_of_nobody_changes_nothing() -> None:
    """The member has changed its protocol; as in Kafka the group does so when another one leaves."""
    broker = made()
    member = OldMember(broker, "m")
    ModernMember(broker, "m").join("t")
    assert member.join("t").error_code == codes.NONE
    assert OldMember(broker, "nobody").leave() == codes.UNKNOWN_MEMBER_ID
    assert [each.member_type for each in describe(broker).members] == [0]


def test_a_group_that_cannot_be_written_stays_what_it_is() -> None:
    broker = made()
    joined(broker, 3)
    new = ModernMember(broker, "new")
    broker.fail_appends(OSError(28, "No space left on device"))
    assert new.join("t").error_code == codes.NOT_COORDINATOR
    assert classic_state(broker) == "Stable"
    broker.fail_appends(None)
    new.join("t")
    broker.fail_appends(OSError(28, "No space left on device"))
    assert new.leave().error_code == codes.NOT_COORDINATOR
    broker.fail_appends(None)
    assert len(describe(broker).members) == 4
    assert new.leave().error_code == codes.NONE
    assert classic_state(broker) == "PreparingRebalance"
