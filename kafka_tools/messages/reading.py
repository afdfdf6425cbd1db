"""Reads ranges of partitions with a consumer that belongs to no group, and keeps the records that match.

A filter that looks at keys, values, offsets and times gets whole columns (``Consumer.poll_columns``), so a record that
does not match costs little. Only a run of records with headers in which a record matches is read again as records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafka_tools.clients.fetched_data import ConsumedRecord
from kafka_tools.messages.selection import TopicRange
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.clients.consumer import Consumer
    from kafka_tools.clients.fetching.polled_columns import PolledColumns
    from kafka_tools.clock import Clock
    from kafka_tools.messages.filters import RecordFilter

TURN_S = 0.2
"""How long a wait for records lasts before the caller gets control again."""
FIRST_WINDOW = 100
"""The fewest offsets of a partition that are read at once for the newest records."""


class Span(NamedTuple):
    """Offsets of a partition: from ``start`` to before ``end`` (None: without an end)."""

    start: int
    end: int | None


class Tally(Protocol):
    """Gets the number of records that were read; negative for records that are read once more."""

    def __call__(self, records: int) -> None: ...


def spans_of(consumer: Consumer, selection: TopicRange, partitions: Sequence[int]) -> dict[TopicPartition, Span]:
    """The offsets of a selection in each partition, within the log. Raises as the consumer's queries do."""
    keys = [TopicPartition(selection.topic, number) for number in partitions]
    starts, ends = consumer.beginning_offsets(keys), consumer.end_offsets(keys)
    moments = {each.moment_ms for each in (selection.start, selection.end) if each.moment_ms is not None}
    found = {moment: consumer.offsets_for_times(dict.fromkeys(keys, max(0, moment))) for moment in sorted(moments)}

    def at(key: TopicPartition, offset: int | None, moment: int | None, default: int) -> int:
        if offset is not None:
            return offset
        if moment is None:
            return default
        first = found[moment][key]
        return ends[key] if first is None else first.offset

    spans = {}
    for key in keys:
        low = max(starts[key], at(key, *selection.start, starts[key]))
        high = min(ends[key], at(key, *selection.end, ends[key]))
        spans[key] = Span(min(low, ends[key]), max(high, min(low, ends[key])))
    return spans


class RangeReader:
    """Reads spans; yields the records that match, in the order of each partition.

    ``idle_s``: after this time without any progress, reading stops and ``incomplete`` names the partitions that are
    not at their end.
    """

    def __init__(self, consumer: Consumer, wanted: RecordFilter, clock: Clock, idle_s: float, tally: Tally) -> None:
        self._consumer = consumer
        self._wanted = wanted
        self._clock = clock
        self._idle_s = idle_s
        self._tally = tally
        self._again: dict[TopicPartition, int] = {}
        """Partition -> the offset before which its records are read as records, because some have headers."""
        self.incomplete: dict[TopicPartition, int] = {}
        """Partitions that were not read to their end, and the offset that was reached."""

    def read(self, spans: Mapping[TopicPartition, Span]) -> Iterator[list[ConsumedRecord]]:
        """Matching records, as they arrive: a list, often empty, several times a second. Ends at the end of all spans.

        Raises BrokerError for a refusal, and CorruptBatch.
        """
        left = {key: span for key, span in spans.items() if span.end is None or span.start < span.end}
        self._again.clear()
        if not left:
            return
        self._consumer.assign(list(left))
        for key, span in left.items():
            self._consumer.seek(key, span.start)
        moved_s, places = self._clock.monotonic_s(), {key: span.start for key, span in left.items()}
        while left:
            kept = self._turn(left)
            yield kept
            before = dict(places)
            places = {key: self._consumer.position(key, self._idle_s) for key in left}
            if any(places[key] != before[key] for key in left) or any(span.end is None for span in left.values()):
                moved_s = self._clock.monotonic_s()
            done = [key for key, span in left.items() if span.end is not None and places[key] >= span.end]
            for key in done:
                del left[key], places[key]
            if done and left:
                self._consumer.pause(done)
            if left and self._clock.monotonic_s() - moved_s > self._idle_s:
                self.incomplete |= places
                return

    def newest(self, spans: Mapping[TopicPartition, Span], count: int) -> Iterator[list[ConsumedRecord]]:
        """Reads backwards until each partition has ``count`` matching records; yields the newest of all, at the end.

        Empty lists come before, several times a second. The records are in order of time.
        """
        found: dict[TopicPartition, list[ConsumedRecord]] = {key: [] for key in spans}
        windows = {key: self._before(span, span.end or span.start, count) for key, span in spans.items()}
        while windows:
            inside: dict[TopicPartition, list[ConsumedRecord]] = {key: [] for key in windows}
            for kept in self.read(windows):
                for record in kept:
                    of_partition = inside[TopicPartition(record.topic, record.partition)]
                    of_partition.append(record)
                    if len(of_partition) >= 2 * count:
                        del of_partition[:-count]
                yield []
            for key, records in inside.items():
                found[key] = (records + found[key])[-count:]
            windows = {
                key: self._before(spans[key], window.start, 4 * ((window.end or 0) - window.start))
                for key, window in windows.items()
                if len(found[key]) < count and window.start > spans[key].start and key not in self.incomplete
            }
        merged = sorted((each for records in found.values() for each in records), key=_by_time)
        yield merged[-count:]

    @staticmethod
    def _before(span: Span, end: int, size: int) -> Span:
        return Span(max(span.start, end - max(size, FIRST_WINDOW)), end)

    def _turn(self, left: Mapping[TopicPartition, Span]) -> list[ConsumedRecord]:
        if self._wanted.needs_headers or self._again or not self._wanted.parts:
            return self._records(left)
        kept: list[ConsumedRecord] = []
        for columns in self._consumer.poll_columns(TURN_S):
            kept += self._of_columns(columns, left)
        return kept

    def _records(self, left: Mapping[TopicPartition, Span]) -> list[ConsumedRecord]:
        records = [each for each in self._consumer.poll(TURN_S) if _is_inside(each, left)]
        self._tally(len(records))
        for key, end in list(self._again.items()):
            if self._consumer.position(key, self._idle_s) >= end:
                del self._again[key]
        return [each for each in records if self._wanted.matches(each)]

    def _of_columns(self, columns: PolledColumns, left: Mapping[TopicPartition, Span]) -> list[ConsumedRecord]:
        key = TopicPartition(columns.topic, columns.partition)
        span = left.get(key)
        if span is None or not len(columns.offsets):
            return []
        inside = columns.offsets >= span.start
        if span.end is not None:
            inside &= columns.offsets < span.end
        self._tally(int(inside.sum()))
        kept = [
            record
            for record in self._wanted.candidates(columns, inside)
            if self._wanted.matches(record.without_headers)
        ]
        if not any(record.has_headers for record in kept):
            return [record.without_headers for record in kept]
        self._tally(-int(inside.sum()))
        self._again[key] = int(columns.offsets[-1]) + 1
        self._consumer.seek(key, max(span.start, int(columns.offsets[0])))
        return []


def _is_inside(record: ConsumedRecord, left: Mapping[TopicPartition, Span]) -> bool:
    span = left.get(TopicPartition(record.topic, record.partition))
    return span is not None and record.offset >= span.start and (span.end is None or record.offset < span.end)


def _by_time(record: ConsumedRecord) -> tuple[int, int, int]:
    return record.timestamp_ms, record.partition, record.offset
