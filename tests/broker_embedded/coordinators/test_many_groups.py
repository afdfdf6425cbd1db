"""Answers about very many groups, or about a classic group of very many members, hold nobody up."""

from __future__ import annotations

import pytest

from kafka_tools.broker_embedded.coordinators.classic.group import STABLE
from kafka_tools.broker_embedded.coordinators.classic.member import Member
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from tests.broker_embedded.coordinators.pieces import counted
from tests.broker_embedded.memory_broker import MemoryBroker

MANY = 2500
MOST_STEPS = 60_000
"""Of the interpreter in one piece: up to twenty for each, where an answer about one takes hundreds."""


def made() -> MemoryBroker:
    broker = MemoryBroker()
    broker.call(FindCoordinatorRequest(key="g", key_type=0), 1)
    return broker


def test_groups_are_listed_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = made()
    names = [f"g-{number}" for number in range(MANY)]
    for name in reversed(names):
        broker.core.groups.store.create_simple(name)
    with counted(monkeypatch) as pieces:
        answer = broker.send(ListGroupsRequest(states_filter=["empty"], types_filter=["Classic"]))
        while not answer.done:
            broker.step()
    assert pieces.longest < MOST_STEPS
    assert [each.group_id for each in answer.response.groups] == sorted(names)
    assert {each.group_state for each in answer.response.groups} == {"Empty"}


def test_members_of_a_classic_group_are_described_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = made()
    group = broker.core.groups.store.create_simple("g")
    for number in range(MANY):
        member = Member(
            f"m{number}", instance_id=None, client_id="c", client_host="/1.2.3.4", rebalance_timeout_ms=1,
            session_timeout_ms=1, protocol_type="consumer", protocols=[("other", b""), ("range", b"%d" % number)],
            assignment=b"a%d" % number,
        )  # fmt: skip
        group.add(member)
    group.state, group.protocol = STABLE, "range"
    with counted(monkeypatch) as pieces:
        answer = broker.send(DescribeGroupsRequest(groups=["g"]))
        while not answer.done:
            broker.step()
    assert pieces.longest < MOST_STEPS
    (described,) = answer.response.groups
    found = {each.member_id: (each.member_metadata, each.member_assignment) for each in described.members}
    assert found == {f"m{number}": (b"%d" % number, b"a%d" % number) for number in range(MANY)}


def join(member_id: str, metadata: bytes = b"new") -> JoinGroupRequest:
    request = JoinGroupRequest(
        group_id="g", member_id=member_id, session_timeout_ms=10_000, rebalance_timeout_ms=60_000
    )
    request.protocol_type, request.protocols = "consumer", [request.RequestProtocol(name="range", metadata=metadata)]
    return request


def test_a_join_does_not_look_at_all_other_members(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = made()
    for _ in range(600):
        broker.send(join("", b"old"), 3)
    broker.advance(6000)
    group = broker.core.groups.store.groups["g"]
    ids = list(group.members)
    broker.send(join(ids[0]), 3)
    assert group.state == "PreparingRebalance"
    with counted(monkeypatch) as pieces:
        for member_id in ids[1:-1]:
            broker.send(join(member_id), 3)
    assert pieces.longest < 5000
    assert (group.state, group.awaiting_join_count) == ("PreparingRebalance", 599)
    broker.send(join(ids[-1]), 3)
    assert group.state == "CompletingRebalance"
