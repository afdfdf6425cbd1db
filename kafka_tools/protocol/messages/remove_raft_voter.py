"""RemoveRaftVoter (81): remove a controller from the voters of the metadata quorum.

Sent by tools to the leader of the quorum (KIP-853).

Errors
    NOT_LEADER_OR_FOLLOWER: the node does not lead the quorum.
    INCONSISTENT_CLUSTER_ID: the request names another cluster.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER on the cluster.
    REQUEST_TIMED_OUT: the change was not committed in time, or another one is in progress.
    UNSUPPORTED_VERSION: the kraft.version of the quorum is 0, which does not allow changes of voters.
    INVALID_REQUEST: the voter id is negative, or the directory id is zero.
    VOTER_NOT_FOUND: no voter has this id and directory.
    BROKER_NOT_AVAILABLE: the leader is shutting down.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, int16, int32, string, uuid


class RemoveRaftVoterRequest(
    Request, key=81, effect="destroys", versions="0", flexible="0+", rights={"cluster": "Alter"}
):
    # Null: not known, and not checked. Any other id leads to INCONSISTENT_CLUSTER_ID.
    cluster_id = string(nullable="0+")
    # Node id of the controller to remove.
    voter_id = int32()
    # Id of the metadata log directory of that controller, from its meta.properties file. Zero leads to INVALID_REQUEST.
    voter_directory_id = uuid()


class RemoveRaftVoterResponse(Response, key=81, versions="0", flexible="0+"):
    # Always 0: no quota applies to this request.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+", ignorable=True)
