"""IncrementalAlterConfigs (44): set, delete, append to or subtract from single configs.

Sent by tools to any broker, which forwards it to the controller. The loggers of a broker can only be changed by that
broker. Configs that the request does not name keep their values (KIP-339).

Versions
    v1: flexible.

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    UNKNOWN_TOPIC_OR_PARTITION: the topic does not exist.
    INVALID_TOPIC_EXCEPTION: the name breaks the rules for topic names.
    INVALID_REQUEST: a resource or config occurs twice, the type has no configs, a value is null, or the operation is
        unknown.
    INVALID_CONFIG: the resource has no such config, the value is invalid, or a list operation applies to a config that
        is not a list.
    BROKER_ID_NOT_REGISTERED: the broker does not exist.
    INVALID_GROUP_ID: the group id is empty.
    POLICY_VIOLATION: the policy of alter.config.policy.class.name rejects the change.
    TOPIC_AUTHORIZATION_FAILED: the client lacks ALTER_CONFIGS on the topic.
    GROUP_AUTHORIZATION_FAILED: the client lacks ALTER_CONFIGS on the group.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER_CONFIGS on the cluster (for all other resources).
    REQUEST_TIMED_OUT: the controller did not store the change in time.
    UNSUPPORTED_VERSION: the feature levels of the cluster do not allow the change.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string


class IncrementalAlterConfigsRequest(
    Request,
    key=44,
    effect="changes",
    versions="0-1",
    flexible="1+",
    rights={"topic": "AlterConfigs", "cluster": "AlterConfigs", "group": "AlterConfigs"},
):
    class AlterConfigsResource(Struct):
        # 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
        resource_type = int8(map_key=True)
        # Name of the topic, group or subscription, or a broker id. Empty with type 4: the default of all brokers.
        resource_name = string(map_key=True)

        class AlterableConfig(Struct):
            name = string(map_key=True)
            # 0 set, 1 delete (back to the default), 2 append to a list, 3 subtract from a list.
            config_operation = int8(map_key=True)
            # New value, or the list items to append or subtract, separated by commas. Null only with delete.
            value = string(nullable="0+", config_value=True)

        # Configs to change. The others keep their values.
        configs = array(AlterableConfig)

    resources = array(AlterConfigsResource)
    # True: check the request and report errors, but change nothing.
    validate_only = boolean()


class IncrementalAlterConfigsResponse(Response, key=44, versions="0-1", flexible="1+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class AlterConfigsResourceResponse(Struct):
        # Error of this resource, none of whose configs has changed. 0: all of them have.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(nullable="0+")
        # 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
        resource_type = int8()
        # The value from the request.
        resource_name = string()

    responses = array(AlterConfigsResourceResponse)
