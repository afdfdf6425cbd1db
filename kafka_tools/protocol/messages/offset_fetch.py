"""OffsetFetch (9): read committed offsets of groups.

topics null (v2 and later) asks for all. v8 asks for several groups at once; v9 adds member epochs, v10 topic ids.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, int64, string, uuid


class OffsetFetchRequest(Request, key=9, route=GROUP_COORDINATOR, versions="0-10", flexible="6+"):
    """Request of OffsetFetch.

    v6: flexible.
    v7: adds require_stable.
    v8: adds groups; drops group_id, topics, topics[].name, topics[].partition_indexes.
    v9: adds groups[].member_id, groups[].member_epoch.
    v10: adds groups[].topics[].topic_id; drops groups[].topics[].name.
    """

    group_id = string(versions="0-7")

    class RequestTopic(Struct):
        name = string(versions="0-7")
        partition_indexes = array(int32(), versions="0-7")

    topics = array(RequestTopic, versions="0-7", nullable="2+")

    class RequestGroup(Struct):
        group_id = string(versions="8+")
        member_id = string(versions="9+", nullable="9+", default=None, ignorable=True)
        member_epoch = int32(versions="9+", default=-1, ignorable=True)

        class RequestTopics(Struct):
            name = string(versions="8-9", ignorable=True)
            topic_id = uuid(versions="10+", ignorable=True)
            partition_indexes = array(int32(), versions="8+")

        topics = array(RequestTopics, versions="8+", nullable="8+")

    groups = array(RequestGroup, versions="8+")
    require_stable = boolean(versions="7+")


class OffsetFetchResponse(Response, key=9, versions="0-10", flexible="6+"):
    """Response of OffsetFetch.

    v2: adds error_code.
    v3: adds throttle_time_ms.
    v5: adds topics[].partitions[].committed_leader_epoch.
    v6: flexible.
    v8: adds groups; drops topics, topics[].name, topics[].partitions,
        topics[].partitions[].partition_index, topics[].partitions[].committed_offset,
        topics[].partitions[].committed_leader_epoch, topics[].partitions[].metadata,
        topics[].partitions[].error_code, error_code.
    v10: adds groups[].topics[].topic_id; drops groups[].topics[].name.
    """

    throttle_time_ms = int32(versions="3+", ignorable=True)

    class ResponseTopic(Struct):
        name = string(versions="0-7")

        class ResponsePartition(Struct):
            partition_index = int32(versions="0-7")
            committed_offset = int64(versions="0-7")
            committed_leader_epoch = int32(versions="5-7", default=-1, ignorable=True)
            metadata = string(versions="0-7", nullable="0+")
            error_code = int16(versions="0-7")

        partitions = array(ResponsePartition, versions="0-7")

    topics = array(ResponseTopic, versions="0-7")
    error_code = int16(versions="2-7", ignorable=True)

    class ResponseGroup(Struct):
        group_id = string(versions="8+")

        class ResponseTopics(Struct):
            name = string(versions="8-9", ignorable=True)
            topic_id = uuid(versions="10+", ignorable=True)

            class ResponsePartitions(Struct):
                partition_index = int32(versions="8+")
                committed_offset = int64(versions="8+")
                committed_leader_epoch = int32(versions="8+", default=-1, ignorable=True)
                metadata = string(versions="8+", nullable="8+")
                error_code = int16(versions="8+")

            partitions = array(ResponsePartitions, versions="8+")

        topics = array(ResponseTopics, versions="8+")
        error_code = int16(versions="8+")

    groups = array(ResponseGroup, versions="8+")
