"""One segment's log, looked at batch by batch: what is wrong with it, and what its neighbours need to know of it.

Observers follow the walk and compare something else with it (``index_follow``, ``log_state_check``): they are told of
sound batches, and of holes, which are bytes that nothing can be concluded from. Memory is bounded by the largest batch.
Sources: ``LogSegment.recover``, ``LogValidator``, ``DefaultRecordBatch.ensureValid`` of Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from kafka_tools.errors import CorruptBatch
from kafka_tools.records.batches import BatchView
from kafka_tools.records.compression import NAMES
from kafka_tools.storage.findings import INFO, WARNING, Finding
from kafka_tools.storage.segment import Segment

MAX_RELATIVE_OFFSET = 2**31 - 1
"""How far an offset may be from its segment's base: index entries hold the difference in 32 bits."""

_TAILS = ("torn-tail", "zero-tail")


class Observer(Protocol):
    """Something that is compared with a log while it is walked."""

    def batch(self, view: BatchView) -> Iterable[Finding]:
        """A sound batch: its CRC is right and its offsets follow."""

    def hole(self, start: int, end: int) -> None:
        """Nothing is known of the bytes from ``start`` to ``end``."""

    def end(self, size_bytes: int) -> Iterable[Finding]:
        """The walk is over; the log has ``size_bytes``."""


class SegmentCheck:
    """One walk over one segment. ``next_offset`` is the offset after its last sound batch, as far as it got."""

    def __init__(
        self,
        path: str,
        *,
        records: bool,
        open_end: bool,
        expected_offset: int | None = None,
        observers: Iterable[Observer] = (),
    ) -> None:
        """``records``: parse every record too; ``open_end``: nothing follows, so that a tail is what a crash leaves.

        ``expected_offset`` is the one after the segment before, None for the first.
        """
        self.path = path
        self.next_offset = expected_offset
        self.whole = True
        """Whether no damage was met."""
        self._records = records
        self._open_end = open_end
        self._observers = list(observers)

    def findings(self) -> Iterator[Finding]:
        """What is wrong, in the order of the file, the observers' findings among it. Raises OSError."""
        with Segment(self.path) as segment:
            if self.next_offset is None:
                self.next_offset = segment.base_offset
                first = True
            else:
                first = False
            position = 0
            for item in segment.batches():
                if isinstance(item, Finding):
                    yield from self._damage(segment, item)
                    continue
                if item.file_position > position:
                    self._hole(position, item.file_position)
                position = item.file_position + item.size_bytes
                problem = self._problem(segment, item)
                if problem is not None:
                    self.whole = False
                    yield problem
                    self._hole(item.file_position, position)
                    continue
                if item.base_offset > self.next_offset and not first:
                    text = f"offset {item.base_offset} follows {self.next_offset - 1}"
                    yield Finding(self.path, "offset-gap", text, item.file_position, item.base_offset)
                first = False
                self.next_offset = item.last_offset + 1
                for observer in self._observers:
                    yield from observer.batch(item)
            if position < segment.size_bytes:
                self._hole(position, segment.size_bytes)
            for observer in self._observers:
                yield from observer.end(segment.size_bytes)

    def _hole(self, start: int, end: int) -> None:
        for observer in self._observers:
            observer.hole(start, end)

    def _damage(self, segment: Segment, finding: Finding) -> Iterator[Finding]:
        if finding.kind in _TAILS:
            size_before = segment.size_bytes
            if segment.refresh() != size_before:
                kind = "growing" if segment.size_bytes > size_before else "shrunk"
                segment.size_bytes = min(size_before, segment.size_bytes)
                yield Finding(self.path, kind, "the broker was at work here", finding.position, severity=INFO)
                return
            if self._open_end:
                finding = finding.with_severity(WARNING)
        self.whole = self.whole and not finding.is_damage
        yield finding

    def _problem(self, segment: Segment, view: BatchView) -> Finding | None:
        """The first thing that is wrong with a batch; offsets of a wrong batch are not to be believed."""

        def finding(kind: str, text: str, offset: int | None = None) -> Finding:
            return Finding(self.path, kind, text, view.file_position, offset)

        assert self.next_offset is not None
        if not 0 <= view.magic <= 2:
            return finding("unknown-magic", f"no Kafka writes batches of magic {view.magic}")
        if not view.crc_ok():
            text = "the CRC of the batch does not match its contents"
            return finding("crc-mismatch", text, view.last_offset)
        if view.codec >= len(NAMES):
            text = f"the batch names the compression codec {view.codec}, which no Kafka knows"
            return finding("unknown-codec", text, view.last_offset)
        try:
            first, last, count = view.base_offset, view.last_offset, view.record_count
            if self._records:
                for _ in view.records():
                    pass
        except CorruptBatch as error:
            return finding("unreadable-records", str(error), view.last_offset)
        if first > last or not 0 <= count <= last - first + 1:
            return finding("bad-count", f"the batch claims {count} records for the offsets {first} to {last}", first)
        if first < segment.base_offset:
            return finding(
                "offset-below-segment", f"offset {first} is below the segment's {segment.base_offset}", first
            )
        if last - segment.base_offset > MAX_RELATIVE_OFFSET:
            return finding("offset-beyond-segment", f"offset {last} is too far from {segment.base_offset}", first)
        if first < self.next_offset:
            return finding("offset-order", f"offset {first} follows {self.next_offset - 1}", first)
        return None
