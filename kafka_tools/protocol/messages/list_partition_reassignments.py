"""ListPartitionReassignments (46): list the reassignments in progress.

Sent by tools to any broker, which forwards it to the controller (KIP-455).

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not answer within timeout_ms.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the cluster.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string


class ListPartitionReassignmentsRequest(
    Request, key=46, effect="reads", versions="0", flexible="0+", rights={"cluster": "Describe"}
):
    # How long the controller may take, in milliseconds. Then the answer is REQUEST_TIMED_OUT.
    timeout_ms = int32(default=60000)

    class Topics(Struct):
        name = string()
        partition_indexes = array(int32())

    # Partitions to look at. Null: all partitions of the cluster.
    topics = array(Topics, nullable="0+", default=None)


class ListPartitionReassignmentsResponse(Response, key=46, versions="0", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+")

    class OngoingTopicReassignment(Struct):
        name = string()

        class OngoingPartitionReassignment(Struct):
            partition_index = int32()
            # All current replicas, with those that the reassignment adds and removes.
            replicas = array(int32())
            # Replicas that the reassignment adds. They are part of replicas.
            adding_replicas = array(int32())
            # Replicas that leave when the reassignment is complete. They are part of replicas until then.
            removing_replicas = array(int32())

        partitions = array(OngoingPartitionReassignment, echoed="0+")

    # Only partitions with a reassignment in progress.
    topics = array(OngoingTopicReassignment, echoed="0+")
