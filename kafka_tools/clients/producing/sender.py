"""The part of a producer that sends batches to brokers and processes responses, in the thread that calls ``pump``.

Takes from the accumulator what is ready, per leader; retries, splits and gives up. Knows no threads: whoever calls it
holds the producer's lock, which ``net`` releases while it waits.
Follows ``Sender`` of Kafka's Java client.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_tools.clients.producing.accumulator import Accumulator
from kafka_tools.clients.producing.batch import ProducerBatch
from kafka_tools.clients.producing.produce_request import ProduceRequests, SentRequest
from kafka_tools.clients.producing.producer_id import ProducerId
from kafka_tools.clients.producing.within import Within
from kafka_tools.clients.settings import ProducerSettings
from kafka_tools.clients.transactions.state import TransactionManager
from kafka_tools.clients.transactions.steps import StepKind
from kafka_tools.clock import Clock, Deadline
from kafka_tools.errors import ConnectFailed, DeadlineExceeded, KafkaToolsError, NetworkError
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.net.rights import refused
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_tools.values import Node

if TYPE_CHECKING:
    from kafka_tools.clients.producing.metrics import ProducerMetrics
    from kafka_tools.net.connection import Pending

_CHANNEL = "transactions"
"""The requests of transactions do not wait behind records."""
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
    ) -> None:
        self.settings = settings
        self.next_pump_s = 0.0
        """When, on the monotonic clock, ``pump`` should be called again though no batch is full."""
        self._exchange = exchange
        self._metadata = metadata
        self._accumulator = accumulator
        self._clock = clock
        self._id = ProducerId(settings, exchange, metadata)
        self.transactions = TransactionManager(settings, metadata.topic_id) if settings.transactional_id else None
        self._step: tuple[StepKind, Pending] | None = None
        """The request of the transaction in progress."""
        self._requests = ProduceRequests(settings, metadata, self.transactions)
        self._in_flight: list[SentRequest] = []
        self._asking: Pending | None = None
        """The request for metadata in progress."""
        self._closed = False
        self.metrics: ProducerMetrics | None = None
        """What was sent since ``Producer.metrics`` was called first; None before."""

    def requests_in_flight(self) -> int:
        """The number of produce requests whose answers have not come."""
        return len(self._in_flight)

    def wait_s(self) -> float:
        """Seconds until ``pump`` should be called for records to leave in time; infinity when none waits."""
        return 0.0 if self._in_flight else self._accumulator.next_event_s(self._clock.monotonic_s())

    @property
    def is_busy(self) -> bool:
        """Whether responses are awaited."""
        waits = (self._asking, self._id.asking, self._step)
        return bool(self._in_flight) or any(each is not None for each in waits)

    def lost(self) -> str | None:
        """What would be lost if the producer ended now; None if nothing would."""
        batches = [batch for sent in self._in_flight for batch in sent.batches]
        batches += [batch for name in self._accumulator.waiting() for batch in self._accumulator.batches(name)]
        count = sum(batch.record_count for batch in batches)
        return f"{count} record{'s were' if count > 1 else ' was'} not acknowledged" if count else None

    def close(self, error: KafkaToolsError | None = None) -> None:
        """Give up every record that is not acknowledged, with ``error`` if it is given, and close the connections."""
        self._closed = True
        error = error or KafkaToolsError("Producer is closed forcefully.")
        for sent in self._in_flight:
            for batch in sent.batches:
                self._fail(batch, error)
        self._in_flight.clear()
        self._fail_waiting(error)
        self._step = None
        self._exchange.close()

    def pump(self, deadline: Deadline, hurry: bool) -> float:
        """One turn: expire, refresh metadata, send what is ready, wait for a response until the deadline at most.

        Returns the seconds until something is due without a response. Raises KafkaToolsError once it is closed.
        """
        if self._closed:
            raise KafkaToolsError("Producer was closed while this call was in progress")
        now_s = self._clock.monotonic_s()
        self._accumulator.take_back([sent.batches for sent in self._in_flight], now_s)
        for batch in self._accumulator.expired(now_s):
            self._fail(batch, self._too_old(batch), in_flight=False)
        self._update_metadata()
        self._advance_transaction(now_s)
        held_s = min(self._send_ready(now_s, hurry), self._accumulator.expires_in_s(now_s))
        held_s = min(held_s, self._advance_transaction(now_s))
        waiting = [sent.pending for sent in self._in_flight]
        step = self._step[1] if self._step is not None else None
        waiting += [pending for pending in (self._asking, self._id.asking, step) if pending is not None]
        if waiting:
            if self._collect(waiting, Within(deadline, self._clock, held_s)):
                held_s = 0.0
        elif (self._accumulator.unfinished or held_s < float("inf")) and not deadline.expired:
            self._clock.sleep(min(deadline.left_s(), max(held_s, _PUMP_AT_LEAST_S)))
        now_s = self._clock.monotonic_s()
        wait_s = self._accumulator.next_event_s(now_s)
        self.next_pump_s = now_s + min(max(wait_s, _PUMP_AT_LEAST_S), _PUMP_AT_MOST_S)
        return max(held_s, _PUMP_AT_LEAST_S)

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
            request = self._metadata.request()
            with contextlib.suppress(ConnectFailed, DeadlineExceeded):  # again after the backoff, as above
                node = self._metadata.next_node(timeout_s)
                self._asking = self._exchange.send(node, request, Deadline(self._clock, timeout_s))

    def _send_ready(self, now_s: float, hurry: bool) -> float:
        """Send what may leave. Returns the seconds until more may leave, unless a response comes first."""
        if self.transactions is not None:
            if self.transactions.identity is None:
                return float("inf")
        elif self._accumulator.unfinished and self.settings.idempotent:
            try:
                held_s = self._identify(now_s)
            except KafkaToolsError as error:
                self._fail_waiting(error)
                return float("inf")
            if held_s is not None:
                return held_s
        held_s = 0.0
        while held_s == 0.0:
            held_s = self._send_once(now_s, hurry)
        return held_s

    def _identify(self, now_s: float) -> float | None:
        """See that there is a producer id. Returns None, or the seconds until it should be tried again."""
        identity = self._id.identity
        if identity is not None and self._accumulator.epochs_used_up(identity.producer_id):
            self._id.forget()
        if self._id.identity is None:
            try:
                wait_s = self._id.advance(now_s)
            except NetworkError:
                return self.settings.retry_backoff_ms / 1000
            if self._id.identity is None:
                return wait_s
        return None

    def _send_once(self, now_s: float, hurry: bool) -> float:
        """One request at most for each node, with one batch at most of each partition. Returns as ``_send_ready``."""
        per_node: dict[Node, list[ProducerBatch]] = {}
        sizes: dict[Node, int] = {}
        held_s = float("inf")
        busy: dict[int, int] = {}
        for sent in self._in_flight:
            busy[sent.node.id] = busy.get(sent.node.id, 0) + 1
        for topic_partition in list(self._accumulator.waiting()):
            node = self._metadata.leader(topic_partition)
            if node is None:
                self._metadata.add(topic_partition.topic)
                self._metadata.request_update()
                held_s = min(held_s, max(self._metadata.update_in_s(), _PUMP_AT_LEAST_S))
                continue
            if busy.get(node.id, 0) >= self.settings.max_in_flight:
                continue
            if self.transactions is not None and not self.transactions.may_send(topic_partition):
                continue
            # A batch may have failed because its leader moved: wait for the new metadata before a retry.
            batch = self._accumulator.take(topic_partition, now_s, hurry, no_retries=self._asking is not None)
            if batch is None:
                held_s = min(held_s, self._accumulator.held_s(topic_partition, now_s))
                continue
            held_s = 0.0
            size_bytes = sizes.get(node, _REQUEST_OVERHEAD_BYTES) + batch.size_bytes
            if node in sizes and size_bytes > self.settings.max_request_size_bytes:
                self._accumulator.put_back(batch)
                continue
            sizes[node] = size_bytes
            per_node.setdefault(node, []).append(batch)
        for node, batches in per_node.items():
            self._send(node, batches)
        return held_s

    def _advance_transaction(self, now_s: float) -> float:
        """Take the answer to the transaction's request, and send the next one. Returns the seconds until a retry."""
        transactions = self.transactions
        if transactions is None:
            return float("inf")
        if self._step is not None and self._step[1].done:
            (kind, pending), self._step = self._step, None
            transactions.take(kind, pending, now_s)
        if transactions.discards_batches:
            aborted = KafkaToolsError("Failing batch since transaction was aborted")
            self._fail_waiting(transactions.error or aborted)
        step = transactions.next_step(now_s, not self._accumulator.unfinished) if self._step is None else None
        if transactions.new_identity:
            transactions.new_identity = False
            self._accumulator.restart_sequences()
        if step is not None:
            try:
                node = step.node or self._metadata.next_node(self.settings.request_timeout_ms / 1000)
            except NetworkError:
                transactions.again(step.kind, now_s)
            else:
                deadline = self._deadline(self.settings.request_timeout_ms)
                self._step = step.kind, self._exchange.send(node, step.build, deadline, channel=_CHANNEL)
        return (
            max(_PUMP_AT_LEAST_S, transactions.retry_at_s - now_s) if transactions.retry_at_s > now_s else float("inf")
        )

    def _fail_waiting(self, error: KafkaToolsError) -> None:
        for batch in self._accumulator.drop_all():
            self._fail(batch, error, in_flight=False)

    def _send(self, node: Node, batches: list[ProducerBatch]) -> None:
        try:
            identity = self._id.identity if self.transactions is None else self.transactions.identity
            if identity is not None:
                for batch in batches:
                    self._accumulator.number(batch, identity)
            request = self._requests.build(batches)
        except KafkaToolsError as error:
            for batch in batches:
                self._fail(batch, error)
            return
        except BaseException:  # Ctrl-C for instance: the batches are neither sent nor lost
            for batch in batches:
                self._accumulator.put_back(batch)
            raise
        deadline = self._deadline(self.settings.request_timeout_ms)
        pending = self._exchange.send(node, self._requests.in_version(request), deadline)
        self._in_flight.append(SentRequest(node, batches, request, pending, self._clock.monotonic_s()))
        if self.metrics is not None:
            self.metrics.sent(node.id, batches)

    def _collect(self, waiting: list[Pending], deadline: Deadline) -> bool:
        """Wait until one of the requests is answered or has failed, and handle every produce request that is.

        Returns whether any is.
        """
        if deadline.expired:
            self._exchange.turn(0.0)
        else:
            self._exchange.poll(waiting, deadline)
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
        return any(pending.done for pending in waiting)

    def _take_answer(self, sent: SentRequest, response: ProduceResponse | None) -> None:
        if self.metrics is not None:
            self.metrics.answered(sent.node.id, sent.sent_s, response)
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
            if self.metrics is not None:
                self.metrics.split()
            return
        known = error_codes.error(code)
        if known.refresh_metadata:
            self._metadata.request_update()
        about = f"partition {batch.topic_partition}"
        error = refused(ProduceRequest, code, about, row.error_message, hint=self._hint(code, batch))
        lost = code in _SEQUENCE_LOST and batch.identity is not None
        if known.retriable or (lost and self._accumulator.has_earlier(batch)):
            self._retry_or_fail([batch], error)
        elif lost and code == error_codes.UNKNOWN_PRODUCER_ID and self.transactions is None:
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
                if self.metrics is not None:
                    self.metrics.retried(batch.topic_partition.topic, len(batch.records))

    def _fail(self, batch: ProducerBatch, error: KafkaToolsError, *, in_flight: bool = True) -> None:
        batch.error = error
        if self.metrics is not None:
            self.metrics.failed(batch.topic_partition.topic, len(batch.records))
        self._accumulator.finish(batch, in_flight=in_flight)
        if self.transactions is not None:
            self.transactions.on_batch_failed(error)

    def _too_old(self, batch: ProducerBatch, last: KafkaToolsError | None = None) -> DeadlineExceeded:
        age_ms = round((self._clock.monotonic_s() - batch.created_s) * 1000)
        why = f" (last failure: {last})" if last is not None else ""
        return DeadlineExceeded(
            f"Expiring {len(batch.records)} record(s) for {batch.topic_partition}:{age_ms} ms has passed since batch "
            f"creation{why}"
        )

    def _deadline(self, timeout_ms: int) -> Deadline:
        return Deadline(self._clock, timeout_ms / 1000)
