"""The transactional ids of this broker, and their log. A state takes effect after it is written.

Follows ``TransactionStateManager``. This broker leads every partition of ``__transaction_state``, so an id's partition
only determines where its records are stored.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.coordinators.loading import Loading
from kafka_tools.broker_embedded.coordinators.runtime import (
    TRANSACTION_CODES,
    CoordinatorLog,
    Runtime,
    mapped_errors,
    partition_for,
)
from kafka_tools.broker_embedded.coordinators.transactions.decisions import Transaction
from kafka_tools.broker_embedded.coordinators.transactions.loaded_transactions import LoadedTransactions
from kafka_tools.broker_embedded.coordinators.transactions.transaction_records import (
    transaction_record,
    transaction_tombstone,
)
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work, to_thread
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import TRANSACTION_STATE
from kafka_tools.protocol.stored.cluster_metadata import RemoveTopicRecord
from kafka_tools.protocol.stored.transaction_log import KEYS, VALUES

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.producer_ids import ProducerIds

log = logging.getLogger(__name__)

_DAMAGED = "The transactional ids in %s are not served until it is repaired (kafka-tools broker mend)"
_FEW = 200
"""The record of a transaction with more partitions is created on another thread."""


class TransactionStore:
    """``transactions`` by id."""

    def __init__(self, runtime: Runtime, producer_ids: ProducerIds) -> None:
        self._cluster = runtime.cluster
        self._features = runtime.features
        self._producer_ids = producer_ids
        self.log = CoordinatorLog(runtime, TRANSACTION_STATE)
        self.transactions: dict[str, Transaction] = {}
        self._changing: set[str] = set()
        """The ids whose next state is being created on another thread. Other changes of them are refused."""
        self.loading = Loading(self.log, KEYS, VALUES, runtime.background, _DAMAGED)
        runtime.journal.on_record(RemoveTopicRecord, self._apply_remove_topic)

    def holds(self, transaction: Transaction) -> bool:
        """Whether this is still the state of its id."""
        return self.transactions.get(transaction.id) is transaction

    def is_changing(self, transactional_id: str) -> bool:
        """Whether a large next state of the id is being written, or its partition is not served."""
        return transactional_id in self._changing or not self.loading.serves(transactional_id)

    def partition(self, transactional_id: str) -> int:
        """The partition of the log that contains the id."""
        return partition_for(transactional_id, self.log.partitions)

    def find(self, transactional_id: str) -> Transaction | None:
        """The transaction, if the id is known.

        BrokerError NOT_COORDINATOR without a log or for a damaged partition, COORDINATOR_LOAD_IN_PROGRESS while it is
        loading, and INVALID_REQUEST for an empty id.
        """
        if not transactional_id:
            raise error_for(error_codes.INVALID_REQUEST)
        if not self.log.partitions:
            raise error_for(error_codes.NOT_COORDINATOR)
        self.loading.check(transactional_id)
        return self.transactions.get(transactional_id)

    def changeable(self, transactional_id: str) -> Transaction | None:
        """Like ``find``. BrokerError CONCURRENT_TRANSACTIONS while another change is being written."""
        found = self.find(transactional_id)
        if transactional_id in self._changing:
            raise error_for(error_codes.CONCURRENT_TRANSACTIONS)
        return found

    # Changes

    def change(self, current: Transaction, changed: Transaction) -> Work[None]:
        """Like ``write``, in slices. Other changes of an id with very many partitions are refused meanwhile."""
        if len(changed.partitions) <= _FEW:
            self.write(changed)
            return
        self._changing.add(changed.id)
        try:
            record = yield from to_thread(partial(transaction_record, changed, self._features.transaction_version))
            with mapped_errors(TRANSACTION_CODES):
                batch = yield from self.log.batch_of([record])
                if not self.holds(current):  # its log was deleted
                    raise error_for(error_codes.NOT_COORDINATOR)
                self.log.append_batch(self.partition(changed.id), batch)
            self.transactions[changed.id] = changed
        finally:
            self._changing.discard(changed.id)

    def write(self, changed: Transaction) -> None:
        """Write a state, then apply it. BrokerError with the code for a client; then nothing has changed."""
        record = transaction_record(changed, self._features.transaction_version)
        with mapped_errors(TRANSACTION_CODES):
            self.log.append(self.partition(changed.id), [record])
        self.transactions[changed.id] = changed

    def in_batches(self, transactions: Iterable[Transaction], most: int) -> Work[list[list[Transaction]]]:
        """Split transactions into lists of at most ``most``, each of which can be deleted in one batch."""
        return self.log.in_batches(transactions, lambda each: (transaction_tombstone(each.id),), most)

    def forget(self, partition: int, ids: Sequence[str]) -> None:
        """Delete ids of one partition. After a BrokerError, nothing has changed."""
        with mapped_errors(TRANSACTION_CODES):
            self.log.append(partition, [transaction_tombstone(each) for each in ids])
        for each in ids:
            del self.transactions[each]

    # The log

    def load(self, spare_bytes: int, loaded: Callable[[Transaction], None]) -> int:
        """Load partitions of ``spare_bytes`` in total now, the others in the background; returns the bytes left.

        ``loaded`` gets each transaction once its partition is served.
        """

        def part(partition: int) -> LoadedTransactions:
            return LoadedTransactions(
                partition, self.partition, self.transactions, self._producer_ids.was_given, loaded
            )

        return self.loading.begin(part, spare_bytes)

    def _apply_remove_topic(self, record: RemoveTopicRecord) -> None:
        if self._cluster.removed_ids[record.topic_id] == TRANSACTION_STATE:
            log.info("unloading %d transactional ids: their log was deleted", len(self.transactions))
            self.transactions.clear()
            self.loading.stop()
