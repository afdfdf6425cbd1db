"""A producer that sends at intended times and measures from them, so that its own delays count.

A benchmark that measures from the actual send time leaves out the wait of messages that a slow broker holds up
("coordinated omission").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Event, Lock
from typing import Any

from kafka_tools.clients import Producer
from kafka_tools.clients.producer import RecordMetadata
from kafka_tools.clients.producing.batch import Header
from kafka_tools.clock import Clock
from kafka_tools.errors import DeadlineExceeded, KafkaToolsError
from kafka_tools.load.latency import LatencySketch, Timeline

_TURN_S = 0.1
"""Longest wait before ``stopping`` is noticed."""
_END_S = 10.0
"""Time for acknowledgements after the last message."""
_MOST_FAILURES = 1_000
"""So many failures without an acknowledgement end the work."""

Sent = Callable[[float, KafkaToolsError | None], None]
"""(intended time, error or None), called once for each message."""


class PacedProducer:
    """See the module. Only one thread sends; ``status`` may be called by any."""

    def __init__(self, settings: Mapping[str, str], clock: Clock, stopping: Event) -> None:
        self.producer = Producer(settings)
        self.latencies = LatencySketch()
        self.timeline = Timeline(clock.monotonic_s())
        self.is_paced = False
        """Whether some message had an intended time other than the time of its ``send``."""
        self.transactions = 0
        self._clock = clock
        self._stopping = stopping
        self._lock = Lock()
        self._queued = 0
        self._failed = 0
        self._failed_in_a_row = 0
        self._first_error: KafkaToolsError | None = None

    def wait_until(self, due_s: float | None) -> float:
        """Wait for a message's time, and serve the producer meanwhile. Returns the intended time: ``due_s``, or now."""
        now_s = self._clock.monotonic_s()
        if due_s is None:
            return now_s
        self.is_paced = True
        while now_s < due_s and not self._stopping.is_set():
            self.producer.poll(min(due_s - now_s, _TURN_S))
            now_s = self._clock.monotonic_s()
        return due_s

    def send(
        self,
        topic: str,
        partition: int | None,
        key: bytes | None,
        value: bytes | None,
        intended_s: float,
        *,
        headers: Sequence[Header] = (),
        then: Sent | None = None,
    ) -> None:
        """Queue a message. Raises KafkaToolsError if it cannot be queued, or if nothing is acknowledged any more."""
        if self._failed_in_a_row >= _MOST_FAILURES:
            assert self._first_error is not None
            raise self._first_error
        self.producer.send(
            topic, value, key, headers, partition=partition, on_delivery=partial(self._delivered, intended_s, then)
        )
        self._queued += 1

    def _delivered(
        self, intended_s: float, then: Sent | None, metadata: RecordMetadata | None, error: KafkaToolsError | None
    ) -> None:
        now_s = self._clock.monotonic_s()
        if error is None:
            self.latencies.add(now_s - intended_s)
            self.timeline.add(now_s)
            self._failed_in_a_row = 0
        else:
            with self._lock:
                self._failed += 1
                self._failed_in_a_row += 1
                self._first_error = self._first_error or error
        if then is not None:
            then(intended_s, error)

    def flush(self) -> None:
        """Wait until every message is acknowledged or has failed, or ``stopping`` is set."""
        while not self._stopping.is_set():
            try:
                self.producer.flush(_TURN_S)
            except DeadlineExceeded:
                continue
            return

    def close(self) -> None:
        """Wait for the acknowledgements, at most 10 s, and close. Messages without one count as failed."""
        self.producer.close(_END_S)

    def check(self) -> None:
        """Raise KafkaToolsError if messages were not acknowledged, or none was sent."""
        if self._first_error is not None:
            error = self._first_error
            message = f"{self._failed} of {self._queued} messages were not acknowledged: {error}"
            raise KafkaToolsError(message, hint=error.hint)
        if not self.latencies.count:
            raise KafkaToolsError("no message was sent")

    def status(self) -> dict[str, Any]:
        """The members that Trogdor's ProduceBench has, the failures, and the start of the latencies."""
        return {
            "totalSent": self.latencies.count,
            "totalFailed": self._failed,
            **self.latencies.summary(),
            "latencyFrom": "intended send time" if self.is_paced else "send",
        }
