"""UpdateMetadata (6): what a broker tells clients of the cluster.

Sent by the controller to brokers in ZooKeeper mode. Dropped in Kafka 4.0.

Versions
    v1: several endpoints of a broker.
    v2: racks (KIP-36).
    v3: listener names (KIP-103).
    v4: offline replicas (KIP-112).
    v5: broker epochs; partitions grouped by topic (KIP-380).
    v6: flexible.
    v7: topic ids (KIP-516).
    v8: for the migration to KRaft (KIP-866).
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
    topic_name = string(versions="0-4", ignorable=True)
    partition_index = int32()
    controller_epoch = int32()
    leader = int32()
    leader_epoch = int32()
    isr = array(int32())
    zk_version = int32()
    replicas = array(int32())
    offline_replicas = array(int32(), versions="4+", ignorable=True)


class UpdateMetadataRequest(Request, key=6, versions="0-8", flexible="6+"):
    controller_id = int32()
    is_kraft_controller = boolean(versions="8+", json="isKRaftController")
    type = int8(versions="8+", tag=0)
    controller_epoch = int32()
    broker_epoch = int64(versions="5+", default=-1, ignorable=True)
    ungrouped_partition_states = array(PartitionState, versions="0-4")

    class TopicState(Struct):
        topic_name = string(versions="5+")
        topic_id = uuid(versions="7+", ignorable=True)
        partition_states = array(PartitionState, versions="5+")

    topic_states = array(TopicState, versions="5+")

    class Broker(Struct):
        id = int32()
        v0_host = string(versions="0", ignorable=True)
        v0_port = int32(versions="0", ignorable=True)

        class Endpoint(Struct):
            port = int32(versions="1+")
            host = string(versions="1+")
            listener = string(versions="3+", ignorable=True)
            security_protocol = int16(versions="1+")

        endpoints = array(Endpoint, versions="1+", ignorable=True)
        rack = string(versions="2+", nullable="2+", ignorable=True)

    live_brokers = array(Broker)


class UpdateMetadataResponse(Response, key=6, versions="0-8", flexible="6+"):
    error_code = int16()
