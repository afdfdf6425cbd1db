"""How many messages there are, also by time: from offsets, without reading, or exactly, by reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kafka_tools.clients.fetched_data import ConsumedRecord
from kafka_tools.errors import InputError
from kafka_tools.messages.reading import Span
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.clients.consumer import Consumer

MOST_SPANS = 1000
"""Maximum number of spans of time whose offsets are looked up: each is a request to every leader."""


def by_offsets(spans: Mapping[TopicPartition, Span]) -> int:
    """The number of offsets. Compaction and transactions leave offsets without a message."""
    return sum((span.end or 0) - span.start for span in spans.values())


def by_offsets_and_time(
    consumer: Consumer, spans: Mapping[TopicPartition, Span], span_ms: int, from_ms: int, most: int = MOST_SPANS
) -> dict[int, int]:
    """Start of each span of time (ms since the epoch, a multiple of ``span_ms``) -> its number of offsets.

    ``from_ms``: no message of the spans is older. Raises InputError for more than ``most`` spans with messages.
    """
    wanted = {key: span for key, span in spans.items() if span.end is not None and span.start < span.end}
    starts = {key: span.start for key, span in wanted.items()}
    counts: dict[int, int] = {}
    found = consumer.offsets_for_times(dict.fromkeys(wanted, from_ms)) if wanted else {}
    for _ in range(most):
        times = [each.timestamp_ms for key, each in found.items() if each and starts[key] < (wanted[key].end or 0)]
        if not times:
            return counts
        at = min(times) // span_ms * span_ms
        found = consumer.offsets_for_times(dict.fromkeys(wanted, at + span_ms))
        for key, span in wanted.items():
            end, first = span.end or 0, found[key]
            reached = max(starts[key], end if first is None else min(first.offset, end))
            if reached > starts[key]:
                counts[at] = counts.get(at, 0) + reached - starts[key]
            starts[key] = reached
    raise InputError(
        f"cannot count from offsets: more than {most} spans of time have messages",
        hint="use a longer span, a range, or --read",
    )


def by_reading(batches: Iterable[list[ConsumedRecord]], span_ms: int | None) -> Counter[int]:
    """Start of each span of time -> the number of messages; all at 0 if ``span_ms`` is None."""
    counts: Counter[int] = Counter()
    for records in batches:
        if span_ms is None:
            counts[0] += len(records)
        else:
            counts.update(record.timestamp_ms // span_ms * span_ms for record in records)
    return counts
