"""The measurement of ``kafka-e2e-latency``: one record at a time, from the producer to the consumer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.producer import Producer
from kafka_tools.clock import Clock, SystemClock
from kafka_tools.commands import running
from kafka_tools.commands.console.connection import open_exchange
from kafka_tools.commands.options.connection import tracer
from kafka_tools.commands.performance.latencies import percentile
from kafka_tools.errors import KafkaToolsError
from kafka_tools.net.config import ClientConfig
from kafka_tools.output.cells import Row, rounded
from kafka_tools.output.kafka import performance_text
from kafka_tools.output.rows import Rows
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.clients.fetched_data import ConsumedRecord

TIMEOUT_S = 60.0
"""Time in which a written record must arrive."""
SHOWN_EVERY = 1000
"""A line is printed for one record of so many."""
_PERCENTILES = {"p50_ms": 0.5, "p99_ms": 0.99, "p999_ms": 0.999}
Header = tuple[str, "bytes | None"]


class RoundTripFailed(KafkaToolsError):
    """A record did not arrive in time, or another one arrived."""


class RoundTrips:
    """One run. ``is_quiet``: print no lines."""

    def __init__(
        self,
        config: ClientConfig,
        options: Mapping[str, Any],
        *,
        is_quiet: bool,
        clock: Clock | None = None,
    ) -> None:
        self._config = config
        self._options = options
        self._is_quiet = is_quiet
        self._clock = clock or SystemClock()
        self._random = Random(0)

    def run(self, kind: str) -> Rows:
        """Measure, and print the lines. Raises RoundTripFailed, and the errors of the clients."""
        config, trace = self._config, self._options["trace"]
        self._make_topic()
        consuming = _with(config, **{"enable.auto.commit": "false", "fetch.max.wait.ms": "0"})
        acks = self._options["producer_acks"]
        # Like Kafka's tool: a record leaves immediately, and the producer waits for the topic.
        producing = _with(config, **{"linger.ms": "0", "acks": acks})
        with (
            open_exchange(consuming, trace) as reading,
            open_exchange(producing, trace) as writing,
            Consumer(consuming, exchange=reading) as consumer,
            Producer(producing, exchange=writing) as producer,
        ):
            self._go_to_end(consumer)
            latencies = sorted(self._measure(producer, consumer))
        row = self._row(latencies)
        if not self._is_quiet:
            running.emit(performance_text.latency_total(row))
        return Rows(kind, [rounded(row)])

    def _make_topic(self) -> None:
        topic = self._options["topic"]
        with AdminClient(self._config, trace=tracer(self._options["trace"]), warn=running.note) as admin:
            if topic in {each.name for each in admin.list_topics()}:
                return
            told = f'Topic "{topic}" does not exist. Will create topic with 1 partition(s) and replication factor = 1'
            running.note(told) if self._is_quiet else running.emit(f"{told}\n")
            admin.create_topics([NewTopic(topic, 1, 1)]).raise_any()

    def _go_to_end(self, consumer: Consumer) -> None:
        topic = self._options["topic"]
        partitions = [TopicPartition(topic, number) for number in consumer.partitions_for(topic).partitions]
        consumer.assign(partitions)
        consumer.seek_to_end(partitions)
        for each in partitions:
            consumer.position(each)

    def _measure(self, producer: Producer, consumer: Consumer) -> list[float]:
        """The latency of each record in milliseconds."""
        options, topic, latencies = self._options, self._options["topic"], []
        for number in range(options["num_records"]):
            key = self._letters(options["record_key_size"]) or None
            value = self._letters(options["record_size"])
            headers = self._headers()
            begin_s = self._clock.monotonic_s()
            producer.send(topic, value, key, headers).result()
            records = consumer.poll(TIMEOUT_S)
            latency_ms = (self._clock.monotonic_s() - begin_s) * 1000
            check_read(records, key, value, headers)
            latencies.append(latency_ms)
            if number % SHOWN_EVERY == 0 and not self._is_quiet:
                running.emit(performance_text.latency_step(number, round(latency_ms, 6)))
        return latencies

    def _letters(self, size_bytes: int) -> bytes:
        return bytes([65 + self._random.randrange(26)]) * size_bytes

    def _headers(self) -> Sequence[Header]:
        key_size, size = self._options["record_header_key_size"], self._options["record_header_size"]
        return tuple(
            (self._letters(key_size).decode(), None if size < 0 else self._letters(size))
            for _ in range(self._options["num_headers"])
        )

    def _row(self, latencies: Sequence[float]) -> Row:
        return {
            "topic": self._options["topic"],
            "records": len(latencies),
            "acks": self._options["producer_acks"],
            "record_size_bytes": self._options["record_size"],
            "avg_latency_ms": sum(latencies) / len(latencies),
            "max_latency_ms": latencies[-1],
            **{name: percentile(latencies, share) for name, share in _PERCENTILES.items()},
        }


def _with(config: ClientConfig, **values: str) -> ClientConfig:
    return ClientConfig({**config.values, **values}, config.source)


def check_read(records: Sequence[ConsumedRecord], key: bytes | None, value: bytes, headers: Sequence[Header]) -> None:
    """Raise RoundTripFailed unless exactly the record with this content was read."""
    if not records:
        raise RoundTripFailed(f"poll() timed out before finding a result (timeout:[{TIMEOUT_S * 1000:.0f}ms])")
    read = records[0]
    parts = (("value", value, read.value), ("key", key, read.key), ("headers", tuple(headers), tuple(read.headers)))
    for name, sent, found in parts:
        if sent != found:
            raise RoundTripFailed(
                f"the message {name} read did not match the message {name} sent",
                hint="use a topic to which nobody else writes",
            )
    if len(records) != 1:
        raise RoundTripFailed(
            f"Only one result was expected during this test. We found [{len(records)}]",
            hint="use a topic to which nobody else writes",
        )
