"""Begins and commits the transactions of a workload. Source: Trogdor's ``TransactionGenerator``."""

from __future__ import annotations

from kafka_tools.clock import Clock
from kafka_tools.errors import InputError
from kafka_tools.load.specs.generators import Transactions
from kafka_tools.load.workloads.sending import PacedProducer


class TransactionSteps:
    """Called around each message. Does nothing without ``plan``."""

    def __init__(self, sending: PacedProducer, plan: Transactions | None, clock: Clock) -> None:
        self._sending = sending
        self._plan = plan
        self._clock = clock
        self._messages: int | None = None
        """Messages in the current transaction; None between transactions."""
        self._since_s = 0.0
        if plan is not None:
            if not hasattr(sending.producer, "init_transactions"):
                raise InputError("invalid transactionGenerator: the producer of this release has no transactions")
            sending.producer.init_transactions()

    def before_message(self) -> None:
        """Begin a transaction if there is none."""
        if self._plan is not None and self._messages is None:
            self._sending.producer.begin_transaction()
            self._messages, self._since_s = 0, self._clock.monotonic_s()

    def after_message(self) -> None:
        """Commit if the transaction has its number of messages, or is old enough."""
        if self._plan is None or self._messages is None:
            return
        self._messages += 1
        plan, age_s = self._plan, self._clock.monotonic_s() - self._since_s
        is_full = plan.messages is not None and self._messages >= plan.messages
        if is_full or (plan.interval_ms is not None and age_s >= plan.interval_ms / 1000):
            self.end()

    def end(self) -> None:
        """Commit the current transaction."""
        if self._messages is not None:
            self._sending.producer.commit_transaction()
            self._sending.transactions += 1
            self._messages = None
