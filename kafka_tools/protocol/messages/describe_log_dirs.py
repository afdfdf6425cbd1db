"""DescribeLogDirs (35): sizes and lags of the replicas in a broker's log directories; topics null asks for all."""

from __future__ import annotations

from kafka_tools.protocol.routes import EVERY_NODE
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, int64, string


class DescribeLogDirsRequest(Request, key=35, route=EVERY_NODE, versions="0-5", flexible="2+"):
    """Request of DescribeLogDirs.

    v2: flexible.
    """

    class DescribableLogDirTopic(Struct):
        topic = string(map_key=True)
        partitions = array(int32())

    topics = array(DescribableLogDirTopic, nullable="0+")


class DescribeLogDirsResponse(Response, key=35, versions="0-5", flexible="2+"):
    """Response of DescribeLogDirs.

    v2: flexible.
    v3: adds error_code.
    v4: adds results[].total_bytes, results[].usable_bytes.
    v5: adds results[].is_cordoned.
    """

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
                offset_lag = int64()
                is_future_key = boolean()

            partitions = array(Partition)

        topics = array(Topic)
        total_bytes = int64(versions="4+", default=-1, ignorable=True)
        usable_bytes = int64(versions="4+", default=-1, ignorable=True)
        is_cordoned = boolean(versions="5+", ignorable=True)

    results = array(Result)
