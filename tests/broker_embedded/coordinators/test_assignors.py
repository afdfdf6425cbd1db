"""The server-side assignors: every partition once, balanced, sticky. To the partition beside Kafka's classes: see
``tests/against_kafka/assignor_comparison.py``."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_tools.broker_embedded.coordinators.consumer.assignors import MemberSpec, Target, hash_order, uniform
from kafka_tools.broker_embedded.coordinators.consumer.assignors import range as by_range
from kafka_tools.broker_embedded.slices import Work, whole
from kafka_tools.texts.java_hashing import string_hash

A, B, C = (UUID(int=number << 64 | number) for number in (1, 2, 3))
Members = dict[str, MemberSpec]


def member(*topics: UUID, instance_id: str | None = None, assigned: Mapping[UUID, object] = {}) -> MemberSpec:
    had = {topic: frozenset(partitions) for topic, partitions in assigned.items()}  # type: ignore[call-overload]
    return MemberSpec(frozenset(topics), instance_id, had)


def carried_on(members: Members, targets: Mapping[str, Target]) -> Members:
    """The members, with what they were given as what they have."""
    return {name: spec._replace(assigned=targets[name]) for name, spec in members.items()}


def sizes(targets: Mapping[str, Target]) -> dict[str, int]:
    return {name: sum(map(len, target.values())) for name, target in targets.items()}


def by_range_at_once(members: Members, partitions: Mapping[UUID, int]) -> dict[str, Target]:
    return whole(by_range.assign(members, partitions))


def uniform_at_once(
    members: Members, partitions: Mapping[UUID, int], *, alike: bool | None = None
) -> dict[str, Target]:
    return whole(uniform_work(members, partitions, alike))


def uniform_work(
    members: Members, partitions: Mapping[UUID, int], alike: bool | None = None
) -> Work[dict[str, Target]]:
    """Topics that exist, with names in the order of their ids."""
    if alike is None:
        alike = len({spec.topics for spec in members.values()}) == 1
    return uniform.assign(members, partitions, {topic: f"{topic.int:039}" for topic in (A, B, C)}, alike)


def test_range_gives_consecutive_partitions_by_member_id() -> None:
    made = by_range_at_once({"b": member(A, B), "a": member(A, B), "c": member(A, B)}, {A: 7, B: 2})
    assert made == {
        "a": {A: {0, 1, 2}, B: {0}},
        "b": {A: {3, 4}, B: {1}},
        "c": {A: {5, 6}},
    }


def test_range_divides_a_topic_among_its_subscribers_only() -> None:
    made = by_range_at_once({"a": member(A), "b": member(A, B), "c": member(B)}, {A: 4, B: 3})
    assert made == {"a": {A: {0, 1}}, "b": {A: {2, 3}, B: {0, 1}}, "c": {B: {2}}}


def test_range_puts_static_members_first_so_that_they_find_their_partitions_again() -> None:
    before = by_range_at_once(
        {"z": member(A, instance_id="1"), "a": member(A), "y": member(A, instance_id="2")}, {A: 6}
    )
    after = by_range_at_once({"a": member(A), "b": member(A, instance_id="2"), "c": member(A, instance_id="1")}, {A: 6})
    assert (before["z"], before["y"], before["a"]) == ({A: {0, 1}}, {A: {2, 3}}, {A: {4, 5}})
    assert (after["c"], after["b"], after["a"]) == (before["z"], before["y"], before["a"])


def test_range_sorts_texts_by_units_of_utf_16() -> None:
    """U+1F600 comes before U+FFFD for Java, whose strings hold it as two surrogates."""
    made = by_range_at_once({chr(0xFFFD): member(A), chr(0x1F600): member(A)}, {A: 2})
    assert made[chr(0x1F600)] == {A: {0}}


def test_uniform_takes_only_what_is_too_much() -> None:
    alone = {"a": member(A, B)}
    first = uniform_at_once(alone, {A: 4, B: 2})
    assert first == {"a": {A: {0, 1, 2, 3}, B: {0, 1}}}
    second = uniform_at_once({**carried_on(alone, first), "b": member(A, B)}, {A: 4, B: 2})
    assert sizes(second) == {"a": 3, "b": 3}
    assert all(second["a"][topic] <= first["a"][topic] for topic in second["a"])
    assert uniform_at_once(carried_on({"b": member(A, B)}, second), {A: 4, B: 2}) == {"b": first["a"]}


def test_uniform_takes_topics_away_that_are_gone_or_not_wanted_any_more() -> None:
    had = {"a": member(A, assigned={A: {0}, B: {0, 1}}), "b": member(A, assigned={A: {1}})}
    assert uniform_at_once(had, {A: 2}) == {"a": {A: {0}}, "b": {A: {1}}}
    had["b"] = member(C, assigned={A: {1}})
    assert uniform_at_once(had, {A: 2, C: 1}) == {"a": {A: {0, 1}}, "b": {C: {0}}}


def test_uniform_balances_where_subscriptions_differ() -> None:
    made = uniform_at_once({"a": member(A, B), "b": member(B), "c": member(C)}, {A: 3, B: 5, C: 9})
    assert sizes(made) == {"a": 4, "b": 4, "c": 9}
    assert made["a"][A] == {0, 1, 2}


def test_who_is_told_that_names_differ_balances_although_the_topics_are_the_same() -> None:
    """Kafka counts names, also of topics that do not exist."""
    had = {name: member(A, assigned={A: {at}}) for at, name in enumerate("abc")}
    members = {**had, "d": member(A)}
    assert sizes(uniform_at_once(members, {A: 4}, alike=False)) == sizes(uniform_at_once(members, {A: 4}, alike=True))


@pytest.mark.parametrize("assign", [uniform_at_once, by_range_at_once])
def test_nobody_and_nothing(assign: object) -> None:
    assert callable(assign)
    assert assign({}, {}) == {}
    assert assign({"a": member(), "b": member()}, {}) == {"a": {}, "b": {}}
    assert assign({"a": member(A), "b": member()}, {A: 0}) == {"a": {}, "b": {}}


def test_order_of_java_s_tables() -> None:
    """As Java 17 prints it, and for a group Kafka's ``TimelineHashMap``.

    Some members have the same hash, and are in the order in which they joined.
    """
    hashes = [string_hash(text) for text in ("größe", chr(0x1F600) + "x", "member-1")]
    assert hashes == [98762257, 54959989, 2**32 - 649440834]
    table = {*range(0, 170, 17), *range(0, 64, 16)}
    assert hash_order.partitions_in_order(table) == [0, 32, 34, 68, 102, 136, 16, 48, 17, 51, 85, 119, 153]
    joined = ["orders", "payments", "refunds", "clicks", "a", "b", "aa", "BB", "Aa", "AaAa", "BBBB", "AaBB", "BBAa"]
    walked = ["aa", "BB", "Aa", "a", "b", "payments", "refunds", "x", "clicks", "y", "orders", "z"]
    in_group = ["clicks", "x", "Aa", "BB", "refunds", "aa", "b", "orders", "y", "payments", "a"]
    assert whole(hash_order.members_of_group([*joined[:9], "x", "y"])) == in_group
    assert whole(hash_order.members_in_order([*joined, "x", "y", "z"])) == [*walked, "AaAa", "BBBB", "AaBB", "BBAa"]


subscriptions = st.frozensets(st.sampled_from([A, B, C]))
counts = st.fixed_dictionaries({topic: st.integers(0, 12) for topic in (A, B, C)})
names = st.text("abcdefgh", min_size=1, max_size=3)
alike_groups = st.builds(
    lambda found, topics: dict.fromkeys(found, topics), st.sets(names, min_size=1, max_size=9), subscriptions
)
mixed_groups = st.dictionaries(names, subscriptions, min_size=1, max_size=9)
rounds = st.lists(st.tuples(st.one_of(alike_groups, mixed_groups), counts), min_size=1, max_size=5)


def whole_and_in_steps(work: Work[dict[str, Target]]) -> dict[str, Target]:
    """What it returns; it wants nothing from elsewhere."""
    while True:
        try:
            assert next(work) is None
        except StopIteration as over:
            return over.value  # type: ignore[no-any-return]


def every_partition_once(members: Members, partitions: Mapping[UUID, int], targets: Mapping[str, Target]) -> None:
    assert targets.keys() == members.keys()
    for topic in (A, B, C):
        given_away = [at for target in targets.values() for at in target.get(topic, ())]
        subscribed = [name for name, spec in members.items() if topic in spec.topics]
        assert sorted(given_away) == list(range(partitions[topic] if subscribed else 0))
        assert all(name in subscribed for name, target in targets.items() if topic in target)
    assert all(all(target.values()) for target in targets.values())


@settings(max_examples=150, deadline=None)
@given(rounds)
def test_uniform_over_rounds(told: list[tuple[dict[str, frozenset[UUID]], dict[UUID, int]]]) -> None:
    targets: dict[str, Target] = {}
    partitions = dict.fromkeys((A, B, C), 0)
    for subscribed, counted in told:
        partitions = {topic: max(count, partitions[topic]) for topic, count in counted.items()}
        members = {name: MemberSpec(topics, None, targets.get(name, {})) for name, topics in subscribed.items()}
        targets = whole_and_in_steps(uniform_work(members, partitions))
        every_partition_once(members, partitions, targets)
        has = sizes(targets)
        if len(set(subscribed.values())) == 1:
            assert max(has.values()) - min(has.values()) <= 1
            for name, spec in members.items():
                kept = {(t, p) for t, had in spec.assigned.items() if t in spec.topics for p in had}
                still = {(t, p) for t, have in targets[name].items() for p in have}
                assert len(kept & still) == min(len(kept), has[name]), "it lost what it could have kept"
        else:
            for topic in (A, B, C):
                with_it = [name for name, topics in subscribed.items() if topic in topics]
                least = min((has[name] for name in with_it), default=0)
                assert all(has[name] <= least + 1 for name in with_it if topic in targets[name])
        assert uniform_at_once(carried_on(members, targets), partitions) == targets, "nothing changed, nobody moves"


@settings(max_examples=150, deadline=None)
@given(st.one_of(alike_groups, mixed_groups), counts)
def test_range_whatever_the_group(subscribed: dict[str, frozenset[UUID]], partitions: dict[UUID, int]) -> None:
    members = {name: MemberSpec(topics, None, {}) for name, topics in subscribed.items()}
    targets = whole_and_in_steps(by_range.assign(members, partitions))
    every_partition_once(members, partitions, targets)
    for topic in (A, B, C):
        ranges = [sorted(targets[name].get(topic, ())) for name in sorted(members) if topic in members[name].topics]
        assert all(each == list(range(each[0], each[-1] + 1)) for each in ranges if each)
        assert sorted(map(len, ranges), reverse=True) == [len(each) for each in ranges]
        assert not ranges or len(ranges[0]) - len(ranges[-1]) <= 1


@pytest.mark.parametrize("alike", [True, False])
@given(st.lists(st.sets(st.integers(-1, 5)), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_present_targets_that_cannot_be_do_no_harm(alike: bool, claimed: list[set[int]]) -> None:
    """Anybody with the rights may have written them: one partition for two members, or one that does not exist."""
    members = {f"m{at}": member(A, assigned={A: wanted}) for at, wanted in enumerate(claimed)}
    if not alike:
        members["other"] = member(A, B)
    made = uniform_at_once(members, {A: 4, B: 1})
    owned = [partition for target in made.values() for partition in target.get(A, ())]
    if not alike:
        assert sorted(owned) == [0, 1, 2, 3]
