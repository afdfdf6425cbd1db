"""AddRaftVoter (80): add a controller to the voters of the metadata quorum.

Sent by tools, or by the controller itself, to the quorum's leader (KIP-853).

Versions
    v1: the answer may come when the change is written, before it is committed (KIP-1186).

Errors
    NOT_LEADER_OR_FOLLOWER: the node does not lead the quorum.
    INCONSISTENT_CLUSTER_ID: the cluster id is another one.
    CLUSTER_AUTHORIZATION_FAILED: no ALTER on the cluster.
    REQUEST_TIMED_OUT: the change was not committed in time, or another one is under way.
    UNSUPPORTED_VERSION: the quorum's kraft.version has no changes of voters.
    INVALID_REQUEST: a voter id, listener or endpoint that cannot be right.
    DUPLICATE_VOTER: the id is a voter already.
    INVALID_VOTER_KEY: the directory id is missing.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string, uint16, uuid


class AddRaftVoterRequest(Request, key=80, versions="0-1", flexible="0+", rights={"cluster": "Alter"}):
    cluster_id = string(nullable="0+")
    timeout_ms = int32()
    voter_id = int32()
    voter_directory_id = uuid()

    class Listener(Struct):
        name = string(map_key=True)
        host = string()
        port = uint16()

    listeners = array(Listener)
    ack_when_committed = boolean(versions="1+", default=True)


class AddRaftVoterResponse(Response, key=80, versions="0-1", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", ignorable=True)
