"""The sticky assignors: everything assigned, balanced, few moves; and no partition at two members in a rebalance."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.clients.groups.assignors import Assignment, SubscribedMember
from kafka_tools.clients.groups.sticky import (
    cooperative_generation,
    cooperative_sticky_assignor,
    sticky_assignor,
    sticky_claim,
    user_data,
)
from kafka_tools.values import TopicPartition

COUNTS = {"a": 3, "b": 2, "c": 1}
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def after(members: list[SubscribedMember], assignment: Assignment, generation: int) -> list[SubscribedMember]:
    return [
        member._replace(owned=tuple(assignment[member.member_id]), generation=generation)
        for member in members
        if member.member_id in assignment
    ]


def numbers(assignment: Assignment) -> dict[str, list[int]]:
    return {name: [each.partition for each in partitions] for name, partitions in assignment.items()}


@st.composite
def groups(draw: st.DrawFn) -> list[SubscribedMember]:
    names = draw(st.lists(st.sampled_from("klmnopq"), min_size=1, max_size=5, unique=True))
    topics = st.lists(st.sampled_from("abcx"), min_size=1, unique=True).map(tuple)
    partitions = st.lists(st.tuples(st.sampled_from("abcx"), st.integers(0, 4)), max_size=6)
    return [
        SubscribedMember(
            name,
            None,
            draw(topics),
            tuple(TopicPartition(*each) for each in draw(partitions)),
            draw(st.integers(-1, 2)),
        )
        for name in names
    ]


@given(groups())
def test_whatever_members_claim_everything_is_assigned_once_and_balanced(members: list[SubscribedMember]) -> None:
    assignment = sticky_assignor(members, COUNTS)
    topics = {member.member_id: set(member.topics) for member in members}
    every = [TopicPartition(topic, n) for topic, count in COUNTS.items() for n in range(count)]
    expected = sorted(each for each in every if any(each.topic in names for names in topics.values()))
    assert sorted(each for owned in assignment.values() for each in owned) == expected
    for name, owned in assignment.items():
        assert {each.topic for each in owned} <= topics[name]
        for other, others in assignment.items():
            could_take = [each for each in owned if each.topic in topics[other]]
            assert not could_take or len(owned) <= len(others) + 1


@given(groups())
def test_balanced_group_stays_as_it_is(members: list[SubscribedMember]) -> None:
    first = sticky_assignor(members, COUNTS)
    assert sticky_assignor(after(members, first, 5), COUNTS) == first
    assert cooperative_sticky_assignor(after(members, first, 5), COUNTS) == first


@given(groups())
def test_cooperative_gives_nothing_away_that_another_member_still_has(members: list[SubscribedMember]) -> None:
    members = after(members, sticky_assignor(members, COUNTS), 5)
    joined = [*members, SubscribedMember("new", None, ("a", "b", "c"))]
    first = cooperative_sticky_assignor(joined, COUNTS)
    for member in joined:
        gets = set(first[member.member_id])
        for other in joined:
            assert other is member or not gets & set(other.owned)
    second = cooperative_sticky_assignor(after(joined, first, 6), COUNTS)
    assert second == sticky_assignor(joined, COUNTS), "complete after the second rebalance"


def test_member_that_joins_takes_only_its_share() -> None:
    members = [SubscribedMember(name, None, ("t",)) for name in "AB"]
    first = sticky_assignor(members, {"t": 6})
    assert numbers(first) == {"A": [0, 2, 4], "B": [1, 3, 5]}
    joined = [*after(members, first, 1), SubscribedMember("C", None, ("t",))]
    assert numbers(sticky_assignor(joined, {"t": 6})) == {"A": [2, 4], "B": [3, 5], "C": [0, 1]}


def test_claim_of_a_later_generation_counts_and_two_of_the_same_cancel() -> None:
    # KAFKA-12984, KIP-792
    late = SubscribedMember("B", None, ("t",), (T0,), 4)
    early = SubscribedMember("A", None, ("t",), (T0, T1), 3)
    assert numbers(sticky_assignor([early, late], {"t": 2})) == {"A": [1], "B": [0]}
    same = late._replace(owned=(T0, T1), generation=3)
    assert numbers(sticky_assignor([early, same], {"t": 2})) == {"A": [0], "B": [1]}


def test_user_data_is_that_of_kafkas_classes() -> None:
    written = user_data("sticky", [U0, T1, T0], 7)
    assert written is not None
    assert written.hex() == "00000002000174000000020000000000000001000175000000010000000000000007"
    assert sticky_claim(written) == ((T0, T1, U0), 7)
    assert sticky_claim(written[:-4]) == ((T0, T1, U0), -1), "version 0 has no generation"
    assert user_data("cooperative-sticky", [T0], 7) == b"\0\0\0\7"
    assert cooperative_generation(b"\0\0\0\7") == 7
    assert (user_data("range", [T0], 7), user_data("sticky", [], 7)) == (None, None)


def test_unreadable_user_data_claims_nothing() -> None:
    assert sticky_claim(b"\x7f\xff\xff\xff") == ((), -1)
    assert sticky_claim(None) == ((), -1)
    assert cooperative_generation(b"\1") == -1
