"""OffsetForLeaderEpoch (23): find the end offset of a leader epoch.

Sent by followers and consumers to the leader of each partition, to find where their log diverges from that of the
leader (KIP-101).

Versions
    v1: the epoch that the offset belongs to (KIP-279).
    v2: the leader epoch that the client knows (KIP-320); throttle times in the response.
    v3: the replica id of the sender.
    v4: flexible.

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the broker does not have the partition.
    NOT_LEADER_OR_FOLLOWER: the broker is not, or no longer, the leader of the partition.
    FENCED_LEADER_EPOCH: the leader epoch of the request is older than the broker's.
    UNKNOWN_LEADER_EPOCH: the leader epoch of the request is newer than the broker's, which has not heard of the
        election yet.
    TOPIC_AUTHORIZATION_FAILED: the client lacks both DESCRIBE on the topic and CLUSTER_ACTION on the cluster.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks CLUSTER_ACTION on the cluster (Kafka before 2.1).
    KAFKA_STORAGE_ERROR: the log directory of the partition has failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class OffsetForLeaderEpochRequest(
    Request,
    key=23,
    effect="reads",
    versions="0-4",
    dropped="0-1",
    flexible="4+",
    rights={"topic": "Describe", "cluster": "ClusterAction"},
):
    # Broker id of a follower. -1: a consumer. -2: a client for debugging, which may read past the high watermark.
    replica_id = int32(versions="3+", default=-2, ignorable=True)

    class OffsetForLeaderTopic(Struct):
        topic = string(map_key=True)

        class OffsetForLeaderPartition(Struct):
            # A partition of another leader leads to NOT_LEADER_OR_FOLLOWER.
            partition = int32()
            # Leader epoch that the client knows. An older one than the broker's leads to FENCED_LEADER_EPOCH, a newer
            # one to UNKNOWN_LEADER_EPOCH. -1: not checked.
            current_leader_epoch = int32(versions="2+", default=-1, ignorable=True)
            # The epoch whose end offset to find.
            leader_epoch = int32()

        partitions = array(OffsetForLeaderPartition)

    topics = array(OffsetForLeaderTopic)


class OffsetForLeaderEpochResponse(Response, key=23, versions="0-4", flexible="4+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="2+", ignorable=True)

    class OffsetForLeaderTopicResult(Struct):
        topic = string(map_key=True)

        class EpochEndOffset(Struct):
            # Error of this partition. 0: no error.
            error_code = int16()
            partition = int32()
            # The requested epoch, or the largest older one in the log. -1: none.
            leader_epoch = int32(versions="1+", default=-1, ignorable=True, on_error=-1)
            # Offset after the last record of that epoch. -1: unknown.
            end_offset = int64(default=-1)

        partitions = array(EpochEndOffset)

    # One result for each partition of the request.
    topics = array(OffsetForLeaderTopicResult)
