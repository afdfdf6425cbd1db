"""OffsetFetch (9): read committed offsets of groups.

Sent by consumers and tools to the coordinator of the groups. A partition without a committed offset has offset -1 and
no error.

Versions
    v1: offsets in __consumer_offsets. v0 reads them from ZooKeeper.
    v2: null topics for all offsets of the group, and an error of the whole group.
    v3: throttle times in the response.
    v4: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v5: the leader epoch of the committed offset (KIP-320).
    v6: flexible.
    v7: require_stable, to wait for open transactions (KIP-447).
    v8: several groups in one request (KIP-709).
    v9: members of consumer groups (KIP-848).
    v10: topics by id (KIP-848).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the group.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the topic. A request for all offsets omits such topics.
    INVALID_GROUP_ID: the group id is null.
    GROUP_ID_NOT_FOUND: the request names a member, and the group does not exist (v9).
    UNKNOWN_MEMBER_ID: the group does not have this member (v9).
    STALE_MEMBER_EPOCH: the member has a newer epoch (v9).
    UNSTABLE_OFFSET_COMMIT: an open transaction may still change the offset, and require_stable is true (v7).
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist (v0).
    UNKNOWN_TOPIC_ID: no topic has this id (v10).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, int64, string, uuid


class OffsetFetchRequest(
    Request,
    key=9,
    effect="reads",
    versions="0-10",
    dropped="0",
    flexible="6+",
    rights={"group": "Describe", "topic": "Describe"},
):
    # Later versions send groups instead.
    group_id = string(versions="0-7")

    class RequestTopic(Struct):
        name = string(versions="0-7")
        partition_indexes = array(int32(), versions="0-7")

    # Null: all partitions for which the group has offsets.
    topics = array(RequestTopic, versions="0-7", nullable="2+")

    class RequestGroup(Struct):
        group_id = string(versions="8+")
        # The member that asks. Null: somebody outside the group.
        member_id = string(versions="9+", nullable="9+", default=None, ignorable=True)
        # Epoch of the member. -1: somebody outside the group.
        member_epoch = int32(versions="9+", default=-1, ignorable=True)

        class RequestTopics(Struct):
            # Later versions send the topic id instead.
            name = string(versions="8-9", ignorable=True)
            # Earlier versions send the topic name instead.
            topic_id = uuid(versions="10+", ignorable=True)
            partition_indexes = array(int32(), versions="8+")

        # Null: all partitions for which the group has offsets.
        topics = array(RequestTopics, versions="8+", nullable="8+")

    # All groups must have the same coordinator.
    groups = array(RequestGroup, versions="8+")
    # True: the answer is UNSTABLE_OFFSET_COMMIT while an open transaction may change the offset. False: it is the last
    # committed offset.
    require_stable = boolean(versions="7+")


class OffsetFetchResponse(Response, key=9, versions="0-10", flexible="6+", throttles="4+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="3+", ignorable=True)

    class ResponseTopic(Struct):
        name = string(versions="0-7")

        class ResponsePartition(Struct):
            partition_index = int32(versions="0-7")
            # Offset of the next record to read. -1: no committed offset.
            committed_offset = int64(versions="0-7", on_error=-1)
            # Leader epoch of the last record that was read. -1: unknown.
            committed_leader_epoch = int32(versions="5-7", default=-1, ignorable=True)
            # Text that the client committed with the offset.
            metadata = string(versions="0-7", nullable="0+")
            # Error of this partition. 0: no error.
            error_code = int16(versions="0-7")

        partitions = array(ResponsePartition, versions="0-7")

    # Later versions send groups instead.
    topics = array(ResponseTopic, versions="0-7")
    # Error of the group. 0: no error. In v0 and v1 the partitions carry it.
    error_code = int16(versions="2-7", ignorable=True)

    class ResponseGroup(Struct):
        group_id = string(versions="8+")

        class ResponseTopics(Struct):
            # Later versions send the topic id instead.
            name = string(versions="8-9", ignorable=True)
            # Earlier versions send the topic name instead.
            topic_id = uuid(versions="10+", ignorable=True)

            class ResponsePartitions(Struct):
                partition_index = int32(versions="8+")
                # Offset of the next record to read. -1: no committed offset.
                committed_offset = int64(versions="8+", on_error=-1)
                # Leader epoch of the last record that was read. -1: unknown.
                committed_leader_epoch = int32(versions="8+", default=-1, ignorable=True)
                # Text that the client committed with the offset.
                metadata = string(versions="8+", nullable="8+")
                # Error of this partition. 0: no error.
                error_code = int16(versions="8+")

            partitions = array(ResponsePartitions, versions="8+")

        # One result for each requested partition. Without a request for some partitions: one for each with a committed
        # offset.
        topics = array(ResponseTopics, versions="8+")
        # Error of this group. 0: no error.
        error_code = int16(versions="8+")

    # One result for each requested group.
    groups = array(ResponseGroup, versions="8+")
