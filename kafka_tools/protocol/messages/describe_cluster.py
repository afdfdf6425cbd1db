"""DescribeCluster (60): get the id, the controller and the brokers of the cluster.

Sent by tools to any broker, or to a controller, which lists the controllers (KIP-700).

Versions
    v1: endpoint_type, to list controllers (KIP-919).
    v2: fenced brokers (KIP-1073).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the client asks for its operations and lacks DESCRIBE on the cluster.
    MISMATCHED_ENDPOINT_TYPE: the request asks a broker for controllers, or a controller for brokers (v1).
    UNSUPPORTED_ENDPOINT_TYPE: the endpoint type does not exist (v1).
    INVALID_REQUEST: include_fenced_brokers is true, but endpoint_type is 2, controllers (v2).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string


class DescribeClusterRequest(
    Request, key=60, effect="reads", versions="0-2", flexible="0+", rights={"cluster": "Describe"}
):
    # True: fill cluster_authorized_operations in the response.
    include_cluster_authorized_operations = boolean()
    # 1 brokers, 2 controllers. A broker knows no controllers, and a controller no brokers.
    endpoint_type = int8(versions="1+", default=1)
    # True: also list registered brokers that are fenced, which serve no clients.
    include_fenced_brokers = boolean(versions="2+")


class DescribeClusterResponse(Response, key=60, versions="0-2", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+", default=None)
    # The endpoint type from the request.
    endpoint_type = int8(versions="1+", default=1)
    cluster_id = string()
    # From a controller: the active controller. From a KRaft broker: any live broker, which forwards requests. -1: none.
    controller_id = int32(default=-1)

    class Broker(Struct):
        broker_id = int32(map_key=True)
        host = string()
        port = int32()
        # Its broker.rack. Null: not configured.
        rack = string(nullable="0+", default=None)
        # True: the broker is registered, but serves no clients.
        is_fenced = boolean(versions="2+")

    # Brokers or controllers, as endpoint_type says, at the listener on which the request came.
    brokers = array(Broker)
    # Operations that the client may perform: bit n is set for AclOperation n. -2147483648: not requested.
    cluster_authorized_operations = int32(default=-2147483648)
