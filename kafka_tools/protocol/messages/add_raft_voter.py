"""AddRaftVoter (80): add a voter to the metadata quorum (KIP-853)."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string, uint16, uuid


class AddRaftVoterRequest(Request, key=80, route=CONTROLLER, versions="0-1", flexible="0+"):
    """Request of AddRaftVoter.

    v1: adds ack_when_committed.
    """

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
    """Response of AddRaftVoter."""

    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", ignorable=True)
