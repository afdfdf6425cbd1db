"""UnregisterController (94): remove the registration of a controller that is gone for good.

Sent by tools to any node, which passes it to the active controller. A voter is removed from the quorum first
(RemoveRaftVoter): one that lives registers again.

Errors
    NOT_CONTROLLER: the node is not the active controller (any more).
    CONTROLLER_ID_NOT_REGISTERED: no controller with this id is registered.
    INVALID_REQUEST: the controller is the active one itself.
    CLUSTER_AUTHORIZATION_FAILED: no ALTER on the cluster.
    REQUEST_TIMED_OUT: the controller did not store the change in time.
    UNSUPPORTED_VERSION: the cluster's metadata.version is below 4.4-IV2.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, int16, int32, string


class UnregisterControllerRequest(Request, key=94, versions="0", flexible="0+", rights={"cluster": "Alter"}):
    controller_id = int32()


class UnregisterControllerResponse(Response, key=94, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+")
