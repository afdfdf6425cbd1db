"""OffsetCommit (8): commit offsets of a group.

Sent by consumers and tools to the group's coordinator. generation -1 with an empty member id is a commit from outside
group management, allowed only while the group has no members.

Versions
    v1: generation and member, so that members that were left behind cannot commit.
    v2: how long to keep the offsets, in place of a timestamp.
    v3: throttle times in the response.
    v4: throttled clients wait by themselves; the response comes first (KIP-219).
    v5: the time to keep offsets is the broker's alone (KIP-211).
    v6: the leader epoch of the committed offset (KIP-320).
    v7: static members (KIP-345).
    v8: flexible.
    v9: groups of the new protocol, with member epochs (KIP-848).
    v10: topics by id (KIP-848).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: no READ on the group.
    TOPIC_AUTHORIZATION_FAILED: no READ on the topic.
    INVALID_GROUP_ID: the group id is null or empty where that is not allowed.
    GROUP_ID_NOT_FOUND: the group does not exist and a generation was given (v9).
    UNKNOWN_MEMBER_ID: the group has no such member.
    ILLEGAL_GENERATION: the generation is not the group's.
    REBALANCE_IN_PROGRESS: the group waits for assignments: rejoin first.
    FENCED_INSTANCE_ID: another member took over this group.instance.id (v7).
    STALE_MEMBER_EPOCH: the member has a newer epoch: ask for it and commit again (v9).
    FENCED_MEMBER_EPOCH: the member was fenced (v9).
    UNKNOWN_TOPIC_OR_PARTITION: no such partition.
    UNKNOWN_TOPIC_ID: no topic has this id (v10).
    OFFSET_METADATA_TOO_LARGE: the metadata has more characters than offset.metadata.max.bytes.
    INVALID_COMMIT_OFFSET_SIZE: the record of the commit is larger than the offsets topic takes.
    REQUEST_TIMED_OUT: the offsets topic's replicas did not follow in time.
    UNSUPPORTED_VERSION: a version before v9 for a group of the new protocol.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uuid


class OffsetCommitRequest(
    Request, key=8, versions="0-10", dropped="0-1", flexible="8+", rights={"group": "Read", "topic": "Read"}
):
    group_id = string()
    # -1: a commit from outside group management
    generation_id_or_member_epoch = int32(versions="1+", default=-1, ignorable=True)
    member_id = string(versions="1+", ignorable=True)
    group_instance_id = string(versions="7+", nullable="7+", default=None)
    retention_time_ms = int64(versions="2-4", default=-1, ignorable=True)  # -1: the broker's offsets.retention.minutes

    class RequestTopic(Struct):
        name = string(versions="0-9", ignorable=True)
        topic_id = uuid(versions="10+", ignorable=True)

        class RequestPartition(Struct):
            partition_index = int32()
            committed_offset = int64()  # of the next record to read
            # of the last record that was read; -1: unknown
            committed_leader_epoch = int32(versions="6+", default=-1, ignorable=True)
            commit_timestamp = int64(versions="1", default=-1)
            committed_metadata = string(nullable="0+")  # whatever the client wants to keep with it

        partitions = array(RequestPartition)

    topics = array(RequestTopic)


class OffsetCommitResponse(Response, key=8, versions="0-10", flexible="8+", throttles="4+"):
    throttle_time_ms = int32(versions="3+", ignorable=True)

    class ResponseTopic(Struct):
        name = string(versions="0-9", ignorable=True)
        topic_id = uuid(versions="10+", ignorable=True)

        class ResponsePartition(Struct):
            partition_index = int32()
            error_code = int16()

        partitions = array(ResponsePartition)

    topics = array(ResponseTopic)
