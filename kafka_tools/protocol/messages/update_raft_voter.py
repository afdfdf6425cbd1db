"""UpdateRaftVoter (82): a voter's endpoints and supported kraft.version have changed.

Sent by voters to the quorum's leader (KIP-853).

Errors
    NOT_LEADER_OR_FOLLOWER: the node does not lead the quorum.
    INCONSISTENT_CLUSTER_ID: the cluster id is another one.
    CLUSTER_AUTHORIZATION_FAILED: no CLUSTER_ACTION on the cluster.
    REQUEST_TIMED_OUT: the change was not committed in time, or another one is under way.
    UNSUPPORTED_VERSION: the quorum's kraft.version has no changes of voters.
    INVALID_REQUEST: a voter id, listener or endpoint that cannot be right.
    VOTER_NOT_FOUND: no voter has this id and directory.
    FENCED_LEADER_EPOCH: the epoch of the request is older than the leader's.
    UNKNOWN_LEADER_EPOCH: it is newer.
    INVALID_UPDATE_VERSION: the voter does not support the quorum's kraft.version.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, struct, uint16, uuid


class UpdateRaftVoterRequest(Request, key=82, versions="0", flexible="0+", rights={"cluster": "ClusterAction"}):
    cluster_id = string(nullable="0+")
    current_leader_epoch = int32()
    voter_id = int32()
    voter_directory_id = uuid()

    class Listener(Struct):
        name = string(map_key=True)
        host = string()
        port = uint16()

    listeners = array(Listener)

    class KRaftVersionFeature(Struct):
        min_supported_version = int16()
        max_supported_version = int16()

    kraft_version_feature = struct(KRaftVersionFeature, json="kRaftVersionFeature")


class UpdateRaftVoterResponse(Response, key=82, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()

    class CurrentLeader(Struct):
        leader_id = int32(default=-1)
        leader_epoch = int32(default=-1)
        host = string()
        port = int32()

    current_leader = struct(CurrentLeader, tag=0)
