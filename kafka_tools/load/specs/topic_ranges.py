"""Topics of a workload: names with numeric ranges (``foo[1-3]``), their partitions and how to create them.

Source: Trogdor's ``TopicsSpec``, ``PartitionsSpec`` and ``StringExpander``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from kafka_tools.errors import InputError
from kafka_tools.load.specs.members import JsonMembers

MOST_NAMES = 10_000
MOST_PARTITIONS = 100_000
DEFAULT_REPLICATION_FACTOR = 3
_RANGE = re.compile(r"(.*)\[([0-9]{1,9})-([0-9]{1,9})\](.*)", re.DOTALL)


def expand(name: str, place: str) -> list[str]:
    """The names that a name with ranges stands for, in order. Raises InputError for too many and for empty ranges."""
    match = _RANGE.fullmatch(name)
    if match is None:
        return [name]
    before, low, high, after = match[1], int(match[2]), int(match[3]), match[4]
    if high < low:
        raise InputError(f"{place}: invalid range in '{name}': the end is below the start")
    firsts = expand(before, place)
    if len(firsts) * (high - low + 1) > MOST_NAMES:
        raise InputError(f"{place}: invalid range in '{name}': more than {MOST_NAMES} names")
    return [f"{first}{number}{after}" for first in firsts for number in range(low, high + 1)]


@dataclass(frozen=True)
class TopicLayout:
    """How a topic is created. ``assignment``: the broker ids of each partition, in place of the two numbers."""

    partitions: int
    replication_factor: int
    assignment: tuple[tuple[int, ...], ...] = ()
    configs: dict[str, str] = field(default_factory=dict)


Topics = dict[str, TopicLayout]
"""Name, without ranges -> layout."""


def read_topics(members: JsonMembers, name: str) -> Topics:
    """The topics in the member ``name``: an object of names (with ranges) and their partitions. Raises InputError."""
    inner = members.inner(name)
    if inner is None:
        return {}
    topics: Topics = {}
    for given in inner.names():
        layout = _layout(JsonMembers(inner.raw(given) or {}, f"{inner.place}: {given}"))
        topics |= dict.fromkeys(expand(given, inner.place), layout)
    if sum(layout.partitions for layout in topics.values()) > MOST_PARTITIONS:
        raise InputError(f"{inner.place}: more than {MOST_PARTITIONS} partitions")
    return topics


def _layout(members: JsonMembers) -> TopicLayout:
    partitions = members.whole("numPartitions", low=-1, high=MOST_PARTITIONS)
    replication_factor = members.whole("replicationFactor", low=-1, high=32767)
    assignment = _assignment(members)
    configs = members.settings("configs")
    members.end()
    return TopicLayout(
        len(assignment) or max(1, partitions),
        replication_factor if replication_factor > 0 else DEFAULT_REPLICATION_FACTOR,
        assignment,
        configs,
    )


def _assignment(members: JsonMembers) -> tuple[tuple[int, ...], ...]:
    inner = members.inner("partitionAssignments")
    if inner is None:
        return ()
    found: dict[int, tuple[int, ...]] = {}
    for name in inner.names():
        brokers = inner.raw(name)
        if not name.isdecimal() or not isinstance(brokers, list) or not all(map(_is_id, brokers)):
            raise inner.refuse(name, "a partition number and a list of broker ids")
        found[int(name)] = tuple(brokers)
    if sorted(found) != list(range(len(found))):
        raise InputError(f"{inner.place}: the partitions must be numbered from 0")
    return tuple(found[number] for number in range(len(found)))


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def read_partitions(members: JsonMembers, name: str) -> dict[str, tuple[int, ...]]:
    """Topics to read in the member ``name``: a list of ``topic`` and ``topic:partition``, with ranges in both.

    An empty tuple stands for all partitions.
    """
    found: dict[str, set[int]] = {}
    for given in members.texts(name):
        for each in expand(given, members.place):
            topic, colon, partition = each.partition(":")
            if not topic or (colon and not (partition.isdecimal() and len(partition) < 10)):
                raise InputError(f"{members.place}: invalid {name} '{given}': expected topic or topic:partition")
            found.setdefault(topic, set()).update({int(partition)} if colon else ())
    return {topic: tuple(sorted(partitions)) for topic, partitions in found.items()}
