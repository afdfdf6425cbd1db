"""Records that wait to be sent, grouped into batches per partition, and the order in which batches may leave.

It uses no sockets: the producer appends records, and the sender takes batches and reports how each one ended.
Grouping, expiry and the order of retries follow Kafka's ``RecordAccumulator`` and ``TransactionManager``. Sequences are
per partition (KIP-98). A new producer epoch for that partition alone closes the gap of a failed batch (KIP-360).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from kafka_tools.clients.producing.batch import MAX_EPOCH, PendingRecord, ProducerBatch, ProducerIdentity
from kafka_tools.clients.producing.record_run import RecordRun
from kafka_tools.clients.producing.reports import Reports
from kafka_tools.clients.settings import ProducerSettings
from kafka_tools.records.chain import HEADER_BYTES
from kafka_tools.values import TopicPartition

USUAL_OVERHEAD_BYTES = 9


class _Queue:
    """One partition: waiting batches, oldest first, and the producer state that its sequences belong to."""

    __slots__ = ("batches", "identity", "in_flight", "is_alone", "muted_until_s", "next_sequence", "reset_wanted")

    def __init__(self) -> None:
        self.batches: deque[ProducerBatch] = deque()
        self.in_flight = 0
        self.is_alone = False
        """Whether the batch in flight is one that was sent before."""
        self.muted_until_s = 0.0
        self.identity: ProducerIdentity | None = None
        self.next_sequence = 0
        self.reset_wanted = False


class Accumulator:
    """The records of a producer that are not acknowledged yet."""

    def __init__(self, settings: ProducerSettings, reports: Reports) -> None:
        self._settings = settings
        self._reports = reports
        self._queues: dict[TopicPartition, _Queue] = {}
        self.buffered_bytes = 0
        """Estimated bytes of every record not acknowledged, in flight included."""
        self.unfinished = 0
        """Batches not acknowledged, in flight included."""
        self._taken: dict[ProducerBatch, None] = {}
        """The batches that ``take`` gave out, until their end is known."""

    def append(
        self, topic_partition: tuple[str, int], record: PendingRecord, size_bytes: int, now_s: float
    ) -> tuple[ProducerBatch, bool]:
        """Add a record of ``size_bytes`` (key, value and headers).

        Returns its batch (it is the last record there) and whether it filled one up, so that sending may help.
        """
        queue = self._queues.get(topic_partition)  # type: ignore[call-overload]
        if queue is None:
            queue = self._queues[TopicPartition(*topic_partition)] = _Queue()
        batches = queue.batches
        size_bytes += USUAL_OVERHEAD_BYTES
        limit_bytes = self._settings.batch_size_bytes
        filled = False
        # A batch that was sent before keeps its records: it has its sequence numbers.
        if batches and not batches[-1].attempts and batches[-1].size_bytes + size_bytes <= limit_bytes:
            batch = batches[-1]
        else:
            filled = bool(batches)
            batch = ProducerBatch(TopicPartition(*topic_partition), now_s)
            batches.append(batch)
            self.unfinished += 1
        batch.records.append(record)
        batch.size_bytes += size_bytes
        self.buffered_bytes += size_bytes
        return batch, filled or batch.size_bytes >= limit_bytes

    def append_run(
        self, topic_partition: tuple[str, int], run: RecordRun, start: int, stop: int, now_s: float, now_ms: int
    ) -> tuple[ProducerBatch, int, bool]:
        """As ``append`` for the records from ``start``, as many before ``stop`` as one batch takes, at least one.

        Returns their batch, the end of these records, and whether sending may help.
        """
        queue = self._queues.get(topic_partition)  # type: ignore[call-overload]
        if queue is None:
            queue = self._queues[TopicPartition(*topic_partition)] = _Queue()
        batches = queue.batches
        limit_bytes = self._settings.batch_size_bytes
        filled = False
        end = start
        if batches and not batches[-1].attempts:
            batch = batches[-1]
            end = run.most(start, stop, limit_bytes - batch.size_bytes, USUAL_OVERHEAD_BYTES)
        if end == start:
            filled = bool(batches)
            batch = ProducerBatch(TopicPartition(*topic_partition), now_s)
            end = max(start + 1, run.most(start, stop, limit_bytes - batch.size_bytes, USUAL_OVERHEAD_BYTES))
            batches.append(batch)
            self.unfinished += 1
        batch.records += run.rows(start, end, now_ms)
        size_bytes = run.size_bytes(start, end) + (end - start) * USUAL_OVERHEAD_BYTES
        batch.size_bytes += size_bytes
        self.buffered_bytes += size_bytes
        return batch, end, filled or batch.size_bytes >= limit_bytes

    def waiting(self) -> Iterator[TopicPartition]:
        """The partitions that have batches to send."""
        return (topic_partition for topic_partition, queue in self._queues.items() if queue.batches)

    def batches(self, topic_partition: TopicPartition) -> Sequence[ProducerBatch]:
        """The waiting batches of a partition, oldest first."""
        return self._queues[topic_partition].batches

    def take(
        self, topic_partition: TopicPartition, now_s: float, hurry: bool, *, no_retries: bool = False
    ) -> ProducerBatch | None:
        """The next batch of a partition if it may leave now; it counts as in flight from here on.

        ``hurry``: do not wait for ``linger_ms`` (flush, close, memory used up). ``no_retries``: leave batches that
        came back where they are.
        """
        queue = self._queues[topic_partition]
        if not queue.batches or self._is_muted(queue, now_s):
            return None
        batch = queue.batches[0]
        if now_s < batch.retry_at_s or (no_retries and batch.attempts):
            return None
        # After a failure the partition waits for every response; then batches leave in their old order. Nothing
        # follows a batch that is sent again before its response: the broker remembers five batches, and would not know
        # the batch any more if it had stored it and further ones before the next attempt.
        if queue.in_flight and (batch.attempts or queue.reset_wanted or queue.is_alone):
            return None
        if not (hurry or batch.attempts or self._is_full(queue) or now_s >= self._linger_end_s(batch)):
            return None
        if not queue.in_flight:
            queue.is_alone = batch.attempts > 0
        self._taken[batch] = None
        queue.batches.popleft()
        queue.in_flight += 1
        batch.attempts += 1
        return batch

    def take_back(self, requests: Sequence[Sequence[ProducerBatch]], now_s: float) -> None:
        """Send again what was taken and is in none of ``requests``: Ctrl-C ended a call before it was noted there."""
        if len(self._taken) != sum(map(len, requests)):
            in_flight = {batch for batches in requests for batch in batches}
            for batch in [batch for batch in self._taken if batch not in in_flight]:
                self.retry(batch, now_s)

    def put_back(self, batch: ProducerBatch) -> None:
        """Undo ``take`` of a batch that was not sent after all."""
        self._taken.pop(batch, None)
        queue = self._queues[batch.topic_partition]
        queue.in_flight -= 1
        batch.attempts -= 1
        queue.batches.appendleft(batch)

    def number(self, batch: ProducerBatch, fresh: ProducerIdentity) -> None:
        """Give a taken batch its producer id, epoch and first sequence, unless it has them from an earlier attempt.

        ``fresh``: the producer's current id; a partition keeps the one it began with until its sequences break.
        """
        queue = self._queues[batch.topic_partition]
        if queue.reset_wanted:
            self._renumber(queue, batch, fresh)
        if batch.base_sequence >= 0:
            return
        if queue.identity is None:
            queue.identity, queue.next_sequence = fresh, 0
        batch.identity = queue.identity
        batch.base_sequence = queue.next_sequence
        queue.next_sequence = (queue.next_sequence + len(batch.records)) & 0x7FFFFFFF

    def retry(self, batch: ProducerBatch, now_s: float) -> None:
        """A batch came back: send it again, before everything that was queued after it."""
        self._taken.pop(batch, None)
        queue = self._queues[batch.topic_partition]
        queue.in_flight -= 1
        backoff_ms = min(
            self._settings.retry_backoff_ms * 2 ** min(batch.attempts - 1, 20), self._settings.retry_backoff_max_ms
        )
        batch.retry_at_s = now_s + backoff_ms / 1000
        self._requeue(queue, batch)

    def split(self, batch: ProducerBatch) -> None:
        """The broker found a batch of several records too large: send it as two halves, in its place (KAFKA-3995)."""
        self._taken.pop(batch, None)
        queue = self._queues[batch.topic_partition]
        queue.in_flight -= 1
        middle = len(batch.records) // 2
        first, second = (ProducerBatch(batch.topic_partition, batch.created_s) for _ in range(2))
        for half, records, skipped in ((first, batch.records[:middle], 0), (second, batch.records[middle:], middle)):
            half.records = records
            half.size_bytes = HEADER_BYTES + sum(record_size_bytes(record) for record in records)
            half.callbacks = [
                (index - skipped, callback)
                for index, callback in batch.callbacks
                if skipped <= index < skipped + len(records)
            ]
            half.watched = [
                (max(start - skipped, 0), min(stop - skipped, len(records)), watcher)
                for start, stop, watcher in batch.watched
                if start < skipped + len(records) and stop > skipped
            ]
            half.attempts = batch.attempts
            half.identity = batch.identity
            if batch.base_sequence >= 0:
                half.base_sequence = (batch.base_sequence + skipped) & 0x7FFFFFFF
        batch.parts = (first, second)
        batch.records = []
        batch.encoded = None
        self.unfinished += 1
        self._requeue(queue, second)
        self._requeue(queue, first)

    def finish(self, batch: ProducerBatch, *, in_flight: bool = True) -> None:
        """A batch ended, acknowledged or failed (``batch.error``); its callbacks are due."""
        self._taken.pop(batch, None)
        queue = self._queues[batch.topic_partition]
        if in_flight:
            queue.in_flight -= 1
        self.unfinished -= 1
        self.buffered_bytes -= batch.size_bytes - HEADER_BYTES
        if batch.error is not None and batch.base_sequence >= 0:
            # Its sequence numbers will never arrive, so the broker would refuse the ones after them.
            queue.reset_wanted = True
        batch.encoded = None
        self._reports.note(batch)
        batch.done = True  # last, for threads that look at it without the lock

    def expired(self, now_s: float) -> list[ProducerBatch]:
        """Remove and return waiting batches older than the delivery timeout; the caller calls ``finish`` for each."""
        limit_s = now_s - self._settings.delivery_timeout_ms / 1000
        gone = []
        for queue in self._queues.values():
            while queue.batches and queue.batches[0].created_s <= limit_s and not self._is_muted(queue, now_s):
                gone.append(queue.batches.popleft())
        return gone

    def drop_all(self) -> list[ProducerBatch]:
        """Remove and return every waiting batch (close without waiting); the caller calls ``finish`` for each."""
        gone = [batch for queue in self._queues.values() for batch in queue.batches]
        for queue in self._queues.values():
            queue.batches.clear()
        return gone

    def mute(self, topic_partition: TopicPartition, until_s: float) -> None:
        """With one request in flight at most, send nothing to a partition before ``until_s``: the broker throttles."""
        self._queues[topic_partition].muted_until_s = until_s

    def has_earlier(self, batch: ProducerBatch) -> bool:
        """Whether batches sent before ``batch`` are still open, so that a sequence gap will close by itself."""
        queue = self._queues[batch.topic_partition]
        return queue.in_flight > 1 or any(other.attempts and _sent_before(other, batch) for other in queue.batches)

    def restart_sequences(self) -> None:
        """The producer has another id or epoch: every partition begins at sequence 0. No batch is in flight."""
        for queue in self._queues.values():
            queue.identity, queue.next_sequence, queue.reset_wanted = None, 0, False

    def request_reset(self, topic_partition: TopicPartition) -> None:
        """The broker lost the producer's state for a partition: continue with a new epoch from sequence 0."""
        self._queues[topic_partition].reset_wanted = True

    def next_event_s(self, now_s: float) -> float:
        """Seconds until a waiting batch is due by linger or back-off; infinity when nothing waits."""
        wait_s = float("inf")
        for queue in self._queues.values():
            if queue.batches:
                batch = queue.batches[0]
                due_s = batch.retry_at_s if batch.attempts else self._linger_end_s(batch)
                if not batch.attempts and self._is_full(queue):
                    due_s = now_s
                wait_s = min(wait_s, max(due_s, queue.muted_until_s) - now_s)
        return max(0.0, wait_s)

    def held_s(self, topic_partition: TopicPartition, now_s: float) -> float:
        """Seconds until ``take`` may return a batch that it does not return now; infinity if a response must come."""
        queue = self._queues[topic_partition]
        batch = queue.batches[0]
        due_s = max(batch.retry_at_s if batch.attempts else self._linger_end_s(batch), queue.muted_until_s)
        return due_s - now_s if due_s > now_s else float("inf")

    def expires_in_s(self, now_s: float) -> float:
        """Seconds until ``expired`` returns a batch; infinity when nothing waits."""
        oldest_s = min((queue.batches[0].created_s for queue in self._queues.values() if queue.batches), default=None)
        if oldest_s is None:
            return float("inf")
        return max(0.0, oldest_s + self._settings.delivery_timeout_ms / 1000 - now_s)

    def _is_muted(self, queue: _Queue, now_s: float) -> bool:
        """Strict order (one request in flight) keeps a partition quiet while a batch is out, and after a throttle."""
        return self._settings.max_in_flight == 1 and (queue.in_flight > 0 or now_s < queue.muted_until_s)

    def _is_full(self, queue: _Queue) -> bool:
        return len(queue.batches) > 1 or queue.batches[0].size_bytes >= self._settings.batch_size_bytes

    def _linger_end_s(self, batch: ProducerBatch) -> float:
        return batch.created_s + self._settings.linger_ms / 1000

    def _requeue(self, queue: _Queue, batch: ProducerBatch) -> None:
        """Insert by age and sequence, before the batches that were never sent."""
        later = []
        while queue.batches and queue.batches[0].attempts and _sent_before(queue.batches[0], batch):
            later.append(queue.batches.popleft())
        queue.batches.appendleft(batch)
        queue.batches.extendleft(reversed(later))

    def _renumber(self, queue: _Queue, batch: ProducerBatch, fresh: ProducerIdentity) -> None:
        """Start the partition over with a higher epoch; everything queued is numbered anew when it is taken."""
        old = queue.identity
        if old is None or old.producer_id != fresh.producer_id:
            queue.identity = fresh
        else:
            queue.identity = ProducerIdentity(old.producer_id, old.epoch + 1)
        queue.next_sequence = 0
        queue.reset_wanted = False
        for waiting in (batch, *queue.batches):
            waiting.base_sequence = -1
            waiting.identity = None
            waiting.encoded = None

    def epochs_used_up(self, producer_id: int) -> bool:
        """Whether some partition needs a new epoch and has none left: the producer then needs a new id."""
        return any(
            queue.reset_wanted
            and queue.identity is not None
            and queue.identity.producer_id == producer_id
            and queue.identity.epoch >= MAX_EPOCH
            for queue in self._queues.values()
        )


def record_size_bytes(record: PendingRecord) -> int:
    """The estimated size of a record: its bytes and a usual overhead."""
    _, key, value, headers = record
    size_bytes = USUAL_OVERHEAD_BYTES + (len(key) if key else 0) + (len(value) if value else 0)
    for name, content in headers:
        size_bytes += len(name.encode()) + (len(content) if content else 0) + 2
    return size_bytes


def _sent_before(left: ProducerBatch, right: ProducerBatch) -> bool:
    """Whether ``left`` was given out before ``right``; sequences wrap at 2**31."""
    if left.base_sequence >= 0 and right.base_sequence >= 0:
        return (right.base_sequence - left.base_sequence) & 0x7FFFFFFF < 2**30
    return left.created_s < right.created_s
