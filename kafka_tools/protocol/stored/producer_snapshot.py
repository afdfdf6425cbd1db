"""The ``.snapshot`` file of a partition: producers and their last sequences."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, int16, int32, int64, uint32


class ProducerSnapshot(Stored, versions="1"):
    """The producers that a partition knows at the offset in the file's name.

    A broker writes it when a segment is rolled and at a clean shutdown, and reads it at the start instead of the whole
    log.
    """

    # CRC-32C of all bytes after it.
    crc = uint32()

    class ProducerEntry(Struct):
        # Handed out by InitProducerId.
        producer_id = int64()
        # Newest epoch of the producer. Batches with an older one are refused.
        epoch = int16()
        # Sequence of the last record of the last batch. -1: only a marker was written.
        last_sequence = int32()
        # Offset of that record. -1: none.
        last_offset = int64()
        # Records of the last batch less 1, so that the batch can be recognised when it is sent again.
        offset_delta = int32()
        # Largest timestamp of the last batch in ms. The entry expires after producer.id.expiration.ms.
        timestamp = int64()
        # Coordinator epoch of the last marker. -1: none. Markers of older coordinators are refused.
        coordinator_epoch = int32()
        # First record of the open transaction, where the last stable offset stays. -1: none is open.
        current_txn_first_offset = int64()

    # One for each producer id.
    producer_entries = array(ProducerEntry)
