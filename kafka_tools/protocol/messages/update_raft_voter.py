"""UpdateRaftVoter (82): a voter updates its endpoints and versions (KIP-853)."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, struct, uint16, uuid


class UpdateRaftVoterRequest(Request, key=82, route=CONTROLLER, versions="0", flexible="0+"):
    """Request of UpdateRaftVoter."""

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
    """Response of UpdateRaftVoter."""

    throttle_time_ms = int32()
    error_code = int16()

    class CurrentLeader(Struct):
        leader_id = int32(default=-1)
        leader_epoch = int32(default=-1)
        host = string()
        port = int32()

    current_leader = struct(CurrentLeader, tag=0)
