"""Server-side assignors of consumer groups (KIP-848), with the results of Kafka's.

``uniform`` and ``range`` (``GROUP_CONSUMER_ASSIGNORS``) have the same two functions: ``assign``, and ``assign_work``,
which yields in between. They know neither clock nor state: the present targets in, the next targets out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from kafka_tools.broker_embedded.slices import Work

Target = dict[UUID, frozenset[int]]
"""Topic id -> partitions of one member. Topics of which it gets nothing are left out."""


class MemberSpec(NamedTuple):
    """What an assignor is told about a member (Kafka's ``MemberSubscriptionAndAssignmentImpl``)."""

    topics: frozenset[UUID]
    """What it subscribes to: ids of topics that exist."""
    instance_id: str | None
    """``group.instance.id`` of a static member."""
    assigned: Mapping[UUID, frozenset[int]]
    """Its present target; what it had as a static member under another id, if it comes back."""


def by_subscription(members: Mapping[str, MemberSpec]) -> Work[dict[frozenset[UUID], list[str]]]:
    """Members by the set of topics that they subscribe to: one entry if all subscribe alike. Yields between members."""
    found: dict[frozenset[UUID], list[str]] = {}
    for member, spec in members.items():
        yield
        found.setdefault(spec.topics, []).append(member)
    return found
