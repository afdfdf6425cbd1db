"""The calls of a transactional producer. ``Producer`` has them from here."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kafka_tools.clients.groups.committed import GroupMetadata, OffsetAndMetadata, checked_offsets
from kafka_tools.clients.transactions.state import TransactionManager
from kafka_tools.clients.transactions.steps import ProducerFenced, TransactionalResult
from kafka_tools.clock import Deadline
from kafka_tools.errors import ConfigError, DeadlineExceeded, InputError, KafkaToolsError
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.clients.producing.sender import Sender
    from kafka_tools.clients.settings import ProducerSettings
    from kafka_tools.clients.threads.lock import ClientLock
    from kafka_tools.net.exchange import Exchange


class TransactionalCalls(ABC):
    """Each call waits, at most ``max.block.ms``, and raises the error of the operation.

    ProducerFenced means that a newer producer has the transactional id. After any other error of a call inside a
    transaction, call ``abort_transaction``. After DeadlineExceeded, make the same call again: the operation goes on.
    Raises ConfigError for a producer without ``transactional.id``.
    """

    settings: ProducerSettings
    _exchange: Exchange
    _lock: ClientLock
    _sender: Sender

    @abstractmethod
    def _turn(self, deadline: Deadline, hurry: bool) -> None: ...

    @abstractmethod
    def _within(self, timeout_s: float | None) -> Deadline: ...

    @abstractmethod
    def _report(self) -> None: ...

    def init_transactions(self) -> None:
        """Get the producer id and epoch. Fences older producers, and aborts or completes their transaction.

        Call it once, before anything else.
        """
        self._exchange.check_process()
        with self._lock:
            outcome = self._transactions.initialize()
            self._wait_for_outcome(outcome, "Timeout expired while initializing transactional state in")
        self._report()

    def begin_transaction(self) -> None:
        """Begin a transaction. Records that are sent from now on belong to it."""
        self._exchange.check_process()
        with self._lock:
            self._transactions.begin()

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupMetadata | str
    ) -> None:
        """Commit ``offsets`` of a consumer's group if the transaction is committed.

        ``group``: what ``Consumer.group_metadata`` returns. A group id alone does not protect against a consumer that
        is no member any more (KIP-447).
        """
        self._exchange.check_process()
        metadata = GroupMetadata(group) if isinstance(group, str) else group
        if not isinstance(metadata, GroupMetadata) or not metadata.group_id:
            raise InputError(f"invalid group {group!r}: expected a group id or GroupMetadata")
        chosen = checked_offsets(offsets)
        with self._lock:
            if chosen:
                outcome = self._transactions.send_offsets(chosen, metadata)
                self._wait_for_outcome(outcome, "Timeout expired while sending offsets to the transaction in")
        self._report()

    def commit_transaction(self) -> None:
        """Send what is left of the transaction, and commit it. Raises the error of a record that failed."""
        self._end(commit=True)

    def abort_transaction(self) -> None:
        """Abort the transaction. Records that were not sent yet fail."""
        self._end(commit=False)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction as a ``with`` block: it is committed at the end, and aborted after an error."""
        self.begin_transaction()
        try:
            yield
            self.commit_transaction()
        except ProducerFenced:
            raise
        except BaseException:
            with contextlib.suppress(KafkaToolsError):  # the error that ends the block is the one to show
                self.abort_transaction()
            raise

    @property
    def _transactions(self) -> TransactionManager:
        transactions = self._sender.transactions
        if transactions is None:
            raise ConfigError("this producer has no transactions: set transactional.id")
        return transactions

    def _end(self, *, commit: bool) -> None:
        self._exchange.check_process()
        with self._lock:
            outcome = self._transactions.end(commit)
            self._wait_for_outcome(outcome, f"Timeout expired while {'committing' if commit else 'aborting'} in")
        self._report()

    def _wait_for_outcome(self, outcome: TransactionalResult, late: str) -> None:
        """Raises the outcome's error, and DeadlineExceeded with the text ``late``."""
        deadline = self._within(self.settings.max_block_ms / 1000)
        while not outcome.done:
            if deadline.expired:
                raise DeadlineExceeded(
                    f"{late} {self.settings.max_block_ms}ms.", hint=f"call {outcome.name} again: it goes on"
                )
            self._turn(deadline, hurry=True)
        if outcome.error is not None:
            raise outcome.error
