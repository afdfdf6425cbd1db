"""Producer ids: handed out one by one from blocks of 1000 that the cluster's state records (KIP-730).

A block is committed before its first id is given out, so no id is ever given twice, whatever happens; a start
leaves the rest of its last block unused. Follows Kafka's ``ProducerIdControlManager`` and ``RPCProducerIdManager``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.refusals import refuse
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.stored.cluster_metadata import ProducerIdsRecord

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.journal import Journal

BLOCK_SIZE = 1000
"""``ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE``."""

_LAST = (1 << 63) - 1
_LEFT_OUT = 1000 * BLOCK_SIZE


class ProducerIds:
    """``next_id`` gives a fresh producer id."""

    def __init__(self, journal: Journal, node_id: int) -> None:
        self._journal = journal
        self._node_id = node_id
        self._next_block = 0
        self._next = 0
        self._end = 0
        journal.on_record(ProducerIdsRecord, self._apply)

    def next_id(self) -> int:
        """An id that nobody has had. BrokerError once 2^63 ids are used up."""
        if self._next == self._end:
            self._take_block()
        given = self._next
        self._next += 1
        return given

    def saw(self, *ids: int) -> None:
        """These ids were given, although the record of their block may have been lost with the machine's power."""
        self._next_block = max(self._next_block, (max(ids) // BLOCK_SIZE + 1) * BLOCK_SIZE)

    def leave_out(self) -> None:
        """Ids that ``saw`` is yet to be told of may be the next ones: see that none of them is given before it is.

        A machine that loses its power forgets the blocks of its last moments, which are fewer than those left out here.
        """
        self._next_block = min(self._next_block + _LEFT_OUT, _LAST // BLOCK_SIZE * BLOCK_SIZE)

    def _take_block(self) -> None:
        first = self._next_block
        if first > _LAST - BLOCK_SIZE:
            raise refuse(error_codes.UNKNOWN_SERVER_ERROR, "Have exhausted all pids.")
        self._journal.commit([ProducerIdsRecord(broker_id=self._node_id, next_producer_id=first + BLOCK_SIZE)])
        self._next, self._end = first, first + BLOCK_SIZE

    def _apply(self, record: ProducerIdsRecord) -> None:
        self._next_block = record.next_producer_id
