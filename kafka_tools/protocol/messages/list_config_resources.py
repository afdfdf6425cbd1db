"""ListConfigResources (74): names of config resources: client-metrics subscriptions, and from v1 other types."""

from __future__ import annotations

from kafka_tools.protocol.routes import ANY_NODE
from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class ListConfigResourcesRequest(Request, key=74, route=ANY_NODE, versions="0-1", flexible="0+"):
    """Request of ListConfigResources.

    v1: adds resource_types.
    """

    resource_types = array(int8(), versions="1+")


class ListConfigResourcesResponse(Response, key=74, versions="0-1", flexible="0+"):
    """Response of ListConfigResources.

    v1: adds config_resources[].resource_type.
    """

    throttle_time_ms = int32()
    error_code = int16()

    class ConfigResource(Struct):
        resource_name = string()
        resource_type = int8(versions="1+", default=16, ignorable=True)

    config_resources = array(ConfigResource)
