"""ControllerRegistration (70): register the endpoints and features of a controller.

Sent by KRaft controllers to the active controller (KIP-919).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    UNSUPPORTED_VERSION: the metadata.version of the cluster does not support the registration of controllers.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string, uint16, uuid


class ControllerRegistrationRequest(
    Request, key=70, effect="changes", versions="0", flexible="0+", rights={"cluster": "ClusterAction"}
):
    # Node id of the controller that registers.
    controller_id = int32()
    # A random id, new each time the process starts.
    incarnation_id = uuid()
    # True: configured to take over from ZooKeeper. Kafka 4.0 and later ignore it.
    zk_migration_ready = boolean()

    class Listener(Struct):
        # Name of the listener, such as CONTROLLER.
        name = string(map_key=True)
        # The advertised host.
        host = string()
        # The advertised port.
        port = uint16()
        # 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
        security_protocol = int16()

    # The advertised listeners. DescribeCluster gives them to tools that ask for controllers.
    listeners = array(Listener)

    class Feature(Struct):
        # Name of the feature, such as metadata.version.
        name = string(map_key=True)
        # Lowest level that this controller supports.
        min_supported_version = int16()
        # Highest level that this controller supports.
        max_supported_version = int16()

    # The controller allows no upgrade beyond what all registered controllers support.
    features = array(Feature)


class ControllerRegistrationResponse(Response, key=70, versions="0", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+")
