"""Producer ids: handed out one by one from blocks of 1000 that the cluster's state records (KIP-730).

A block is committed, and on the disk, before its first id is given out: no id is ever given twice, though the machine
loses its power. Nothing else says which ids were given, as in Kafka; a start leaves the rest of its last block unused.
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
    """``next_id`` gives a fresh producer id."""

    def __init__(self, journal: Journal, node_id: int) -> None:
        self._journal = journal
        self._node_id = node_id
        self._next_block = 0
        self._next = 0
        self._end = 0
        self._recorded: ProducerIdsRecord | None = None
        """What the cluster's state says, however many ids are left out here."""
        journal.on_record(ProducerIdsRecord, self._apply)
        journal.on_image(lambda: iter([] if self._recorded is None else [self._recorded]))

    def next_id(self) -> int:
        """An id that nobody has had. BrokerError once 2^63 ids are used up."""
        if self._next == self._end:
            self._take_block()
        given = self._next
        self._next += 1
        return given

    def was_given(self, id: int) -> bool:
        """Whether an id is one of the blocks that the cluster has taken: no other has ever been given."""
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
