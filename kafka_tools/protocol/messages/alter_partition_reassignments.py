"""AlterPartitionReassignments (45): move partitions to other brokers, or cancel moves.

Sent by tools to any broker, which forwards it to the controller (KIP-455).

Versions
    v1: whether the replication factor may change (KIP-860).

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not finish within timeout_ms. The change may still happen.
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist.
    INVALID_REPLICA_ASSIGNMENT: the list is empty, names a broker twice, or names one that does not exist.
    INVALID_REPLICATION_FACTOR: the number of replicas would change, which the request forbids (v1).
    NO_REASSIGNMENT_IN_PROGRESS: the partition has no reassignment to cancel.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER on the cluster.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string


class AlterPartitionReassignmentsRequest(
    Request, key=45, effect="changes", versions="0-1", flexible="0+", rights={"cluster": "Alter"}
):
    # How long the controller may take, in milliseconds. Then it answers REQUEST_TIMED_OUT. It does not wait for the
    # replicas to move.
    timeout_ms = int32(default=60000)
    # False: another number of replicas leads to INVALID_REPLICATION_FACTOR.
    allow_replication_factor_change = boolean(versions="1+", default=True)

    class ReassignableTopic(Struct):
        name = string()

        class ReassignablePartition(Struct):
            partition_index = int32()
            # Broker ids of the new replicas, the preferred leader first. Null: cancel the reassignment in progress.
            replicas = array(int32(), nullable="0+", default=None)

        partitions = array(ReassignablePartition)

    topics = array(ReassignableTopic)


class AlterPartitionReassignmentsResponse(Response, key=45, versions="0-1", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # The value from the request.
    allow_replication_factor_change = boolean(versions="1+", default=True, ignorable=True)
    # Error of the whole request. 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+")

    class ReassignableTopicResponse(Struct):
        name = string()

        class ReassignablePartitionResponse(Struct):
            partition_index = int32()
            # 0: the reassignment has started or is cancelled. It can take hours to complete.
            error_code = int16()
            # Explains the error in words. Null: no explanation.
            error_message = string(nullable="0+")

        partitions = array(ReassignablePartitionResponse)

    # One result for each partition of the request.
    responses = array(ReassignableTopicResponse, echoed="0+")
