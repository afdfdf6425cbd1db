"""DescribeCluster (60): the cluster's id, its controller and its brokers.

Sent by tools to any broker, or to a controller for the controllers' endpoints (KIP-700).

Versions
    v1: endpoint types: brokers or controllers (KIP-919).
    v2: fenced brokers, if asked for (KIP-1073).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the cluster's operations are asked for without DESCRIBE on it.
    MISMATCHED_ENDPOINT_TYPE: a broker is asked for controllers, or a controller for brokers (v1).
    UNSUPPORTED_ENDPOINT_TYPE: an endpoint type that does not exist (v1).
    INVALID_REQUEST: fenced brokers of controllers (v2).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string


class DescribeClusterRequest(Request, key=60, versions="0-2", flexible="0+", rights={"cluster": "Describe"}):
    include_cluster_authorized_operations = boolean()
    endpoint_type = int8(versions="1+", default=1)  # 1 brokers, 2 controllers
    include_fenced_brokers = boolean(versions="2+")  # registered brokers that serve nobody


class DescribeClusterResponse(Response, key=60, versions="0-2", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", default=None)
    endpoint_type = int8(versions="1+", default=1)
    cluster_id = string()
    controller_id = int32(default=-1)

    class Broker(Struct):
        broker_id = int32(map_key=True)
        host = string()
        port = int32()
        rack = string(nullable="0+", default=None)
        is_fenced = boolean(versions="2+")

    brokers = array(Broker)
    cluster_authorized_operations = int32(default=-2147483648)
