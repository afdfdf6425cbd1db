"""``kafka-consumer-groups --remove-members``: make members leave a group, so that it can be changed (KIP-345)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_tools.admin.calls.members import MemberIdentity
from kafka_tools.commands import running
from kafka_tools.output.rows import ItemError, Rows

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient


def remove(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    """Remove the members that the command line names, or all; the exit status."""
    (group,) = given["group"]
    wanted = [MemberIdentity(member) for member in dict.fromkeys(given["member"])]
    wanted += [MemberIdentity(instance_id=instance) for instance in dict.fromkeys(given["instance"])]
    with running.about(group):
        outcomes = admin.remove_members(group, None if given["all_members"] else wanted)
    removed = [str(member) for member in outcomes.succeeded()]
    if output_format is None:
        names = ", ".join(f"'{name}'" for name in running.shown(removed))
        text = f"Members removed from group '{running.shown(group)}': {names}\n"
        running.emit(text if removed else f"No member was removed from group '{running.shown(group)}'.\n")
    rows = [
        {"group": group, "member": str(member), "is_static": member.instance_id is not None, "result": "removed"}
        for member in outcomes.succeeded()
    ]
    errors = [ItemError.of(f"member '{member}'", error) for member, error in outcomes.failures().items()]
    return running.finish(Rows("removed-members", rows, errors), output_format, "cannot remove")
