"""ListConfigResources (74): list the resources that have dynamic configs.

Sent by tools to any broker. v0 lists client metrics subscriptions only (KIP-714).

Versions
    v1: all types of resources (KIP-1142).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the client lacks DESCRIBE_CONFIGS on the cluster.
    UNSUPPORTED_VERSION: the broker cannot list resources of a requested type (v1).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class ListConfigResourcesRequest(
    Request, key=74, effect="reads", versions="0-1", flexible="0+", rights={"cluster": "DescribeConfigs"}
):
    # 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group. Empty: all of them.
    resource_types = array(int8(), versions="1+")


class ListConfigResourcesResponse(Response, key=74, versions="0-1", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()

    class ConfigResource(Struct):
        # Name of the topic, group or subscription, or a broker id.
        resource_name = string()
        # The same numbers as in resource_types. In v0 always 16.
        resource_type = int8(versions="1+", default=16, ignorable=True)

    config_resources = array(ConfigResource)
