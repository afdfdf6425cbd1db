"""OffsetForLeaderEpoch (23): where a leader epoch ends.

Sent by followers and consumers to the leader of each partition, to find where their log leaves the leader's
(KIP-101). The answer is the end offset of the largest epoch that is not newer; -1 where there is none.

Versions
    v1: the epoch that the offset belongs to (KIP-279).
    v2: the leader epoch that the client knows (KIP-320); throttle times in the response.
    v3: who asks: a replica, or a consumer.
    v4: flexible.

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the broker has no such partition.
    NOT_LEADER_OR_FOLLOWER: the broker does not lead the partition (any more).
    FENCED_LEADER_EPOCH: the leader epoch of the request is older than the broker's.
    UNKNOWN_LEADER_EPOCH: it is newer: the broker has yet to learn of the election.
    TOPIC_AUTHORIZATION_FAILED: no DESCRIBE on the topic.
    CLUSTER_AUTHORIZATION_FAILED: a replica's request, from somebody without CLUSTER_ACTION.
    KAFKA_STORAGE_ERROR: the disk of the partition has failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class OffsetForLeaderEpochRequest(
    Request,
    key=23,
    versions="0-4",
    dropped="0-1",
    flexible="4+",
    rights={"topic": "Describe", "cluster": "ClusterAction"},
):
    replica_id = int32(versions="3+", default=-2, ignorable=True)

    class OffsetForLeaderTopic(Struct):
        topic = string(map_key=True)

        class OffsetForLeaderPartition(Struct):
            partition = int32()
            current_leader_epoch = int32(versions="2+", default=-1, ignorable=True)
            leader_epoch = int32()  # the epoch whose end is asked for

        partitions = array(OffsetForLeaderPartition)

    topics = array(OffsetForLeaderTopic)


class OffsetForLeaderEpochResponse(Response, key=23, versions="0-4", flexible="4+"):
    throttle_time_ms = int32(versions="2+", ignorable=True)

    class OffsetForLeaderTopicResult(Struct):
        topic = string(map_key=True)

        class EpochEndOffset(Struct):
            error_code = int16()
            partition = int32()
            leader_epoch = int32(versions="1+", default=-1, ignorable=True, on_error=-1)
            end_offset = int64(default=-1)  # one behind the last record of the epoch; -1: unknown

        partitions = array(EpochEndOffset)

    topics = array(OffsetForLeaderTopicResult)
