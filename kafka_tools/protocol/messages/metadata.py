"""Metadata (3): get the brokers, and the topics with their partitions, leaders and replicas.

Sent by every client to any broker. The broker creates topics that do not exist, if both the request and
auto.create.topics.enable allow it.

Versions
    v1: racks, the controller, which topics are internal; null for all topics.
    v2: the cluster id (KIP-78).
    v3: throttle times in the response.
    v4: allow_auto_topic_creation (KIP-204).
    v5: offline replicas (KIP-112).
    v6: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v7: leader epochs (KIP-320).
    v8: the operations that the client may perform, if it asks for them (KIP-430).
    v9: flexible.
    v10: topic ids in the response (KIP-516).
    v11: no more operations on the cluster, which DescribeCluster returns (KIP-700).
    v12: requests for topics by id (KIP-516).
    v13: REBOOTSTRAP_REQUIRED (KIP-1102).

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the topic does not exist, or Kafka is still creating it.
    UNKNOWN_TOPIC_ID: no topic has this id (v12).
    LEADER_NOT_AVAILABLE: the partition has no leader, or the topic was just created.
    LISTENER_NOT_FOUND: the leader does not have the listener that the request came through (v6).
    REPLICA_NOT_AVAILABLE: some replicas are on brokers that are down (v0).
    INVALID_TOPIC_EXCEPTION: the name breaks the rules for topic names.
    INVALID_REPLICATION_FACTOR: the broker cannot create the topic, because too few brokers are alive.
    INVALID_REQUEST: a topic has neither name nor id, or both.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the topic, or CREATE on a topic to be created.
    CLUSTER_AUTHORIZATION_FAILED: the client asks for the operations on the cluster but lacks DESCRIBE on it.
    REBOOTSTRAP_REQUIRED: the client must start again from its bootstrap servers (v13).
    UNSUPPORTED_VERSION: topic ids in a cluster that does not support them.
    KAFKA_STORAGE_ERROR: a log directory has failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string, uuid


class MetadataRequest(
    Request, key=3, effect="reads", versions="0-13", flexible="9+", rights={"topic": "Describe", "cluster": "Describe"}
):
    class RequestTopic(Struct):
        # From v12 a topic can be asked for by id. Zero: by name.
        topic_id = uuid(versions="10+", ignorable=True)
        # Null: the topic is asked for by id (v12).
        name = string(nullable="10+")

    # Null: all topics. An empty list: no topics, but in v0 all topics.
    topics = array(RequestTopic, nullable="1+")
    # True: create missing topics, if auto.create.topics.enable allows it. Up to v3 always true.
    allow_auto_topic_creation = boolean(versions="4+", default=True)
    # True: fill cluster_authorized_operations in the response.
    include_cluster_authorized_operations = boolean(versions="8-10")
    # True: fill topic_authorized_operations in the response.
    include_topic_authorized_operations = boolean(versions="8+")


class MetadataResponse(Response, key=3, versions="0-13", flexible="9+", throttles="6+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="3+", ignorable=True)

    class ResponseBroker(Struct):
        node_id = int32(map_key=True)
        # Host of the listener that the request came through.
        host = string()
        port = int32()
        # The broker's broker.rack. Null: not configured.
        rack = string(versions="1+", nullable="1+", default=None, ignorable=True)

    # Brokers that are alive and not fenced.
    brokers = array(ResponseBroker)
    # Null: the broker does not know it yet.
    cluster_id = string(versions="2+", nullable="2+", default=None, ignorable=True)
    # With ZooKeeper the active controller. With KRaft a random broker, which passes requests to the controller. -1:
    # none.
    controller_id = int32(versions="1+", default=-1, ignorable=True)

    class ResponseTopic(Struct):
        # Error of this topic. 0: no error.
        error_code = int16()
        # Null: the topic was asked for by an id that does not exist.
        name = string(nullable="12+", map_key=True)
        # Zero: the topic has no id or does not exist.
        topic_id = uuid(versions="10+", ignorable=True)
        # True: a topic that brokers use themselves, such as __consumer_offsets.
        is_internal = boolean(versions="1+", ignorable=True)

        class ResponsePartition(Struct):
            # Error of this partition. 0: no error.
            error_code = int16()
            partition_index = int32()
            # Broker id of the leader. -1: none.
            leader_id = int32()
            # Counts the leaders of the partition, so that clients notice outdated metadata. -1: unknown.
            leader_epoch = int32(versions="7+", default=-1, ignorable=True)
            # Broker ids of all replicas, the preferred leader first.
            replica_nodes = array(int32())
            # Broker ids of the in-sync replicas.
            isr_nodes = array(int32())
            # Replicas on brokers that are down, or on failed disks.
            offline_replicas = array(int32(), versions="5+", ignorable=True)

        partitions = array(ResponsePartition)
        # Operations that the client may perform on the topic: bit n is set for AclOperation n. -2147483648: not
        # requested.
        topic_authorized_operations = int32(versions="8+", default=-2147483648)

    # One result for each requested topic, or for each topic on which the client has DESCRIBE.
    topics = array(ResponseTopic)
    # Operations that the client may perform on the cluster: bit n is set for AclOperation n. -2147483648: not
    # requested.
    cluster_authorized_operations = int32(versions="8-10", default=-2147483648)
    # Error of the whole request. 0: no error.
    error_code = int16(versions="13+", ignorable=True)
