"""The part of a producer that sends batches to brokers and processes responses, in the caller's thread.

Takes from the accumulator what is ready, per leader; asks for a producer id where one is needed; retries, splits and
gives up. Follows ``Sender`` of Kafka's Java client. Works with brokers 0.11 and later (magic 2, topic ids from
Produce v13).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.clients.accumulator import Accumulator
from kafka_tools.clients.batch import MAX_EPOCH, ProducerBatch, ProducerIdentity
from kafka_tools.clients.reports import Reports
from kafka_tools.clients.settings import ProducerSettings
from kafka_tools.clock import Clock, Deadline
from kafka_tools.errors import DeadlineExceeded, KafkaToolsError, NetworkError
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.net.rights import refused
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_tools.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_tools.records.build import BatchBuilder
from kafka_tools.values import ZERO_UUID, Node

if TYPE_CHECKING:
    from kafka_tools.net.connection import Pending
    from kafka_tools.net.versions import NodeVersions

MAGIC_2_VERSION = 3
"""First version of Produce that carries magic 2."""
ZSTD_VERSION = 7
TOPIC_ID_VERSION = 13
_SEQUENCE_LOST = (error_codes.OUT_OF_ORDER_SEQUENCE_NUMBER, error_codes.UNKNOWN_PRODUCER_ID)
_REQUEST_OVERHEAD_BYTES = 512
_PUMP_AT_LEAST_S, _PUMP_AT_MOST_S = 0.001, 0.05
"""Bounds of the interval at which a producer that only queues records processes requests in progress."""


class Sender:
    """Sends what the accumulator holds. Nothing happens but inside ``pump`` and ``close``."""

    def __init__(
        self,
        settings: ProducerSettings,
        exchange: Exchange,
        metadata: ClusterMetadata,
        accumulator: Accumulator,
        clock: Clock,
        reports: Reports,
    ) -> None:
        self.settings = settings
        self.next_pump_s = 0.0
        """When, on the monotonic clock, ``pump`` should be called again though no batch is full."""
        self._exchange = exchange
        self._metadata = metadata
        self._accumulator = accumulator
        self._clock = clock
        self._reports = reports
        self._identity: ProducerIdentity | None = None
        self._in_flight: list[_Sent] = []
        self._asking: Pending | None = None
        """The request for metadata in progress."""

    def wait_s(self) -> float:
        """Seconds until ``pump`` should be called for records to leave in time; infinity when none waits."""
        return 0.0 if self._in_flight else self._accumulator.next_event_s(self._clock.monotonic_s())

    def close(self) -> None:
        """Give up every record that is not acknowledged, and close the connections."""
        error = KafkaToolsError("Producer is closed forcefully.")
        for sent in self._in_flight:
            for batch in sent.batches:
                self._fail(batch, error)
        self._in_flight.clear()
        for batch in self._accumulator.drop_all():
            self._fail(batch, error, in_flight=False)
        self._exchange.close()

    def pump(self, deadline: Deadline, hurry: bool) -> None:
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
        self.next_pump_s = now_s + min(max(wait_s, _PUMP_AT_LEAST_S), _PUMP_AT_MOST_S)
        self._reports.run_callbacks()

    def _wake_s(self, hurry: bool) -> float:
        """Seconds to wait for batches that are held back: until their next event, or less: leaders may appear."""
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
            node = self._metadata.next_node(timeout_s)
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
            # A batch may have failed because its leader moved: wait for the new metadata before a retry.
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
        except BaseException:  # Ctrl-C for instance: the batches are neither sent nor lost
            for batch in batches:
                self._accumulator.put_back(batch)
            raise
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
                f"{versions.peer} does not support zstd, which is new in Kafka 2.1",
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
                hint = _IDEMPOTENT_HINTS.get(row.code)
                raise refused(InitProducerIdRequest, row.code, "asking for a producer id", hint=hint)
            self._clock.sleep(min(self.settings.retry_backoff_ms / 1000, deadline.left_s()))

    def _request(self, batches: list[ProducerBatch]) -> ProduceRequest:
        rows: dict[str, list[ProduceRequest.TopicProduceData.PartitionProduceData]] = {}
        for batch in batches:
            name, number = batch.topic_partition
            data = ProduceRequest.TopicProduceData.PartitionProduceData(index=number, records=self._encoded(batch))
            rows.setdefault(name, []).append(data)
        topics = [
            ProduceRequest.TopicProduceData(
                name=name, topic_id=self._metadata.topic_id(name), partition_data=rows[name]
            )
            for name in rows
        ]
        return ProduceRequest(acks=self.settings.acks, timeout_ms=self.settings.request_timeout_ms, topic_data=topics)

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
        """Wait until a request is answered or has failed, and handle every produce request that is."""
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
        # A topic id in a response means the name that it had at the time of the request.
        names = {topic.topic_id: topic.name for topic in sent.request.topic_data}
        rows = {
            (topic.name or names.get(topic.topic_id), partition.index): partition
            for topic in response.responses
            for partition in topic.partition_responses
        }
        for batch in sent.batches:
            row = rows.get(batch.topic_partition)
            if row is None:
                self._fail(
                    batch,
                    KafkaToolsError(f"the response of {sent.node} does not contain partition {batch.topic_partition}"),
                )
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
            # An earlier attempt wrote the duplicate, but its response was lost. The offset is unknown.
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
        about = f"partition {batch.topic_partition}"
        error = refused(ProduceRequest, code, about, row.error_message, hint=self._hint(code, batch))
        lost = code in _SEQUENCE_LOST and batch.identity is not None
        if known.retriable or (lost and self._accumulator.has_earlier(batch)):
            self._retry_or_fail([batch], error)
        elif lost and code == error_codes.UNKNOWN_PRODUCER_ID:
            # Retention removed the broker's state of this producer, so nothing of the batch was written.
            self._accumulator.request_reset(batch.topic_partition)
            self._retry_or_fail([batch], error)
        else:
            self._fail(batch, error)

    @staticmethod
    def _hint(code: int, batch: ProducerBatch) -> str | None:
        """The hint for an error that old message formats cause (message.format.version, before Kafka 4.0)."""
        if code == error_codes.UNSUPPORTED_FOR_MESSAGE_FORMAT and batch.identity is not None:
            return (
                "the topic's message.format.version is older than 0.11, which an idempotent producer "
                "needs: set enable.idempotence=false"
            )
        if code == error_codes.UNKNOWN_SERVER_ERROR and any(headers for *_, headers in batch.records):
            return "headers need a topic with message.format.version 0.11 or later; check the broker's log"
        return None

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
    error_codes.CLUSTER_AUTHORIZATION_FAILED: (
        "before Kafka 2.8, an idempotent producer needs IdempotentWrite on the cluster: grant it, or set "
        "enable.idempotence=false"
    )
}
