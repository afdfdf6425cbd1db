"""ListOffsets (2): find offsets by timestamp, or the ends of partitions.

Sent by consumers, tools and followers to the leader of each partition. Negative timestamps ask for a place: -1 the log
end (the last stable offset with isolation_level 1), -2 the log start, -3 the record with the largest timestamp, -4 the
start of what is on local disk, -5 the last offset in the tier, -6 the first one not yet copied there. For a time the
answer is the first record that is not older; offset -1 means that there is none.

Versions
    v1: one offset with its timestamp, in place of a list of segment starts (KIP-79).
    v2: isolation levels; throttle times in the response.
    v3: throttled clients wait by themselves; the response comes first (KIP-219).
    v4: leader epochs, both ways (KIP-320).
    v5: OFFSET_NOT_AVAILABLE (KIP-207).
    v6: flexible.
    v7: timestamp -3 (KIP-734).
    v8: timestamp -4 (KIP-405).
    v9: timestamp -5 (KIP-1005).
    v10: timeout_ms for lookups in the tier (KIP-1075).
    v11: timestamp -6 (KIP-1023).

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the broker has no such partition.
    NOT_LEADER_OR_FOLLOWER: the broker does not lead the partition (any more).
    LEADER_NOT_AVAILABLE: an election is under way.
    REPLICA_NOT_AVAILABLE: the partition's replica is on its way to this broker or from it.
    FENCED_LEADER_EPOCH: the leader epoch of the request is older than the broker's.
    UNKNOWN_LEADER_EPOCH: it is newer: the broker has yet to learn of the election.
    OFFSET_NOT_AVAILABLE: right after an election, the high watermark is not known to be current yet (v5).
    UNSUPPORTED_FOR_MESSAGE_FORMAT: a lookup by time in a log of message format 0.
    UNSUPPORTED_VERSION: a negative timestamp that the version does not know.
    INVALID_REQUEST: the partition is asked for twice.
    TOPIC_AUTHORIZATION_FAILED: no DESCRIBE on the topic.
    KAFKA_STORAGE_ERROR: the disk of the partition has failed.
    REQUEST_TIMED_OUT: the lookup in the tier took longer than timeout_ms (v10).
    UNKNOWN_SERVER_ERROR: reading the log failed otherwise.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, int64, string


class ListOffsetsRequest(Request, key=2, versions="0-11", dropped="0", flexible="6+", rights={"topic": "Describe"}):
    replica_id = int32()  # -1 for a consumer, else the follower's broker id
    isolation_level = int8(versions="2+")

    class Topic(Struct):
        name = string()

        class Partition(Struct):
            partition_index = int32()
            current_leader_epoch = int32(versions="4+", default=-1, ignorable=True)
            timestamp = int64()  # in ms, or a place: see above
            max_num_offsets = int32(versions="0", default=1)  # how many segment starts v0 returns

        partitions = array(Partition)

    topics = array(Topic)
    timeout_ms = int32(versions="10+", ignorable=True)  # for lookups in the tier


class ListOffsetsResponse(Response, key=2, versions="0-11", flexible="6+", throttles="3+"):
    throttle_time_ms = int32(versions="2+", ignorable=True)

    class TopicResponse(Struct):
        name = string()

        class PartitionResponse(Struct):
            partition_index = int32()
            error_code = int16()
            old_style_offsets = array(int64(), versions="0")  # starts of segments, the newest first
            timestamp = int64(versions="1+", default=-1, on_error=-1)  # of the record found; -1 for the ends
            offset = int64(versions="1+", default=-1)  # -1: no record is as young
            leader_epoch = int32(versions="4+", default=-1)

        partitions = array(PartitionResponse)

    topics = array(TopicResponse)
