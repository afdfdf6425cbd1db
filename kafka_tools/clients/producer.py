"""A producer without threads: records are grouped, sent and retried from ``send``, ``poll`` and ``flush``.

All I/O happens in the caller's thread. What waits and in which order is ``accumulator``'s; which partition a key
goes to is ``partitioner``'s; the brokers are reached through an Exchange. Works with brokers 0.11 and later (magic 2,
topic ids from Produce v13). Follows ``KafkaProducer`` and ``Sender`` of Kafka's Java client.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from kafka_tools.clients.accumulator import (
    BATCH_OVERHEAD_BYTES,
    MAX_EPOCH,
    RECORD_OVERHEAD_BYTES,
    Accumulator,
    Header,
    PendingRecord,
    ProducerBatch,
    ProducerIdentity,
)
from kafka_tools.clients.metadata import ClusterMetadata, TopicInfo
from kafka_tools.clients.partitioner import StickyPartitioner, partition_for_key
from kafka_tools.clients.settings import ProducerSettings
from kafka_tools.clock import Clock, Deadline, SystemClock
from kafka_tools.errors import BrokerError, DeadlineExceeded, InputError, KafkaToolsError, NetworkError
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_tools.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_tools.records.build import BatchBuilder
from kafka_tools.values import ZERO_UUID, Node, TopicPartition

if TYPE_CHECKING:
    from kafka_tools.net.connection import NodeVersions, Pending

MAGIC_2_VERSION = 3
"""First version of Produce that carries magic 2."""
ZSTD_VERSION = 7
TOPIC_ID_VERSION = 13
_SEQUENCE_LOST = (error_codes.OUT_OF_ORDER_SEQUENCE_NUMBER, error_codes.UNKNOWN_PRODUCER_ID)
_OVERHEAD_BYTES = BATCH_OVERHEAD_BYTES + RECORD_OVERHEAD_BYTES
_REQUEST_OVERHEAD_BYTES = 512
_PUMP_AT_LEAST_S, _PUMP_AT_MOST_S = 0.001, 0.05
"""How often ``send`` looks after what is under way, beside every time that a batch is full."""


OnFailure = Callable[[TopicPartition, PendingRecord, KafkaToolsError], None]


class RecordTooLarge(InputError):
    """A record is above ``max.request.size`` or ``buffer.memory``."""


class RecordMetadata(NamedTuple):
    """Where a record went. ``offset`` is -1 when the broker did not say (acks=0, a retry it had already written)."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class Delivery:
    """The fate of one record."""

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
        """Why the record failed; None while it is not done and when it arrived."""
        return self._batch.locate(self._index)[0].error

    def result(self, timeout_s: float | None = None) -> RecordMetadata:
        """Wait until the record is acknowledged (at most ``timeout_s``) and say where it is.

        Raises what made it fail (BrokerError, DeadlineExceeded after ``delivery.timeout.ms``, ...), or
        DeadlineExceeded when ``timeout_s`` passed first; the record may still arrive then.
        """
        self._producer.wait_for(self, timeout_s)
        batch, index = self._batch.locate(self._index)
        if batch.error is not None:
            raise batch.error
        return metadata_of(batch, index)


class Producer:
    """Sends records. Use as a context manager: leaving it without an error flushes.

    ``config`` holds the connection; ``settings`` defaults to what ``config`` says (Kafka's names and defaults).
    ``on_failure(topic_partition, record, error)`` is called for each record that is given up, as ``on_delivery`` is.
    Raises ConfigError for settings that contradict each other.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        settings: ProducerSettings | None = None,
        on_failure: OnFailure | None = None,
        exchange: Exchange | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        self.settings = settings or ProducerSettings.load(config)
        self._clock = clock or SystemClock()
        self._exchange = exchange or Exchange(config, clock=self._clock)
        self._random = random or Random()
        self._on_failure = on_failure
        self._metadata = ClusterMetadata(
            self._exchange,
            self._clock,
            max_age_ms=self.settings.metadata_max_age_ms,
            backoff_ms=self.settings.retry_backoff_ms,
            auto_create=True,
        )
        self._accumulator = Accumulator(self.settings)
        self._sticky: dict[str, StickyPartitioner] = {}
        self._identity: ProducerIdentity | None = None
        self._in_flight: list[_Sent] = []
        self._record_limit_bytes = (
            min(self.settings.max_request_size_bytes, self.settings.buffer_memory_bytes) - _OVERHEAD_BYTES
        )
        self._asking: Pending | None = None
        """The request for metadata that is under way."""
        self._next_pump_s = 0.0
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

        Raises RecordTooLarge, InputError for a partition that does not exist, BrokerError or NetworkError when the
        topic cannot be looked up, DeadlineExceeded when ``max.block.ms`` passed.
        """
        if self._closed:
            raise KafkaToolsError("Cannot perform operation after producer has been closed")
        info = self._metadata.topics.get(topic)
        if info is None or not info.available:
            info = self._metadata.wait_for_topic(topic, self._deadline(self.settings.max_block_ms))
        size_bytes = (len(key) if key else 0) + (len(value) if value else 0)
        if headers:
            size_bytes += _headers_size_bytes(headers)
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
        if filled or now_s >= self._next_pump_s:
            self._pump(Deadline(self._clock, 0), hurry=False)
        return Delivery(self, batch, index)

    def poll(self, timeout_s: float = 0.0) -> None:
        """Send what is due and take in answers, waiting at most ``timeout_s`` for something to happen."""
        self._pump(Deadline(self._clock, timeout_s), hurry=False)

    def wait_s(self) -> float:
        """Seconds until ``poll`` should be called again for records to leave in time; infinity when none waits."""
        return 0.0 if self._in_flight else self._accumulator.next_event_s(self._clock.monotonic_s())

    def flush(self, timeout_s: float | None = None) -> None:
        """Send everything and wait until each record is acknowledged or has failed.

        Failures are reported where the record is (``Delivery``, callback), not here. DeadlineExceeded when
        ``timeout_s`` passes first; without it, ``delivery.timeout.ms`` bounds the wait.
        """
        deadline = Deadline(self._clock, timeout_s if timeout_s is not None else float("inf"))
        while self._accumulator.unfinished:
            deadline.check(f"{self._accumulator.unfinished} batches to be acknowledged")
            self._pump(deadline, hurry=True)

    def close(self, timeout_s: float | None = None) -> None:
        """Flush, then close the connections. With ``timeout_s``, records that are not through by then fail."""
        if self._closed:
            return
        self._closed = True
        try:
            self.flush(timeout_s)
        except DeadlineExceeded:
            pass  # the records that are left fail one by one below
        finally:
            error = KafkaToolsError("Producer is closed forcefully.")
            for sent in self._in_flight:
                for batch in sent.batches:
                    self._fail(batch, error)
            self._in_flight.clear()
            for batch in self._accumulator.drop_all():
                self._fail(batch, error, in_flight=False)
            self._exchange.close()

    def __enter__(self) -> Producer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # After an error nobody waits for what was queued before it.
        self.close(None if kind is None else 0.0)

    def partitions_for(self, topic: str) -> TopicInfo:
        """The topic's partitions and leaders; errors as ``send``."""
        return self._metadata.wait_for_topic(topic, self._deadline(self.settings.max_block_ms))

    def wait_for(self, delivery: Delivery, timeout_s: float | None = None) -> None:
        """Drive the producer until ``delivery`` is done; DeadlineExceeded when ``timeout_s`` passes first."""
        deadline = Deadline(self._clock, timeout_s if timeout_s is not None else float("inf"))
        while not delivery.done:
            deadline.check("the record to be acknowledged")
            self._pump(deadline, hurry=True)

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

    def _partition(self, info: TopicInfo, key: bytes | None, partition: int | None, size_bytes: int) -> int:
        if partition is not None:
            if partition not in info.partitions:
                raise InputError(
                    f"Invalid partition {partition} for topic '{info.name}': it has partitions 0 to "
                    f"{len(info.partitions) - 1}"
                )
            return partition
        if key is not None and not self.settings.ignore_keys:
            return partition_for_key(key, len(info.partitions))
        sticky = self._sticky.get(info.name)
        if sticky is None:
            sticky = self._sticky[info.name] = StickyPartitioner(self.settings.batch_size_bytes, self._random)
        return sticky.choose(info.available, size_bytes)

    def _wait_for_memory(self, size_bytes: int) -> None:
        deadline = self._deadline(self.settings.max_block_ms)
        while self._accumulator.buffered_bytes + size_bytes > self.settings.buffer_memory_bytes:
            if deadline.expired:
                raise DeadlineExceeded(
                    f"Failed to allocate {size_bytes} bytes within the configured max blocking time "
                    f"{self.settings.max_block_ms} ms.",
                    hint="the brokers take records more slowly than they are sent; see buffer.memory",
                )
            self._pump(deadline, hurry=True)

    # Batches out, answers in

    def _pump(self, deadline: Deadline, hurry: bool) -> None:
        """One turn: expire, refresh metadata, send what is ready, wait for an answer until the deadline at most."""
        now_s = self._clock.monotonic_s()
        for batch in self._accumulator.expired(now_s):
            self._fail(batch, self._too_old(batch), in_flight=False)
        self._update_metadata()
        self._send_ready(now_s, hurry)
        if self._in_flight or self._asking is not None:
            wait_s = deadline.left_s()
            if self._accumulator.unfinished > sum(len(sent.batches) for sent in self._in_flight):
                wait_s = min(wait_s, self._wake_s(hurry))
            self._collect(Deadline(self._clock, wait_s))
        elif self._accumulator.unfinished and not deadline.expired:
            self._clock.sleep(min(deadline.left_s(), self._wake_s(hurry)))
        now_s = self._clock.monotonic_s()
        wait_s = self._accumulator.next_event_s(now_s)
        self._next_pump_s = now_s + min(max(wait_s, _PUMP_AT_LEAST_S), _PUMP_AT_MOST_S)

    def _wake_s(self, hurry: bool) -> float:
        """How long to wait when batches are held back: their next event, but never long, as leaders may appear."""
        wait_s = self._accumulator.next_event_s(self._clock.monotonic_s())
        return min(max(wait_s, 0.001), 0.05 if hurry else max(self.settings.retry_backoff_ms / 1000, 0.005))

    def _update_metadata(self) -> None:
        """Take an answer that has come; ask when an update is due."""
        if self._asking is not None and self._asking.done:
            answered, self._asking = self._asking, None
            if answered.error is None:
                self._metadata.take(answered.response)
            else:
                # Batches keep waiting for a leader; their own delivery timeout ends that with a clear error.
                self._metadata.request_update()
        if self._asking is None and self._metadata.update_due:
            timeout_s = self.settings.request_timeout_ms / 1000
            node = self._metadata.any_node(timeout_s)
            self._asking = self._exchange.send(node, self._metadata.request(), Deadline(self._clock, timeout_s))

    def _send_ready(self, now_s: float, hurry: bool) -> None:
        per_node: dict[Node, list[ProducerBatch]] = {}
        sizes: dict[Node, int] = {}
        busy: dict[int, int] = {}
        for sent in self._in_flight:
            busy[sent.node.id] = busy.get(sent.node.id, 0) + 1
        for topic_partition in list(self._accumulator.waiting()):
            node = self._metadata.leader(topic_partition)
            if node is None:
                self._metadata.add(topic_partition.topic)
                self._metadata.request_update()
                continue
            if busy.get(node.id, 0) >= self.settings.max_in_flight:
                continue
            # What came back may have come from a leader that has moved: wait for the answer that tells.
            batch = self._accumulator.take(topic_partition, now_s, hurry, no_retries=self._asking is not None)
            if batch is None:
                continue
            size_bytes = sizes.get(node, _REQUEST_OVERHEAD_BYTES) + batch.size_bytes
            if node in sizes and size_bytes > self.settings.max_request_size_bytes:
                self._accumulator.put_back(batch)
                continue
            sizes[node] = size_bytes
            per_node.setdefault(node, []).append(batch)
        for node, batches in per_node.items():
            self._send(node, batches)

    def _send(self, node: Node, batches: list[ProducerBatch]) -> None:
        try:
            if self.settings.idempotent:
                identity = self._producer_identity(self._deadline(self.settings.request_timeout_ms))
                for batch in batches:
                    self._accumulator.number(batch, identity)
            request = self._request(batches)
        except NetworkError as error:
            self._retry_or_fail(batches, error)
            return
        except KafkaToolsError as error:
            for batch in batches:
                self._fail(batch, error)
            return
        deadline = self._deadline(self.settings.request_timeout_ms)
        pending = self._exchange.send(node, partial(self._in_version, request), deadline)
        self._in_flight.append(_Sent(node, batches, request, pending))

    def _in_version(self, request: ProduceRequest, versions: NodeVersions) -> tuple[ProduceRequest, int]:
        """The request with the version that a node takes; topics without an id cannot go by id."""
        version = versions.newest(ProduceRequest)
        if any(topic.topic_id == ZERO_UUID for topic in request.topic_data):
            version = min(version, TOPIC_ID_VERSION - 1)
        if version < MAGIC_2_VERSION:
            raise KafkaToolsError(f"{versions.peer} is older than Kafka 0.11, which this producer needs")
        if self.settings.codec == "zstd" and version < ZSTD_VERSION:
            raise KafkaToolsError(
                f"{versions.peer} does not know zstd, which came with Kafka 2.1",
                hint="choose another compression.type: gzip, snappy or lz4",
            )
        return request, version

    def _producer_identity(self, deadline: Deadline) -> ProducerIdentity:
        if self._identity is not None and not self._accumulator.epochs_used_up(self._identity.producer_id):
            return self._identity
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1)
        while True:
            response = self._metadata.call_any(request, deadline)
            assert isinstance(response, InitProducerIdResponse)
            row = error_codes.error(response.error_code)
            if not row.code:
                self._identity = ProducerIdentity(response.producer_id, response.producer_epoch)
                assert self._identity.epoch <= MAX_EPOCH
                return self._identity
            if not row.retriable or deadline.expired:
                raise BrokerError(row, f"{row.text} (asking for a producer id)", hint=_IDEMPOTENT_HINTS.get(row.code))
            self._clock.sleep(min(self.settings.retry_backoff_ms / 1000, deadline.left_s()))

    def _request(self, batches: list[ProducerBatch]) -> ProduceRequest:
        topics: dict[str, ProduceRequest.TopicProduceData] = {}
        for batch in batches:
            name, number = batch.topic_partition
            if name not in topics:
                topics[name] = ProduceRequest.TopicProduceData(name=name, topic_id=self._metadata.topic_id(name))
                topics[name].partition_data = []
            data = ProduceRequest.TopicProduceData.PartitionProduceData(index=number, records=self._encoded(batch))
            topics[name].partition_data.append(data)
        return ProduceRequest(
            acks=self.settings.acks, timeout_ms=self.settings.request_timeout_ms, topic_data=list(topics.values())
        )

    def _encoded(self, batch: ProducerBatch) -> bytes:
        if batch.encoded is None:
            identity = batch.identity or _NO_IDENTITY
            builder = BatchBuilder(codec=self.settings.codec, level=self.settings.compression_level)
            for record in batch.records:
                builder.append(*record)
            batch.encoded = builder.build(
                producer_id=identity.producer_id,
                producer_epoch=identity.epoch,
                base_sequence=batch.base_sequence,
            )
        return batch.encoded

    def _collect(self, deadline: Deadline) -> None:
        """Wait until a request is answered or has failed, and deal with the produce requests that are."""
        waiting = [sent.pending for sent in self._in_flight]
        self._exchange.poll([*waiting, self._asking] if self._asking is not None else waiting, deadline)
        done = [sent for sent in self._in_flight if sent.pending.done]
        self._in_flight = [sent for sent in self._in_flight if not sent.pending.done]
        for sent in done:
            error = sent.pending.error
            if error is None:
                self._take_answer(sent, sent.pending.response)
            elif isinstance(error, NetworkError):
                self._metadata.request_update()
                self._retry_or_fail(sent.batches, error)
            else:
                for batch in sent.batches:
                    self._fail(batch, error)

    def _take_answer(self, sent: _Sent, response: ProduceResponse | None) -> None:
        if response is None or self.settings.acks == 0:
            for batch in sent.batches:
                self._accumulator.finish(batch)
            return
        # An answer by id means the name that the id had when it was asked.
        names = {topic.topic_id: topic.name for topic in sent.request.topic_data}
        rows = {
            (topic.name or names.get(topic.topic_id), partition.index): partition
            for topic in response.responses
            for partition in topic.partition_responses
        }
        for batch in sent.batches:
            row = rows.get(batch.topic_partition)
            if row is None:
                self._fail(batch, KafkaToolsError(f"the answer of {sent.node} lacks partition {batch.topic_partition}"))
                continue
            if response.throttle_time_ms > 0:
                until_s = self._clock.monotonic_s() + response.throttle_time_ms / 1000
                self._accumulator.mute(batch.topic_partition, until_s)
            self._take_partition(batch, row)

    def _take_partition(
        self, batch: ProducerBatch, row: ProduceResponse.TopicProduceResponse.PartitionProduceResponse
    ) -> None:
        code = row.error_code
        if code in (error_codes.NONE, error_codes.DUPLICATE_SEQUENCE_NUMBER):
            # A duplicate was written by an earlier attempt whose answer got lost; its offset is not told.
            batch.base_offset = row.base_offset if code == error_codes.NONE else -1
            batch.append_time_ms = row.log_append_time_ms
            self._accumulator.finish(batch)
            return
        if code == error_codes.MESSAGE_TOO_LARGE and len(batch.records) > 1:
            self._accumulator.split(batch)
            return
        known = error_codes.error(code)
        if known.refresh_metadata:
            self._metadata.request_update()
        error = BrokerError(known, f"{row.error_message or known.text} (partition {batch.topic_partition})")
        lost = code in _SEQUENCE_LOST and batch.identity is not None
        if known.retriable or (lost and self._accumulator.has_earlier(batch)):
            self._retry_or_fail([batch], error)
        elif lost and code == error_codes.UNKNOWN_PRODUCER_ID:
            # Retention removed what the broker knew of this producer, so nothing of the batch was written.
            self._accumulator.request_reset(batch.topic_partition)
            self._retry_or_fail([batch], error)
        else:
            self._fail(batch, error)

    def _retry_or_fail(self, batches: Sequence[ProducerBatch], error: KafkaToolsError) -> None:
        now_s = self._clock.monotonic_s()
        # Requeueing the newest first leaves the oldest at the front.
        for batch in reversed(batches):
            age_ms = (now_s - batch.created_s) * 1000
            if age_ms >= self.settings.delivery_timeout_ms:
                self._fail(batch, self._too_old(batch, error))
            elif batch.attempts > self.settings.retries:
                self._fail(batch, error)
            else:
                self._accumulator.retry(batch, now_s)

    def _fail(self, batch: ProducerBatch, error: KafkaToolsError, *, in_flight: bool = True) -> None:
        batch.error = error
        self._accumulator.finish(batch, in_flight=in_flight)
        if self._on_failure is not None:
            for record in batch.records:
                self._on_failure(batch.topic_partition, record, error)

    def _too_old(self, batch: ProducerBatch, last: KafkaToolsError | None = None) -> DeadlineExceeded:
        age_ms = round((self._clock.monotonic_s() - batch.created_s) * 1000)
        why = f" (last failure: {last})" if last is not None else ""
        return DeadlineExceeded(
            f"Expiring {len(batch.records)} record(s) for {batch.topic_partition}:{age_ms} ms has passed since batch "
            f"creation{why}"
        )

    def _deadline(self, timeout_ms: int) -> Deadline:
        return Deadline(self._clock, timeout_ms / 1000)


class _Sent(NamedTuple):
    """A produce request whose answer has not come."""

    node: Node
    batches: list[ProducerBatch]
    request: ProduceRequest
    pending: Pending


_NO_IDENTITY = ProducerIdentity(-1, -1)
_IDEMPOTENT_HINTS = {
    error_codes.CLUSTER_AUTHORIZATION_FAILED: "before Kafka 2.8 an idempotent producer needs IdempotentWrite on the "
    "cluster; enable.idempotence=false does without"
}


def _headers_size_bytes(headers: Sequence[Header]) -> int:
    """Names and values, with an upper bound of what their lengths take."""
    return sum(len(name.encode()) + (len(content) if content else 0) + 10 for name, content in headers)


def metadata_of(batch: ProducerBatch, index: int) -> RecordMetadata:
    """Where record ``index`` of an acknowledged batch is."""
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
