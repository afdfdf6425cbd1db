"""ListGroups (16): the groups of this broker. v4: states, and a filter by them (KIP-518). v5: types (KIP-848)."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.list_groups import ListGroupsResponse

VERSIONS = (0, 5)
AUTHORIZE = ()


def handle(call: Call) -> Work[ListGroupsResponse]:
    """Callers that may describe the cluster see all groups, others the groups that they may describe."""
    sees_all = call.allowed_on_cluster(AclOperation.DESCRIBE)
    response = ListGroupsResponse()
    listed = yield from call.broker.groups.list(call.request.states_filter, call.request.types_filter)
    for group, state in listed:
        yield
        if sees_all or call.allowed_on_group(AclOperation.DESCRIBE, group.id):
            response.groups.append(
                response.ListedGroup(
                    group_id=group.id,
                    protocol_type=group.protocol_type or "",
                    group_state=state,
                    group_type=group.type,
                )
            )
    return response
