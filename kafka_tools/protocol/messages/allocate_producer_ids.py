"""AllocateProducerIds (67): get a block of producer ids.

Sent by brokers to the active controller before their last block is used up (KIP-730).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    STALE_BROKER_EPOCH: the broker is not registered, or has registered again with another epoch.
    UNKNOWN_SERVER_ERROR: all producer ids of 64 bits are used up.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, int16, int32, int64


class AllocateProducerIdsRequest(
    Request, key=67, effect="changes", versions="0", flexible="0+", rights={"cluster": "ClusterAction"}
):
    # The broker that needs the ids.
    broker_id = int32()
    # The epoch that the controller assigned when the broker registered. Another one leads to STALE_BROKER_EPOCH.
    broker_epoch = int64(default=-1)


class AllocateProducerIdsResponse(Response, key=67, versions="0", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # 0: no error.
    error_code = int16()
    # First id of the block. No other broker ever gets an id of it.
    producer_id_start = int64()
    # Number of ids in the block. Kafka always assigns 1000.
    producer_id_len = int32()
