"""The transactions of one partition of ``__transaction_state``, kept apart until all of it is read."""

from __future__ import annotations

from collections.abc import Callable

from kafka_tools.broker_embedded.coordinators.record_checks import check_transaction
from kafka_tools.broker_embedded.coordinators.replaying import UnfitRecord
from kafka_tools.broker_embedded.coordinators.transactions.decisions import NO_ID, Transaction
from kafka_tools.broker_embedded.coordinators.transactions.transaction_records import transaction_of_value
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.transaction_log import TransactionLogKey, TransactionLogValue


class ReadTransactions:
    """Transactions of one partition. Records that no broker writes raise UnfitRecord and change nothing.

    ``was_given``: whether the cluster has allocated a producer id.
    """

    def __init__(self, was_given: Callable[[int], bool]) -> None:
        self._was_given = was_given
        self._found: dict[str, Transaction] = {}
        self._owners: dict[int, str] = {}
        """Current or next producer id -> its transactional id."""

    def replay(self, key: Stored, value: Stored | None) -> None:
        assert isinstance(key, TransactionLogKey)
        id = key.transactional_id
        if value is None:
            self._forget(id)
            return
        assert isinstance(value, TransactionLogValue)
        check_transaction(id, value, self._owners, self._was_given)
        self._forget(id)
        found = self._found[id] = transaction_of_value(id, value)
        self._owners.update(dict.fromkeys(_own_ids(found), id))

    def pending(self, producer_id: int, key: Stored, value: Stored | None) -> None:
        """Refuse the record: no transaction writes to this log."""
        raise UnfitRecord("it is part of a transaction")

    def ended(self, producer_id: int, committed: bool) -> Work[None]:
        """Do nothing: no transaction writes to this log."""
        yield

    def _forget(self, transactional_id: str) -> None:
        found = self._found.pop(transactional_id, None)
        for producer_id in () if found is None else _own_ids(found):
            self._owners.pop(producer_id, None)


def _own_ids(transaction: Transaction) -> set[int]:
    """The current and next producer ids of a transactional id."""
    return {transaction.producer_id, transaction.next_producer_id} - {NO_ID}


class LoadedTransactions(ReadTransactions):
    """The transactions of one partition, which ``adopt`` adds to the served ``transactions``.

    ``partition_of``: the partition of an id. ``go_on`` gets each transaction once all of them are served.
    """

    def __init__(
        self,
        partition: int,
        partition_of: Callable[[str], int],
        transactions: dict[str, Transaction],
        was_given: Callable[[int], bool],
        go_on: Callable[[Transaction], None],
    ) -> None:
        super().__init__(was_given)
        self._partition = partition
        self._partition_of = partition_of
        self._served = transactions
        self._go_on = go_on
        self._adopted: list[Transaction] = []

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
