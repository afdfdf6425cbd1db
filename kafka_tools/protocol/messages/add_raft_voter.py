"""AddRaftVoter (80): add a controller to the voters of the metadata quorum.

Sent by tools, or by the controller itself, to the quorum's leader (KIP-853).

Versions
    v1: the answer may come when the change is written, before it is committed (KIP-1186).

Errors
    NOT_LEADER_OR_FOLLOWER: the node does not lead the quorum.
    INCONSISTENT_CLUSTER_ID: the request names another cluster.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER on the cluster.
    REQUEST_TIMED_OUT: the change was not committed in time, or another one is in progress.
    UNSUPPORTED_VERSION: the kraft.version of the quorum is 0, which does not allow changes of voters.
    INVALID_REQUEST: the voter id is negative, or the default listener of the leader is missing.
    DUPLICATE_VOTER: the id already belongs to a voter.
    INVALID_VOTER_KEY: the directory id is missing.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string, uint16, uuid


class AddRaftVoterRequest(
    Request, key=80, effect="changes", versions="0-1", flexible="0+", rights={"cluster": "Alter"}
):
    # Null: not known, and not checked. Any other id leads to INCONSISTENT_CLUSTER_ID.
    cluster_id = string(nullable="0+")
    # How long the leader may take to add the voter, in milliseconds. Then it answers REQUEST_TIMED_OUT.
    timeout_ms = int32()
    # Node id of the new controller. A current voter's id leads to DUPLICATE_VOTER.
    voter_id = int32()
    # Id of the metadata log directory of the new controller, from its meta.properties file.
    voter_directory_id = uuid()

    class Listener(Struct):
        # Name of the listener, such as CONTROLLER.
        name = string(map_key=True)
        host = string()
        port = uint16()

    # Endpoints where the other voters reach the new controller. The leader's default listener must be among them.
    listeners = array(Listener)
    # True: answer when the new voters are committed. False: answer as soon as the leader has written them.
    ack_when_committed = boolean(versions="1+", default=True)


class AddRaftVoterResponse(Response, key=80, versions="0-1", flexible="0+"):
    # Always 0: no quota applies to this request.
    throttle_time_ms = int32()
    # 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+", ignorable=True)
