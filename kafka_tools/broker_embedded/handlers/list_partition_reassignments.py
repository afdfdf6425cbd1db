"""ListPartitionReassignments (46): reassignments in progress. With one broker there are never any."""

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
