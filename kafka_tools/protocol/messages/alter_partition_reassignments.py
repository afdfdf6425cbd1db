"""AlterPartitionReassignments (45): start, change or cancel replica reassignments (KIP-455)."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string


class AlterPartitionReassignmentsRequest(Request, key=45, route=CONTROLLER, versions="0-1", flexible="0+"):
    """Request of AlterPartitionReassignments.

    v1: adds allow_replication_factor_change.
    """

    timeout_ms = int32(default=60000)
    allow_replication_factor_change = boolean(versions="1+", default=True)

    class ReassignableTopic(Struct):
        name = string()

        class ReassignablePartition(Struct):
            partition_index = int32()
            replicas = array(int32(), nullable="0+", default=None)

        partitions = array(ReassignablePartition)

    topics = array(ReassignableTopic)


class AlterPartitionReassignmentsResponse(Response, key=45, versions="0-1", flexible="0+"):
    """Response of AlterPartitionReassignments.

    v1: adds allow_replication_factor_change.
    """

    throttle_time_ms = int32()
    allow_replication_factor_change = boolean(versions="1+", default=True, ignorable=True)
    error_code = int16()
    error_message = string(nullable="0+")

    class ReassignableTopicResponse(Struct):
        name = string()

        class ReassignablePartitionResponse(Struct):
            partition_index = int32()
            error_code = int16()
            error_message = string(nullable="0+")

        partitions = array(ReassignablePartitionResponse)

    responses = array(ReassignableTopicResponse)
