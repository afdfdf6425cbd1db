"""AssignReplicasToDirs (73): in which log directories a broker keeps its replicas.

Sent by KRaft brokers to the active controller (KIP-858).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, uuid


class AssignReplicasToDirsRequest(Request, key=73, versions="0", flexible="0+"):
    broker_id = int32()
    broker_epoch = int64(default=-1)

    class DirectoryData(Struct):
        id = uuid()

        class TopicData(Struct):
            topic_id = uuid()

            class PartitionData(Struct):
                partition_index = int32()

            partitions = array(PartitionData)

        topics = array(TopicData)

    directories = array(DirectoryData)


class AssignReplicasToDirsResponse(Response, key=73, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()

    class DirectoryData(Struct):
        id = uuid()

        class TopicData(Struct):
            topic_id = uuid()

            class PartitionData(Struct):
                partition_index = int32()
                error_code = int16()

            partitions = array(PartitionData)

        topics = array(TopicData)

    directories = array(DirectoryData)
