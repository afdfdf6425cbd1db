"""FindCoordinator (10): find the coordinator of a group (key type 0), a transactional id (1) or a share partition (2).

v4 asks for several keys at once.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import ANY_NODE
from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class FindCoordinatorRequest(Request, key=10, route=ANY_NODE, versions="0-6", flexible="3+"):
    """Request of FindCoordinator.

    v1: adds key_type.
    v3: flexible.
    v4: adds coordinator_keys; drops key.
    """

    key = string(versions="0-3")
    key_type = int8(versions="1+")
    coordinator_keys = array(string(), versions="4+")


class FindCoordinatorResponse(Response, key=10, versions="0-6", flexible="3+"):
    """Response of FindCoordinator.

    v1: adds throttle_time_ms, error_message.
    v3: flexible.
    v4: adds coordinators; drops error_code, error_message, node_id, host, port.
    """

    throttle_time_ms = int32(versions="1+", ignorable=True)
    error_code = int16(versions="0-3")
    error_message = string(versions="1-3", nullable="1+", ignorable=True)
    node_id = int32(versions="0-3")
    host = string(versions="0-3")
    port = int32(versions="0-3")

    class Coordinator(Struct):
        key = string(versions="4+")
        node_id = int32(versions="4+")
        host = string(versions="4+")
        port = int32(versions="4+")
        error_code = int16(versions="4+")
        error_message = string(versions="4+", nullable="4+", ignorable=True)

    coordinators = array(Coordinator, versions="4+")
