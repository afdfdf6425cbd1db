"""Server-side assignors of consumer groups (KIP-848), with the results of Kafka's.

``uniform`` and ``range`` (``GROUP_CONSUMER_ASSIGNORS``) know neither clock nor state. ``assign`` makes the next targets
of the present ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

Target = dict[UUID, frozenset[int]]
"""Topic id -> partitions of one member. Topics of which it gets nothing are left out."""


class MemberSpec(NamedTuple):
    """An assignor's view of a member (Kafka's ``MemberSubscriptionAndAssignmentImpl``)."""

    topics: frozenset[UUID]
    """What it subscribes to: ids of topics that exist."""
    instance_id: str | None
    """``group.instance.id`` of a static member."""
    assigned: Mapping[UUID, frozenset[int]]
    """Its present target; what it had as a static member under another id, if it comes back."""
