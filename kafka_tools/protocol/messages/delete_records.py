"""DeleteRecords (21): move the log start offset of partitions forward.

Sent by tools to the leader of each partition; records below the offset can no longer be read, and their segments go.
Offset -1 means the high watermark. The answer is the low watermark: the smallest log start of the live replicas.

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the broker has no such partition.
    NOT_LEADER_OR_FOLLOWER: the broker is not, or no longer, the leader of the partition.
    OFFSET_OUT_OF_RANGE: the offset lies beyond the high watermark, or is below -1.
    POLICY_VIOLATION: the topic's cleanup.policy has no delete.
    INVALID_TOPIC_EXCEPTION: an internal topic of the broker.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DELETE on the topic.
    REQUEST_TIMED_OUT: replicas did not follow within timeout_ms; the leader's log has moved.
    KAFKA_STORAGE_ERROR: the log directory of the partition has failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class DeleteRecordsRequest(Request, key=21, versions="0-2", flexible="2+", rights={"topic": "Delete"}):
    class Topic(Struct):
        name = string()

        class Partition(Struct):
            partition_index = int32()
            offset = int64()  # the first one to keep; -1: the high watermark

        partitions = array(Partition)

    topics = array(Topic)
    timeout_ms = int32()


class DeleteRecordsResponse(Response, key=21, versions="0-2", flexible="2+", throttles="1+"):
    throttle_time_ms = int32()

    class TopicResult(Struct):
        name = string(map_key=True)

        class PartitionResult(Struct):
            partition_index = int32(map_key=True)
            low_watermark = int64(on_error=-1)  # smallest log start offset of the live replicas; -1 with an error
            error_code = int16()

        partitions = array(PartitionResult)

    topics = array(TopicResult)
