"""Checks a transactional produce request: its producer, and whether its partitions are in the transaction.

All partitions of a request are verified (v12: added) before the first batch is appended, with one change of the
transaction's state. Others are served between that and an append: the transaction may be over by then, and a batch
after its marker would never be ended. So the markers of the producer are looked at again (Kafka's
``VerificationGuard``).
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.transactions.decisions import TxnProducer
from kafka_tools.broker_embedded.coordinators.transactions.verification import as_produce_error
from kafka_tools.broker_embedded.partitions.partition import Partition
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work, sleep
from kafka_tools.cluster_image.topics import Topic
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import TRANSACTIONAL_BIT
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.protocol.primitives import Buffer
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.chain import FLAGS_POSITION, HEADER_BYTES, MAGIC_POSITION
from kafka_tools.storage.producer_state import OutOfOrderSequence

_ABORTABLE_FROM = 11
_ADDS_FROM = 12

Data = ProduceRequest.TopicProduceData.PartitionProduceData


class InTransaction:
    """The verified partitions of one request, for the appends that follow."""

    def __init__(self, producer: TxnProducer | None, adds: bool) -> None:
        self.producer = producer
        """The producer; None if no batch in the request is transactional."""
        self._adds = adds
        self._last_asked = False
        """Whether the coordinator was asked at last: then it may have added partitions."""
        self._refused: dict[Partition, BrokerError] = {}
        self._last_markers: dict[Partition, int] = {}

    def verify(self, call: Call, appended: Iterable[tuple[Topic, Data]]) -> Work[None]:
        """Verify all partitions together; ``check`` raises the errors of refused partitions later.

        Clients that add by producing do not wait for the end of their last transaction themselves: they are answered
        CONCURRENT_TRANSACTIONS when it has lasted too long.
        """
        producer = self.producer
        assert producer is not None
        wanted = []
        for each in appended:
            yield
            wanted.append(each)
        configs, now_s = call.broker.configs.broker, call.broker.clock.monotonic_s
        most_ms = min(
            configs.integer("add.partitions.to.txn.retry.backoff.max.ms"), configs.integer("request.timeout.ms")
        )
        until_s = now_s() + most_ms / 1000
        while (yield from self._ask(call, producer, wanted)) and self._adds and now_s() < until_s:
            yield from sleep(configs.integer("add.partitions.to.txn.retry.backoff.ms"))
        if self._adds and self._last_asked:
            yield from call.broker.slices.durable()  # else records could be left that belong to no transaction

    def _ask(self, call: Call, producer: TxnProducer, wanted: Iterable[tuple[Topic, Data]]) -> Work[bool]:
        """Whether the producer's last transaction is still being ended."""
        self._refused.clear()
        self._last_markers.clear()
        asked: list[Partition] = []
        for topic, data in wanted:
            yield
            if not is_transactional(data.records):
                continue
            partition = None
            try:
                partition = call.broker.partitions.led(topic.name, data.index)
                self._last_markers[partition] = partition.log.producers.last_marker(producer.id)
                if call.broker.verification.is_needed(producer, partition.id):
                    asked.append(partition)
                    self._note(call, partition, data.records)
            except BrokerError as error:
                if partition is not None:
                    self._refused[partition] = error
        self._last_asked = bool(asked)
        refused = yield from call.broker.verification.ask(
            call.request.transactional_id,
            producer,
            [partition.id for partition in asked],
            adds=self._adds,
            knows_abortable=call.version >= _ABORTABLE_FROM,
        )
        for partition in asked if refused else ():
            yield
            found = refused.get(partition.id)
            if found is not None:
                self._refused[partition] = as_produce_error(found, adds=self._adds)
        return any(error.code.code == error_codes.CONCURRENT_TRANSACTIONS for error in refused.values())

    def _note(self, call: Call, partition: Partition, records: Buffer | None) -> None:
        view = _first_batch(records)
        if view is not None:
            now_ms = call.broker.clock.now_ms()
            partition.log.producers.verifying(view.producer_id, view.producer_epoch, view.base_sequence, now_ms)

    def check(self, partition: Partition, records: Buffer | None) -> None:
        """BrokerError, or OutOfOrderSequence, unless the batch may be part of the transaction."""
        if not is_transactional(records):
            return
        refused = self._refused.get(partition)
        if refused is not None:
            raise error_for(refused.code.code, refused.broker_message)  # not the same one: its traceback would grow
        view = _first_batch(records)
        if view is None or not self._adds or view.base_sequence == 0:
            return
        if view.producer_id not in partition.log.producers.entries:
            raise OutOfOrderSequence(
                f"sequence {view.base_sequence} of producer {view.producer_id} at {partition.id}: expected 0, "
                "because the producer has written nothing there"
            )

    def check_open(self, partition: Partition, records: Buffer | None) -> None:
        """BrokerError if the transaction has ended since it was verified. The append follows immediately."""
        assert self.producer is not None
        if not is_transactional(records):
            return
        if self._last_markers.get(partition) != partition.log.producers.last_marker(self.producer.id):
            raise error_for(error_codes.INVALID_TXN_STATE, "Record was not part of an ongoing transaction")


NOT_IN_ONE = InTransaction(None, adds=False)
"""For requests without transactional batches."""


def producer_of(call: Call) -> Work[InTransaction]:
    """The producer of the transactional first batches in the request. BrokerError if there are several."""
    found: TxnProducer | None = None
    for topic in call.request.topic_data:
        for data in topic.partition_data:
            yield
            view = _first_batch(data.records) if is_transactional(data.records) else None
            if view is None:
                continue
            producer = TxnProducer(view.producer_id, view.producer_epoch)
            if found is not None and producer != found:
                text = "Transactional records contained more than one producer ID"
                raise error_for(error_codes.INVALID_PRODUCER_ID_MAPPING, text)
            found = producer
    if found is not None and found.id < 0:
        found = None  # the checks of the batches refuse it
    return InTransaction(found, call.version >= _ADDS_FROM)


def is_transactional(records: Buffer | None) -> bool:
    """Whether the first batch is transactional."""
    return bool(
        records
        and len(records) >= HEADER_BYTES
        and records[FLAGS_POSITION] & TRANSACTIONAL_BIT
        and records[MAGIC_POSITION] == 2
    )


def _first_batch(records: Buffer | None) -> BatchView | None:
    return next(batches(records or b""), None)
