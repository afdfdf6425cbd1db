"""The metrics of a consumer, with Kafka's names and groups (``FetchMetricsRegistry``, ``ConsumerCoordinatorMetrics``).

A consumer records once for each request, poll, and run of records of one partition, never for each record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_tools.clock import Clock
from kafka_tools.metrics.clients import ClientMetrics
from kafka_tools.metrics.sampled import Avg, Max
from kafka_tools.metrics.sensor import Sensor

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.fetch import FetchResponse
    from kafka_tools.values import TopicPartition


class ConsumerMetrics(ClientMetrics):
    """What a consumer fetches, and what its group does. ``assigned`` returns the number of its partitions."""

    FETCH_GROUP, COORDINATOR_GROUP = "consumer-fetch-manager-metrics", "consumer-coordinator-metrics"
    GROUP = "consumer-metrics"

    def __init__(self, clock: Clock, client_id: str, *, assigned: Callable[[], int]) -> None:
        super().__init__(clock, client_id)
        fetch, coordinator, registry = self.FETCH_GROUP, self.COORDINATOR_GROUP, self.registry
        self._polled_s: float | None = None
        self._fetch_latency = self.avg_and_max("fetch-latency", "fetch-latency", fetch, "latency of a fetch in ms")
        self.meter(self._fetch_latency, "fetch", fetch, "fetch requests", events=True)
        self._throttle = self.avg_and_max("fetch-throttle-time", "fetch-throttle-time", fetch, "throttle time in ms")
        self._bytes = self.avg_and_max("bytes-fetched", "fetch-size", fetch, "bytes of a fetch")
        self.meter(self._bytes, "bytes-consumed", fetch, "bytes consumed")
        self._records = registry.sensor("records-fetched")
        name = registry.name("records-per-request-avg", fetch, "The average number of records in each request.")
        self._records.add(name, Avg())
        self.meter(self._records, "records-consumed", fetch, "records consumed")
        self._lag = registry.sensor("records-lag")
        self._lag.add(registry.name("records-lag-max", fetch, "The maximum lag in records of any partition."), Max())
        self._commits = self.avg_and_max("commit-latency", "commit-latency", coordinator, "latency of a commit in ms")
        self.meter(self._commits, "commit", coordinator, "commits", events=True)
        self.gauge("assigned-partitions", coordinator, "The number of assigned partitions.", assigned)
        self._between = self.avg_and_max("poll-interval", "time-between-poll", self.GROUP, "time between polls in ms")
        self.gauge("last-poll-seconds-ago", self.GROUP, "The seconds since the last poll.", self._since_poll_s)

    def polled(self) -> None:
        """The application calls ``poll``."""
        now_s = self._clock.monotonic_s()
        if self._polled_s is not None:
            self._between.record((now_s - self._polled_s) * 1000)
        self._polled_s = now_s

    def fetched(self, latency_s: float, response: FetchResponse) -> None:
        """A fetch response has come."""
        self._fetch_latency.record(latency_s * 1000)
        self._throttle.record(response.throttle_time_ms)
        parts = (partition for topic in response.responses for partition in topic.partitions)
        self._bytes.record(sum(len(partition.records or b"") for partition in parts))

    def consumed(self, partition: TopicPartition, records: int, lag: int) -> None:
        """The application gets records of a partition. ``lag``: the number of records after them."""
        self._records.record(records)
        self._lag.record(lag)
        if not self.labelled("partition", str(partition)):
            return
        self._of_topic(partition.topic).record(records)
        name = f"partition.{partition}.lag"
        found = self.registry.find_sensor(name)
        if found is None:
            found = self.registry.sensor(name)
            tags = {"topic": partition.topic, "partition": str(partition.partition)}
            for suffix, stat in (("-avg", Avg()), ("-max", Max())):
                found.add(self.registry.name(f"records-lag{suffix}", self.FETCH_GROUP, tags=tags), stat)
        found.record(lag)

    def _of_topic(self, topic: str) -> Sensor:
        name = f"topic.{topic}.records"
        found = self.registry.find_sensor(name)
        if found is None:
            found = self.registry.sensor(name)
            self.meter(found, "records-consumed", self.FETCH_GROUP, "records consumed", {"topic": topic})
        return found

    def commit_begins(self) -> Callable[[], None]:
        """A commit begins. Returns the function to call when it is answered."""
        began_s = self._clock.monotonic_s()
        return lambda: self._commits.record((self._clock.monotonic_s() - began_s) * 1000)

    def _since_poll_s(self) -> float:
        return -1.0 if self._polled_s is None else self._clock.monotonic_s() - self._polled_s
