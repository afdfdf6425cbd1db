"""CreateTopics (19): create topics.

Sent by clients to any broker, which passes it to the controller. Each topic has either counts or an assignment of
replicas; -1 takes the broker's default.

Versions
    v1: error messages; validate_only changes nothing (KIP-195).
    v2: throttle times in the response.
    v3: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v4: -1 for the broker's default of partitions and replication factor (KIP-464).
    v5: flexible; the topic's configs in the answer (KIP-525).
    v6: THROTTLING_QUOTA_EXCEEDED (KIP-599).
    v7: topic ids in the answer (KIP-516).

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not finish within timeout_ms; the change may still happen.
    TOPIC_ALREADY_EXISTS: the name is taken, or is being deleted.
    INVALID_TOPIC_EXCEPTION: the name breaks the rules, or collides with another one in metrics (a.b and a_b).
    INVALID_PARTITIONS: a partition count below 1.
    INVALID_REPLICATION_FACTOR: a factor below 1, or above the number of brokers that are alive.
    INVALID_REPLICA_ASSIGNMENT: brokers that do not exist, unequal or empty replica lists, partitions that do not count
        up.
    INVALID_CONFIG: a config that topics do not have, or a value that it does not take.
    INVALID_REQUEST: a topic given twice, both counts and an assignment, or a name that only Kafka may create.
    POLICY_VIOLATION: create.topic.policy.class.name refuses.
    TOPIC_AUTHORIZATION_FAILED: the client lacks CREATE on the topic.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks CREATE on the cluster, from clients of brokers before 2.0.
    UNSUPPORTED_VERSION: v4's defaults on a cluster without them.
    KAFKA_STORAGE_ERROR: no disk takes the partitions.
    THROTTLING_QUOTA_EXCEEDED: controller_mutation_rate is used up (KIP-599).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string, uuid


class CreateTopicsRequest(
    Request,
    key=19,
    versions="0-7",
    dropped="0-1",
    flexible="5+",
    rights={"topic": "Create on the topic or on the cluster", "cluster": "Create on the cluster"},
):
    class CreatableTopic(Struct):
        name = string(map_key=True)
        num_partitions = int32()  # -1: the broker's default, or from the assignments
        replication_factor = int16()  # -1: the broker's default, or from the assignments

        class CreatableReplicaAssignment(Struct):
            partition_index = int32(map_key=True)
            broker_ids = array(int32())

        assignments = array(CreatableReplicaAssignment)  # brokers of each partition by hand, the preferred leader first

        class CreatableTopicConfig(Struct):
            name = string(map_key=True)
            value = string(nullable="0+", config_value=True)

        configs = array(CreatableTopicConfig)

    topics = array(CreatableTopic)
    timeout_ms = int32(default=60000)
    validate_only = boolean(versions="1+")


class CreateTopicsResponse(Response, key=19, versions="0-7", flexible="5+", throttles="3+"):
    throttle_time_ms = int32(versions="2+", ignorable=True)

    class CreatableTopicResult(Struct):
        name = string(map_key=True)
        topic_id = uuid(versions="7+", ignorable=True)
        error_code = int16()
        error_message = string(versions="1+", nullable="1+", ignorable=True)
        # 29 where the caller may not see the configs, which are null then
        topic_config_error_code = int16(versions="5+", tag=0, ignorable=True)
        num_partitions = int32(versions="5+", default=-1, ignorable=True, on_error=-1)
        replication_factor = int16(versions="5+", default=-1, ignorable=True, on_error=-1)

        class CreatableTopicConfigs(Struct):
            name = string(versions="5+")
            value = string(versions="5+", nullable="5+", config_value=True)
            read_only = boolean(versions="5+")
            config_source = int8(versions="5+", default=-1, ignorable=True)
            is_sensitive = boolean(versions="5+")

        configs = array(CreatableTopicConfigs, versions="5+", nullable="5+", ignorable=True)

    topics = array(CreatableTopicResult)
