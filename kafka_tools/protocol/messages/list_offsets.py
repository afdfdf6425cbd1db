"""ListOffsets (2): find offsets by timestamp, or the ends of partitions.

Sent by consumers, tools and followers to the leader of each partition. For a timestamp the answer is the first record
with that timestamp or a later one. Negative timestamps ask for a place in the log. -1 is the log end, or with
isolation_level 1 the last stable offset. -2 is the log start. -3 is the record with the largest timestamp. -4 is the
first offset on the local disk. -5 is the last offset in tiered storage. -6 is the first offset that is not in tiered
storage yet.

Versions
    v1: one offset with its timestamp, in place of a list of segment starts (KIP-79).
    v2: isolation levels; throttle times in the response.
    v3: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v4: leader epochs, both ways (KIP-320).
    v5: OFFSET_NOT_AVAILABLE (KIP-207).
    v6: flexible.
    v7: timestamp -3 (KIP-734).
    v8: timestamp -4 (KIP-405).
    v9: timestamp -5 (KIP-1005).
    v10: timeout_ms, for lookups in tiered storage (KIP-1075).
    v11: timestamp -6 (KIP-1023).

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the broker does not have the partition.
    NOT_LEADER_OR_FOLLOWER: the broker is not, or no longer, the leader of the partition.
    LEADER_NOT_AVAILABLE: an election is in progress.
    REPLICA_NOT_AVAILABLE: the replica is moving to or from this broker.
    FENCED_LEADER_EPOCH: the leader epoch of the request is older than the broker's.
    UNKNOWN_LEADER_EPOCH: the leader epoch of the request is newer than the broker's, which has not heard of the
        election yet.
    OFFSET_NOT_AVAILABLE: shortly after an election, the new leader does not know the high watermark yet (v5).
    UNSUPPORTED_FOR_MESSAGE_FORMAT: a lookup by timestamp in a log of message format 0.
    UNSUPPORTED_VERSION: the version does not know the negative timestamp.
    INVALID_REQUEST: the request names the partition twice.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the topic.
    KAFKA_STORAGE_ERROR: the log directory of the partition has failed.
    REQUEST_TIMED_OUT: the lookup in tiered storage took longer than timeout_ms (v10).
    UNKNOWN_SERVER_ERROR: another error occurred while the broker read the log.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, int64, string


class ListOffsetsRequest(
    Request, key=2, effect="reads", versions="0-11", dropped="0", flexible="6+", rights={"topic": "Describe"}
):
    # Broker id of a follower. -1: a client.
    replica_id = int32()
    # Which end timestamp -1 asks for. 0: the high watermark. 1: the last stable offset.
    isolation_level = int8(versions="2+")

    class Topic(Struct):
        name = string()

        class Partition(Struct):
            partition_index = int32()
            # Leader epoch that the client knows. An older one than the broker's leads to FENCED_LEADER_EPOCH, a newer
            # one to UNKNOWN_LEADER_EPOCH. -1: not checked.
            current_leader_epoch = int32(versions="4+", default=-1, ignorable=True)
            # Milliseconds since 1970, or one of the negative values above.
            timestamp = int64()
            # Maximum number of offsets in old_style_offsets.
            max_num_offsets = int32(versions="0", default=1)

        partitions = array(Partition)

    topics = array(Topic)
    # How long a lookup in tiered storage may take, in milliseconds. Then the broker answers REQUEST_TIMED_OUT.
    timeout_ms = int32(versions="10+", ignorable=True)


class ListOffsetsResponse(Response, key=2, versions="0-11", flexible="6+", throttles="3+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="2+", ignorable=True)

    class TopicResponse(Struct):
        name = string()

        class PartitionResponse(Struct):
            partition_index = int32()
            # Error of this partition. 0: no error.
            error_code = int16()
            # Start offsets of segments that are older than the timestamp, the newest first. With -1 the log end comes
            # first.
            old_style_offsets = array(int64(), versions="0")
            # Timestamp of the record that was found, in milliseconds. -1: an end of the log, or no record.
            timestamp = int64(versions="1+", default=-1, on_error=-1)
            # Offset of the record, or the end of the log. -1: no record is as new as the timestamp.
            offset = int64(versions="1+", default=-1)
            # Leader epoch that the offset belongs to. -1: unknown.
            leader_epoch = int32(versions="4+", default=-1)

        partitions = array(PartitionResponse)

    topics = array(TopicResponse)
