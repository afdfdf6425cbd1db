"""A producer: records are grouped, sent and retried by the thread that is inside a call.

While no thread is inside, a background thread does it (``threads``). ``accumulator`` orders waiting records, ``sender``
sends requests and processes responses, and ``partitioner`` selects the partition of a key. Works with brokers 0.11 and
later. Follows ``KafkaProducer`` of Kafka's Java client.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kafka_tools.clients.interceptors import OutgoingRecord, ProducerInterceptor, ProducerInterceptors
from kafka_tools.clients.producing.accumulator import Accumulator
from kafka_tools.clients.producing.batch import Header, ProducerBatch
from kafka_tools.clients.producing.bulk import BulkCalls
from kafka_tools.clients.producing.deliveries import Deliveries
from kafka_tools.clients.producing.delivery import Delivery as Delivery
from kafka_tools.clients.producing.delivery import OnDelivery, adapted
from kafka_tools.clients.producing.delivery import RecordMetadata as RecordMetadata
from kafka_tools.clients.producing.given_records import bytes_of, headers_of, headers_size_bytes, timestamp_of
from kafka_tools.clients.producing.partitions import PartitionChoice, Partitioner
from kafka_tools.clients.producing.queueing import OVERHEAD_BYTES
from kafka_tools.clients.producing.queueing import RecordTooLarge as RecordTooLarge
from kafka_tools.clients.producing.reports import OnFailure, RecordsLost, Reports
from kafka_tools.clients.producing.sender import Sender
from kafka_tools.clients.producing.upkeep import QUIET_S, ProducerUpkeep
from kafka_tools.clients.settings import ProducerSettings
from kafka_tools.clients.threads.background import Background
from kafka_tools.clients.threads.lock import ClientLock
from kafka_tools.clients.threads.sharing import share
from kafka_tools.clients.threads.unclosed import Unclosed
from kafka_tools.clients.transactions.calls import TransactionalCalls
from kafka_tools.clock import Clock, Deadline, SystemClock
from kafka_tools.errors import DeadlineExceeded, InputError, KafkaToolsError
from kafka_tools.metrics.shown import shown
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.net.topic_metadata import TopicMetadata

if TYPE_CHECKING:
    from kafka_tools.metrics.names import MetricName
    from kafka_tools.net.given_settings import Given

_CALLBACKS_CHECK_S = 0.001


class Producer(BulkCalls, TransactionalCalls):
    """Sends records. Use as a context manager: leaving it without an error flushes. Thread-safe.

    ``config`` and keywords as for ``AdminClient``; ``settings`` defaults to what they say (Kafka's defaults).
    ``on_failure(topic_partition, record, error)`` is called for each record that fails, as ``on_delivery`` is.
    ``partitioner(topic, key, partitions)`` chooses one of the numbers in ``partitions`` for a record that is sent
    without one; else Kafka's own rule applies. ``interceptors`` see every record, in this order (KIP-42).
    Raises ConfigError for settings that contradict each other.
    """

    def __init__(
        self,
        config: Given = None,
        *,
        settings: ProducerSettings | None = None,
        on_failure: OnFailure | None = None,
        partitioner: Partitioner | None = None,
        interceptors: Sequence[ProducerInterceptor] = (),
        exchange: Exchange | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
        **given: Any,
    ) -> None:
        if given or not isinstance(config, ClientConfig):
            from kafka_tools.net.given_settings import client_config

            config = client_config(config, given, type(self).__name__)
        self.settings = settings or ProducerSettings.load(config)
        self._lock = ClientLock("producer")
        self._exchange, self._clock, is_shared = share(self._lock, config, exchange, clock)
        self._background = Background(self, self._lock, self._clock, enabled=is_shared)
        self._metadata = ClusterMetadata(self._exchange, auto_create=True)
        self._interceptors = ProducerInterceptors(interceptors) if interceptors else None
        in_transactions = self.settings.transactional_id is not None
        self._reports = Reports(on_failure, self._interceptors, in_transactions=in_transactions)
        self._accumulator = Accumulator(self.settings, self._reports)
        self._sender = Sender(self.settings, self._exchange, self._metadata, self._accumulator, self._clock)
        self._partitions = PartitionChoice(self.settings, self._metadata, partitioner, random or Random())
        self._record_limit_bytes = (
            min(self.settings.max_request_size_bytes, self.settings.buffer_memory_bytes) - OVERHEAD_BYTES
        )
        self._upkeep = ProducerUpkeep(self.settings, self._clock, self._accumulator, self._sender, self._lock)
        self._linger_s = self.settings.linger_ms / 1000
        self._closed = False
        self._broken: KafkaToolsError | None = None
        """The error of a background thread that ended, which closed the producer."""
        self._is_left_open = False
        """Whether the program has not closed the producer that is broken."""
        self._gave_up = False
        """Whether records failed because the producer was closed."""
        self._shown = shown(config["metrics.prometheus.port"], "kafka.producer", self.metrics)
        self._unclosed = Unclosed(
            "producer",
            self._sender.lost,
            self._background.end,
            partial(self._lock.discard, self._exchange.close),
        )

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
        on_delivery: OnDelivery | None = None,
    ) -> Delivery:
        """Queue a record; it leaves when its batch is full or ``linger.ms`` old, or on ``flush``.

        ``timestamp_ms``: None means now. ``on_delivery(metadata, None)`` or ``(None, error)`` is called later, in a
        thread that is inside a call, or in the background thread. Blocks up to ``max.block.ms`` for metadata and for
        memory.

        Raises RecordTooLarge, InputError for values that cannot be sent and for a partition that does not exist,
        BrokerError or NetworkError when the topic cannot be looked up, DeadlineExceeded when ``max.block.ms`` passed.
        The record is queued if nothing is raised here, and only then.
        """
        interceptors = self._interceptors
        if interceptors is not None:
            given = interceptors.on_send(OutgoingRecord(topic, value, key, headers, partition, timestamp_ms))
            topic, value, key, headers, partition, timestamp_ms = given
        batch = None
        try:
            if self._closed:
                raise self._is_closed()
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
            info = self._known(topic)
            size_bytes = (len(key) if key else 0) + (len(value) if value else 0)
            if headers:
                size_bytes += headers_size_bytes(headers)
            if size_bytes > self._record_limit_bytes:
                self._refuse(size_bytes)
            number = self._partitions.chosen(info, key, partition)
            lock = self._lock
            with lock.mutex:  # as ``with lock``, without the calls
                if lock.held:
                    raise lock.nested()
                lock.held = True
                try:
                    if number is None:
                        number = self._partitions.stick(info, size_bytes)
                    if self._accumulator.buffered_bytes + size_bytes > self.settings.buffer_memory_bytes:
                        self._wait_for_memory(size_bytes)
                    if self._closed:
                        raise self._is_closed()
                    if self._sender.transactions is not None:
                        self._sender.transactions.check_send()
                    now_s = self._clock.monotonic_s()
                    record = (self._clock.now_ms() if timestamp_ms is None else timestamp_ms, key, value, headers)
                    batch, filled = self._accumulator.append((topic, number), record, size_bytes, now_s)
                    index = len(batch.records) - 1
                    if on_delivery is not None:
                        batch.callbacks.append((index, adapted(on_delivery)))
                    if filled or now_s >= self._sender.next_pump_s:
                        self._turn(Deadline(self._clock, 0), hurry=False)
                    if not index:
                        self._background.expect(max(now_s + self._linger_s, self._upkeep.active_s + QUIET_S))
                finally:
                    lock.held = False
        except Exception as error:
            if interceptors is not None and batch is None:
                interceptors.refused(given, error)
            raise
        if self._reports.due:
            self._reports.run_callbacks(keep_errors=True)
        return Delivery(self, batch, index)

    def poll(self, timeout_s: float = 0.0) -> None:
        """Send what is due and take in answers, waiting at most ``timeout_s`` for something to happen.

        Raises an exception of a callback, and errors that the background thread met.
        """
        self._exchange.check_process()
        with self._lock:
            if self._closed:
                raise self._is_closed()
            self._turn(Deadline(self._clock, timeout_s), hurry=False)
        self._report()

    def wait_s(self) -> float:
        """Seconds until ``poll`` should be called again for records to leave in time; infinity when none waits."""
        return self._sender.wait_s()

    def flush(self, timeout_s: float | None = None) -> None:
        """Send everything and wait until each record is acknowledged or has failed.

        Failures are reported where the record is (``Delivery``, callback), not here. DeadlineExceeded when
        ``timeout_s`` passes first; without it, ``delivery.timeout.ms`` bounds the wait.
        """
        self._exchange.check_process()
        deadline = self._within(timeout_s)
        with self._lock:
            self._flush(deadline)
            if self._gave_up:
                text = "Producer was closed by another thread before all records were acknowledged"
                raise self._broken or KafkaToolsError(text)
        self._report()
        self._wait_for_callbacks(deadline)

    def _wait_for_callbacks(self, deadline: Deadline) -> None:
        """Wait for a callback that another thread is in, without the lock, which the callback may need."""
        while self._reports.others_run and not deadline.expired:
            SystemClock().sleep(_CALLBACKS_CHECK_S)

    def metrics(self) -> dict[MetricName, object]:
        """The metrics by name, with Kafka's names and groups: numbers. The first call starts the measurement.

        So a producer whose metrics nobody reads pays nothing for them.
        """
        if self._sender.metrics is None:
            from kafka_tools.clients.producing.metrics import ProducerMetrics

            self._sender.metrics = ProducerMetrics(
                self._clock,
                self._exchange.config.client_id,
                buffer_bytes=self.settings.buffer_memory_bytes,
                buffered=lambda: self._accumulator.buffered_bytes,
                in_flight=self._sender.requests_in_flight,
            )
        return self._sender.metrics.values()

    def close(self, timeout_s: float | None = None) -> None:
        """Flush, then close the connections. With ``timeout_s``, records that are not through by then fail.

        Calls of other threads that wait raise KafkaToolsError. Raises RecordsLost if failures of records were not
        reported: they had no ``on_delivery``, the producer has no ``on_failure``, and the caller did not read their
        ``Delivery``. Records of transactions do not count: ``commit_transaction`` raises their error.
        """
        is_broken, self._is_left_open = self._is_left_open, False
        if self._exchange.is_foreign or (self._closed and not is_broken):
            return
        deadline = self._within(timeout_s)
        if not self._lock.enter_within(deadline.left_s()):
            self._closed = True
            self._background.end()
            raise DeadlineExceeded(
                f"the producer could not be closed within {timeout_s:g} s: another thread does not leave its call"
            )
        try:
            self._close(deadline)
        finally:
            self._lock.__exit__()
        error: BaseException | None = None
        while True:
            try:
                self._reports.run_callbacks()
                self._reports.raise_kept()
                break
            except Exception as raised:  # noqa: BLE001 - the first is raised once all were called
                error = error or raised
        self._wait_for_callbacks(deadline)
        if self._interceptors is not None:
            self._interceptors.close()
        if error is not None:
            raise error
        self._reports.check()

    def _close(self, deadline: Deadline) -> None:
        if self._closed:
            return  # another thread closed it a moment ago
        self._closed = True
        self._background.end()
        try:
            self._flush(deadline)
        except DeadlineExceeded:
            self._gave_up = True  # the records that are left fail one by one below
        except BaseException:
            self._gave_up = True
            raise
        finally:
            self._lock.close(self._sender.close)
            self._unclosed.is_closed = True
            if self._shown is not None:
                self._shown.close()

    def _flush(self, deadline: Deadline) -> None:
        while self._accumulator.unfinished and not self._lock.closed:
            deadline.check(f"{self._accumulator.unfinished} batches to be acknowledged")
            self._turn(deadline, hurry=True)

    def keep_promises(self) -> float:
        """What the background thread does. Returns the seconds until it is needed again, infinity at rest."""
        if not self._lock.enter_within(0.0):
            return QUIET_S  # a thread of the application is inside: the work is its own, and so is the lock
        try:
            wait_s = self._background.sleeps_for(float("inf") if self._closed else self._upkeep.work())
        finally:
            self._lock.__exit__()
        self._reports.run_callbacks(keep_errors=True)
        return wait_s

    def break_promises(self, error: KafkaToolsError) -> None:
        """The background thread failed, and what it left is not to be trusted: every record fails, and every call."""
        with self._lock:
            if not self._closed:
                self._broken, self._is_left_open = error, True
                self._closed = self._gave_up = self._unclosed.is_closed = True
                self._lock.close(partial(self._sender.close, error))
        self._reports.run_callbacks(keep_errors=True)

    def _turn(self, deadline: Deadline, hurry: bool) -> None:
        """A turn of the application."""
        try:
            self._sender.pump(deadline, hurry)
        finally:
            self._upkeep.active_s = self._clock.monotonic_s()

    def _report(self) -> None:
        """Without the lock: call the callbacks that are due, and raise what they and the background thread met."""
        self._reports.run_callbacks()
        self._reports.raise_kept()
        self._upkeep.raise_failure()

    def _within(self, timeout_s: float | None) -> Deadline:
        return Deadline(self._clock, timeout_s if timeout_s is not None else float("inf"))

    def note_seen(self, batch: ProducerBatch) -> None:
        """The caller has read the result of a batch, so ``close`` does not report it."""
        if batch.unreported:
            with self._lock:
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
        return self._look_up(topic)

    def wait_for(self, delivery: Delivery | Deliveries, timeout_s: float | None = None) -> None:
        """Drive the producer until ``delivery`` is done; DeadlineExceeded when ``timeout_s`` passes first."""
        self._exchange.check_process()
        deadline = self._within(timeout_s)
        with self._lock:
            while not delivery.done:
                deadline.check(delivery.waits_for)
                self._turn(deadline, hurry=True)
        self._report()
