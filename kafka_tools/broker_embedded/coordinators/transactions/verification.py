"""Whether a producer may write to a partition in its transaction: asked by whoever is about to append (KIP-890).

What a coordinator does not know of must not be written, or no marker would ever end it. Clients of transaction version
2 need not add a partition before they write to it: it is added here. Follows ``AddPartitionsToTxnManager`` and
``ReplicaManager`` (Kafka 4.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.coordinators.transactions.decisions import EPOCH_BUMPING, TxnProducer
from kafka_tools.broker_embedded.refusals import refuse
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.storage.producer_state import StaleProducerEpoch

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.coordinators.transactions.coordinator import TransactionCoordinator
    from kafka_tools.broker_embedded.partitions.hosted import Partitions
    from kafka_tools.values import TopicPartition


_CANNOT_VERIFY = (
    error_codes.COORDINATOR_LOAD_IN_PROGRESS,
    error_codes.COORDINATOR_NOT_AVAILABLE,
    error_codes.NOT_COORDINATOR,
)


class Verification:
    """Asks the log first, then the coordinator."""

    def __init__(self, partitions: Partitions, transactions: TransactionCoordinator, configs: ConfigStore) -> None:
        self._partitions = partitions
        self._transactions = transactions
        self._configs = configs

    def check(
        self,
        transactional_id: str,
        producer: TxnProducer,
        at: TopicPartition,
        *,
        adds: bool,
        tells_abortable: bool,
    ) -> None:
        """Make sure that the partition is in the producer's transaction. BrokerError if it is not.

        ``adds``: a client of version 2, for which it becomes part of it. ``tells_abortable``: the client knows
        TRANSACTION_ABORTABLE.
        """
        known = self._partitions.led(at.topic, at.partition).log.producers
        try:
            known.check_epoch(producer.id, producer.epoch, at)
        except StaleProducerEpoch as error:
            raise refuse(error_codes.INVALID_PRODUCER_EPOCH, str(error)) from error
        if known.has_open(producer.id, producer.epoch):
            return
        try:
            if adds:
                self._transactions.add_partitions(transactional_id, producer, [at], EPOCH_BUMPING)
            elif self._configs.broker.get("transaction.partition.verification.enable"):
                code = self._transactions.check_partitions(transactional_id, producer, [at])[at]
                if code:
                    raise refuse(code if tells_abortable else error_codes.INVALID_TXN_STATE)
        except BrokerError as error:
            if error.code.code == error_codes.PRODUCER_FENCED:
                raise refuse(error_codes.INVALID_PRODUCER_EPOCH) from error
            raise

    def check_produced(
        self,
        transactional_id: str,
        producer: TxnProducer,
        at: TopicPartition,
        *,
        adds: bool,
        tells_abortable: bool,
    ) -> None:
        """``check`` with the codes and texts of Produce, whose clients know nothing of coordinators."""
        try:
            self.check(transactional_id, producer, at, adds=adds, tells_abortable=tells_abortable)
        except BrokerError as error:
            code = error.code.code
            if code == error_codes.INVALID_TXN_STATE:
                raise refuse(code, "Partition was not added to the transaction") from error
            if code in _CANNOT_VERIFY or (code == error_codes.CONCURRENT_TRANSACTIONS and not adds):
                raise refuse(
                    error_codes.NOT_ENOUGH_REPLICAS,
                    "Unable to verify the partition has been added to the transaction. Underlying error: "
                    f"{error.code.name}",
                ) from error
            raise
