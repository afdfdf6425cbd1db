"""The transaction coordinator: all transactional ids of this broker, stored in ``__transaction_state``.

``decisions`` decides, ``store`` writes the decisions, and this module executes them. A decision is final once it is in
the log. Then its markers are written, with retries until each is written; a start continues earlier decisions. Follows
Kafka's ``TransactionCoordinator`` and ``TransactionMarkerChannelManager``.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.coordinators.runtime import Runtime, in_order
from kafka_tools.broker_embedded.coordinators.transactions.decisions import (
    IDLE,
    PREPARED,
    Transaction,
    TxnProducer,
    check_may_go_on,
    check_producer,
    completed,
    ended,
    extended,
    fenced,
    initialized,
)
from kafka_tools.broker_embedded.coordinators.transactions.markers import Marker, Markers
from kafka_tools.broker_embedded.coordinators.transactions.store import TransactionStore
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work, shielded
from kafka_tools.errors import BrokerError, LogError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import TransactionState
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.producer_ids import ProducerIds

log = logging.getLogger(__name__)

RETRY_MS, MOST_RETRY_MS = 100, 10_000
"""The first and the maximum delay before failed markers are written again. The delay doubles each time."""
_NOT_ENDED = "cannot end a transaction yet"
_TOMBSTONES = 100
"""Maximum number of ids that are deleted in one batch, while requests wait."""


class TransactionCoordinator:
    """Transactions by id. Every change takes effect after it is in the log."""

    def __init__(self, runtime: Runtime, producer_ids: ProducerIds, markers: Markers) -> None:
        self._runtime = runtime
        self._store = TransactionStore(runtime, producer_ids)
        self.log, self.loading = self._store.log, self._store.loading
        self._producer_ids = producer_ids
        self._markers = markers
        self._completing: set[TxnProducer] = set()
        """The producers whose markers are being written now."""
        self._retry_ms: dict[str, int] = {}
        """The retry delays of ids with failed markers. They grow, so that a full disk causes little work."""

    # Requests of producers

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: TxnProducer | None
    ) -> Work[TxnProducer]:
        """The id's producer with its next epoch. BrokerError; CONCURRENT_TRANSACTIONS after it aborted an open one."""
        if not transactional_id:
            raise error_for(error_codes.INVALID_REQUEST)
        if not 0 < timeout_ms <= self._runtime.integer("transaction.max.timeout.ms"):
            raise error_for(error_codes.INVALID_TRANSACTION_TIMEOUT)
        current = self._store.changeable(transactional_id)
        if current is None:
            current = Transaction(transactional_id, self._producer_ids.next_id(), timeout_ms=timeout_ms)
        check_may_go_on(current, expected)
        if current.state == TransactionState.ONGOING:
            yield from self._abort(current)
            raise error_for(error_codes.CONCURRENT_TRANSACTIONS)
        begun = initialized(current, expected, timeout_ms, self._runtime.now_ms(), self._producer_ids.next_id)
        self._store.write(begun)
        return TxnProducer(begun.producer_id, begun.epoch)

    def add_partitions(
        self, transactional_id: str, producer: TxnProducer, added: Iterable[TopicPartition], client_version: int
    ) -> Work[None]:
        """Add partitions to the transaction, which begins with the first one. Raises BrokerError."""
        current = self._known(transactional_id)
        grown = extended(current, producer, frozenset(added), self._runtime.now_ms(), client_version)
        if grown is not None:
            yield from self._store.change(current, grown)

    def check_partitions(
        self, transactional_id: str, producer: TxnProducer, wanted: Collection[TopicPartition]
    ) -> Work[dict[TopicPartition, int]]:
        """Check whether partitions are in the transaction; an error code for each. BrokerError for all of them.

        The result is valid when this returns: if the transaction changes meanwhile, the check is repeated.
        """
        while True:
            current = self._known(transactional_id)
            check_producer(current, producer)
            codes = {}
            for at in wanted:
                yield
                codes[at] = error_codes.NONE if at in current.partitions else error_codes.TRANSACTION_ABORTABLE
            if self._store.holds(current):
                return codes

    def end(self, transactional_id: str, producer: TxnProducer, commit: bool, client_version: int) -> Work[TxnProducer]:
        """Commit or abort; returns the producer for the next transaction (sent only to clients of version 2).

        Raises BrokerError. The decision is written when this returns; failed markers are written later.
        """
        current = self._known(transactional_id)
        decided = ended(current, producer, commit, self._runtime.now_ms(), client_version, self._producer_ids.next_id)
        if decided is not None:
            yield from self._store.change(current, decided)
            yield from self._complete(decided)
            current = completed(decided, self._runtime.now_ms())
        return TxnProducer(current.producer_id, current.epoch)

    # Requests of tools

    def describe(self, transactional_id: str) -> Transaction:
        """The transaction. BrokerError for an unknown id."""
        found = self._store.find(transactional_id)
        if found is None:
            raise error_for(error_codes.TRANSACTIONAL_ID_NOT_FOUND)
        return found

    def matching(
        self, states: Collection[str], producer_ids: Collection[int], open_for_ms: int
    ) -> Work[Iterator[Transaction]]:
        """Transactions in the order of their ids. No states or no ids mean all; ``open_for_ms`` below 0: any age.

        BrokerError COORDINATOR_LOAD_IN_PROGRESS while any partition is loading.
        """
        self._store.loading.check_all()
        now_ms = self._runtime.now_ms()

        def matches(found: Transaction) -> Transaction | None:
            is_one = (
                (not states or found.state in states)
                and (not producer_ids or found.producer_id in producer_ids)
                and (open_for_ms < 0 or now_ms - found.started_ms > open_for_ms)
            )
            return found if is_one else None

        return in_order(self._store.transactions, matches)

    # Execution of decisions

    def _abort(self, current: Transaction) -> Work[None]:
        decided = fenced(
            current, self._runtime.now_ms(), self._runtime.features.transaction_version, self._producer_ids.next_id
        )
        yield from self._store.change(current, decided)
        yield from self._complete(decided)

    @shielded
    def _complete(self, decided: Transaction, left: Collection[TopicPartition] | None = None) -> Work[None]:
        """Write the markers, then the completed state. Failed markers are retried later.

        ``left``: the partitions without a marker; None: all. A failed partition does not delay the others, whose
        readers wait for the marker. A retry writes no second marker to the other partitions.
        """
        producer = TxnProducer(decided.producer_id, decided.epoch)
        if producer in self._completing:
            return
        self._completing.add(producer)
        refused: list[TopicPartition] = []
        epoch = self.log.leader_epoch(self._store.partition(decided.id))
        marker = Marker(decided.producer_id, decided.epoch, decided.commits, epoch, decided.client_version)
        try:
            yield from self._runtime.slices.durable()  # otherwise a power failure could mix commits and aborts
            for at in decided.partitions if left is None else left:
                yield
                code = self._markers.write(marker, at)
                if code in (error_codes.KAFKA_STORAGE_ERROR, error_codes.NOT_LEADER_OR_FOLLOWER):
                    refused.append(at)
                elif code:  # the partition is deleted, or a newer coordinator or producer ended the transaction
                    log.info("%s: cannot write a marker to %s: %s", decided.id, at, error_codes.error(code).name)
            if refused:
                self._later(decided, refused)
                return
            yield from self._runtime.slices.durable()  # otherwise a marker could be lost and not written again
            if not self._store.holds(decided):
                return  # its topic was deleted meanwhile
            try:
                self._store.write(completed(decided, self._runtime.now_ms()))
                self._retry_ms.pop(decided.id, None)
            except BrokerError as error:
                log.warning("cannot write the completion of %s yet: %s", decided.id, error)
                self._later(decided, refused)
        finally:
            self._completing.discard(producer)

    def _later(self, decided: Transaction, left: Collection[TopicPartition]) -> None:
        def again() -> None:
            if self._store.holds(decided):
                self._runtime.begin(self._complete(decided, left), _NOT_ENDED)
            else:
                self._retry_ms.pop(decided.id, None)

        self._runtime.timers.call_later(wait_ms := self._retry_ms.get(decided.id, RETRY_MS), again)
        self._retry_ms[decided.id] = min(2 * wait_ms, MOST_RETRY_MS)

    def _abort_timed_out(self) -> Work[None]:
        """Abort all transactions that are open for longer than their timeouts."""
        now_ms = self._runtime.now_ms()
        for found in list(self._store.transactions.values()):
            yield
            is_late = found.state == TransactionState.ONGOING and found.started_ms + found.timeout_ms < now_ms
            if not is_late or self._store.is_changing(found.id) or not self._store.holds(found):
                continue
            log.info("aborting %s: it was open for longer than its timeout of %d ms", found.id, found.timeout_ms)
            try:
                yield from self._abort(found)
            except (BrokerError, LogError, OSError) as error:
                log.warning("%s stays open for now: %s", found.id, error)

    def _forget_expired(self) -> Work[None]:
        """Delete ids that were not used for transactional.id.expiration.ms."""
        before_ms = self._runtime.now_ms() - self._runtime.integer("transactional.id.expiration.ms")
        by_partition: dict[int, list[Transaction]] = {}
        for found in list(self._store.transactions.values()):
            yield
            if found.state in IDLE and found.updated_ms <= before_ms:
                by_partition.setdefault(self._store.partition(found.id), []).append(found)
        for partition, expired in by_partition.items():
            for chunk in (yield from self._store.in_batches(expired, _TOMBSTONES)):
                yield
                gone = [each.id for each in chunk if self._store.holds(each) and not self._store.is_changing(each.id)]
                try:
                    if gone:
                        self._store.forget(partition, gone)
                except BrokerError as error:  # the next sweep tries again
                    log.warning("cannot delete %d expired transactional ids yet: %s", len(gone), error)
                    break

    def load(self, spare_bytes: int) -> int:
        """Load partitions of ``spare_bytes`` in total now, the others in the background; returns the bytes left.

        Earlier decisions are continued as soon as their partition is loaded.
        """
        left = self._store.load(spare_bytes, self._go_on)
        repeat = self._runtime.repeat
        aborts, expiry = (
            "transaction.abort.timed.out.transaction.cleanup.interval.ms",
            "transaction.remove.expired.transaction.cleanup.interval.ms",
        )
        repeat(aborts, self._abort_timed_out, "cannot abort transactions that timed out")
        repeat(expiry, self._forget_expired, "cannot delete expired transactional ids")
        return left

    def _go_on(self, found: Transaction) -> None:
        if found.state in PREPARED and self._store.holds(found):
            self._runtime.begin(self._complete(found), _NOT_ENDED)

    def _known(self, transactional_id: str) -> Transaction:
        found = self._store.changeable(transactional_id)
        if found is None:
            raise error_for(error_codes.INVALID_PRODUCER_ID_MAPPING)
        return found
