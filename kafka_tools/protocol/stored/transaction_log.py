"""Transactions in ``__transaction_state``."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, int8, int16, int32, int64, string


class TransactionLogKey(Stored, id=0, versions="0"):
    """Key of a transactional id's state. No value (a tombstone): it was unused for transactional.id.expiration.ms."""

    # transactional.id of the producer.
    transactional_id = string()


class TransactionLogValue(Stored, versions="0-1", flexible="1+"):
    """State, partitions and producer of a transaction.

    The transaction coordinator writes it at every step: InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn,
    and once all markers are written.

    v1: adds previous_producer_id, next_producer_id, next_producer_epoch, client_transaction_version; flexible. Written
        since transaction.version 1.
    """

    # Producer id that writes under the transactional id.
    producer_id = int64()
    # Producer id before the last change of ids, so that a repeated EndTxn is recognised. -1: none.
    previous_producer_id = int64(versions="1+", default=-1, tag=0)
    # Producer id that takes over when the transaction completes, because epochs are used up. -1: none.
    next_producer_id = int64(versions="1+", default=-1, tag=1)
    # Raised to fence earlier instances of the producer.
    producer_epoch = int16()
    # Epoch that belongs to next_producer_id. -1: none.
    next_producer_epoch = int16(versions="1+", default=-1, tag=3)
    # transaction.timeout.ms of the producer: an open transaction is aborted after it.
    transaction_timeout_ms = int32()
    # 0 Empty, 1 Ongoing, 2 PrepareCommit, 3 PrepareAbort, 4 CompleteCommit, 5 CompleteAbort, 6 Dead, 7
    # PrepareEpochFence.
    transaction_status = int8()

    class PartitionsSchema(Struct):
        topic = string()
        # Indexes of the partitions.
        partition_ids = array(int32())

    # Partitions that the transaction writes to and that receive a marker when it ends. Null in the state Empty.
    transaction_partitions = array(PartitionsSchema, nullable="0+")
    # Time at which the record was written, in ms since 1970.
    transaction_last_update_timestamp_ms = int64()
    # Time at which the first partition was added, in ms since 1970. -1: no transaction yet.
    transaction_start_timestamp_ms = int64()
    # transaction.version that the client used. From 2 on each transaction has an epoch of its own (KIP-890).
    client_transaction_version = int16(versions="1+", tag=2)


KEYS: dict[int, type[Stored]] = {
    0: TransactionLogKey,
}
"""Record type (the int16 before a key) -> key struct, always in version 0."""

VALUES: dict[int, type[Stored]] = {
    0: TransactionLogValue,
}
"""Record type -> value struct; the int16 before a value is its version."""
