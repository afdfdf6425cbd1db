"""UpdateMetadata (6): tell a broker the metadata of the cluster, which clients ask it for.

Sent by the controller to brokers in ZooKeeper mode. KRaft brokers read the metadata log instead, and Kafka 4.0 dropped
the API.

Versions
    v1: several endpoints for each broker.
    v2: racks (KIP-36).
    v3: listener names (KIP-103).
    v4: offline replicas (KIP-112).
    v5: broker epochs; partitions grouped by topic (KIP-380).
    v6: flexible.
    v7: topic ids (KIP-516).
    v8: is_kraft_controller and type, for the migration to KRaft (KIP-866).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    STALE_CONTROLLER_EPOCH: the controller has been replaced.
    STALE_BROKER_EPOCH: the broker has registered again with a newer epoch (v5).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    string,
    uuid,
)


class PartitionState(Struct):
    # Later versions group the partitions by topic.
    topic_name = string(versions="0-4", ignorable=True)
    partition_index = int32()
    # Epoch of the controller that made the last change of leader or in-sync replicas.
    controller_epoch = int32()
    # Broker id of the leader. -1: none. -2: the topic is being deleted, and the broker forgets the partition.
    leader = int32()
    # Counts the leaders of the partition.
    leader_epoch = int32()
    # Broker ids of the in-sync replicas.
    isr = array(int32())
    # Version of the partition's state in ZooKeeper.
    zk_version = int32()
    # Broker ids of all replicas, the preferred leader first.
    replicas = array(int32())
    # Replicas on brokers that are down, or on failed disks.
    offline_replicas = array(int32(), versions="4+", ignorable=True)


class UpdateMetadataRequest(
    Request, key=6, effect="changes", versions="0-8", flexible="6+", rights={"cluster": "ClusterAction"}
):
    # Node id of the controller that sends the request.
    controller_id = int32()
    # True: a KRaft controller sends the request, during the migration from ZooKeeper.
    is_kraft_controller = boolean(versions="8+", json="isKRaftController")
    # 0 not specified, 1 only what changed, 2 all metadata of the cluster.
    type = int8(versions="8+", tag=0)
    # Counts the controllers. A smaller one than the broker knows leads to STALE_CONTROLLER_EPOCH.
    controller_epoch = int32()
    # The epoch that the receiving broker got when it registered. An older one leads to STALE_BROKER_EPOCH. -1: not
    # checked.
    broker_epoch = int64(versions="5+", default=-1, ignorable=True)
    # Later versions send topic_states instead.
    ungrouped_partition_states = array(PartitionState, versions="0-4")

    class TopicState(Struct):
        topic_name = string(versions="5+")
        # Zero: the topic has no id.
        topic_id = uuid(versions="7+", ignorable=True)
        partition_states = array(PartitionState, versions="5+")

    # Partitions that changed. The broker keeps what it knows of the others.
    topic_states = array(TopicState, versions="5+")

    class Broker(Struct):
        id = int32()
        # In v0 a broker has a single endpoint, without TLS.
        v0_host = string(versions="0", ignorable=True)
        # In v0 a broker has a single endpoint, without TLS.
        v0_port = int32(versions="0", ignorable=True)

        class Endpoint(Struct):
            port = int32(versions="1+")
            host = string(versions="1+")
            # Name of the listener. Up to v2 it is the name of the security protocol.
            listener = string(versions="3+", ignorable=True)
            # 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
            security_protocol = int16(versions="1+")

        # Advertised listeners of the broker.
        endpoints = array(Endpoint, versions="1+", ignorable=True)
        # The broker's broker.rack. Null: not configured.
        rack = string(versions="2+", nullable="2+", ignorable=True)

    # All brokers that are alive. The broker forgets the others.
    live_brokers = array(Broker)


class UpdateMetadataResponse(Response, key=6, versions="0-8", flexible="6+"):
    # Error of the whole request. 0: no error.
    error_code = int16()
