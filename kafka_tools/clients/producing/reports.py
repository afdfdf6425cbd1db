"""A producer's reports to its user: callbacks to call, and failures that were not reported."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any

from kafka_tools.errors import KafkaToolsError

if TYPE_CHECKING:
    from kafka_tools.clients.interceptors import ProducerInterceptors
    from kafka_tools.clients.producing.batch import PendingRecord, ProducerBatch
    from kafka_tools.values import TopicPartition

OnFailure = Callable[["TopicPartition", "PendingRecord", KafkaToolsError], object]


class RecordsLost(KafkaToolsError):
    """``Producer.close``: records failed, and their failure was not reported. ``count`` is their number."""

    def __init__(self, count: int, first: KafkaToolsError) -> None:
        super().__init__(f"{count} record{'s were' if count > 1 else ' was'} not delivered: {first}", hint=first.hint)
        self.count = count


class Reports:
    """Callbacks wait here until no batch is between two states, so that an exception leaves the producer consistent.

    Only ``run_callbacks`` and ``raise_kept`` are called without the producer's lock. ``in_transactions``: every record
    belongs to a transaction, whose commit raises the error of a record that failed.
    """

    def __init__(
        self,
        on_failure: OnFailure | None = None,
        interceptors: ProducerInterceptors | None = None,
        *,
        in_transactions: bool = False,
    ) -> None:
        self._on_failure = on_failure
        self._interceptors = interceptors
        self._in_transactions = in_transactions
        self._calls: deque[Callable[[], Any]] = deque()
        self._kept: deque[Exception] = deque()
        self._running = Lock()
        self._runner = 0
        self._unreported = 0
        self._first: KafkaToolsError | None = None

    def note(self, batch: ProducerBatch, *, was_queued: bool = True) -> None:
        """A batch was acknowledged, or has failed (``batch.error``).

        ``was_queued``: False for records that ``send`` refused, of which interceptors know.
        """
        callbacks = batch.callbacks
        if self._interceptors is not None and was_queued:
            own = ((index, self._interceptors.acknowledged) for index in range(len(batch.records)))
            callbacks = sorted([*own, *callbacks], key=itemgetter(0))
        for index, callback in callbacks:
            self._calls.append(partial(callback, batch, index))
        for watcher in dict.fromkeys(watcher for _, _, watcher in batch.watched):
            self._calls.append(watcher.told)
        if batch.error is None:
            return
        if self._on_failure is not None:
            for record in batch.records:
                self._calls.append(partial(self._on_failure, batch.topic_partition, record, batch.error))
            return
        if self._in_transactions:
            return
        watched = sum(stop - start for start, stop, _ in batch.watched)
        batch.unreported = len(batch.records) - len(batch.callbacks) - watched
        self._unreported += batch.unreported
        if batch.unreported and self._first is None:
            self._first = batch.error

    def call(self, callback: Callable[[], Any]) -> None:
        """Call ``callback`` as soon as callbacks are called."""
        self._calls.append(callback)

    def note_seen(self, batch: ProducerBatch) -> None:
        """The caller has read the result of a batch."""
        self._unreported -= batch.unreported
        batch.unreported = 0

    @property
    def due(self) -> bool:
        """Whether callbacks wait to be called."""
        return bool(self._calls)

    def run_callbacks(self, *, keep_errors: bool = False) -> None:
        """Call the callbacks that are due, without the producer's lock. One thread at a time does, to keep their order.

        An exception ends it; the remaining callbacks are called next time. ``keep_errors``: exceptions end nothing,
        and ``raise_kept`` raises them later.
        """
        while self._calls and self._running.acquire(blocking=False):
            self._runner = get_ident()
            try:
                while self._calls:
                    try:
                        self._calls.popleft()()
                    except Exception as error:
                        if not keep_errors:
                            raise
                        self._kept.append(error)
            finally:
                self._runner = 0
                self._running.release()

    @property
    def others_run(self) -> bool:
        """Whether another thread calls callbacks now."""
        return self._runner not in (0, get_ident())

    def raise_kept(self) -> None:
        """Raise the oldest exception of a callback that nobody has seen."""
        if self._kept:
            raise self._kept.popleft()

    def check(self) -> None:
        """Raise RecordsLost if a failure was not reported: no callback, and the ``Delivery`` was not read."""
        if self._unreported and self._first is not None:
            raise RecordsLost(self._unreported, self._first)
