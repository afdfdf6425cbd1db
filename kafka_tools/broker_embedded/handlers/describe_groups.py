"""DescribeGroups (15): state and members of groups. Unknown groups are Dead; from v6 on also GROUP_ID_NOT_FOUND."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.handlers._repeats import Repeats
from kafka_tools.broker_embedded.handlers._rights import NOT_ASKED, authorized_operations
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation, AclResourceType
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsResponse

VERSIONS = (0, 6)
AUTHORIZE = ()


def handle(call: Call) -> Work[DescribeGroupsResponse]:
    response = DescribeGroupsResponse()
    with_operations = call.version >= 3 and call.request.include_authorized_operations
    named = Repeats()  # a description may be much longer than its name
    for group_id in call.request.groups:
        yield
        if named.too_many(group_id):
            continue
        if not call.allowed_on_group(AclOperation.DESCRIBE, group_id):
            denied = error_codes.GROUP_AUTHORIZATION_FAILED
            response.groups.append(response.DescribedGroup(group_id=group_id, error_code=denied))
            continue
        group = yield from call.broker.groups.describe(group_id, call.version)
        shown = with_operations and not group.error_code
        group.authorized_operations = (
            authorized_operations(call, AclResourceType.GROUP, group_id) if shown else NOT_ASKED
        )
        response.groups.append(group)
    return response
