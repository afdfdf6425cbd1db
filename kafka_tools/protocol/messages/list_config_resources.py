"""ListConfigResources (74): the names of resources that have dynamic configs.

Sent by tools to any broker. No types ask for all; v0 lists client metrics subscriptions alone (KIP-714).

Versions
    v1: all types of resources (KIP-1142).

Errors
    CLUSTER_AUTHORIZATION_FAILED: no DESCRIBE_CONFIGS on the cluster.
    UNSUPPORTED_VERSION: a type that the broker cannot list (v1).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class ListConfigResourcesRequest(Request, key=74, versions="0-1", flexible="0+", rights={"cluster": "DescribeConfigs"}):
    resource_types = array(int8(), versions="1+")


class ListConfigResourcesResponse(Response, key=74, versions="0-1", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()

    class ConfigResource(Struct):
        resource_name = string()
        resource_type = int8(versions="1+", default=16, ignorable=True)

    config_resources = array(ConfigResource)
