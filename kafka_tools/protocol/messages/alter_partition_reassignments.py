"""AlterPartitionReassignments (45): move partitions to other brokers, or stop doing so.

Sent by tools to any broker, which passes it to the controller. Null replicas cancel a reassignment (KIP-455).

Versions
    v1: whether the replication factor may change (KIP-860).

Errors
    NOT_CONTROLLER: the node is not the active controller (any more).
    REQUEST_TIMED_OUT: the controller did not finish within timeout_ms; the change may still happen.
    UNKNOWN_TOPIC_OR_PARTITION: no such partition.
    INVALID_REPLICA_ASSIGNMENT: an empty list, a broker twice or one that does not exist.
    INVALID_REPLICATION_FACTOR: another number of replicas where that is not allowed (v1).
    NO_REASSIGNMENT_IN_PROGRESS: there is nothing to cancel.
    CLUSTER_AUTHORIZATION_FAILED: no ALTER on the cluster.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string


class AlterPartitionReassignmentsRequest(Request, key=45, versions="0-1", flexible="0+", rights={"cluster": "Alter"}):
    timeout_ms = int32(default=60000)
    allow_replication_factor_change = boolean(versions="1+", default=True)  # false refuses lists of another length

    class ReassignableTopic(Struct):
        name = string()

        class ReassignablePartition(Struct):
            partition_index = int32()
            replicas = array(int32(), nullable="0+", default=None)  # null cancels

        partitions = array(ReassignablePartition)

    topics = array(ReassignableTopic)


class AlterPartitionReassignmentsResponse(Response, key=45, versions="0-1", flexible="0+"):
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

    responses = array(ReassignableTopicResponse, echoed="0+")
