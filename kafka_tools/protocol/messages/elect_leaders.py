"""ElectLeaders (43): elect leaders of partitions.

Sent by tools to any broker, which passes it to the controller; null partitions ask for all. Election type 0 makes the
first replica of the assignment the leader, 1 any replica that is alive, though records may be lost (KIP-460).

Versions
    v1: election types; an error of the whole answer (KIP-460).
    v2: flexible.

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not finish within timeout_ms; the change may still happen.
    ELECTION_NOT_NEEDED: the wanted replica leads already, or the partition has a leader.
    PREFERRED_LEADER_NOT_AVAILABLE: the first replica is not alive or not in sync.
    ELIGIBLE_LEADERS_NOT_AVAILABLE: no replica that may lead is alive.
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist.
    INVALID_REQUEST: an election type that does not exist.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER on the cluster.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class ElectLeadersRequest(Request, key=43, versions="0-2", flexible="2+", rights={"cluster": "Alter"}):
    election_type = int8(versions="1+")  # 0 preferred, 1 unclean

    class TopicPartitions(Struct):
        topic = string(map_key=True)
        partitions = array(int32())

    topic_partitions = array(TopicPartitions, nullable="0+")
    timeout_ms = int32(default=60000)


class ElectLeadersResponse(Response, key=43, versions="0-2", flexible="2+"):
    throttle_time_ms = int32()
    error_code = int16(versions="1+")

    class ReplicaElectionResult(Struct):
        topic = string()

        class PartitionResult(Struct):
            partition_id = int32()
            error_code = int16()
            error_message = string(nullable="0+")

        partition_result = array(PartitionResult)

    replica_election_results = array(ReplicaElectionResult, echoed="0+")
