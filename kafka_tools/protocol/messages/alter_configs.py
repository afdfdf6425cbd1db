"""AlterConfigs (33): replace all dynamic configs of a resource.

Sent by tools to any broker, which forwards it to the controller. The loggers of a broker can only be changed by that
broker. Configs that the request does not name are reset to their defaults. IncrementalAlterConfigs (44), which changes
single configs, replaces it since Kafka 2.3.

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    UNKNOWN_TOPIC_OR_PARTITION: the topic does not exist.
    INVALID_TOPIC_EXCEPTION: the name is not a valid topic name.
    INVALID_REQUEST: a resource occurs twice, has no configs or is another broker, or a value is null.
    INVALID_CONFIG: the resource has no such config, or the value is invalid.
    BROKER_ID_NOT_REGISTERED: the broker does not exist.
    INVALID_GROUP_ID: the group id is empty.
    POLICY_VIOLATION: the policy of alter.config.policy.class.name rejects the change.
    TOPIC_AUTHORIZATION_FAILED: the client lacks ALTER_CONFIGS on the topic.
    GROUP_AUTHORIZATION_FAILED: the client lacks ALTER_CONFIGS on the group.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER_CONFIGS on the cluster (for all other resources).
    REQUEST_TIMED_OUT: the controller did not store the change in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string


class AlterConfigsRequest(
    Request,
    key=33,
    effect="changes",
    versions="0-2",
    flexible="2+",
    rights={"topic": "AlterConfigs", "cluster": "AlterConfigs", "group": "AlterConfigs"},
):
    class Resource(Struct):
        # 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
        resource_type = int8(map_key=True)
        # Name of the topic, group or subscription, or a broker id. Empty with type 4: the default of all brokers.
        resource_name = string(map_key=True)

        class AlterableConfig(Struct):
            name = string(map_key=True)
            # The new value. Null leads to INVALID_REQUEST: omit the config to reset it to its default.
            value = string(nullable="0+", config_value=True)

        # All dynamic configs that the resource has afterwards. Kafka deletes those that are missing here.
        configs = array(AlterableConfig)

    resources = array(Resource)
    # True: check the request and report errors, but change nothing.
    validate_only = boolean()


class AlterConfigsResponse(Response, key=33, versions="0-2", flexible="2+", throttles="1+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class ResourceResponse(Struct):
        # Error of this resource, none of whose configs has changed. 0: all of them have.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(nullable="0+")
        # 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
        resource_type = int8()
        # Name of the topic, group or subscription, or a broker id. Empty with type 4: the default of all brokers.
        resource_name = string()

    responses = array(ResourceResponse)
