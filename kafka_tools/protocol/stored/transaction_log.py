"""Transactions in ``__transaction_state``."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, int8, int16, int32, int64, string


class TransactionLogKey(Stored, id=0, versions="0"):
    """The transactional id."""

    transactional_id = string()


class TransactionLogValue(Stored, versions="0-1", flexible="1+"):
    """State, partitions and producer of a transaction.

    v1: flexible.
    """

    producer_id = int64()
    previous_producer_id = int64(versions="1+", default=-1, tag=0)
    next_producer_id = int64(versions="1+", default=-1, tag=1)
    producer_epoch = int16()
    next_producer_epoch = int16(versions="1+", default=-1, tag=3)
    transaction_timeout_ms = int32()
    transaction_status = int8()

    class PartitionsSchema(Struct):
        topic = string()
        partition_ids = array(int32())

    transaction_partitions = array(PartitionsSchema, nullable="0+")
    transaction_last_update_timestamp_ms = int64()
    transaction_start_timestamp_ms = int64()
    client_transaction_version = int16(versions="1+", tag=2)


KEYS: dict[int, type[Stored]] = {
    0: TransactionLogKey,
}
"""Record type (the int16 before a key) -> key struct, always in version 0."""

VALUES: dict[int, type[Stored]] = {
    0: TransactionLogValue,
}
"""Record type -> value struct; the int16 before a value is its version."""
