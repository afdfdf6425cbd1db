"""DescribeCluster (60): describe the cluster: id, controller, brokers.

v1 also describes controllers' endpoints, v2 fenced brokers.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import ANY_NODE
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string


class DescribeClusterRequest(Request, key=60, route=ANY_NODE, versions="0-2", flexible="0+"):
    """Request of DescribeCluster.

    v1: adds endpoint_type.
    v2: adds include_fenced_brokers.
    """

    include_cluster_authorized_operations = boolean()
    endpoint_type = int8(versions="1+", default=1)
    include_fenced_brokers = boolean(versions="2+")


class DescribeClusterResponse(Response, key=60, versions="0-2", flexible="0+"):
    """Response of DescribeCluster.

    v1: adds endpoint_type.
    v2: adds brokers[].is_fenced.
    """

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
