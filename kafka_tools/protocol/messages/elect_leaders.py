"""ElectLeaders (43): elect leaders: the preferred replica, or (v1) unclean. partitions null means all that need it."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class ElectLeadersRequest(Request, key=43, route=CONTROLLER, versions="0-2", flexible="2+"):
    """Request of ElectLeaders.

    v1: adds election_type.
    v2: flexible.
    """

    election_type = int8(versions="1+")

    class TopicPartitions(Struct):
        topic = string(map_key=True)
        partitions = array(int32())

    topic_partitions = array(TopicPartitions, nullable="0+")
    timeout_ms = int32(default=60000)


class ElectLeadersResponse(Response, key=43, versions="0-2", flexible="2+"):
    """Response of ElectLeaders.

    v1: adds error_code.
    v2: flexible.
    """

    throttle_time_ms = int32()
    error_code = int16(versions="1+")

    class ReplicaElectionResult(Struct):
        topic = string()

        class PartitionResult(Struct):
            partition_id = int32()
            error_code = int16()
            error_message = string(nullable="0+")

        partition_result = array(PartitionResult)

    replica_election_results = array(ReplicaElectionResult)
