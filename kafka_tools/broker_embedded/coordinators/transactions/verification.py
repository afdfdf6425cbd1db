"""Verifies before each append that a partition is in the producer's transaction (KIP-890).

Otherwise no marker would end the transaction in that partition. For clients of transaction version 2, the partition is
added to the transaction here. Follows Kafka's ``AddPartitionsToTxnManager`` and ``ReplicaManager``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.coordinators.transactions.decisions import EPOCH_BUMPING, TxnProducer
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.storage.producer_state import StaleProducerEpoch

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.runtime import Runtime
    from kafka_tools.broker_embedded.coordinators.transactions.coordinator import TransactionCoordinator
    from kafka_tools.values import TopicPartition


_CANNOT_VERIFY = (
    error_codes.COORDINATOR_LOAD_IN_PROGRESS,
    error_codes.COORDINATOR_NOT_AVAILABLE,
    error_codes.NOT_COORDINATOR,
)


class Verification:
    """Checks the log first, then the coordinator, once for all partitions of a request."""

    def __init__(self, runtime: Runtime, transactions: TransactionCoordinator) -> None:
        self._runtime = runtime
        self._transactions = transactions

    def is_needed(self, producer: TxnProducer, at: TopicPartition) -> bool:
        """Whether the log does not contain the producer's open transaction. BrokerError for an old epoch."""
        known = self._runtime.partitions.led(at.topic, at.partition).log.producers
        try:
            known.check_epoch(producer.id, producer.epoch, at)
        except StaleProducerEpoch as error:
            raise error_for(error_codes.INVALID_PRODUCER_EPOCH, str(error)) from error
        return not known.has_open(producer.id, producer.epoch)

    def ask(
        self,
        transactional_id: str,
        producer: TxnProducer,
        wanted: Collection[TopicPartition],
        *,
        adds: bool,
        knows_abortable: bool,
    ) -> Work[dict[TopicPartition, BrokerError]]:
        """The partitions that are not in the producer's transaction, with the errors.

        ``adds``: add all partitions, for a client of version 2. ``knows_abortable``: the client knows
        TRANSACTION_ABORTABLE.
        """
        if not wanted:
            return {}
        try:
            if adds:
                yield from self._transactions.add_partitions(transactional_id, producer, wanted, EPOCH_BUMPING)
            elif self._runtime.configs.broker.get("transaction.partition.verification.enable"):
                codes = yield from self._transactions.check_partitions(transactional_id, producer, wanted)
                return {
                    at: error_for(code if knows_abortable else error_codes.INVALID_TXN_STATE)
                    for at, code in codes.items()
                    if code
                }
        except BrokerError as error:
            if error.code.code == error_codes.PRODUCER_FENCED:
                error = error_for(error_codes.INVALID_PRODUCER_EPOCH)
            return dict.fromkeys(wanted, error)
        return {}


def as_produce_error(error: BrokerError, *, adds: bool) -> BrokerError:
    """An error of ``ask``, with the codes and texts of Produce."""
    code = error.code.code
    if code == error_codes.INVALID_TXN_STATE:
        return error_for(code, "Partition was not added to the transaction")
    if code in _CANNOT_VERIFY or (code == error_codes.CONCURRENT_TRANSACTIONS and not adds):
        return error_for(
            error_codes.NOT_ENOUGH_REPLICAS,
            f"Unable to verify the partition has been added to the transaction. Underlying error: {error.code.name}",
        )
    return error
