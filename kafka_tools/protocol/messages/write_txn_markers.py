"""WriteTxnMarkers (27): write the commit or abort markers of transactions to partitions.

Sent by transaction coordinators to the leaders of partitions, and by tools that end a hanging transaction (KIP-664);
needs CLUSTER_ACTION or ALTER on the cluster.

Versions
    v1: flexible.
    v2: the version of the transaction, by which the epoch of a marker is judged (KIP-1228).

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the broker has no such partition.
    NOT_LEADER_OR_FOLLOWER: the broker does not lead the partition (any more).
    INVALID_PRODUCER_EPOCH: a marker of an epoch older than the producer's newest.
    TRANSACTION_COORDINATOR_FENCED: a marker of a coordinator that has been replaced.
    COORDINATOR_NOT_AVAILABLE: commits of the group's partition cannot be completed now.
    COORDINATOR_LOAD_IN_PROGRESS: the group's partition is still being read.
    NOT_COORDINATOR: the group's partition has moved.
    CLUSTER_AUTHORIZATION_FAILED: neither CLUSTER_ACTION nor ALTER on the cluster.
    UNSUPPORTED_FOR_MESSAGE_FORMAT: the log's message format has no markers.
    NOT_ENOUGH_REPLICAS: too few replicas are in sync.
    NOT_ENOUGH_REPLICAS_AFTER_APPEND: too few replicas followed the append.
    REQUEST_TIMED_OUT: the replicas did not follow in time.
    KAFKA_STORAGE_ERROR: the disk of the partition has failed.
    UNKNOWN_SERVER_ERROR: a marker whose producer id, epoch or transaction version is negative.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, int64, string


class WriteTxnMarkersRequest(Request, key=27, versions="0-2", dropped="0", flexible="1+", rights={"cluster": "Alter"}):
    class WritableTxnMarker(Struct):
        producer_id = int64()
        producer_epoch = int16()
        transaction_result = boolean()  # true: commit

        class WritableTxnMarkerTopic(Struct):
            name = string()
            partition_indexes = array(int32())

        topics = array(WritableTxnMarkerTopic)
        coordinator_epoch = int32()  # of the partition of __transaction_state, so that an old coordinator is fenced
        transaction_version = int8(versions="2+", ignorable=True)

    markers = array(WritableTxnMarker)


class WriteTxnMarkersResponse(Response, key=27, versions="0-2", flexible="1+"):
    class WritableTxnMarkerResult(Struct):
        producer_id = int64()

        class WritableTxnMarkerTopicResult(Struct):
            name = string()

            class WritableTxnMarkerPartitionResult(Struct):
                partition_index = int32()
                error_code = int16()

            partitions = array(WritableTxnMarkerPartitionResult)

        topics = array(WritableTxnMarkerTopicResult)

    markers = array(WritableTxnMarkerResult)
