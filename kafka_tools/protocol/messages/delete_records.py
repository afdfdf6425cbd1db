"""DeleteRecords (21): move the log start offset of partitions forward.

Sent by tools to the leader of each partition, which deletes the records below an offset. Consumers can no longer read
them, and brokers delete the segments that contain nothing else.

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the broker has no replica of the partition.
    NOT_LEADER_OR_FOLLOWER: the broker is not, or no longer, the leader of the partition.
    OFFSET_OUT_OF_RANGE: the offset lies beyond the high watermark, or is below -1.
    POLICY_VIOLATION: the cleanup.policy of the topic does not contain delete.
    INVALID_TOPIC_EXCEPTION: the topic is an internal topic of Kafka.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DELETE on the topic.
    REQUEST_TIMED_OUT: the replicas did not follow within timeout_ms. The leader has deleted the records.
    KAFKA_STORAGE_ERROR: the log directory of the partition has failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class DeleteRecordsRequest(
    Request, key=21, effect="destroys", versions="0-2", flexible="2+", rights={"topic": "Delete"}
):
    class Topic(Struct):
        name = string()

        class Partition(Struct):
            partition_index = int32()
            # The first offset to keep. -1: the high watermark, which deletes all records.
            offset = int64()

        partitions = array(Partition)

    topics = array(Topic)
    # How long the leader waits for its replicas to delete the records too, in milliseconds.
    timeout_ms = int32()


class DeleteRecordsResponse(Response, key=21, versions="0-2", flexible="2+", throttles="1+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class TopicResult(Struct):
        name = string(map_key=True)

        class PartitionResult(Struct):
            partition_index = int32(map_key=True)
            # Smallest log start offset of the live replicas. -1: with an error.
            low_watermark = int64(on_error=-1)
            # Error of this partition. 0: no error.
            error_code = int16()

        partitions = array(PartitionResult)

    topics = array(TopicResult)
