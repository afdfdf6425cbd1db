"""RemoveRaftVoter (81): remove a controller from the voters of the metadata quorum.

Sent by tools to the quorum's leader (KIP-853).

Errors
    NOT_LEADER_OR_FOLLOWER: the node does not lead the quorum.
    INCONSISTENT_CLUSTER_ID: the cluster id is another one.
    CLUSTER_AUTHORIZATION_FAILED: no ALTER on the cluster.
    REQUEST_TIMED_OUT: the change was not committed in time, or another one is under way.
    UNSUPPORTED_VERSION: the quorum's kraft.version has no changes of voters.
    INVALID_REQUEST: a voter id, listener or endpoint that cannot be right.
    VOTER_NOT_FOUND: no voter has this id and directory.
    INVALID_VOTER_KEY: the directory id is missing.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, int16, int32, string, uuid


class RemoveRaftVoterRequest(Request, key=81, versions="0", flexible="0+", rights={"cluster": "Alter"}):
    cluster_id = string(nullable="0+")
    voter_id = int32()
    voter_directory_id = uuid()


class RemoveRaftVoterResponse(Response, key=81, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", ignorable=True)
