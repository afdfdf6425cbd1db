"""Heartbeat (12): keep a member's session; the response says whether it must rejoin. v3: group_instance_id."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.handlers._rights import check_group
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.heartbeat import HeartbeatResponse

VERSIONS = (0, 4)
AUTHORIZE = ()


def handle(call: Call) -> HeartbeatResponse:
    check_group(call, AclOperation.READ, call.request.group_id)
    return HeartbeatResponse(error_code=call.broker.groups.heartbeat(call.request))
