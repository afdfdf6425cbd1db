"""Metadata (3): the brokers, and the topics with their partitions, leaders and replicas.

Sent by every client to any broker. Which topics: v0 takes an empty list as all of them; from v1 on null is all and an
empty list none. Topics that do not exist are created when both the request and auto.create.topics.enable allow it.

Versions
    v1: racks, the controller, which topics are internal; null for all topics.
    v2: the cluster id (KIP-78).
    v3: throttle times in the response.
    v4: allow_auto_topic_creation (KIP-204).
    v5: offline replicas (KIP-112).
    v6: throttled clients wait by themselves; the response comes first (KIP-219).
    v7: leader epochs (KIP-320).
    v8: which operations the client may do, if it asks (KIP-430).
    v9: flexible.
    v10: topic ids in the answer (KIP-516).
    v11: the cluster's operations are left to DescribeCluster (KIP-700).
    v12: topics may be asked for by id (KIP-516).
    v13: REBOOTSTRAP_REQUIRED (KIP-1102).

Errors
    UNKNOWN_TOPIC_OR_PARTITION: no such topic, or no DESCRIBE on it while all were asked for; also while it is being
        created.
    UNKNOWN_TOPIC_ID: no topic has this id (v12).
    LEADER_NOT_AVAILABLE: the partition has no leader, or the topic was just created.
    LISTENER_NOT_FOUND: the leader has no listener of the name on which the request came (v6).
    REPLICA_NOT_AVAILABLE: some replicas are on brokers that are down (v0 only).
    INVALID_TOPIC_EXCEPTION: the name breaks the rules for topic names.
    INVALID_REPLICATION_FACTOR: auto-creation needs more brokers than are alive.
    INVALID_REQUEST: a topic without name and id, or with both.
    TOPIC_AUTHORIZATION_FAILED: no DESCRIBE on the topic, or no CREATE where it would be created.
    CLUSTER_AUTHORIZATION_FAILED: no DESCRIBE on the cluster, where its operations are asked for.
    REBOOTSTRAP_REQUIRED: the client has to begin again with its bootstrap servers (v13).
    UNSUPPORTED_VERSION: topic ids in a cluster that has none.
    KAFKA_STORAGE_ERROR: a disk has failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string, uuid


class MetadataRequest(
    Request, key=3, versions="0-13", flexible="9+", rights={"topic": "Describe", "cluster": "Describe"}
):
    class RequestTopic(Struct):
        topic_id = uuid(versions="10+", ignorable=True)  # in place of the name
        name = string(nullable="10+")

    topics = array(RequestTopic, nullable="1+")  # null: all; v0 takes an empty list for all
    allow_auto_topic_creation = boolean(versions="4+", default=True)
    include_cluster_authorized_operations = boolean(versions="8-10")
    include_topic_authorized_operations = boolean(versions="8+")


class MetadataResponse(Response, key=3, versions="0-13", flexible="9+", throttles="6+"):
    throttle_time_ms = int32(versions="3+", ignorable=True)

    class ResponseBroker(Struct):
        node_id = int32(map_key=True)
        host = string()
        port = int32()
        rack = string(versions="1+", nullable="1+", default=None, ignorable=True)

    brokers = array(ResponseBroker)
    cluster_id = string(versions="2+", nullable="2+", default=None, ignorable=True)
    controller_id = int32(versions="1+", default=-1, ignorable=True)  # some broker that is alive, in KRaft mode

    class ResponseTopic(Struct):
        error_code = int16()
        name = string(nullable="12+", map_key=True)
        topic_id = uuid(versions="10+", ignorable=True)
        is_internal = boolean(versions="1+", ignorable=True)  # made by brokers for themselves

        class ResponsePartition(Struct):
            error_code = int16()
            partition_index = int32()
            leader_id = int32()  # -1: none
            leader_epoch = int32(versions="7+", default=-1, ignorable=True)
            replica_nodes = array(int32())
            isr_nodes = array(int32())  # replicas in sync
            offline_replicas = array(int32(), versions="5+", ignorable=True)

        partitions = array(ResponsePartition)
        topic_authorized_operations = int32(versions="8+", default=-2147483648)

    topics = array(ResponseTopic)
    cluster_authorized_operations = int32(versions="8-10", default=-2147483648)
    error_code = int16(versions="13+", ignorable=True)
