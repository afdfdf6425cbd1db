"""LeaveGroup (13): remove members before their sessions expire. v3: several members, also by group_instance_id."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.handlers._rights import check_group
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.leave_group import LeaveGroupResponse

VERSIONS = (0, 5)
AUTHORIZE = ()
ONE_CHANGE = True


def handle(call: Call) -> Work[LeaveGroupResponse]:
    check_group(call, AclOperation.READ, call.request.group_id)
    return (yield from call.broker.groups.leave(call.request, call.version))
