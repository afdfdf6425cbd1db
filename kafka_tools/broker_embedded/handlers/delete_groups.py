"""DeleteGroups (42): delete groups without members, with their offsets; each succeeds or fails alone."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.runtime import GROUP_CODES, mapped_code
from kafka_tools.broker_embedded.handlers._rights import check_group
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsResponse

VERSIONS = (0, 3)
AUTHORIZE = ()


def handle(call: Call) -> Work[DeleteGroupsResponse]:
    response = DeleteGroupsResponse()
    for group_id in dict.fromkeys(call.request.groups_names):
        yield
        result = response.DeletableGroupResult(group_id=group_id)
        try:
            check_group(call, AclOperation.DELETE, group_id)
            yield from call.broker.groups.removal.delete(group_id)
        except BrokerError as error:
            result.error_code = mapped_code(error, GROUP_CODES)
        response.results.append(result)
    return response
