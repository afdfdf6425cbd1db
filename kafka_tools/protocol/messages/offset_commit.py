"""OffsetCommit (8): commit offsets of a group.

generation -1 with an empty member id is a commit from outside group management, allowed only while the
group has no members. v9 serves KIP-848 groups (member epochs); v10 names topics by id.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uuid


class OffsetCommitRequest(Request, key=8, route=GROUP_COORDINATOR, versions="0-10", flexible="8+"):
    """Request of OffsetCommit.

    v1: adds generation_id_or_member_epoch, member_id, topics[].partitions[].commit_timestamp.
    v2: adds retention_time_ms; drops topics[].partitions[].commit_timestamp.
    v5: drops retention_time_ms.
    v6: adds topics[].partitions[].committed_leader_epoch.
    v7: adds group_instance_id.
    v8: flexible.
    v10: adds topics[].topic_id; drops topics[].name.
    """

    group_id = string()
    generation_id_or_member_epoch = int32(versions="1+", default=-1, ignorable=True)
    member_id = string(versions="1+", ignorable=True)
    group_instance_id = string(versions="7+", nullable="7+", default=None)
    retention_time_ms = int64(versions="2-4", default=-1, ignorable=True)

    class RequestTopic(Struct):
        name = string(versions="0-9", ignorable=True)
        topic_id = uuid(versions="10+", ignorable=True)

        class RequestPartition(Struct):
            partition_index = int32()
            committed_offset = int64()
            committed_leader_epoch = int32(versions="6+", default=-1, ignorable=True)
            commit_timestamp = int64(versions="1", default=-1)
            committed_metadata = string(nullable="0+")

        partitions = array(RequestPartition)

    topics = array(RequestTopic)


class OffsetCommitResponse(Response, key=8, versions="0-10", flexible="8+"):
    """Response of OffsetCommit.

    v3: adds throttle_time_ms.
    v8: flexible.
    v10: adds topics[].topic_id; drops topics[].name.
    """

    throttle_time_ms = int32(versions="3+", ignorable=True)

    class ResponseTopic(Struct):
        name = string(versions="0-9", ignorable=True)
        topic_id = uuid(versions="10+", ignorable=True)

        class ResponsePartition(Struct):
            partition_index = int32()
            error_code = int16()

        partitions = array(ResponsePartition)

    topics = array(ResponseTopic)
