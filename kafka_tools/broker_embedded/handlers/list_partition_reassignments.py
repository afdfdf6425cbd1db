"""ListPartitionReassignments (46): reassignments under way. With one broker there is nowhere to move to: none."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsResponse

VERSIONS = (0, 0)
AUTHORIZE = (AclOperation.DESCRIBE,)


def handle(call: Call) -> Work[ListPartitionReassignmentsResponse]:
    yield
    return ListPartitionReassignmentsResponse(error_message=None)
