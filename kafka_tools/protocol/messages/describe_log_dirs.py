"""DescribeLogDirs (35): the log directories of a broker, with the size and lag of each replica in them.

Sent by tools to every broker that is meant; null topics ask for all. Without DESCRIBE on the cluster the list is empty.

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.
    v3: an error of the whole answer.
    v4: total and usable bytes of the file systems (KIP-827).
    v5: which directories are cordoned (KIP-1066).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the cluster (v3).
    KAFKA_STORAGE_ERROR: the disk of the directory has failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, int64, string


class DescribeLogDirsRequest(
    Request, key=35, versions="0-5", dropped="0", flexible="2+", rights={"cluster": "Describe"}
):
    class DescribableLogDirTopic(Struct):
        topic = string(map_key=True)
        partitions = array(int32())

    topics = array(DescribableLogDirTopic, nullable="0+")


class DescribeLogDirsResponse(Response, key=35, versions="0-5", flexible="2+", throttles="1+"):
    throttle_time_ms = int32()
    error_code = int16(versions="3+", ignorable=True)

    class Result(Struct):
        error_code = int16()
        log_dir = string()

        class Topic(Struct):
            name = string()

            class Partition(Struct):
                partition_index = int32()
                partition_size = int64()
                # how far the replica is behind the high watermark (of a future replica: behind the current one)
                offset_lag = int64()
                is_future_key = boolean()  # a replica that will take the place of the current one (KIP-113)

            partitions = array(Partition)

        topics = array(Topic)
        total_bytes = int64(versions="4+", default=-1, ignorable=True)
        usable_bytes = int64(versions="4+", default=-1, ignorable=True)
        is_cordoned = boolean(versions="5+", ignorable=True)

    results = array(Result, on_error=[])
