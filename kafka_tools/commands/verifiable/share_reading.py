"""The run of ``kafka-verifiable-share-consumer``: polls, acknowledgements, and the events about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.clients.consumer import ConsumerWokenUp
from kafka_tools.clients.sharing.consumer import ShareConsumer
from kafka_tools.clients.sharing.held_records import AcknowledgeType
from kafka_tools.clock import SystemClock
from kafka_tools.commands import running, standard_streams
from kafka_tools.commands.console.connection import open_exchange
from kafka_tools.commands.options.connection import tracer
from kafka_tools.commands.verifiable.events import Events, partition_of, text_of
from kafka_tools.commands.verifiable.stopping import Stop
from kafka_tools.errors import KafkaToolsError
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.clients.sharing.held_records import SharedRecord
    from kafka_tools.net.config import ClientConfig


class VerifiedShares:
    """One run. Ends after ``max_messages`` acknowledged records, or after SIGINT or SIGTERM.

    ``pattern``: types of acknowledgement by offset; empty for implicit acceptance.
    """

    def __init__(self, options: Mapping[str, Any], pattern: Sequence[str], config: ClientConfig) -> None:
        self._options = options
        self._pattern = [AcknowledgeType[each.upper()] for each in pattern]
        self._config = config
        self._events = Events(SystemClock())
        self._acknowledged = 0
        self._types: dict[tuple[TopicPartition, int], AcknowledgeType] = {}
        """The types of acknowledgements that were not answered yet."""
        self._turns: dict[tuple[TopicPartition, int], int] = {}
        """The place in the pattern of renewed records."""

    def run(self) -> int:
        """Read until the end. Returns the exit status."""
        with open_exchange(self._config, self._options["trace"]) as exchange:
            consumer = ShareConsumer(self._config, exchange=exchange, on_acknowledged=self._on_acknowledged)
            stop = Stop(consumer.wakeup)
            try:
                self._events.tell("startup_complete")
                self._set_reset_strategy()
                self._read(consumer, stop)
            except ConsumerWokenUp:
                pass
            finally:
                # Kafka's tool tells of the request after the end if it ends by itself.
                if stop.is_requested:
                    self._events.tell("shutdown_requested")
                consumer.close()
                self._events.tell("shutdown_complete")
                if not stop.is_requested:
                    self._events.tell("shutdown_requested")
        return stop.status

    def _set_reset_strategy(self) -> None:
        strategy = self._options["offset_reset_strategy"]
        if strategy is None:
            return
        from kafka_tools.admin.client import AdminClient, ConfigChange, ConfigResource

        change = ConfigChange("share.auto.offset.reset", "set", strategy.lower())
        with AdminClient(self._config, trace=tracer(self._options["trace"]), warn=running.note) as admin:
            group = ConfigResource("group", self._options["group_id"])
            admin.alter_configs_incremental({group: [change]}).raise_any()
        self._events.tell("offset_reset_strategy_set", offsetResetStrategy=strategy.lower())

    def _read(self, consumer: ShareConsumer, stop: Stop) -> None:
        consumer.subscribe([self._options["topic"]])
        most, mode = self._options["max_messages"], self._options["acknowledgement_mode"].lower()
        while (most < 0 or self._acknowledged < most) and not stop.is_requested:
            records = consumer.poll(standard_streams.READER_CHECK_S)
            if not records:
                standard_streams.require_reader()
                continue
            self._take(consumer, records)
            if mode == "async":
                consumer.commit_async()
            elif mode == "sync":
                for partition, error in consumer.commit().items():
                    if error is not None:
                        running.note(f"cannot acknowledge records of {partition}: {error}")

    def _take(self, consumer: ShareConsumer, records: Sequence[SharedRecord]) -> None:
        by_partition: dict[TopicPartition, list[SharedRecord]] = {}
        for record in records:
            by_partition.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
        summaries = []
        for partition, read in by_partition.items():
            for record in read if self._pattern else ():
                self._acknowledge(consumer, partition, record)
            offsets = sorted(record.offset for record in read)
            summaries.append({**partition_of(partition), "count": len(offsets), "offsets": offsets})
            for record in read if self._options["verbose"] else ():
                place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
                self._events.tell("record_data", key=text_of(record.key), value=text_of(record.value), **place)
        self._events.tell("records_consumed", count=len(records), partitions=summaries)

    def _acknowledge(self, consumer: ShareConsumer, partition: TopicPartition, record: SharedRecord) -> None:
        key = (partition, record.offset)
        turn = self._turns.get(key, record.offset % len(self._pattern))
        chosen = self._pattern[turn]
        consumer.acknowledge(record, chosen)
        self._types[key] = chosen
        if chosen is AcknowledgeType.RENEW:
            self._turns[key] = (turn + 1) % len(self._pattern)
        else:
            self._turns.pop(key, None)

    def _on_acknowledged(self, offsets: dict[TopicPartition, set[int]], error: KafkaToolsError | None) -> None:
        """Tell what became of acknowledgements. Only those without error count."""
        done = [
            {**partition_of(partition), "count": len(each), "offsets": sorted(each)}
            for partition, each in offsets.items()
        ]
        count = sum(len(each) for each in offsets.values())
        types = [self._types.pop((partition, offset), None) for partition, each in offsets.items() for offset in each]
        members: dict[str, Any] = {"count": count, "partitions": done, "success": error is None}
        if error is not None:
            members["error"] = str(error)
        else:
            self._acknowledged += count
            if self._pattern:
                members["ackTypeCounts"] = dict(Counter(each.name for each in types if each is not None))
        self._events.tell("offsets_acknowledged", **members)
