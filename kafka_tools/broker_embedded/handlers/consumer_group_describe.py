"""ConsumerGroupDescribe (69): consumer groups with members and assignments. v1: the types of members (KIP-1099)."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.handlers._repeats import Repeats
from kafka_tools.broker_embedded.handlers._rights import NOT_ASKED, authorized_operations
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation, AclResourceType
from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse

VERSIONS = (0, 1)
AUTHORIZE = ()

Described = ConsumerGroupDescribeResponse.DescribedGroup

_HIDDEN = "The group has described topic(s) that the client is not authorized to describe."


def handle(call: Call) -> Work[ConsumerGroupDescribeResponse]:
    """As in Kafka, the response begins with the groups that the caller may not describe."""
    if not call.broker.groups.settings.enabled:
        raise error_for(error_codes.UNSUPPORTED_VERSION)
    denied, found = [], []
    named = Repeats()
    for group_id in call.request.group_ids:
        yield
        if named.too_many(group_id):
            continue
        if call.allowed_on_group(AclOperation.DESCRIBE, group_id):
            found.append((yield from _described(call, group_id)))
        else:
            denied.append(Described(group_id=group_id, error_code=error_codes.GROUP_AUTHORIZATION_FAILED))
    return ConsumerGroupDescribeResponse(groups=[*denied, *found])


def _described(call: Call, group_id: str) -> Work[ConsumerGroupDescribeResponse.DescribedGroup]:
    try:
        group = yield from call.broker.groups.describe_consumer(group_id)
    except BrokerError as error:
        return Described(group_id=group_id, error_code=error.code.code, error_message=error.broker_message)
    assignments = (each for member in group.members for each in (member.assignment, member.target_assignment))
    for name in {topic.topic_name for assignment in assignments for topic in assignment.topic_partitions}:
        yield
        if not call.allowed_on_topic(AclOperation.DESCRIBE, name):
            hidden = error_codes.TOPIC_AUTHORIZATION_FAILED
            return Described(group_id=group_id, error_code=hidden, error_message=_HIDDEN)
    asked = call.request.include_authorized_operations
    group.authorized_operations = authorized_operations(call, AclResourceType.GROUP, group_id) if asked else NOT_ASKED
    return group
