"""What clients wrote to and read from each topic (Kafka's BrokerTopicStats)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kafka_tools.metrics.moving import MovingRates, Periods
from kafka_tools.protocol import error_codes

MOST_TOPICS = 1000
"""The maximum number of topics that are counted separately. Further topics count only in the totals."""
_EXPECTED = (
    error_codes.UNKNOWN_TOPIC_OR_PARTITION,
    error_codes.UNKNOWN_TOPIC_ID,
    error_codes.TOPIC_AUTHORIZATION_FAILED,
    error_codes.NOT_LEADER_OR_FOLLOWER,
    error_codes.MESSAGE_TOO_LARGE,
    error_codes.RECORD_LIST_TOO_LARGE,
    error_codes.CORRUPT_MESSAGE,
    error_codes.KAFKA_STORAGE_ERROR,
)
"""Errors of produced batches that Kafka does not count as failed requests."""
_TOO_LARGE = error_codes.MESSAGE_TOO_LARGE, error_codes.RECORD_LIST_TOO_LARGE

METERS = {
    "messages_in": ("MessagesInPerSec", "messages"),
    "bytes_in": ("BytesInPerSec", "bytes"),
    "bytes_out": ("BytesOutPerSec", "bytes"),
    "bytes_rejected": ("BytesRejectedPerSec", "bytes"),
    "produce_requests": ("TotalProduceRequestsPerSec", "requests"),
    "fetch_requests": ("TotalFetchRequestsPerSec", "requests"),
    "failed_produces": ("FailedProduceRequestsPerSec", "requests"),
    "failed_fetches": ("FailedFetchRequestsPerSec", "requests"),
    "invalid_crcs": ("InvalidMessageCrcRecordsPerSec", "requests"),
}
"""Counter -> Kafka's name of the meter, and what it counts."""


class TopicCounts:
    """Counters of one topic, or of all of them. ``tick`` must be called in each period."""

    __slots__ = ("_rates", "period", *METERS)

    messages_in: int
    bytes_in: int
    bytes_out: int
    bytes_rejected: int
    produce_requests: int
    fetch_requests: int
    failed_produces: int
    failed_fetches: int
    invalid_crcs: int

    def __init__(self, period: int) -> None:
        for counter in METERS:
            setattr(self, counter, 0)
        self.period = period
        self._rates: dict[str, MovingRates] = {}

    def appended(self, messages: int, size_bytes: int) -> None:
        """Count a batch that was appended."""
        self.produce_requests += 1
        self.messages_in += messages
        self.bytes_in += size_bytes

    def tick(self, period: int) -> None:
        """Update the rates: a new period has begun."""
        for counter in METERS:
            count = getattr(self, counter)
            if count:
                rates = self._rates.get(counter)
                if rates is None:  # counted in the period that is over
                    rates = self._rates[counter] = MovingRates(self.period)
                rates.tick(count, period)
        self.period = period

    def meters(self, period: int, elapsed_s: float, *, all_of_them: bool) -> Iterator[tuple[str, dict[str, object]]]:
        """(Kafka's name, attributes) of each meter that has counted something, or of all."""
        if self.period != period:
            self.tick(period)
        for counter, (name, event) in METERS.items():
            count = getattr(self, counter)
            if count or all_of_them:
                rates = self._rates.get(counter) or MovingRates(period)
                yield name, {"EventType": event, "RateUnit": "SECONDS", **rates.attributes(count, period, elapsed_s)}


class CountsByTopic:
    """The counters of each topic. ``exists`` says whether a topic exists; deleted topics count in the totals only."""

    def __init__(self, periods: Periods, exists: Callable[[str], bool]) -> None:
        self._periods = periods
        self._exists = exists
        self._by_topic: dict[str, TopicCounts] = {}
        self._others = TopicCounts(0)
        self._all = TopicCounts(0)

    def of(self, topic: str) -> TopicCounts:
        """The counters of a topic, which an owner of the topic may keep."""
        return self._by_topic.get(topic) or self._new(topic)

    def refused(self, topic: str, error: int, size_bytes: int) -> None:
        """Count a batch that was not appended. ``error``: the error code."""
        counts = self.of(topic)
        counts.produce_requests += 1
        counts.failed_produces += error not in _EXPECTED
        counts.bytes_rejected += size_bytes if error in _TOO_LARGE else 0
        counts.invalid_crcs += error == error_codes.CORRUPT_MESSAGE

    def fetched(self, topic: str, partitions: int, size_bytes: int) -> None:
        """Count the partitions of a topic in a fetch response, and the bytes of their records."""
        counts = self.of(topic)
        counts.fetch_requests += partitions
        counts.bytes_out += size_bytes

    def fetch_failed(self, topic: str) -> None:
        """Count a partition that could not be read."""
        self.of(topic).failed_fetches += 1

    def tick(self) -> None:
        """A new period has begun."""
        for counts in (self.total(), self._others, *self._by_topic.values()):
            counts.tick(self._periods.now)

    def total(self) -> TopicCounts:
        """The counters of all topics together."""
        found, each = self._all, [self._others, *self._by_topic.values()]
        for counter in METERS:
            setattr(found, counter, sum(getattr(counts, counter) for counts in each))
        return found

    def by_topic(self) -> Iterator[tuple[str, TopicCounts]]:
        """The topics that are counted separately."""
        self._forget_deleted()
        yield from sorted(self._by_topic.items())

    def _new(self, topic: str) -> TopicCounts:
        if len(self._by_topic) >= MOST_TOPICS:
            self._forget_deleted()
        if len(self._by_topic) >= MOST_TOPICS or not self._exists(topic):
            return self._others
        found = self._by_topic[topic] = TopicCounts(self._periods.now)
        return found

    def _forget_deleted(self) -> None:
        for topic in [topic for topic in self._by_topic if not self._exists(topic)]:
            gone = self._by_topic.pop(topic)
            for counter in METERS:
                setattr(self._others, counter, getattr(self._others, counter) + getattr(gone, counter))
