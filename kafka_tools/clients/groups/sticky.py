"""The sticky assignors of a classic group's leader: balanced, and with as few partitions moved as that allows.

``cooperative-sticky`` (KIP-429) gives a partition to its new owner only in the rebalance after the one in which the old
owner gave it up. The rules are those of ``AbstractStickyAssignor`` and ``CooperativeStickyAssignor`` of Kafka's Java
client, without racks. Who gets which partition may differ where their rules leave a choice; only the leader chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafka_tools.clients.groups.assignors import ASSIGNORS, Assignment, Assignor, SubscribedMember
from kafka_tools.errors import WireError
from kafka_tools.protocol.codec import decode, encode
from kafka_tools.protocol.schema import Stored, Struct, array, int32, string
from kafka_tools.values import TopicPartition


def sticky_assignor(members: Sequence[SubscribedMember], partition_counts: Mapping[str, int]) -> Assignment:
    """Every partition to a subscriber; no member has two more than another that could have one of them.

    ``partition_counts``: topic -> number of partitions; topics without a row do not exist and are skipped.
    """
    subscribers = _subscribers(members)
    held = _still_valid(members, subscribers, partition_counts)
    every = [
        TopicPartition(topic, number)
        for topic in sorted(subscribers)
        for number in range(partition_counts.get(topic, 0))
    ]
    every.sort(key=lambda each: (len(subscribers[each.topic]), each))
    owner = {each: member_id for member_id, owned in held.items() for each in owned}
    count = {member.member_id: len(held[member.member_id]) for member in members}
    for each in every:
        if each not in owner:
            owner[each] = min(subscribers[each.topic], key=lambda member_id: (count[member_id], member_id))
            count[owner[each]] += 1
    _balance(every, owner, count, subscribers)
    assignment: Assignment = {member.member_id: [] for member in members}
    for each in sorted(every):
        assignment[owner[each]].append(each)
    return assignment


def cooperative_sticky_assignor(members: Sequence[SubscribedMember], partition_counts: Mapping[str, int]) -> Assignment:
    """As ``sticky_assignor``, but without the partitions that another member has to give up first."""
    assignment = sticky_assignor(members, partition_counts)
    given_up = {each for member in members for each in set(member.owned).difference(assignment[member.member_id])}
    for member in members:
        owned = set(member.owned)
        assignment[member.member_id] = [
            each for each in assignment[member.member_id] if each in owned or each not in given_up
        ]
    return assignment


def _subscribers(members: Sequence[SubscribedMember]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for member in members:
        for topic in set(member.topics):
            found.setdefault(topic, []).append(member.member_id)
    return found


def _still_valid(
    members: Sequence[SubscribedMember], subscribers: Mapping[str, list[str]], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """Member id -> what it may keep. Of two claims the later generation counts, and neither of the same one."""
    claims: dict[TopicPartition, tuple[int, str | None]] = {}
    for member in members:
        for each in set(member.owned):
            exists = 0 <= each.partition < partition_counts.get(each.topic, 0)
            if not exists or member.member_id not in subscribers.get(each.topic, ()):
                continue
            generation, _ = claims.get(each, (None, None))
            if generation is None or member.generation > generation:
                claims[each] = (member.generation, member.member_id)
            elif member.generation == generation:
                claims[each] = (generation, None)
    held: dict[str, list[TopicPartition]] = {member.member_id: [] for member in members}
    for each, (_, member_id) in claims.items():
        if member_id is not None:
            held[member_id].append(each)
    return held


def _balance(
    every: Iterable[TopicPartition],
    owner: dict[TopicPartition, str],
    count: dict[str, int],
    subscribers: Mapping[str, list[str]],
) -> None:
    """Move partitions to subscribers that have at least two fewer. Ends: each move makes the counts more equal."""
    moved = True
    while moved:
        moved = False
        for each in every:
            least = min(subscribers[each.topic], key=lambda member_id: (count[member_id], member_id))
            if count[owner[each]] > count[least] + 1:
                count[owner[each]] -= 1
                count[least] += 1
                owner[each] = least
                moved = True


EVERY_ASSIGNOR: dict[str, Assignor] = {
    **ASSIGNORS,
    "sticky": sticky_assignor,
    "cooperative-sticky": cooperative_sticky_assignor,
}
"""Protocol name in JoinGroup -> assignor."""


class StickyUserData(Stored, versions="0-1"):
    """What a member of ``sticky`` sends with its subscription. v1: adds the generation."""

    class Assigned(Struct):
        topic = string()
        partitions = array(int32())

    # The partitions that the member had.
    previous_assignment = array(Assigned)
    # The generation in which it got them. -1: not known.
    generation = int32(versions="1+", default=-1, ignorable=True)


class CooperativeUserData(Stored, versions="0"):
    """What a member of ``cooperative-sticky`` sends with its subscription; it has its partitions elsewhere."""

    # The generation in which the member got its partitions. -1: none.
    generation = int32(default=-1)


def user_data(assignor: str, owned: Iterable[TopicPartition], generation: int) -> bytes | None:
    """The user data of a subscription for an assignor; None if it needs none."""
    if assignor == "cooperative-sticky":
        return encode(CooperativeUserData(generation=generation), 0)
    grouped: dict[str, list[int]] = {}
    for topic, number in sorted(owned):
        grouped.setdefault(topic, []).append(number)
    if assignor != "sticky" or not grouped:
        return None
    rows = [StickyUserData.Assigned(topic=topic, partitions=numbers) for topic, numbers in grouped.items()]
    return encode(StickyUserData(previous_assignment=rows, generation=generation), 1)


def sticky_claim(data: bytes | None) -> tuple[tuple[TopicPartition, ...], int]:
    """(partitions, generation) of a member of ``sticky``. Unreadable data claims nothing, as in Java."""
    for version in (1, 0):
        try:
            found = decode(StickyUserData, version, data or b"")
        except WireError:
            continue
        partitions = (
            TopicPartition(row.topic, number) for row in found.previous_assignment for number in row.partitions
        )
        return tuple(partitions), found.generation
    return (), -1


def cooperative_generation(data: bytes | None) -> int:
    """The generation of a member of ``cooperative-sticky``; -1 for unreadable data, as in Java."""
    try:
        return decode(CooperativeUserData, 0, data or b"").generation
    except WireError:
        return -1
