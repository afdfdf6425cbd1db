"""ControllerRegistration (70): a controller registers its endpoints and features.

Sent by KRaft controllers to the active one (KIP-919).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    UNSUPPORTED_VERSION: the metadata.version of the cluster has no registration of controllers.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string, uint16, uuid


class ControllerRegistrationRequest(Request, key=70, versions="0", flexible="0+", rights={"cluster": "ClusterAction"}):
    controller_id = int32()
    incarnation_id = uuid()
    zk_migration_ready = boolean()

    class Listener(Struct):
        name = string(map_key=True)
        host = string()
        port = uint16()
        security_protocol = int16()

    listeners = array(Listener)

    class Feature(Struct):
        name = string(map_key=True)
        min_supported_version = int16()
        max_supported_version = int16()

    features = array(Feature)


class ControllerRegistrationResponse(Response, key=70, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+")
