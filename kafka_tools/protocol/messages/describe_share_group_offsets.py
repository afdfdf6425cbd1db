"""DescribeShareGroupOffsets (90): read share-group offsets."""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uuid


class DescribeShareGroupOffsetsRequest(Request, key=90, route=GROUP_COORDINATOR, versions="0-1", flexible="0+"):
    """Request of DescribeShareGroupOffsets."""

    class RequestGroup(Struct):
        group_id = string()

        class RequestTopic(Struct):
            topic_name = string()
            partitions = array(int32())

        topics = array(RequestTopic, nullable="0+")

    groups = array(RequestGroup)


class DescribeShareGroupOffsetsResponse(Response, key=90, versions="0-1", flexible="0+"):
    """Response of DescribeShareGroupOffsets.

    v1: adds groups[].topics[].partitions[].lag.
    """

    throttle_time_ms = int32()

    class ResponseGroup(Struct):
        group_id = string()

        class ResponseTopic(Struct):
            topic_name = string()
            topic_id = uuid()

            class ResponsePartition(Struct):
                partition_index = int32()
                start_offset = int64()
                leader_epoch = int32()
                lag = int64(versions="1+", default=-1, ignorable=True)
                error_code = int16()
                error_message = string(nullable="0+", default=None)

            partitions = array(ResponsePartition)

        topics = array(ResponseTopic)
        error_code = int16()
        error_message = string(nullable="0+", default=None)

    groups = array(ResponseGroup)
