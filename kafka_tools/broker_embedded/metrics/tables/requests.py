"""Beans of requests: by topic, by API, and the requests that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.metrics.request_counts import TIMES
from kafka_tools.broker_embedded.metrics.tables.bean import Beans, gauges, named, never
from kafka_tools.metrics.moving import Distribution
from kafka_tools.protocol import error_codes, registry

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.core import Core

_TOPICS = "kafka.server:type=BrokerTopicMetrics"
_REQUESTS = "kafka.network:type=RequestMetrics"
_PURGATORY = "kafka.server:type=DelayedOperationPurgatory"
_OF_FOLLOWERS = ("ReplicationBytesInPerSec", "ReplicationBytesOutPerSec", "ReassignmentBytesInPerSec",
                 "ReassignmentBytesOutPerSec")  # fmt: skip
_DELAYED = {
    "produce": "Produce",
    "fetch": "Fetch",
    "delete_records": "DeleteRecords",
}
"""API -> Kafka's name of its delayed operations."""


def topic_beans(core: Core) -> Beans:
    """BrokerTopicMetrics of all topics, and of each topic that was used."""
    counts = core.counts
    elapsed_s = counts.elapsed_s()
    period = counts.periods.now
    for name, meter in counts.topics.total().meters(period, elapsed_s, all_of_them=True):
        yield named(_TOPICS, name), meter
    for name in _OF_FOLLOWERS:
        yield named(_TOPICS, name), never("bytes")
    for topic, found in counts.topics.by_topic():
        for name, meter in found.meters(period, elapsed_s, all_of_them=False):
            yield named(_TOPICS, name, topic=topic), meter


def request_beans(core: Core) -> Beans:
    """RequestMetrics of each API: distributions of all served APIs, rates of those that were used."""
    counts = core.counts
    elapsed_s = counts.elapsed_s()
    for key in sorted({*counts.served, *counts.requests}):
        api = registry.row_by_key(key).name
        found = counts.requests.get(key)
        if found is None:
            for name in TIMES:
                yield named(_REQUESTS, name, request=api), Distribution().attributes()
            continue
        for name, distribution in found.times():
            yield named(_REQUESTS, name, request=api), distribution
        for is_error, number, meter in found.meters(counts.periods.now, elapsed_s):
            if is_error:
                error = error_codes.error(number).name
                yield named(_REQUESTS, "ErrorsPerSec", request=api, error=error), meter
            else:
                yield named(_REQUESTS, "RequestsPerSec", request=api, version=number), meter


def waiting_beans(core: Core) -> Beans:
    """Requests that wait for something: DelayedOperationPurgatory, and fetches whose wait was over."""
    parked, watched = core.purgatory.parked(), core.purgatory.watched()
    for stem, operation in _DELAYED.items():
        key = registry.key_of(stem)
        yield from gauges(
            _PURGATORY,
            {"NumDelayedOperations": parked[key], "PurgatorySize": watched[key]},
            delayedOperation=operation,
        )
    expired = core.counts.expired_fetches.attributes("requests", core.counts.elapsed_s())
    yield named("kafka.server:type=DelayedFetchMetrics", "ExpiresPerSec", fetcherType="consumer"), expired
    yield named("kafka.server:type=DelayedFetchMetrics", "ExpiresPerSec", fetcherType="follower"), never("requests")
    yield named("kafka.server:type=DelayedProduceMetrics", "ExpiresPerSec"), never("requests")
    sessions = core.fetch_sessions
    yield from gauges(
        "kafka.server:type=FetchSessionCache",
        {
            "NumIncrementalFetchSessions": len(sessions),
            "NumIncrementalFetchPartitionsCached": sessions.partitions,
        },
    )
