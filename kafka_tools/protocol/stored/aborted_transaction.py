"""An entry of a ``.txnindex`` file: a version, then this."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, int64


class AbortedTxn(Stored, versions="0"):
    """An aborted transaction in a segment.

    The broker appends it when an abort marker is written. Fetch takes the aborted transactions of its response from it.
    """

    # Producer whose records between the offsets are skipped.
    producer_id = int64()
    # First record of the transaction in the partition.
    first_offset = int64()
    # Offset of the abort marker.
    last_offset = int64()
    # Last stable offset of the partition once the transaction was over.
    last_stable_offset = int64()
