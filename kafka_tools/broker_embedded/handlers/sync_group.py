"""SyncGroup (14): the leader sends all assignments, each member gets its own. v5: requires protocol type and name."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.handlers._rights import check_group
from kafka_tools.broker_embedded.purgatory import Parked
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.sync_group import SyncGroupResponse

VERSIONS = (0, 5)
AUTHORIZE = ()


def handle(call: Call) -> Work[SyncGroupResponse | Parked]:
    request = call.request
    if call.version >= 5 and (request.protocol_type is None or request.protocol_name is None):
        raise error_for(error_codes.INCONSISTENT_GROUP_PROTOCOL)
    check_group(call, AclOperation.READ, request.group_id)
    return (yield from call.broker.groups.sync(request))
