"""DescribeCluster (60): id, controller and brokers.

- v1: only a controller returns the endpoints of controllers (endpoint type 2): MISMATCHED_ENDPOINT_TYPE here.
- The authorized operations are 0 for a caller that may not describe the cluster.
- v2: there are no fenced brokers to include.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.handlers._rights import cluster_operations
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterResponse

VERSIONS = (0, 2)
AUTHORIZE = ()  # every connected client may know the brokers

_BROKERS, _CONTROLLERS = 1, 2


def handle(call: Call) -> DescribeClusterResponse:
    request, cluster = call.request, call.broker.cluster
    if call.version >= 1 and request.endpoint_type != _BROKERS:
        if request.endpoint_type == _CONTROLLERS:
            raise error_for(
                error_codes.MISMATCHED_ENDPOINT_TYPE,
                "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
            )
        raise error_for(error_codes.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {request.endpoint_type}")
    response = DescribeClusterResponse(
        cluster_id=cluster.cluster_id,
        controller_id=cluster.controller_id,
        brokers=[
            DescribeClusterResponse.Broker(broker_id=node.id, host=node.host, port=node.port, rack=node.rack)
            for node in call.nodes()
        ],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = cluster_operations(call)
    return response
