"""DescribeConfigs (32): read configs of topics, brokers, loggers, groups or client-metrics subscriptions.

Configs of a broker and its loggers are asked of that broker.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import ANY_NODE
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string


class DescribeConfigsRequest(Request, key=32, route=ANY_NODE, versions="0-4", flexible="4+"):
    """Request of DescribeConfigs.

    v1: adds include_synonyms.
    v3: adds include_documentation.
    v4: flexible.
    """

    class Resource(Struct):
        resource_type = int8()
        resource_name = string()
        configuration_keys = array(string(), nullable="0+")

    resources = array(Resource)
    include_synonyms = boolean(versions="1+")
    include_documentation = boolean(versions="3+")


class DescribeConfigsResponse(Response, key=32, versions="0-4", flexible="4+"):
    """Response of DescribeConfigs.

    v1: adds results[].configs[].config_source, results[].configs[].synonyms; drops
        results[].configs[].is_default.
    v3: adds results[].configs[].config_type, results[].configs[].documentation.
    v4: flexible.
    """

    throttle_time_ms = int32()

    class Result(Struct):
        error_code = int16()
        error_message = string(nullable="0+")
        resource_type = int8()
        resource_name = string()

        class ResourceResult(Struct):
            name = string()
            value = string(nullable="0+")
            read_only = boolean()
            is_default = boolean(versions="0")
            config_source = int8(versions="1+", default=-1, ignorable=True)
            is_sensitive = boolean()

            class Synonym(Struct):
                name = string(versions="1+")
                value = string(versions="1+", nullable="1+")
                source = int8(versions="1+")

            synonyms = array(Synonym, versions="1+", ignorable=True)
            config_type = int8(versions="3+", ignorable=True)
            documentation = string(versions="3+", nullable="3+", ignorable=True)

        configs = array(ResourceResult)

    results = array(Result)
