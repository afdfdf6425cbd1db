"""AlterReplicaLogDirs (34): move replicas to other log directories of one broker.

Sent by tools to that broker. For a partition that is not there yet the directory is kept for its creation (KIP-113).

Versions
    v1: throttled clients wait by themselves; the response comes first (KIP-219).
    v2: flexible.

Errors
    LOG_DIR_NOT_FOUND: the broker has no such log directory.
    KAFKA_STORAGE_ERROR: the disk of the directory, or of the replica, has failed.
    REPLICA_NOT_AVAILABLE: the broker has no replica of the partition yet; the directory is noted.
    UNKNOWN_TOPIC_OR_PARTITION: no such partition.
    INVALID_TOPIC_EXCEPTION: the name breaks the rules for topic names.
    CLUSTER_AUTHORIZATION_FAILED: no ALTER on the cluster.
    RESOURCE_NOT_FOUND: the directory is cordoned: it takes nothing new (KIP-1066).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string


class AlterReplicaLogDirsRequest(
    Request, key=34, versions="0-2", dropped="0", flexible="2+", rights={"cluster": "Alter"}
):
    class AlterReplicaLogDir(Struct):
        path = string(map_key=True)

        class AlterReplicaLogDirTopic(Struct):
            name = string(map_key=True)
            partitions = array(int32())

        topics = array(AlterReplicaLogDirTopic)

    dirs = array(AlterReplicaLogDir)


class AlterReplicaLogDirsResponse(Response, key=34, versions="0-2", flexible="2+", throttles="1+"):
    throttle_time_ms = int32()

    class AlterReplicaLogDirTopicResult(Struct):
        topic_name = string()

        class AlterReplicaLogDirPartitionResult(Struct):
            partition_index = int32()
            error_code = int16()

        partitions = array(AlterReplicaLogDirPartitionResult)

    results = array(AlterReplicaLogDirTopicResult, answers="dirs.topics")
