"""UnregisterController (94): remove the registration of a controller that will not come back.

Sent by tools to any node, which forwards it to the active controller. Remove a voter from the quorum first
(RemoveRaftVoter). A controller that is still running registers again.

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    CONTROLLER_ID_NOT_REGISTERED: no controller with this id is registered.
    INVALID_REQUEST: the controller is the active one.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER on the cluster.
    REQUEST_TIMED_OUT: the controller did not store the change in time.
    UNSUPPORTED_VERSION: the cluster's metadata.version is below 4.4-IV2.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, int16, int32, string


class UnregisterControllerRequest(
    Request, key=94, effect="destroys", versions="0", flexible="0+", rights={"cluster": "Alter"}
):
    # A controller that is not registered leads to CONTROLLER_ID_NOT_REGISTERED.
    controller_id = int32()


class UnregisterControllerResponse(Response, key=94, versions="0", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+")
