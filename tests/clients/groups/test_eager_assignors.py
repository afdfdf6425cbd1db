"""Range and roundrobin as Kafka's javadoc and tests have them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.clients.groups.assignors import (
    ASSIGNORS,
    Assignment,
    SubscribedMember,
    range_assignor,
    round_robin_assignor,
)


def member(name: str, *topics: str, instance: str | None = None) -> SubscribedMember:
    return SubscribedMember(name, instance, topics)


def shown(assignment: Assignment) -> dict[str, list[str]]:
    return {name: [str(each) for each in partitions] for name, partitions in assignment.items()}


def test_range_gives_the_first_members_the_extra_partitions_of_each_topic() -> None:
    # The example in RangeAssignor's javadoc.
    members = [member("C1", "t0", "t1"), member("C0", "t0", "t1")]
    assert shown(range_assignor(members, {"t0": 3, "t1": 3})) == {
        "C0": ["t0-0", "t0-1", "t1-0", "t1-1"],
        "C1": ["t0-2", "t1-2"],
    }


def test_round_robin_deals_over_topics() -> None:
    # The first example in RoundRobinAssignor's javadoc.
    members = [member("C0", "t0", "t1"), member("C1", "t0", "t1")]
    assert shown(round_robin_assignor(members, {"t0": 3, "t1": 3})) == {
        "C0": ["t0-0", "t0-2", "t1-1"],
        "C1": ["t0-1", "t1-0", "t1-2"],
    }


def test_round_robin_skips_members_that_do_not_subscribe() -> None:
    # The second example in RoundRobinAssignor's javadoc.
    members = [member("C0", "t0"), member("C1", "t0", "t1"), member("C2", "t0", "t1", "t2")]
    assert shown(round_robin_assignor(members, {"t0": 1, "t1": 2, "t2": 3})) == {
        "C0": ["t0-0"],
        "C1": ["t1-0"],
        "C2": ["t1-1", "t2-0", "t2-1", "t2-2"],
    }


def test_static_members_come_first_by_instance_id() -> None:
    members = [member("a", "t"), member("z", "t", instance="2"), member("y", "t", instance="1")]
    assert shown(range_assignor(members, {"t": 3})) == {"y": ["t-0"], "z": ["t-1"], "a": ["t-2"]}


def test_members_sort_as_java_strings_do() -> None:
    # U+10000 is a surrogate pair in Java and so sorts before U+FFFF.
    members = [member("\uffff", "t"), member("\U00010000", "t")]
    assert shown(range_assignor(members, {"t": 2})) == {"\U00010000": ["t-0"], "\uffff": ["t-1"]}


def test_topics_that_do_not_exist_are_left_out() -> None:
    for assignor in ASSIGNORS.values():
        assert shown(assignor([member("a", "gone", "t")], {"t": 1})) == {"a": ["t-0"]}


TOPICS = st.sampled_from(["a", "b", "c"])


@given(
    st.lists(st.frozensets(TOPICS, min_size=1), min_size=1, max_size=6),
    st.dictionaries(TOPICS, st.integers(1, 9)),
    st.sampled_from(sorted(ASSIGNORS)),
)
def test_every_partition_has_exactly_one_owner_who_wants_it(
    subscriptions: list[frozenset[str]], counts: dict[str, int], name: str
) -> None:
    members = [member(f"m{number}", *sorted(topics)) for number, topics in enumerate(subscriptions)]
    assignment = ASSIGNORS[name](members, counts)
    given_out = [each for partitions in assignment.values() for each in partitions]
    wanted = {topic for topics in subscriptions for topic in topics if topic in counts}
    assert sorted(given_out) == sorted((topic, number) for topic in wanted for number in range(counts[topic]))
    for each in members:
        assert {partition.topic for partition in assignment[each.member_id]} <= set(each.topics)
