"""AlterReplicaLogDirs (34): move replicas to other log directories of one broker."""

from __future__ import annotations

from kafka_tools.protocol.routes import GIVEN_NODE
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string


class AlterReplicaLogDirsRequest(Request, key=34, route=GIVEN_NODE, versions="0-2", flexible="2+"):
    """Request of AlterReplicaLogDirs.

    v2: flexible.
    """

    class AlterReplicaLogDir(Struct):
        path = string(map_key=True)

        class AlterReplicaLogDirTopic(Struct):
            name = string(map_key=True)
            partitions = array(int32())

        topics = array(AlterReplicaLogDirTopic)

    dirs = array(AlterReplicaLogDir)


class AlterReplicaLogDirsResponse(Response, key=34, versions="0-2", flexible="2+"):
    """Response of AlterReplicaLogDirs.

    v2: flexible.
    """

    throttle_time_ms = int32()

    class AlterReplicaLogDirTopicResult(Struct):
        topic_name = string()

        class AlterReplicaLogDirPartitionResult(Struct):
            partition_index = int32()
            error_code = int16()

        partitions = array(AlterReplicaLogDirPartitionResult)

    results = array(AlterReplicaLogDirTopicResult)
