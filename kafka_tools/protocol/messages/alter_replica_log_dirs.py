"""AlterReplicaLogDirs (34): move replicas to other log directories of one broker.

Sent by tools to that broker. If the broker has no replica of the partition yet, it creates a later one in this
directory (KIP-113).

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.

Errors
    LOG_DIR_NOT_FOUND: the broker has no such log directory.
    KAFKA_STORAGE_ERROR: the target directory, or the one of the replica, has failed.
    REPLICA_NOT_AVAILABLE: the broker has no replica of the partition yet. It remembers the directory.
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist.
    INVALID_TOPIC_EXCEPTION: the topic name is too long for the name of the temporary directory.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER on the cluster.
    RESOURCE_NOT_FOUND: the directory is cordoned and gets no new replicas (KIP-1066).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string


class AlterReplicaLogDirsRequest(
    Request, key=34, effect="changes", versions="0-2", dropped="0", flexible="2+", rights={"cluster": "Alter"}
):
    class AlterReplicaLogDir(Struct):
        # Absolute path of the target directory, as in the broker's log.dirs.
        path = string(map_key=True)

        class AlterReplicaLogDirTopic(Struct):
            name = string(map_key=True)
            # Partitions of which the broker moves its replica to the directory.
            partitions = array(int32())

        topics = array(AlterReplicaLogDirTopic)

    dirs = array(AlterReplicaLogDir)


class AlterReplicaLogDirsResponse(Response, key=34, versions="0-2", flexible="2+", throttles="1+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class AlterReplicaLogDirTopicResult(Struct):
        topic_name = string()

        class AlterReplicaLogDirPartitionResult(Struct):
            partition_index = int32()
            # 0: the broker copies the replica, and replaces the old one later. DescribeLogDirs shows the progress.
            error_code = int16()

        partitions = array(AlterReplicaLogDirPartitionResult)

    # One result for each partition of the request, grouped by topic and not by directory.
    results = array(AlterReplicaLogDirTopicResult, answers="dirs.topics")
