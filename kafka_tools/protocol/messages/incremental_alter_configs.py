"""IncrementalAlterConfigs (44): set, delete, append to or subtract from single configs.

Sent by tools to any broker, which passes it to the controller; a broker's loggers are changed by that broker. What is
not named stays (KIP-339).

Versions
    v1: flexible.

Errors
    NOT_CONTROLLER: the node is not the active controller (any more).
    UNKNOWN_TOPIC_OR_PARTITION: no such topic.
    INVALID_TOPIC_EXCEPTION: the name breaks the rules for topic names.
    INVALID_REQUEST: a resource or config given twice, a type without configs, a null value, an unknown operation.
    INVALID_CONFIG: a config that the resource does not have, a value that it does not take, a list operation on no
        list.
    BROKER_ID_NOT_REGISTERED: no such broker.
    INVALID_GROUP_ID: an empty group id.
    POLICY_VIOLATION: alter.config.policy.class.name refuses.
    TOPIC_AUTHORIZATION_FAILED: no ALTER_CONFIGS on the topic.
    GROUP_AUTHORIZATION_FAILED: no ALTER_CONFIGS on the group.
    CLUSTER_AUTHORIZATION_FAILED: no ALTER_CONFIGS on the cluster, for everything else.
    REQUEST_TIMED_OUT: the controller did not store the change in time.
    UNSUPPORTED_VERSION: an operation that the cluster's feature levels do not have.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string


class IncrementalAlterConfigsRequest(
    Request,
    key=44,
    versions="0-1",
    flexible="1+",
    rights={"topic": "AlterConfigs", "cluster": "AlterConfigs", "group": "AlterConfigs"},
):
    class AlterConfigsResource(Struct):
        resource_type = int8(map_key=True)
        resource_name = string(map_key=True)

        class AlterableConfig(Struct):
            name = string(map_key=True)
            config_operation = int8(map_key=True)
            value = string(nullable="0+", config_value=True)

        configs = array(AlterableConfig)

    resources = array(AlterConfigsResource)
    validate_only = boolean()


class IncrementalAlterConfigsResponse(Response, key=44, versions="0-1", flexible="1+"):
    throttle_time_ms = int32()

    class AlterConfigsResourceResponse(Struct):
        error_code = int16()
        error_message = string(nullable="0+")
        resource_type = int8()
        resource_name = string()

    responses = array(AlterConfigsResourceResponse)
