"""One member of a group of the classic protocol (``ClassicGroupMember`` of Kafka 4)."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.purgatory import Parked
    from kafka_tools.broker_embedded.timers import Timer

Protocols = list[tuple[str, bytes]]
"""The protocols of a member: (name, metadata), in its order of preference."""


def stop(*timers: Timer | None) -> None:
    """Cancel those that run."""
    for timer in timers:
        if timer is not None:
            timer.cancel()


class Member:
    """One member. ``awaiting_join`` and ``awaiting_sync`` are its parked requests, None when it waits for nothing;
    ``join_version`` is the version of its last JoinGroup."""

    def __init__(
        self,
        member_id: str,
        *,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        protocols: Protocols,
        assignment: bytes = b"",
    ) -> None:
        self.id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.assignment = assignment
        self.is_new = False
        self.join_version = 0
        self.awaiting_join: Parked | None = None
        self.awaiting_sync: Parked | None = None
        self.heartbeat: Timer | None = None

    def metadata(self, protocol: str) -> bytes:
        """What the member said for a protocol it supports."""
        return metadata_for(protocol, self.protocols)

    def vote(self, candidates: set[str]) -> str:
        """The member's first choice among the candidates."""
        for name, _ in self.protocols:
            if name in candidates:
                return name
        raise ValueError("Member does not support any of the candidate protocols")

    def renamed(self, member_id: str) -> Member:
        """The same member with another id, which has neither requests nor a session yet."""
        member = copy(self)
        member.id, member.is_new, member.join_version = member_id, False, 0
        member.awaiting_join = member.awaiting_sync = member.heartbeat = None
        return member

    @property
    def outlives_session(self) -> bool:
        """Whether an expired session leaves the member: its join or sync is what the group waits for.

        A new member is not spared: it may have gone away without ever learning its id.
        """
        return not self.is_new and (self.awaiting_join is not None or self.awaiting_sync is not None)


def metadata_for(protocol: str, protocols: Protocols) -> bytes:
    """What a member with these protocols says for one of them."""
    for name, metadata in protocols:
        if name == protocol:
            return metadata
    raise ValueError("Member does not support protocol")
