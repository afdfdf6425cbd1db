"""CreateTopics (19): create topics.

Sent by clients to any broker, which forwards it to the controller. Each topic has either counts, or an assignment of
replicas and -1 for both counts.

Versions
    v1: error messages; validate_only changes nothing (KIP-195).
    v2: throttle times in the response.
    v3: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v4: -1 as partition count or replication factor for the default of the broker (KIP-464).
    v5: flexible; the topic's configs in the answer (KIP-525).
    v6: THROTTLING_QUOTA_EXCEEDED (KIP-599).
    v7: topic ids in the answer (KIP-516).

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not finish within timeout_ms. The change may still happen.
    TOPIC_ALREADY_EXISTS: the topic exists, or is being deleted.
    INVALID_TOPIC_EXCEPTION: the name is not a valid topic name, or collides with another one in metrics (a.b and a_b).
    INVALID_PARTITIONS: the partition count is below 1.
    INVALID_REPLICATION_FACTOR: the factor is below 1, or above the number of live brokers.
    INVALID_REPLICA_ASSIGNMENT: a broker does not exist, the replica lists are empty or differ in length, or partitions
        do not count up from 0.
    INVALID_CONFIG: topics do not have the config, or the value is invalid.
    INVALID_REQUEST: a topic occurs twice, has both counts and an assignment, or may only be created by Kafka.
    POLICY_VIOLATION: the policy of create.topic.policy.class.name rejects the topic.
    TOPIC_AUTHORIZATION_FAILED: the client lacks CREATE on the topic.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks CREATE on the cluster. Only brokers before 2.0 send it.
    UNSUPPORTED_VERSION: the inter-broker protocol of the cluster does not support -1 (v4).
    KAFKA_STORAGE_ERROR: no log directory can take the partitions.
    THROTTLING_QUOTA_EXCEEDED: controller_mutation_rate is used up (KIP-599).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string, uuid


class CreateTopicsRequest(
    Request,
    key=19,
    effect="changes",
    versions="0-7",
    dropped="0-1",
    flexible="5+",
    rights={"topic": "Create on the topic or on the cluster", "cluster": "Create on the cluster"},
):
    class CreatableTopic(Struct):
        name = string(map_key=True)
        # -1: num.partitions of the broker (from v4), or as many as assignments has.
        num_partitions = int32()
        # -1: default.replication.factor of the broker (from v4), or as assignments says.
        replication_factor = int16()

        class CreatableReplicaAssignment(Struct):
            # From 0 without gaps. A gap leads to INVALID_REPLICA_ASSIGNMENT.
            partition_index = int32(map_key=True)
            # Replicas of the partition, the preferred leader first. All lists have the same length.
            broker_ids = array(int32())

        # Replicas of every partition. Empty: the controller chooses the brokers.
        assignments = array(CreatableReplicaAssignment)

        class CreatableTopicConfig(Struct):
            name = string(map_key=True)
            # Null leads to INVALID_CONFIG: omit the config to use its default.
            value = string(nullable="0+", config_value=True)

        # Configs that override the defaults of the cluster.
        configs = array(CreatableTopicConfig)

    topics = array(CreatableTopic)
    # How long the controller may take, in milliseconds. Then it answers REQUEST_TIMED_OUT.
    timeout_ms = int32(default=60000)
    # True: check the request and report errors, but create nothing.
    validate_only = boolean(versions="1+")


class CreateTopicsResponse(Response, key=19, versions="0-7", flexible="5+", throttles="3+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="2+", ignorable=True)

    class CreatableTopicResult(Struct):
        name = string(map_key=True)
        # Id of the new topic. Zero: with an error. With validate_only it is a random id without meaning.
        topic_id = uuid(versions="7+", ignorable=True)
        # Error of this topic. 0: the topic exists, or could be created with validate_only.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(versions="1+", nullable="1+", ignorable=True)
        # TOPIC_AUTHORIZATION_FAILED: the client lacks DESCRIBE_CONFIGS, so the other fields are not filled. 0: no
        # error.
        topic_config_error_code = int16(versions="5+", tag=0, ignorable=True)
        # -1: not known.
        num_partitions = int32(versions="5+", default=-1, ignorable=True, on_error=-1)
        # -1: not known.
        replication_factor = int16(versions="5+", default=-1, ignorable=True, on_error=-1)

        class CreatableTopicConfigs(Struct):
            name = string(versions="5+")
            # Null: the value is sensitive.
            value = string(versions="5+", nullable="5+", config_value=True)
            # True: the config cannot be changed. Always false for topics.
            read_only = boolean(versions="5+")
            # 1 topic, 2 one broker, 3 all brokers (dynamic configs). 4 server.properties, 5 default.
            config_source = int8(versions="5+", default=-1, ignorable=True)
            # True: the value is secret. Always false for topics.
            is_sensitive = boolean(versions="5+")

        # All configs of the new topic. Null: not known.
        configs = array(CreatableTopicConfigs, versions="5+", nullable="5+", ignorable=True)

    # One result for each topic of the request.
    topics = array(CreatableTopicResult)
