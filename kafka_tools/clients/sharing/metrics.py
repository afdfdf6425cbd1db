"""The metrics of a share consumer, with the names and groups of Kafka 4.4 (``ShareFetchMetricsRegistry`` and others).

A share consumer records once for each request and poll, never for each record.
"""

from __future__ import annotations

from kafka_tools.clock import Clock
from kafka_tools.metrics.clients import ClientMetrics
from kafka_tools.metrics.sampled import Avg


class ShareConsumerMetrics(ClientMetrics):
    """What a share consumer fetches and acknowledges."""

    FETCH_GROUP, GROUP = "consumer-share-fetch-manager-metrics", "consumer-share-metrics"

    def __init__(self, clock: Clock, client_id: str) -> None:
        super().__init__(clock, client_id)
        fetch, registry = self.FETCH_GROUP, self.registry
        self._poll_began_s: float | None = None
        self._waited_for_poll_ms = 0.0
        self._latency = self.avg_and_max("fetch-latency", "fetch-latency", fetch, "latency of a fetch in ms")
        self.meter(self._latency, "fetch", fetch, "fetch requests", events=True)
        self._throttle = self.avg_and_max("fetch-throttle-time", "fetch-throttle-time", fetch, "throttle time in ms")
        self._bytes = self.avg_and_max("bytes-fetched", "fetch-size", fetch, "bytes of a fetch")
        self.meter(self._bytes, "bytes-consumed", fetch, "bytes consumed")
        self._records = self.avg_and_max("records-fetched", "records-per-request", fetch, "records of a fetch")
        self.meter(self._records, "records-consumed", fetch, "records consumed")
        sent, failed = registry.sensor("sent-acknowledgements"), registry.sensor("failed-acknowledgements")
        self._sent = self.meter(sent, "acknowledgements-send", fetch, "record acknowledgements sent")
        self._failed = self.meter(failed, "acknowledgements-error", fetch, "record acknowledgements that failed")
        between, group = "time-between-poll", self.GROUP
        self._between = self.avg_and_max(between, between, group, "time between polls in ms")
        self._idle = registry.sensor("poll-idle-ratio-avg")
        self._idle.add(registry.name("poll-idle-ratio-avg", self.GROUP, "The average part of the time in poll."), Avg())
        self.gauge("last-poll-seconds-ago", self.GROUP, "The seconds since the last poll.", self._since_poll_s)

    def poll_begins(self) -> None:
        """The application calls ``poll``."""
        now_s = self._clock.monotonic_s()
        self._waited_for_poll_ms = 0.0
        if self._poll_began_s is not None:
            self._waited_for_poll_ms = (now_s - self._poll_began_s) * 1000
            self._between.record(self._waited_for_poll_ms)
        self._poll_began_s = now_s

    def poll_ends(self) -> None:
        """``poll`` returns."""
        assert self._poll_began_s is not None
        polled_ms = (self._clock.monotonic_s() - self._poll_began_s) * 1000
        total_ms = polled_ms + self._waited_for_poll_ms
        self._idle.record(polled_ms / total_ms if total_ms else 0.0)

    def fetched(self, latency_s: float, throttle_ms: int, size_bytes: int, records: int) -> None:
        """The response of a fetch has come."""
        self._latency.record(latency_s * 1000)
        self._throttle.record(throttle_ms)
        self._bytes.record(size_bytes)
        self._records.record(records)

    def acknowledgements_sent(self, records: int) -> None:
        """A request acknowledges records."""
        self._sent.record(records)

    def acknowledgements_failed(self, records: int) -> None:
        """Acknowledgements of records had no effect."""
        self._failed.record(records)

    def _since_poll_s(self) -> float:
        return -1.0 if self._poll_began_s is None else self._clock.monotonic_s() - self._poll_began_s
