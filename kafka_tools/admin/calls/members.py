"""Make members leave a group on their behalf (KIP-345, KIP-571)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.driver import AdminCall, Reply
from kafka_tools.admin.lookups import CoordinatorLookup
from kafka_tools.admin.outcomes import Outcome, Outcomes, answered
from kafka_tools.clock import Deadline
from kafka_tools.net.broker_errors import error_of
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.schema import Request

if TYPE_CHECKING:
    from kafka_tools.admin.calls.groups import GroupDescription
    from kafka_tools.protocol.messages.leave_group import LeaveGroupResponse

REASON = "member was removed by an admin"


class MemberIdentity(NamedTuple):
    """A member by its id, or a static one by its instance id (the member id is then empty)."""

    member_id: str = ""
    instance_id: str | None = None

    def __str__(self) -> str:
        return self.instance_id or self.member_id


def everyone(group: GroupDescription) -> list[MemberIdentity]:
    """Every member of a group: static ones by instance id, which outlives a restart, the others by member id."""
    return [
        MemberIdentity(instance_id=member.instance_id) if member.instance_id else MemberIdentity(member.member_id)
        for member in group.members
    ]


class RemoveMembers(AdminCall[str, Outcomes[MemberIdentity, None], "LeaveGroupResponse"]):
    """An outcome per member of one group. Several members, and static ones, need Kafka 2.4."""

    name = "remove members from a group"
    lookup = CoordinatorLookup()

    group_id: str
    members: Sequence[MemberIdentity]
    reason: str

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest

        if not versions.has(LeaveGroupRequest, 3):
            if len(self.members) > 1 or self.members[0].instance_id is not None:
                raise versions.too_old(LeaveGroupRequest, 3, "removing several members, or static ones")
            return LeaveGroupRequest(group_id=self.group_id, member_id=self.members[0].member_id)
        return LeaveGroupRequest(
            group_id=self.group_id,
            members=[
                LeaveGroupRequest.MemberIdentity(
                    member_id=member.member_id, group_instance_id=member.instance_id, reason=self.reason
                )
                for member in self.members
            ],
        )

    def interpret(self, reply: Reply[str, Outcomes[MemberIdentity, None], LeaveGroupResponse]) -> None:
        code = reply.response.error_code
        found: dict[MemberIdentity, Outcome[None]] = {}
        if reply.version < 3:
            found[self.members[0]] = Outcome(None, error_of(code))
            if code == error_codes.UNKNOWN_MEMBER_ID:
                code = error_codes.NONE  # the error is the member's, not the group's
        for member in self.members:
            for item in reply.response.members:
                # A static member is known by its instance: its member id may be told although it was not given.
                instance = item.group_instance_id
                if member in (MemberIdentity(item.member_id, instance), MemberIdentity("", instance)):
                    found[member] = Outcome(None, error_of(item.error_code))
        reply.settle(self.group_id, code, None, answered(self.members, found, reply.node))
