"""OffsetFetch (9): read committed offsets of groups.

Sent by consumers and tools to the coordinator of the groups. Partitions without a commit have offset -1 and no error.

Versions
    v1: offsets in __consumer_offsets; v0 reads them from ZooKeeper.
    v2: null topics for all of the group; errors of the whole group.
    v3: throttle times in the response.
    v4: throttled clients wait by themselves; the response comes first (KIP-219).
    v5: the leader epoch of the committed offset (KIP-320).
    v6: flexible.
    v7: require_stable: wait for open transactions (KIP-447).
    v8: several groups at once (KIP-709).
    v9: members of groups of the new protocol (KIP-848).
    v10: topics by id (KIP-848).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: no DESCRIBE on the group.
    TOPIC_AUTHORIZATION_FAILED: no DESCRIBE on the topic; topics that were not asked for by name are left out instead.
    INVALID_GROUP_ID: the group id is null.
    GROUP_ID_NOT_FOUND: a member is named and the group does not exist (v9).
    UNKNOWN_MEMBER_ID: the group has no such member (v9).
    STALE_MEMBER_EPOCH: the member has a newer epoch (v9).
    UNSTABLE_OFFSET_COMMIT: a transaction may still change the offset, and require_stable was given (v7).
    UNKNOWN_TOPIC_OR_PARTITION: no such partition (v0).
    UNKNOWN_TOPIC_ID: no topic has this id (v10).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, int64, string, uuid


class OffsetFetchRequest(
    Request, key=9, versions="0-10", dropped="0", flexible="6+", rights={"group": "Describe", "topic": "Describe"}
):
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
    require_stable = boolean(versions="7+")  # wait until no open transaction can change the offsets


class OffsetFetchResponse(Response, key=9, versions="0-10", flexible="6+", throttles="4+"):
    throttle_time_ms = int32(versions="3+", ignorable=True)

    class ResponseTopic(Struct):
        name = string(versions="0-7")

        class ResponsePartition(Struct):
            partition_index = int32(versions="0-7")
            committed_offset = int64(versions="0-7", on_error=-1)  # -1: nothing was committed
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
                committed_offset = int64(versions="8+", on_error=-1)
                committed_leader_epoch = int32(versions="8+", default=-1, ignorable=True)
                metadata = string(versions="8+", nullable="8+")
                error_code = int16(versions="8+")

            partitions = array(ResponsePartitions, versions="8+")

        topics = array(ResponseTopics, versions="8+")
        error_code = int16(versions="8+")

    groups = array(ResponseGroup, versions="8+")
