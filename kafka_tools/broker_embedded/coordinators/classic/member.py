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
    """Cancel timers; None is ignored."""
    for timer in timers:
        if timer is not None:
            timer.cancel()


class Member:
    """One member. ``awaiting_join`` and ``awaiting_sync``: its parked requests, or None. ``join_version``: the version
    of its last JoinGroup."""

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
        """The member's metadata of a protocol that it supports."""
        return metadata_for(protocol, self.protocols)

    def vote(self, candidates: set[str]) -> str:
        """The member's first choice among the candidates."""
        for name, _ in self.protocols:
            if name in candidates:
                return name
        raise ValueError("Member does not support any of the candidate protocols")

    def renamed(self, member_id: str) -> Member:
        """The same member with another id, without parked requests and without a session."""
        member = copy(self)
        member.id, member.is_new, member.join_version = member_id, False, 0
        member.awaiting_join = member.awaiting_sync = member.heartbeat = None
        return member

    @property
    def outlives_session(self) -> bool:
        """Whether the member stays when its session expires, because it has a parked join or sync.

        A new member does not stay: its client may have ended before it got its id.
        """
        return not self.is_new and (self.awaiting_join is not None or self.awaiting_sync is not None)


def metadata_for(protocol: str, protocols: Protocols) -> bytes:
    """The metadata of one of these protocols."""
    for name, metadata in protocols:
        if name == protocol:
            return metadata
    raise ValueError("Member does not support protocol")
