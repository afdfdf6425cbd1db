"""ControlledShutdown (7): move leaders away from a broker that is about to stop.

Sent by the broker to the controller in ZooKeeper mode. KRaft brokers use BrokerHeartbeat instead. In v0 the request
header has no client_id. Dropped in Kafka 4.0.

Versions
    v1: the ordinary request header.
    v2: broker epochs (KIP-380).
    v3: flexible.

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    STALE_CONTROLLER_EPOCH: the broker is not, or no longer, the controller.
    STALE_BROKER_EPOCH: the broker has registered again with a newer epoch (v2).
    BROKER_NOT_AVAILABLE: the controller does not know the broker.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class ControlledShutdownRequest(
    Request, key=7, effect="changes", versions="0-3", flexible="3+", rights={"cluster": "ClusterAction"}
):
    # The broker that wants to stop.
    broker_id = int32()
    # The epoch of the broker's registration in ZooKeeper. -1: not known, and not checked.
    broker_epoch = int64(versions="2+", default=-1, ignorable=True)


class ControlledShutdownResponse(Response, key=7, versions="0-3", flexible="3+"):
    # 0: no error.
    error_code = int16()

    class RemainingPartition(Struct):
        topic_name = string(map_key=True)
        partition_index = int32(map_key=True)

    # Partitions that the broker still leads. Empty: it may stop. Otherwise it waits and sends the request again.
    remaining_partitions = array(RemainingPartition)
