"""OffsetCommit (8): commit offsets of a group.

Sent by consumers and tools to the coordinator of the group. A commit from outside the group has generation -1 and an
empty member id. It is allowed only while the group has no members.

Versions
    v1: generation and member id, so that former members cannot commit.
    v2: how long to keep the offsets, in place of a timestamp.
    v3: throttle times in the response.
    v4: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v5: no more retention time, which only the broker decides (KIP-211).
    v6: the leader epoch of the committed offset (KIP-320).
    v7: static members (KIP-345).
    v8: flexible.
    v9: consumer groups, with member epochs (KIP-848).
    v10: topics by id (KIP-848).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks READ on the group.
    TOPIC_AUTHORIZATION_FAILED: the client lacks READ on the topic.
    INVALID_GROUP_ID: the group id is null, or empty in a version or use that does not allow it.
    GROUP_ID_NOT_FOUND: the group does not exist, and the request has a generation (v9).
    UNKNOWN_MEMBER_ID: the group does not have this member.
    ILLEGAL_GENERATION: the generation is not the current one of the group.
    REBALANCE_IN_PROGRESS: the group waits for its assignment. Join again first.
    FENCED_INSTANCE_ID: another member has taken over this group.instance.id (v7).
    STALE_MEMBER_EPOCH: the member has a newer epoch. Get it with a heartbeat, and commit again (v9).
    FENCED_MEMBER_EPOCH: the coordinator has fenced the member (v9).
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist.
    UNKNOWN_TOPIC_ID: no topic has this id (v10).
    OFFSET_METADATA_TOO_LARGE: the metadata has more characters than offset.metadata.max.bytes.
    INVALID_COMMIT_OFFSET_SIZE: the record of the commit is larger than __consumer_offsets allows.
    REQUEST_TIMED_OUT: the replicas of __consumer_offsets did not confirm the commit in time.
    UNSUPPORTED_VERSION: a version before v9 for a consumer group.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uuid


class OffsetCommitRequest(
    Request,
    key=8,
    effect="changes",
    versions="0-10",
    dropped="0-1",
    flexible="8+",
    rights={"group": "Read", "topic": "Read"},
):
    group_id = string()
    # Generation of a classic member, epoch of a consumer group member (v9). -1: a commit from outside the group.
    generation_id_or_member_epoch = int32(versions="1+", default=-1, ignorable=True)
    # Empty: a commit from outside the group, allowed only while the group has no members.
    member_id = string(versions="1+", ignorable=True)
    # The member's group.instance.id. Null: a dynamic member.
    group_instance_id = string(versions="7+", nullable="7+", default=None)
    # How long the broker keeps the offsets, in milliseconds. -1: as long as offsets.retention.minutes says.
    retention_time_ms = int64(versions="2-4", default=-1, ignorable=True)

    class RequestTopic(Struct):
        # Later versions send the topic id instead.
        name = string(versions="0-9", ignorable=True)
        # Earlier versions send the topic name instead.
        topic_id = uuid(versions="10+", ignorable=True)

        class RequestPartition(Struct):
            # A partition that does not exist leads to UNKNOWN_TOPIC_OR_PARTITION.
            partition_index = int32()
            # Offset of the next record to read.
            committed_offset = int64()
            # Leader epoch of the last record that was read. -1: unknown.
            committed_leader_epoch = int32(versions="6+", default=-1, ignorable=True)
            # Time of the commit in milliseconds, from which the broker counts the retention. -1: now.
            commit_timestamp = int64(versions="1", default=-1)
            # Any text of the client. More than offset.metadata.max.bytes characters lead to OFFSET_METADATA_TOO_LARGE.
            # Null: empty.
            committed_metadata = string(nullable="0+")

        partitions = array(RequestPartition)

    topics = array(RequestTopic)


class OffsetCommitResponse(Response, key=8, versions="0-10", flexible="8+", throttles="4+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="3+", ignorable=True)

    class ResponseTopic(Struct):
        # Later versions send the topic id instead.
        name = string(versions="0-9", ignorable=True)
        # Earlier versions send the topic name instead.
        topic_id = uuid(versions="10+", ignorable=True)

        class ResponsePartition(Struct):
            partition_index = int32()
            # Error of this partition. An error of the group is repeated in every partition. 0: no error.
            error_code = int16()

        partitions = array(ResponsePartition)

    # One result for each partition of the request.
    topics = array(ResponseTopic)
