"""The ``.snapshot`` file of a partition: producers and their last sequences."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, int16, int32, int64, uint32


class ProducerSnapshot(Stored, versions="1"):
    """Producers of one partition at an offset; crc covers what follows it."""

    crc = uint32()

    class ProducerEntry(Struct):
        producer_id = int64()
        epoch = int16()
        last_sequence = int32()
        last_offset = int64()
        offset_delta = int32()
        timestamp = int64()
        coordinator_epoch = int32()
        current_txn_first_offset = int64()

    producer_entries = array(ProducerEntry)
