"""A producer without threads: records are grouped, sent and retried from ``send``, ``poll`` and ``flush``.

All I/O happens in the caller's thread. ``accumulator`` orders waiting records, ``sender`` sends requests and
processes responses, and ``partitioner`` selects the partition of a key. Works with brokers 0.11 and later.
Follows ``KafkaProducer`` of Kafka's Java client.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from kafka_tools.clients.accumulator import Accumulator
from kafka_tools.clients.batch import Header, ProducerBatch
from kafka_tools.clients.given_records import bytes_of, headers_of, headers_size_bytes, timestamp_of
from kafka_tools.clients.partitioner import StickyPartitioner, partition_for_key
from kafka_tools.clients.reports import OnFailure, RecordsLost, Reports
from kafka_tools.clients.sender import Sender
from kafka_tools.clients.settings import ProducerSettings
from kafka_tools.clock import Clock, Deadline, SystemClock
from kafka_tools.errors import DeadlineExceeded, InputError, KafkaToolsError
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.net.topic_metadata import TopicMetadata
from kafka_tools.records.chain import HEADER_BYTES, RECORD_OVERHEAD_BYTES
from kafka_tools.values import as_int, can_be_sent

if TYPE_CHECKING:
    from kafka_tools.net.given_settings import Given

_OVERHEAD_BYTES = HEADER_BYTES + RECORD_OVERHEAD_BYTES


class RecordTooLarge(InputError):
    """A record is above ``max.request.size`` or ``buffer.memory``."""


class RecordMetadata(NamedTuple):
    """The location of a record. ``offset`` is -1 if the broker did not return it (acks=0, a duplicate)."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class Delivery:
    """The result of one record."""

    __slots__ = ("_batch", "_index", "_producer")

    def __init__(self, producer: Producer, batch: ProducerBatch, index: int) -> None:
        self._producer = producer
        self._batch = batch
        self._index = index

    @property
    def done(self) -> bool:
        """Whether the record was acknowledged or has failed."""
        return self._batch.locate(self._index)[0].done

    @property
    def error(self) -> KafkaToolsError | None:
        """The reason why the record failed; None before it is done, and when it was acknowledged."""
        batch, _ = self._batch.locate(self._index)
        self._producer.note_seen(batch)
        return batch.error

    def result(self, timeout_s: float | None = None) -> RecordMetadata:
        """Wait until the record is acknowledged (at most ``timeout_s``) and say where it is.

        Raises what made it fail (BrokerError, DeadlineExceeded after ``delivery.timeout.ms``, ...), or
        DeadlineExceeded when ``timeout_s`` passed first; the record may still arrive then.
        """
        self._producer.wait_for(self, timeout_s)
        batch, index = self._batch.locate(self._index)
        self._producer.note_seen(batch)
        if batch.error is not None:
            raise batch.error
        return metadata_of(batch, index)


Partitioner = Callable[[str, bytes | None, Sequence[int]], int]
"""(topic, key, its partitions) -> the partition of a record."""


class Producer:
    """Sends records. Use as a context manager: leaving it without an error flushes.

    ``config`` and keywords as for ``AdminClient``; ``settings`` defaults to what they say (Kafka's defaults).
    ``on_failure(topic_partition, record, error)`` is called for each record that fails, as ``on_delivery`` is.
    ``partitioner(topic, key, partitions)`` chooses one of the numbers in ``partitions`` for a record that is sent
    without one; else Kafka's own rule applies.
    Raises ConfigError for settings that contradict each other.
    """

    def __init__(
        self,
        config: Given = None,
        *,
        settings: ProducerSettings | None = None,
        on_failure: OnFailure | None = None,
        partitioner: Partitioner | None = None,
        exchange: Exchange | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
        **given: Any,
    ) -> None:
        if given or not isinstance(config, ClientConfig):
            from kafka_tools.net.given_settings import client_config

            config = client_config(config, given, type(self).__name__)
        self.settings = settings or ProducerSettings.load(config)
        self._clock = clock or SystemClock()
        self._exchange = exchange or Exchange(config, clock=self._clock)
        self._random = random or Random()
        self._metadata = ClusterMetadata(self._exchange, auto_create=True)
        self._reports = Reports(on_failure)
        self._accumulator = Accumulator(self.settings, self._reports)
        self._sender = Sender(
            self.settings, self._exchange, self._metadata, self._accumulator, self._clock, self._reports
        )
        self._partitioner = partitioner
        self._sticky: dict[str, StickyPartitioner] = {}
        self._record_limit_bytes = (
            min(self.settings.max_request_size_bytes, self.settings.buffer_memory_bytes) - _OVERHEAD_BYTES
        )
        self._closed = False

    # Records in

    def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        headers: Sequence[Header] = (),
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        on_delivery: Callable[[RecordMetadata | None, KafkaToolsError | None], None] | None = None,
    ) -> Delivery:
        """Queue a record; it leaves when its batch is full or ``linger.ms`` old, or on ``flush``.

        ``timestamp_ms``: None means now. ``on_delivery(metadata, None)`` or ``(None, error)`` is called later, from
        ``send``, ``poll``, ``flush`` or ``close``. Blocks up to ``max.block.ms`` for metadata and for memory.

        Raises RecordTooLarge, InputError for values that cannot be sent and for a partition that does not exist,
        BrokerError or NetworkError when the topic cannot be looked up, DeadlineExceeded when ``max.block.ms`` passed.
        The record is queued if nothing is raised here, and only then.
        """
        if self._closed:
            raise KafkaToolsError("Cannot perform operation after producer has been closed")
        if self._exchange.is_foreign:
            self._exchange.check_process()
        if key is not None and key.__class__ is not bytes:
            key = bytes_of("key", key)
        if value is not None and value.__class__ is not bytes:
            value = bytes_of("value", value)
        if headers:
            headers = headers_of(headers)
        if timestamp_ms is not None:
            timestamp_ms = timestamp_of(timestamp_ms)
        if on_delivery is not None and not callable(on_delivery):
            raise InputError("invalid on_delivery: expected a function")
        info = self._metadata.topics.get(topic)
        if info is None or not info.available:
            if not (isinstance(topic, str) and can_be_sent(topic)):
                raise InputError(f"invalid topic {topic!r}: expected its name as a str")
            info = self._metadata.wait_for_topic(topic, self._deadline(self.settings.max_block_ms))
        size_bytes = (len(key) if key else 0) + (len(value) if value else 0)
        if headers:
            size_bytes += headers_size_bytes(headers)
        if size_bytes > self._record_limit_bytes:
            self._refuse(size_bytes)
        number = self._partition(info, key, partition, size_bytes)
        if self._accumulator.buffered_bytes + size_bytes > self.settings.buffer_memory_bytes:
            self._wait_for_memory(size_bytes)
        now_s = self._clock.monotonic_s()
        record = (self._clock.now_ms() if timestamp_ms is None else timestamp_ms, key, value, headers)
        batch, filled = self._accumulator.append((topic, number), record, size_bytes, now_s)
        index = len(batch.records) - 1
        if on_delivery is not None:
            batch.callbacks.append((index, _adapted(on_delivery)))
        if filled or now_s >= self._sender.next_pump_s:
            self._sender.pump(Deadline(self._clock, 0), hurry=False)
        return Delivery(self, batch, index)

    def poll(self, timeout_s: float = 0.0) -> None:
        """Send what is due and take in answers, waiting at most ``timeout_s`` for something to happen."""
        self._exchange.check_process()
        self._sender.pump(Deadline(self._clock, timeout_s), hurry=False)

    def wait_s(self) -> float:
        """Seconds until ``poll`` should be called again for records to leave in time; infinity when none waits."""
        return self._sender.wait_s()

    def flush(self, timeout_s: float | None = None) -> None:
        """Send everything and wait until each record is acknowledged or has failed.

        Failures are reported where the record is (``Delivery``, callback), not here. DeadlineExceeded when
        ``timeout_s`` passes first; without it, ``delivery.timeout.ms`` bounds the wait.
        """
        self._exchange.check_process()
        deadline = Deadline(self._clock, timeout_s if timeout_s is not None else float("inf"))
        while self._accumulator.unfinished:
            deadline.check(f"{self._accumulator.unfinished} batches to be acknowledged")
            self._sender.pump(deadline, hurry=True)

    def close(self, timeout_s: float | None = None) -> None:
        """Flush, then close the connections. With ``timeout_s``, records that are not through by then fail.

        Raises RecordsLost if failures of records were not reported: they had no ``on_delivery``, the producer has no
        ``on_failure``, and the caller did not read their ``Delivery``.
        """
        if self._closed or self._exchange.is_foreign:
            return
        self._closed = True
        try:
            self.flush(timeout_s)
        except DeadlineExceeded:
            pass  # the records that are left fail one by one below
        finally:
            self._sender.close()
        error: BaseException | None = None
        while True:
            try:
                self._reports.run_callbacks()
                break
            except Exception as raised:  # noqa: BLE001 - the first is raised once all were called
                error = error or raised
        if error is not None:
            raise error
        self._reports.check()

    def note_seen(self, batch: ProducerBatch) -> None:
        """The caller has read the result of a batch, so ``close`` does not report it."""
        self._reports.note_seen(batch)

    def __enter__(self) -> Producer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        with contextlib.suppress(RecordsLost):  # the error that ends the block is the one to show
            self.close(0.0)  # nobody waits for what was queued before it

    def partitions_for(self, topic: str) -> TopicMetadata:
        """The topic's partitions and leaders; errors as ``send``."""
        self._exchange.check_process()
        return self._metadata.wait_for_topic(topic, self._deadline(self.settings.max_block_ms))

    def wait_for(self, delivery: Delivery, timeout_s: float | None = None) -> None:
        """Drive the producer until ``delivery`` is done; DeadlineExceeded when ``timeout_s`` passes first."""
        self._exchange.check_process()
        deadline = Deadline(self._clock, timeout_s if timeout_s is not None else float("inf"))
        while not delivery.done:
            deadline.check("the record to be acknowledged")
            self._sender.pump(deadline, hurry=True)

    def _refuse(self, size_bytes: int) -> NoReturn:
        """Raise RecordTooLarge, naming the setting."""
        total_bytes = size_bytes + _OVERHEAD_BYTES
        name, limit_bytes = "buffer.memory", self.settings.buffer_memory_bytes
        if total_bytes > self.settings.max_request_size_bytes:
            name, limit_bytes = "max.request.size", self.settings.max_request_size_bytes
        raise RecordTooLarge(
            f"The message is {total_bytes} bytes when serialized which is larger than {limit_bytes}, "
            f"which is the value of the {name} configuration."
        )

    def _partition(self, info: TopicMetadata, key: bytes | None, partition: int | None, size_bytes: int) -> int:
        if partition is None and self._partitioner is not None:
            partition = self._partitioner(info.name, key, sorted(info.partitions))
        if partition is not None:
            number = as_int(partition)
            if number is None or number not in info.partitions:
                raise InputError(
                    f"Invalid partition {partition!r} for topic '{info.name}': it has partitions 0 to "
                    f"{len(info.partitions) - 1}"
                )
            return number
        if key is not None and not self.settings.ignore_keys:
            return partition_for_key(key, len(info.partitions))
        sticky = self._sticky.get(info.name)
        if sticky is None:
            sticky = self._sticky[info.name] = StickyPartitioner(self.settings.batch_size_bytes, self._random)
        near = partial(self._near, info) if self.settings.near_rack else None
        return sticky.choose(info.available, size_bytes, near)

    def _near(self, info: TopicMetadata) -> list[int]:
        """The partitions whose leader is in the producer's own rack."""
        nodes, rack = self._metadata.nodes, self.settings.near_rack
        leaders = ((number, nodes.get(info.partitions[number].leader_id)) for number in info.available)
        return [number for number, leader in leaders if leader is not None and leader.rack == rack]

    def _wait_for_memory(self, size_bytes: int) -> None:
        deadline = self._deadline(self.settings.max_block_ms)
        while self._accumulator.buffered_bytes + size_bytes > self.settings.buffer_memory_bytes:
            if deadline.expired:
                raise DeadlineExceeded(
                    f"Failed to allocate {size_bytes} bytes within the configured max blocking time "
                    f"{self.settings.max_block_ms} ms.",
                    hint="brokers accept records more slowly than they are sent; check buffer.memory",
                )
            self._sender.pump(deadline, hurry=True)

    def _deadline(self, timeout_ms: int) -> Deadline:
        return Deadline(self._clock, timeout_ms / 1000)


def metadata_of(batch: ProducerBatch, index: int) -> RecordMetadata:
    """The location of record ``index`` of an acknowledged batch."""
    offset = batch.base_offset + index if batch.base_offset >= 0 else -1
    timestamp_ms = batch.append_time_ms if batch.append_time_ms >= 0 else batch.records[index][0]
    return RecordMetadata(*batch.topic_partition, offset, timestamp_ms)


def _adapted(
    on_delivery: Callable[[RecordMetadata | None, KafkaToolsError | None], None],
) -> Callable[[ProducerBatch, int], None]:
    def call(batch: ProducerBatch, index: int) -> None:
        if batch.error is not None:
            on_delivery(None, batch.error)
        else:
            on_delivery(metadata_of(batch, index), None)

    return call
