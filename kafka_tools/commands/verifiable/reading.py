"""The run of ``kafka-verifiable-consumer``: polls, commits, and the events about them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.clients.consumer import Consumer, ConsumerWokenUp
from kafka_tools.clients.group import OffsetAndMetadata
from kafka_tools.clock import SystemClock
from kafka_tools.commands import standard_streams
from kafka_tools.commands.console.connection import open_exchange
from kafka_tools.commands.verifiable.events import Events, partition_of, partitions_of, text_of
from kafka_tools.commands.verifiable.stopping import Stop
from kafka_tools.errors import BrokerError, KafkaToolsError
from kafka_tools.protocol import error_codes
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.clients.fetched_data import ConsumedRecord
    from kafka_tools.net.config import ClientConfig


class VerifiedReads:
    """One run. Ends after ``max_messages`` records, or after SIGINT or SIGTERM."""

    def __init__(self, options: Mapping[str, Any], config: ClientConfig) -> None:
        self._options = options
        self._config = config
        self._events = Events(SystemClock())
        self._count = 0

    def run(self) -> int:
        """Read until the end. Returns the exit status."""
        with open_exchange(self._config, self._options["trace"]) as exchange:
            consumer = Consumer(self._config, exchange=exchange)
            self._stop = Stop(consumer.wakeup)
            try:
                self._read(consumer)
            except ConsumerWokenUp:
                pass
            finally:
                # Kafka's tool tells of the request after the end if it ends by itself.
                if self._stop.is_requested:
                    self._events.tell("shutdown_requested")
                consumer.close(self._options["close_timeout"] / 1000)
                self._events.tell("shutdown_complete")
                if not self._stop.is_requested:
                    self._events.tell("shutdown_requested")
        return self._stop.status

    @property
    def _is_done(self) -> bool:
        most: int = self._options["max_messages"]
        return 0 <= most <= self._count

    def _read(self, consumer: Consumer) -> None:
        self._events.tell("startup_complete")
        consumer.subscribe([self._options["topic"]], on_assigned=self._assigned, on_revoked=self._revoked)
        while not self._is_done and not self._stop.is_requested:
            records = consumer.poll(standard_streams.READER_CHECK_S)
            if not records:
                standard_streams.require_reader()
                continue
            offsets = self._tell_records(records)
            if not self._options["enable_autocommit"]:
                self._commit(consumer, offsets)

    def _assigned(self, partitions: Collection[TopicPartition]) -> None:
        self._events.tell("partitions_assigned", partitions=partitions_of(partitions))

    def _revoked(self, partitions: Collection[TopicPartition]) -> None:
        self._events.tell("partitions_revoked", partitions=partitions_of(partitions))

    def _tell_records(self, records: Sequence[ConsumedRecord]) -> dict[TopicPartition, int]:
        """Print what was read, up to ``max_messages`` records. Returns the offsets to commit."""
        by_partition: dict[TopicPartition, list[ConsumedRecord]] = {}
        for record in records:
            by_partition.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
        offsets, summaries = {}, []
        for partition, read in by_partition.items():
            if self._options["max_messages"] >= 0:
                read = read[: self._options["max_messages"] - self._count]
            if not read:
                break
            first, last = read[0].offset, read[-1].offset
            offsets[partition] = last + 1
            summaries.append({**partition_of(partition), "count": len(read), "minOffset": first, "maxOffset": last})
            if self._options["verbose"]:
                for record in read:
                    self._tell_record(record)
            self._count += len(read)
        self._events.tell("records_consumed", count=len(records), partitions=summaries)
        return offsets

    def _tell_record(self, record: ConsumedRecord) -> None:
        place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
        self._events.tell("record_data", key=text_of(record.key), value=text_of(record.value), **place)

    def _commit(self, consumer: Consumer, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit and tell how it ended. Only a fenced member stops: another one has its instance id."""
        error: KafkaToolsError | None = None
        wanted = {partition: OffsetAndMetadata(offset) for partition, offset in offsets.items()}
        try:
            try:
                consumer.commit(wanted)
            except ConsumerWokenUp:
                consumer.commit(wanted)
        except BrokerError as raised:
            if raised.code.code == error_codes.FENCED_INSTANCE_ID:
                raise
            error = raised
        except KafkaToolsError as raised:
            error = raised
        committed = [{**partition_of(partition), "offset": offset} for partition, offset in offsets.items()]
        failure = {} if error is None else {"error": str(error)}
        self._events.tell("offsets_committed", offsets=committed, **failure, success=error is None)
