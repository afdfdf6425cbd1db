"""DescribeConfigs (32): configs of topics, brokers, loggers, groups and client metrics, each with its source.

Sent by tools to any broker, for a broker's own configs and loggers to that broker. Null names ask for all configs.
Sensitive values are null.

Versions
    v1: sources and synonyms (KIP-226).
    v2: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v3: types and documentation, if asked for (KIP-569).
    v4: flexible.

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the topic does not exist.
    INVALID_TOPIC_EXCEPTION: the name breaks the rules for topic names.
    INVALID_REQUEST: a resource type without configs, a broker's name that is not a number, another broker's own
        configs.
    INVALID_CONFIG: the configs of the resource cannot be read.
    INVALID_GROUP_ID: the group id is empty.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DESCRIBE_CONFIGS on the topic.
    GROUP_AUTHORIZATION_FAILED: the client lacks DESCRIBE_CONFIGS on the group.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks DESCRIBE_CONFIGS on the cluster, for everything else.
    RESOURCE_NOT_FOUND: no such client metrics subscription.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string


class DescribeConfigsRequest(
    Request,
    key=32,
    versions="0-4",
    dropped="0",
    flexible="4+",
    rights={"topic": "DescribeConfigs", "cluster": "DescribeConfigs", "group": "DescribeConfigs"},
):
    class Resource(Struct):
        resource_type = int8()
        resource_name = string()
        configuration_keys = array(string(), nullable="0+")  # null: all

    resources = array(Resource)
    include_synonyms = boolean(versions="1+")
    include_documentation = boolean(versions="3+")


class DescribeConfigsResponse(Response, key=32, versions="0-4", flexible="4+", throttles="2+"):
    throttle_time_ms = int32()

    class Result(Struct):
        error_code = int16()
        error_message = string(nullable="0+")
        resource_type = int8()
        resource_name = string()

        class ResourceResult(Struct):
            name = string()
            value = string(nullable="0+", config_value=True)
            read_only = boolean()
            is_default = boolean(versions="0")  # v0 alone; later versions tell the source
            config_source = int8(versions="1+", default=-1, ignorable=True)
            is_sensitive = boolean()

            class Synonym(Struct):
                name = string(versions="1+")
                value = string(versions="1+", nullable="1+", config_value=True)
                source = int8(versions="1+")

            # where else a value could come from, the strongest first
            synonyms = array(Synonym, versions="1+", ignorable=True)
            config_type = int8(versions="3+", ignorable=True)
            documentation = string(versions="3+", nullable="3+", ignorable=True)

        configs = array(ResourceResult)

    results = array(Result)
