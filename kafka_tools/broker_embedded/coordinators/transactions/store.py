"""The transactional ids of this broker, and their log: a state is written before it holds.

Follows ``TransactionStateManager``. One broker leads every partition of ``__transaction_state``, so an
id's partition only says where its records go.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.coordinators.loading import Loading
from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorLog, CoordinatorRecord, partition_for
from kafka_tools.broker_embedded.coordinators.transactions.decisions import Transaction
from kafka_tools.broker_embedded.coordinators.transactions.loaded_transactions import LoadedTransactions
from kafka_tools.broker_embedded.coordinators.transactions.transaction_records import (
    transaction_record,
    transaction_tombstone,
)
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work, to_thread
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import TRANSACTION_STATE
from kafka_tools.protocol.stored.cluster_metadata import RemoveTopicRecord, TopicRecord
from kafka_tools.protocol.stored.transaction_log import KEYS, VALUES

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.features import FinalizedFeatures
    from kafka_tools.broker_embedded.cluster.journal import Journal
    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.coordinators.producer_ids import ProducerIds
    from kafka_tools.broker_embedded.coordinators.state_topics import StateTopics
    from kafka_tools.broker_embedded.slices import Slices
    from kafka_tools.clock import Clock

log = logging.getLogger(__name__)

_DAMAGED = "The transactional ids in %s are not served until it is repaired (kafka-tools broker mend)"
_FEW = 200
"""The record of a transaction with more partitions is made on another thread."""

_CODE_OF_APPEND = {
    error_codes.UNKNOWN_TOPIC_OR_PARTITION: error_codes.COORDINATOR_NOT_AVAILABLE,
    error_codes.KAFKA_STORAGE_ERROR: error_codes.NOT_COORDINATOR,
    error_codes.MESSAGE_TOO_LARGE: error_codes.UNKNOWN_SERVER_ERROR,
}


@contextmanager
def _told_as_coordinator() -> Iterator[None]:
    """What fails in the log is a BrokerError with the code that clients of a coordinator know."""
    try:
        yield
    except BrokerError as error:
        raise error_for(_CODE_OF_APPEND.get(error.code.code, error.code.code), error.broker_message) from error


class TransactionStore:
    """Transactions by id."""

    def __init__(
        self,
        journal: Journal,
        topics: StateTopics,
        configs: ConfigStore,
        features: FinalizedFeatures,
        producer_ids: ProducerIds,
        clock: Clock,
        background: Slices,
    ) -> None:
        """``background``: where partitions are loaded that clients need not wait for."""
        self._features = features
        self._producer_ids = producer_ids
        self._log = CoordinatorLog(topics, configs, clock, TRANSACTION_STATE, None)
        self._transactions: dict[str, Transaction] = {}
        self._changing: set[str] = set()
        """The ids whose next state is being made on another thread: nobody else changes them meanwhile."""
        self.loading = Loading(self._log, KEYS, VALUES, background, _DAMAGED)
        self._topic_id: uuid.UUID | None = None
        journal.on_record(TopicRecord, self._apply_topic)
        journal.on_record(RemoveTopicRecord, self._apply_remove_topic)

    def all(self) -> list[Transaction]:
        """Every transaction as it is now."""
        return list(self._transactions.values())

    def holds(self, transaction: Transaction) -> bool:
        """Whether this still is the state of its id."""
        return self._transactions.get(transaction.id) is transaction

    def is_changing(self, transactional_id: str) -> bool:
        """Whether the next state of the id is being written, which takes long, or the last one is yet to be read."""
        return transactional_id in self._changing or not self.loading.serves(transactional_id)

    def partition(self, transactional_id: str) -> int:
        """The partition of the log that has the id."""
        return partition_for(transactional_id, self._log.partitions)

    def find(self, transactional_id: str) -> Transaction | None:
        """The transaction, if the id is known.

        BrokerError NOT_COORDINATOR without its part of the log, COORDINATOR_LOAD_IN_PROGRESS while that is read.
        """
        if not self._log.partitions:
            raise error_for(error_codes.NOT_COORDINATOR)
        self.loading.check(transactional_id)
        return self._transactions.get(transactional_id)

    def changeable(self, transactional_id: str) -> Transaction | None:
        """As ``find``. BrokerError CONCURRENT_TRANSACTIONS while somebody else's change is being written."""
        found = self.find(transactional_id)
        if transactional_id in self._changing:
            raise error_for(error_codes.CONCURRENT_TRANSACTIONS)
        return found

    # Changes

    def change(self, current: Transaction, changed: Transaction) -> Work[None]:
        """As ``write``, in slices. Who wants to change an id of very many partitions meanwhile has to come again."""
        if len(changed.partitions) <= _FEW:
            self.write(changed)
            return
        self._changing.add(changed.id)
        try:
            record = yield from to_thread(partial(transaction_record, changed, self._features.transaction_version))
            with _told_as_coordinator():
                batch = yield from self._log.batch_of([record])
                if not self.holds(current):  # its log was deleted
                    raise error_for(error_codes.NOT_COORDINATOR)
                self._log.append_batch(self.partition(changed.id), batch)
            self._transactions[changed.id] = changed
        finally:
            self._changing.discard(changed.id)

    def write(self, changed: Transaction) -> None:
        """Keep a state; then it holds. BrokerError with the code that a client gets, and nothing has changed."""
        record = transaction_record(changed, self._features.transaction_version)
        self._append(self.partition(changed.id), [record])
        self._transactions[changed.id] = changed

    def in_batches(self, transactions: Iterable[Transaction], most: int) -> Work[list[list[Transaction]]]:
        """Transactions in runs of no more than ``most``, of which each can be forgotten at once."""
        return self._log.in_batches(transactions, lambda each: (transaction_tombstone(each.id),), most)

    def forget(self, partition: int, ids: Sequence[str]) -> None:
        """Forget ids of one partition. BrokerError, and nothing has changed."""
        self._append(partition, [transaction_tombstone(each) for each in ids])
        for each in ids:
            del self._transactions[each]

    def _append(self, partition: int, records: Sequence[CoordinatorRecord]) -> None:
        with _told_as_coordinator():
            self._log.append(partition, records)

    # The log

    def load(self, spare_bytes: int, loaded: Callable[[Transaction], None]) -> int:
        """Read partitions of ``spare_bytes`` in all, and the others beside requests; returns how many bytes are left.

        ``loaded`` is told of each transaction once its partition is served.
        """

        def part(partition: int) -> LoadedTransactions:
            return LoadedTransactions(
                partition, self.partition, self._transactions, self._producer_ids.was_given, loaded
            )

        return self.loading.begin(part, spare_bytes)

    def _apply_topic(self, record: TopicRecord) -> None:
        if record.name == TRANSACTION_STATE:
            self._topic_id = record.topic_id

    def _apply_remove_topic(self, record: RemoveTopicRecord) -> None:
        if record.topic_id == self._topic_id:
            log.info("unloading %d transactional ids: their log was deleted", len(self._transactions))
            self._topic_id = None
            self._transactions.clear()
            self.loading.stop()
