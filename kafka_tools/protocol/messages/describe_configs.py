"""DescribeConfigs (32): get the configs of topics, brokers, loggers, groups and client metrics.

Sent by tools to any broker. The configs and loggers of a broker can only be read from that broker.

Versions
    v1: sources and synonyms (KIP-226).
    v2: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v3: types and documentation (KIP-569).
    v4: flexible.

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the topic does not exist.
    INVALID_TOPIC_EXCEPTION: the name is not a valid topic name.
    INVALID_REQUEST: the resource type has no configs, the name of a broker is not a number, or the broker is another
        one.
    INVALID_CONFIG: the stored configs of the resource are invalid.
    INVALID_GROUP_ID: the group id is empty.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DESCRIBE_CONFIGS on the topic.
    GROUP_AUTHORIZATION_FAILED: the client lacks DESCRIBE_CONFIGS on the group.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks DESCRIBE_CONFIGS on the cluster (for all other resources).
    RESOURCE_NOT_FOUND: the client metrics subscription does not exist.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string


class DescribeConfigsRequest(
    Request,
    key=32,
    effect="reads",
    versions="0-4",
    dropped="0",
    flexible="4+",
    rights={"topic": "DescribeConfigs", "cluster": "DescribeConfigs", "group": "DescribeConfigs"},
):
    class Resource(Struct):
        # 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
        resource_type = int8()
        # Name of the topic, group or subscription, or a broker id. Empty with type 4: the default of all brokers.
        resource_name = string()
        # Names of the configs to return. Null: all.
        configuration_keys = array(string(), nullable="0+")

    resources = array(Resource)
    # True: fill synonyms in the response.
    include_synonyms = boolean(versions="1+")
    # True: fill documentation in the response.
    include_documentation = boolean(versions="3+")


class DescribeConfigsResponse(Response, key=32, versions="0-4", flexible="4+", throttles="2+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class Result(Struct):
        # Error of this resource. 0: no error.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(nullable="0+")
        # 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
        resource_type = int8()
        resource_name = string()

        class ResourceResult(Struct):
            name = string()
            # The value in force. Null: not set, or is_sensitive.
            value = string(nullable="0+", config_value=True)
            # True: only server.properties and a restart can change it.
            read_only = boolean()
            # True: nobody has set the config. From v1 config_source says more.
            is_default = boolean(versions="0")
            # 1 topic, 2 one broker, 3 all brokers (dynamic configs). 4 server.properties, 5 default. See ConfigSource
            # for more.
            config_source = int8(versions="1+", default=-1, ignorable=True)
            # True: a secret, whose value Kafka does not return.
            is_sensitive = boolean()

            class Synonym(Struct):
                # Name of the config at this place, such as log.retention.ms for the topic config retention.ms.
                name = string(versions="1+")
                # Null: not set, or is_sensitive.
                value = string(versions="1+", nullable="1+", config_value=True)
                # As config_source.
                source = int8(versions="1+")

            # All places where the config has a value. The first one is in force. Empty unless include_synonyms is true.
            synonyms = array(Synonym, versions="1+", ignorable=True)
            # 1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password. 0: not known.
            config_type = int8(versions="3+", ignorable=True)
            # Kafka's description of the config. Null unless include_documentation is true.
            documentation = string(versions="3+", nullable="3+", ignorable=True)

        configs = array(ResourceResult)

    # One result for each resource of the request.
    results = array(Result)
