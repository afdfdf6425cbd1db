"""ListPartitionReassignments (46): the reassignments under way.

Sent by tools to any broker, which passes it to the controller; null topics ask for all. Adding and removing replicas
are listed apart (KIP-455).

Errors
    NOT_CONTROLLER: the node is not the active controller (any more).
    REQUEST_TIMED_OUT: the controller did not answer within timeout_ms.
    CLUSTER_AUTHORIZATION_FAILED: no DESCRIBE on the cluster.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string


class ListPartitionReassignmentsRequest(Request, key=46, versions="0", flexible="0+", rights={"cluster": "Describe"}):
    timeout_ms = int32(default=60000)

    class Topics(Struct):
        name = string()
        partition_indexes = array(int32())

    topics = array(Topics, nullable="0+", default=None)


class ListPartitionReassignmentsResponse(Response, key=46, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+")

    class OngoingTopicReassignment(Struct):
        name = string()

        class OngoingPartitionReassignment(Struct):
            partition_index = int32()
            replicas = array(int32())
            adding_replicas = array(int32())
            removing_replicas = array(int32())

        partitions = array(OngoingPartitionReassignment, echoed="0+")

    topics = array(OngoingTopicReassignment, echoed="0+")
