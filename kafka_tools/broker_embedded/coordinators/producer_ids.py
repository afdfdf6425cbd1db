"""Allocates producer ids from blocks of 1000 that the cluster's state records (KIP-730).

A block is committed and on disk before its first id is allocated, so no id is allocated twice, even after a power
failure. As in Kafka, nothing records single ids: a start does not use the rest of the last block.
Follows Kafka's ``ProducerIdControlManager`` and ``RPCProducerIdManager``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.stored.cluster_metadata import ProducerIdsRecord

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.journal import Journal

BLOCK_SIZE = 1000
"""``ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE``."""

_LAST = (1 << 63) - 1


class ProducerIds:
    """``next_id`` allocates a producer id."""

    def __init__(self, journal: Journal, node_id: int) -> None:
        self._journal = journal
        self._node_id = node_id
        self._next_block = 0
        self._next = 0
        self._end = 0
        self._recorded: ProducerIdsRecord | None = None
        """The newest record of the cluster's state."""
        journal.on_record(ProducerIdsRecord, self._apply)
        journal.on_image(lambda: iter([] if self._recorded is None else [self._recorded]))

    def next_id(self) -> int:
        """Allocate an unused id. BrokerError after all 2^63 ids are used."""
        if self._next == self._end:
            self._take_block()
        given = self._next
        self._next += 1
        return given

    def was_given(self, id: int) -> bool:
        """Whether an id is in a block that the cluster has allocated. No other id was ever returned."""
        return id < self._next_block

    def _take_block(self) -> None:
        first = self._next_block
        if first > _LAST - BLOCK_SIZE:
            raise error_for(error_codes.UNKNOWN_SERVER_ERROR, "Have exhausted all pids.")
        self._journal.commit([ProducerIdsRecord(broker_id=self._node_id, next_producer_id=first + BLOCK_SIZE)])
        self._journal.sync()
        self._next, self._end = first, first + BLOCK_SIZE

    def _apply(self, record: ProducerIdsRecord) -> None:
        self._next_block = record.next_producer_id
        self._recorded = record
