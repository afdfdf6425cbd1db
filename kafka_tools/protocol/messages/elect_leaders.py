"""ElectLeaders (43): elect leaders of partitions.

Sent by tools to any broker, which forwards it to the controller (KIP-460). It can move leaders back to the preferred
replicas, or bring partitions online that have no in-sync replica.

Versions
    v1: election types and an error of the whole response (KIP-460).
    v2: flexible.

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not finish within timeout_ms. The change may still happen.
    ELECTION_NOT_NEEDED: the preferred replica already leads, or (unclean) the partition has a leader.
    PREFERRED_LEADER_NOT_AVAILABLE: the first replica is not alive or not in sync.
    ELIGIBLE_LEADERS_NOT_AVAILABLE: no replica that could lead is alive.
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist.
    INVALID_REQUEST: the election type does not exist.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER on the cluster.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class ElectLeadersRequest(
    Request, key=43, effect="changes", versions="0-2", flexible="2+", rights={"cluster": "Alter"}
):
    # 0 preferred: the first replica of the assignment. 1 unclean: any live replica if no in-sync one is alive, which
    # can lose records.
    election_type = int8(versions="1+")

    class TopicPartitions(Struct):
        topic = string(map_key=True)
        partitions = array(int32())

    # Partitions to elect leaders for. Null: all that need one. The response then omits those that need none.
    topic_partitions = array(TopicPartitions, nullable="0+")
    # How long the controller may take, in milliseconds. Then it answers REQUEST_TIMED_OUT.
    timeout_ms = int32(default=60000)


class ElectLeadersResponse(Response, key=43, versions="0-2", flexible="2+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16(versions="1+")

    class ReplicaElectionResult(Struct):
        topic = string()

        class PartitionResult(Struct):
            partition_id = int32()
            # Error of this partition. 0: it has a new leader.
            error_code = int16()
            # Explains the error in words. Null: no explanation.
            error_message = string(nullable="0+")

        partition_result = array(PartitionResult)

    # One result for each partition of the request, or for each that needed an election if topic_partitions was null.
    replica_election_results = array(ReplicaElectionResult, echoed="0+")
