"""RemoveRaftVoter (81): remove a voter from the metadata quorum (KIP-853)."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, int16, int32, string, uuid


class RemoveRaftVoterRequest(Request, key=81, route=CONTROLLER, versions="0", flexible="0+"):
    """Request of RemoveRaftVoter."""

    cluster_id = string(nullable="0+")
    voter_id = int32()
    voter_directory_id = uuid()


class RemoveRaftVoterResponse(Response, key=81, versions="0", flexible="0+"):
    """Response of RemoveRaftVoter."""

    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", ignorable=True)
