"""FetchSnapshot (59): read a part of a metadata snapshot.

Sent by voters and observers to the quorum's leader, when the log they need is no longer there (KIP-630).

Versions
    v1: directory ids and endpoints (KIP-853).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    INCONSISTENT_CLUSTER_ID: the request names another cluster.
    INVALID_REQUEST: more than one partition.
    UNKNOWN_TOPIC_OR_PARTITION: another partition than __cluster_metadata-0.
    FENCED_LEADER_EPOCH: the epoch of the request is older than the one that the node knows.
    UNKNOWN_LEADER_EPOCH: the epoch of the request is newer than the one that the node knows.
    NOT_LEADER_OR_FOLLOWER: the node does not lead the quorum.
    BROKER_NOT_AVAILABLE: the leader is shutting down.
    SNAPSHOT_NOT_FOUND: the leader has no snapshot with this offset and epoch (any more).
    POSITION_OUT_OF_RANGE: the position lies outside the snapshot.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    int64,
    records,
    string,
    struct,
    uint16,
    uuid,
)


class FetchSnapshotRequest(Request, key=59, versions="0-1", flexible="0+", rights={"cluster": "ClusterAction"}):
    cluster_id = string(nullable="0+", default=None, tag=0)
    replica_id = int32(default=-1)
    max_bytes = int32(default=2147483647)

    class TopicSnapshot(Struct):
        name = string()

        class PartitionSnapshot(Struct):
            partition = int32()
            current_leader_epoch = int32()

            class SnapshotId(Struct):
                end_offset = int64()
                epoch = int32()

            snapshot_id = struct(SnapshotId)
            position = int64()
            replica_directory_id = uuid(versions="1+", tag=0, ignorable=True)

        partitions = array(PartitionSnapshot)

    topics = array(TopicSnapshot)


class FetchSnapshotResponse(Response, key=59, versions="0-1", flexible="0+"):
    throttle_time_ms = int32(ignorable=True)
    error_code = int16()

    class TopicSnapshot(Struct):
        name = string()

        class PartitionSnapshot(Struct):
            index = int32()
            error_code = int16()

            class SnapshotId(Struct):
                end_offset = int64()
                epoch = int32()

            snapshot_id = struct(SnapshotId)

            class LeaderIdAndEpoch(Struct):
                leader_id = int32()
                leader_epoch = int32()

            current_leader = struct(LeaderIdAndEpoch, tag=0)
            size = int64()
            position = int64()
            unaligned_records = records(default=b"")

        partitions = array(PartitionSnapshot)

    topics = array(TopicSnapshot)

    class NodeEndpoint(Struct):
        node_id = int32(versions="1+", map_key=True)
        host = string(versions="1+")
        port = uint16(versions="1+")

    node_endpoints = array(NodeEndpoint, versions="1+", tag=0)
