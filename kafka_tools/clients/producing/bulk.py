"""Many records at once: ``Producer.send_many``.

What ``send`` does for each record, this module does for runs of records: it checks columns, chooses partitions for all
keys together, and fills whole batches. The batches are those that ``send`` would make.

A record of 100 bytes takes about as much CPU time as in librdkafka. What limits the rate is that the thread of the
application also encodes, sends and receives, where librdkafka has threads of its own. With the default ``batch.size``,
about half of the time goes to requests and responses: 150 such records fill a batch.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kafka_tools.clients.producing.accumulator import USUAL_OVERHEAD_BYTES
from kafka_tools.clients.producing.batch import Header, ProducerBatch
from kafka_tools.clients.producing.deliveries import Deliveries
from kafka_tools.clients.producing.given_records import (
    GivenRecords,
    columns_of,
    headers_of,
    headers_size_bytes,
    times_of,
)
from kafka_tools.clients.producing.queueing import QueueingCalls
from kafka_tools.clients.producing.record_run import RecordRun
from kafka_tools.clients.producing.upkeep import QUIET_S
from kafka_tools.clock import Deadline
from kafka_tools.errors import InputError, KafkaToolsError
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.clients.interceptors import ProducerInterceptors
    from kafka_tools.clients.producing.delivery import Delivery
    from kafka_tools.clients.producing.partitions import PartitionChoice
    from kafka_tools.clients.producing.reports import Reports
    from kafka_tools.clients.producing.sender import Sender
    from kafka_tools.clients.producing.upkeep import ProducerUpkeep
    from kafka_tools.clients.threads.background import Background
    from kafka_tools.net.exchange import Exchange
    from kafka_tools.net.topic_metadata import TopicMetadata

_NO_TIME = -1
_AT_ONCE = 10_000
"""Records after which other threads get the producer's lock. Records with keys are sorted by partition among these."""


class BulkCalls(QueueingCalls):
    """The part of a producer that takes many records."""

    _exchange: Exchange
    _background: Background
    _interceptors: ProducerInterceptors | None
    _sender: Sender
    _partitions: PartitionChoice
    _reports: Reports
    _upkeep: ProducerUpkeep
    _record_limit_bytes: int
    _linger_s: float

    @abstractmethod
    def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        headers: Sequence[Header] = (),
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Delivery: ...

    @abstractmethod
    def wait_for(self, delivery: Deliveries, timeout_s: float | None = None) -> None: ...

    @abstractmethod
    def note_seen(self, batch: ProducerBatch) -> None: ...

    def send_many(
        self,
        topic: str,
        records: GivenRecords,
        headers: Sequence[Header] = (),
        *,
        partition: int | None = None,
        timestamp_ms: int | Sequence[int] | None = None,
        on_delivery: Callable[[Deliveries], object] | None = None,
    ) -> Deliveries:
        """Queue many records, as ``send`` does for each in turn, several times faster.

        ``records``: values, or pairs (key, value); also a numpy array of uint8 with a row for each value. ``headers``
        and ``partition`` are those of all records, ``timestamp_ms`` is one time or a list with the time of each.
        ``on_delivery(deliveries)`` is called once, when every record was acknowledged or has failed.

        Raises as ``send``; no record is queued then. If something fails later, such as the wait for memory
        (``max.block.ms``), nothing is raised: the records that could not be queued fail, by their index, in the
        result. An exception of a signal handler leaves some records queued.
        """
        if self._closed:
            raise self._is_closed()
        self._exchange.check_process()
        if on_delivery is not None and not callable(on_delivery):
            raise InputError("invalid on_delivery: expected a function")
        keys, values = columns_of(records)
        headers = headers_of(headers) if headers else ()
        times = times_of(timestamp_ms, len(values))
        run = RecordRun(keys, values, headers, headers_size_bytes(headers), times)
        deliveries = Deliveries(self, len(run), on_delivery)
        info = self._known(topic)
        if run.largest_bytes > self._record_limit_bytes:
            sizes = [run.size_bytes(index, index + 1) for index in range(len(run))]
            index = next(index for index, size in enumerate(sizes) if size > self._record_limit_bytes)
            self._refuse(sizes[index], index)
        try:
            if self._interceptors is not None:
                self._send_each(topic, run, partition, deliveries)
                return self._queued(deliveries)
            numbers = self._partitions.chosen_many(info, keys, len(run), partition)
            for start in range(0, len(run), _AT_ONCE):
                stop = min(start + _AT_ONCE, len(run))
                with self._lock:
                    for number, part, first, last in self._parts(info, run, numbers, start, stop):
                        self._queue_run((topic, number), part, first, last, deliveries)
                if self._reports.due:
                    self._reports.run_callbacks(keep_errors=True)
        except KafkaToolsError as error:
            if not deliveries.queued:
                raise
            with self._lock:
                self._give_up(topic, run, deliveries.not_queued(), deliveries, error)
        return self._queued(deliveries)

    def _queued(self, deliveries: Deliveries) -> Deliveries:
        with self._lock:
            deliveries.all_queued()
            self._reports.call(deliveries.told)
            self._background.expect(max(self._clock.monotonic_s() + self._linger_s, self._upkeep.active_s + QUIET_S))
        self._reports.run_callbacks(keep_errors=True)
        return deliveries

    def _send_each(self, topic: str, run: RecordRun, partition: int | None, deliveries: Deliveries) -> None:
        """One by one, as interceptors see them. They may change everything of a record."""
        for index in range(len(run)):
            ((time_ms, key, value, headers),) = run.rows(index, index + 1, _NO_TIME)
            given_ms = None if time_ms == _NO_TIME else time_ms
            try:
                delivery = self.send(topic, value, key, headers, partition=partition, timestamp_ms=given_ms)
            except KafkaToolsError as error:
                with self._lock:
                    self._give_up(topic, run, [index], deliveries, error)
            else:
                deliveries.add(*delivery.place(), [index])

    def _parts(
        self, info: TopicMetadata, run: RecordRun, numbers: list[int | None] | int | None, start: int, stop: int
    ) -> Iterator[tuple[int, RecordRun, int, int]]:
        """(partition, run, start, stop) of the records from ``start``, in the order in which they are queued."""
        if isinstance(numbers, int):
            yield numbers, run, start, stop
            return
        if numbers is None:
            while start < stop:
                number, end = self._partitions.stick_run(info, run, start, stop)
                yield number, run, start, end
                start = end
            return
        by_partition: defaultdict[int, list[int]] = defaultdict(list)
        for place, chosen in enumerate(numbers[start:stop], start):
            if chosen is None:  # another record may choose the same partition, so the order counts
                chosen = self._partitions.stick(info, run.size_bytes(place, place + 1))
            by_partition[chosen].append(place)
        for number, places in by_partition.items():
            yield number, run.picked(places), 0, len(places)

    def _queue_run(
        self, topic_partition: tuple[str, int], run: RecordRun, start: int, stop: int, deliveries: Deliveries
    ) -> None:
        """With the lock: queue the records from ``start``, as fast as there is memory for them."""
        while start < stop:
            first_bytes = run.size_bytes(start, start + 1)
            if self._accumulator.buffered_bytes + first_bytes > self.settings.buffer_memory_bytes:
                self._wait_for_memory(first_bytes)
            if self._closed:
                raise self._is_closed()
            if self._sender.transactions is not None:
                self._sender.transactions.check_send()
            free_bytes = self.settings.buffer_memory_bytes - self._accumulator.buffered_bytes
            end = max(start + 1, run.most(start, stop, free_bytes, USUAL_OVERHEAD_BYTES))
            now_s = self._clock.monotonic_s()
            batch, end, filled = self._accumulator.append_run(
                topic_partition, run, start, end, now_s, self._clock.now_ms()
            )
            deliveries.add(batch, len(batch.records) - (end - start), run.indexes[start:end])
            if filled or now_s >= self._sender.next_pump_s:
                self._turn(Deadline(self._clock, 0), hurry=False)
            start = end

    def _give_up(
        self, topic: str, run: RecordRun, rest: Sequence[int], deliveries: Deliveries, error: KafkaToolsError
    ) -> None:
        """With the lock: records that were not queued fail."""
        if not rest:
            return
        now_s = self._clock.monotonic_s()
        batch = ProducerBatch(TopicPartition(topic, -1), now_s)
        batch.records = run.picked(rest).rows(0, len(rest), self._clock.now_ms())
        batch.error = error
        deliveries.add(batch, 0, rest)
        self._reports.note(batch, was_queued=False)
        batch.done = True
