"""One partition of ``__transaction_state`` as it is loaded: transactions, aside until all of it is read."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.coordinators.transactions.decisions import Transaction
from kafka_tools.broker_embedded.coordinators.transactions.transaction_records import transaction_of_value
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.transaction_log import TransactionLogKey, TransactionLogValue

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.producer_ids import ProducerIds

log = logging.getLogger(__name__)


class LoadedTransactions:
    """Made for one partition; ``transactions`` are those that are served, and take over what is found.

    ``partition_of`` says where an id belongs; ``go_on`` is told of each transaction once all of them are served.
    """

    def __init__(
        self,
        partition: int,
        partition_of: Callable[[str], int],
        transactions: dict[str, Transaction],
        producer_ids: ProducerIds,
        go_on: Callable[[Transaction], None],
    ) -> None:
        self._partition = partition
        self._partition_of = partition_of
        self._served = transactions
        self._producer_ids = producer_ids
        self._go_on = go_on
        self._found: dict[str, Transaction] = {}
        self._adopted: list[Transaction] = []

    def replay(self, key: Stored, value: Stored | None) -> None:
        assert isinstance(key, TransactionLogKey)
        assert value is None or isinstance(value, TransactionLogValue)
        found = None if value is None else transaction_of_value(key.transactional_id, value)
        if found is not None:
            self._found[key.transactional_id] = found
            self._producer_ids.saw(found.producer_id, found.previous_producer_id, found.next_producer_id)
        elif value is None:
            self._found.pop(key.transactional_id, None)
        else:
            log.error("%s: a record of the unknown state %d is skipped", key.transactional_id, value.transaction_status)

    def pending(self, producer_id: int, key: Stored, value: Stored | None) -> None:
        """No transaction writes to this log."""

    def ended(self, producer_id: int, committed: bool) -> Work[None]:
        """As ``pending``."""
        yield

    def adopt(self) -> Work[None]:
        for transactional_id, found in self._found.items():
            yield
            if transactional_id not in self._served or self._partition_of(transactional_id) == self._partition:
                self._served[transactional_id] = found
                self._adopted.append(found)
        self._found = self._served

    def served(self) -> Work[None]:
        for found in self._adopted:
            yield
            self._go_on(found)
