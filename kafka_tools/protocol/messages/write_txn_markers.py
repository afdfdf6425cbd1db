"""WriteTxnMarkers (27): write commit or abort markers of transactions to partitions.

Sent by transaction coordinators to the leaders of partitions, and by tools that end a hanging transaction (KIP-664).
The sender needs CLUSTER_ACTION or ALTER on the cluster.

Versions
    v1: flexible.
    v2: the version of the transaction, which decides how the epoch of a marker is checked (KIP-1228).

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the broker does not have the partition.
    NOT_LEADER_OR_FOLLOWER: the broker is not, or no longer, the leader of the partition.
    INVALID_PRODUCER_EPOCH: the epoch of the marker is older than the newest one of the producer.
    TRANSACTION_COORDINATOR_FENCED: another coordinator with a newer epoch has replaced the sender.
    COORDINATOR_NOT_AVAILABLE: the group coordinator cannot complete the offset commits of its partition now.
    COORDINATOR_LOAD_IN_PROGRESS: the group coordinator is still loading its partition of __consumer_offsets.
    NOT_COORDINATOR: the partition of the group coordinator has moved to another broker.
    CLUSTER_AUTHORIZATION_FAILED: the sender has neither CLUSTER_ACTION nor ALTER on the cluster.
    UNSUPPORTED_FOR_MESSAGE_FORMAT: the message format of the log does not support markers.
    NOT_ENOUGH_REPLICAS: too few replicas are in sync, and nothing was written.
    NOT_ENOUGH_REPLICAS_AFTER_APPEND: the number of in-sync replicas fell after the append.
    REQUEST_TIMED_OUT: the replicas did not confirm the marker in time.
    KAFKA_STORAGE_ERROR: the log directory of the partition has failed.
    UNKNOWN_SERVER_ERROR: the producer id, epoch or transaction version of a marker is negative.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, int64, string


class WriteTxnMarkersRequest(
    Request, key=27, effect="changes", versions="0-2", dropped="0", flexible="1+", rights={"cluster": "Alter"}
):
    class WritableTxnMarker(Struct):
        # Producer whose transaction ends.
        producer_id = int64()
        # An older epoch than the newest one of the producer leads to INVALID_PRODUCER_EPOCH.
        producer_epoch = int16()
        # True: commit. False: abort.
        transaction_result = boolean()

        class WritableTxnMarkerTopic(Struct):
            name = string()
            partition_indexes = array(int32())

        # Partitions of the transaction that this broker leads.
        topics = array(WritableTxnMarkerTopic)
        # Leader epoch of the coordinator's partition of __transaction_state. An older one leads to
        # TRANSACTION_COORDINATOR_FENCED.
        coordinator_epoch = int32()
        # Level of the feature transaction.version. Up to 1 the epoch may be the producer's newest. With 2 it must be
        # above it.
        transaction_version = int8(versions="2+", ignorable=True)

    # One for each transaction that ends.
    markers = array(WritableTxnMarker)


class WriteTxnMarkersResponse(Response, key=27, versions="0-2", flexible="1+"):
    class WritableTxnMarkerResult(Struct):
        # The value from the request.
        producer_id = int64()

        class WritableTxnMarkerTopicResult(Struct):
            name = string()

            class WritableTxnMarkerPartitionResult(Struct):
                partition_index = int32()
                # Error of this partition. 0: no error.
                error_code = int16()

            partitions = array(WritableTxnMarkerPartitionResult)

        topics = array(WritableTxnMarkerTopicResult)

    # One result for each marker of the request.
    markers = array(WritableTxnMarkerResult)
