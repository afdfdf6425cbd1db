"""Server-side assignors of consumer groups (KIP-848), with the results of Kafka's.

``uniform`` and ``range`` (``GROUP_CONSUMER_ASSIGNORS``) have neither clock nor state. ``assign`` computes the next
targets from the present ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

Target = dict[UUID, frozenset[int]]
"""Topic id -> partitions of one member. Topics without partitions are omitted."""


class MemberSpec(NamedTuple):
    """An assignor's view of a member (Kafka's ``MemberSubscriptionAndAssignmentImpl``)."""

    topics: frozenset[UUID]
    """Its subscription: ids of topics that exist."""
    instance_id: str | None
    """``group.instance.id`` of a static member."""
    assigned: Mapping[UUID, frozenset[int]]
    """Its present target. For a returning static member, the target of its previous member id."""
