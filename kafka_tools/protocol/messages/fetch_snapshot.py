"""FetchSnapshot (59): read a part of a metadata snapshot.

Sent by voters and observers to the leader of the quorum, if its log no longer has the records that they need (KIP-630).

Versions
    v1: directory ids and endpoints (KIP-853).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    INCONSISTENT_CLUSTER_ID: the request names another cluster.
    INVALID_REQUEST: the request names more than one partition.
    UNKNOWN_TOPIC_OR_PARTITION: the partition is not __cluster_metadata-0.
    FENCED_LEADER_EPOCH: the epoch of the request is older than the one that the node knows.
    UNKNOWN_LEADER_EPOCH: the epoch of the request is newer than the one that the node knows.
    NOT_LEADER_OR_FOLLOWER: the node does not lead the quorum.
    BROKER_NOT_AVAILABLE: the leader is shutting down.
    SNAPSHOT_NOT_FOUND: the leader does not, or no longer, have a snapshot with this offset and epoch.
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


class FetchSnapshotRequest(
    Request, key=59, effect="reads", versions="0-1", flexible="0+", rights={"cluster": "ClusterAction"}
):
    # Null: not known, and not checked. Any other id leads to INCONSISTENT_CLUSTER_ID.
    cluster_id = string(nullable="0+", default=None, tag=0)
    # Node id of the sender. -1: none.
    replica_id = int32(default=-1)
    # Maximum size of the part to return, in bytes.
    max_bytes = int32(default=2147483647)

    class TopicSnapshot(Struct):
        # Always __cluster_metadata.
        name = string()

        class PartitionSnapshot(Struct):
            # Always 0.
            partition = int32()
            # Epoch that the sender knows. Another one leads to FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH.
            current_leader_epoch = int32()

            class SnapshotId(Struct):
                # Offset of the first record after the snapshot.
                end_offset = int64()
                # Epoch of the last record in the snapshot.
                epoch = int32()

            # The snapshot_id from the response to Fetch. A deleted one leads to SNAPSHOT_NOT_FOUND.
            snapshot_id = struct(SnapshotId)
            # Where to begin in the snapshot, in bytes. 0, then the bytes received so far.
            position = int64()
            # Id of the metadata log directory of the sender. Zero: not known.
            replica_directory_id = uuid(versions="1+", tag=0, ignorable=True)

        partitions = array(PartitionSnapshot)

    topics = array(TopicSnapshot)


class FetchSnapshotResponse(Response, key=59, versions="0-1", flexible="0+"):
    # Always 0: no quota applies to this request.
    throttle_time_ms = int32(ignorable=True)
    # Error of the whole request. 0: no error.
    error_code = int16()

    class TopicSnapshot(Struct):
        name = string()

        class PartitionSnapshot(Struct):
            index = int32()
            # Error of this partition. 0: no error.
            error_code = int16()

            class SnapshotId(Struct):
                end_offset = int64()
                epoch = int32()

            # The snapshot from the request. Zeros: with an error.
            snapshot_id = struct(SnapshotId)

            class LeaderIdAndEpoch(Struct):
                # The leader that the answering node follows. -1: none.
                leader_id = int32()
                # Newest epoch that the answering node knows.
                leader_epoch = int32()

            # The leader to ask instead, if the node does not lead.
            current_leader = struct(LeaderIdAndEpoch, tag=0)
            # Size of the whole snapshot, in bytes. The sender has all of it when position and the part reach it.
            size = int64()
            # Where the part begins in the snapshot, in bytes.
            position = int64()
            # A part of the snapshot file. It may begin and end within a batch.
            unaligned_records = records(default=b"")

        partitions = array(PartitionSnapshot)

    topics = array(TopicSnapshot)

    class NodeEndpoint(Struct):
        # The node that leader_id names.
        node_id = int32(versions="1+", map_key=True)
        host = string(versions="1+")
        port = uint16(versions="1+")

    # Where to reach the leader that the partition names. Empty if there is no leader.
    node_endpoints = array(NodeEndpoint, versions="1+", tag=0)
