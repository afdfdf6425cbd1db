"""AlterConfigs (33): replace all dynamic configs of a resource.

Sent by tools to any broker, which passes it to the controller; a broker's loggers are changed by that broker. What is
not named goes back to its default: IncrementalAlterConfigs (44) changes single configs. Deprecated since Kafka 2.3.

Versions
    v1: throttled clients wait by themselves; the response comes first (KIP-219).
    v2: flexible.

Errors
    NOT_CONTROLLER: the node is not the active controller (any more).
    UNKNOWN_TOPIC_OR_PARTITION: no such topic.
    INVALID_TOPIC_EXCEPTION: the name breaks the rules for topic names.
    INVALID_REQUEST: a resource given twice, a type without configs, another broker's own configs, a null value.
    INVALID_CONFIG: a config that the resource does not have, or a value that it does not take.
    BROKER_ID_NOT_REGISTERED: no such broker.
    INVALID_GROUP_ID: an empty group id.
    POLICY_VIOLATION: alter.config.policy.class.name refuses.
    TOPIC_AUTHORIZATION_FAILED: no ALTER_CONFIGS on the topic.
    GROUP_AUTHORIZATION_FAILED: no ALTER_CONFIGS on the group.
    CLUSTER_AUTHORIZATION_FAILED: no ALTER_CONFIGS on the cluster, for everything else.
    REQUEST_TIMED_OUT: the controller did not store the change in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string


class AlterConfigsRequest(
    Request,
    key=33,
    versions="0-2",
    flexible="2+",
    rights={"topic": "AlterConfigs", "cluster": "AlterConfigs", "group": "AlterConfigs"},
):
    class Resource(Struct):
        resource_type = int8(map_key=True)
        resource_name = string(map_key=True)

        class AlterableConfig(Struct):
            name = string(map_key=True)
            value = string(nullable="0+", config_value=True)

        configs = array(AlterableConfig)

    resources = array(Resource)
    validate_only = boolean()


class AlterConfigsResponse(Response, key=33, versions="0-2", flexible="2+", throttles="1+"):
    throttle_time_ms = int32()

    class ResourceResponse(Struct):
        error_code = int16()
        error_message = string(nullable="0+")
        resource_type = int8()
        resource_name = string()

    responses = array(ResourceResponse)
