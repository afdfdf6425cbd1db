"""UpdateRaftVoter (82): update the endpoints and the supported kraft.version of a voter.

Sent by a voter to the leader of the quorum when its endpoints or versions have changed (KIP-853).

Errors
    NOT_LEADER_OR_FOLLOWER: the node does not lead the quorum.
    INCONSISTENT_CLUSTER_ID: the request names another cluster.
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    REQUEST_TIMED_OUT: the change was not committed in time, or another one is in progress.
    UNSUPPORTED_VERSION: the kraft.version of the quorum is 0, which does not allow changes of voters (Kafka 3.9).
    INVALID_REQUEST: the directory id is zero, the default listener of the leader is missing, or the range lacks the
        kraft.version of the quorum.
    VOTER_NOT_FOUND: no voter has this id and directory.
    FENCED_LEADER_EPOCH: the epoch of the request is older than that of the leader.
    UNKNOWN_LEADER_EPOCH: the epoch of the request is newer than that of the leader.
    BROKER_NOT_AVAILABLE: the leader is shutting down.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, struct, uint16, uuid


class UpdateRaftVoterRequest(
    Request, key=82, effect="changes", versions="0", flexible="0+", rights={"cluster": "ClusterAction"}
):
    # Null: not known, and not checked. Any other id leads to INCONSISTENT_CLUSTER_ID.
    cluster_id = string(nullable="0+")
    # Epoch of the leader that the voter follows. An older one leads to FENCED_LEADER_EPOCH, a newer one to
    # UNKNOWN_LEADER_EPOCH.
    current_leader_epoch = int32()
    # Node id of the voter that sends the request. It must already be a voter.
    voter_id = int32()
    # Id of the metadata log directory of the voter. Zero leads to INVALID_REQUEST.
    voter_directory_id = uuid()

    class Listener(Struct):
        # Name of the listener, such as CONTROLLER.
        name = string(map_key=True)
        host = string()
        port = uint16()

    # New endpoints of the voter. The leader's default listener must be among them.
    listeners = array(Listener)

    class KRaftVersionFeature(Struct):
        # Lowest kraft.version that the voter supports.
        min_supported_version = int16()
        # Highest kraft.version that the voter supports.
        max_supported_version = int16()

    # The range must contain the kraft.version of the quorum.
    kraft_version_feature = struct(KRaftVersionFeature, json="kRaftVersionFeature")


class UpdateRaftVoterResponse(Response, key=82, versions="0", flexible="0+"):
    # Always 0: no quota applies to this request.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()

    class CurrentLeader(Struct):
        # Node id of the leader that the answering node follows. -1: none.
        leader_id = int32(default=-1)
        # Newest epoch that the answering node knows. -1: none.
        leader_epoch = int32(default=-1)
        # Host of the leader on the listener that the request came through. Empty: no leader.
        host = string()
        port = int32()

    # Where to send the request instead, after NOT_LEADER_OR_FOLLOWER.
    current_leader = struct(CurrentLeader, tag=0)
