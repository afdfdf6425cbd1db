"""DescribeLogDirs (35): list the log directories of a broker and the replicas in them.

Sent by tools to the broker whose directories they want to see.

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.
    v3: an error of the whole response.
    v4: total and usable bytes of the file systems (KIP-827).
    v5: cordoned directories (KIP-1066).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the cluster (v3). Up to v2 the list is empty instead.
    KAFKA_STORAGE_ERROR: the log directory has failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, int64, string


class DescribeLogDirsRequest(
    Request, key=35, effect="reads", versions="0-5", dropped="0", flexible="2+", rights={"cluster": "Describe"}
):
    class DescribableLogDirTopic(Struct):
        topic = string(map_key=True)
        partitions = array(int32())

    # Partitions whose replicas to list. Null: all. The log directories are listed in any case.
    topics = array(DescribableLogDirTopic, nullable="0+")


class DescribeLogDirsResponse(Response, key=35, versions="0-5", flexible="2+", throttles="1+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16(versions="3+", ignorable=True)

    class Result(Struct):
        # Error of this log directory. 0: no error.
        error_code = int16()
        # Absolute path of the directory.
        log_dir = string()

        class Topic(Struct):
            name = string()

            class Partition(Struct):
                partition_index = int32()
                # Size of all its segments, in bytes.
                partition_size = int64()
                # Records that the replica lacks up to the high watermark. For a future replica: up to the end of the
                # current one. -1: not known.
                offset_lag = int64()
                # True: a copy that AlterReplicaLogDirs has begun, and that will replace the replica in the other
                # directory.
                is_future_key = boolean()

            partitions = array(Partition)

        topics = array(Topic)
        # Size of the file system, in bytes. -1: not known.
        total_bytes = int64(versions="4+", default=-1, ignorable=True)
        # Free space of the file system for the broker, in bytes. -1: not known.
        usable_bytes = int64(versions="4+", default=-1, ignorable=True)
        # True: the broker places no new replicas in the directory.
        is_cordoned = boolean(versions="5+", ignorable=True)

    # One entry for each directory of log.dirs. Empty: with an error, or without the right to describe the cluster.
    results = array(Result, on_error=[])
