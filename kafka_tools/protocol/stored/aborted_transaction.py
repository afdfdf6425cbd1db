"""An entry of a ``.txnindex`` file: a version, then this."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, int64


class AbortedTxn(Stored, versions="0"):
    """An aborted transaction of one producer: offsets of its first record and of its marker, and the LSO after it."""

    producer_id = int64()
    first_offset = int64()
    last_offset = int64()
    last_stable_offset = int64()
