"""A dump as JSON lines: the objects of ``lines``, in the order of the files' contents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from kafka_tools.dump.endings import DumpedFile, Entry, Sink, WritingEnding
from kafka_tools.dump.json import lines as json_lines
from kafka_tools.errors import CorruptBatch
from kafka_tools.records.batches import BatchView
from kafka_tools.records.record import Record
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.indexes import AbortedTransaction, OffsetEntry, TimeEntry
from kafka_tools.storage.snapshots import LeaderEpoch, ProducerStateEntry

if TYPE_CHECKING:
    from kafka_tools.dump.text_columns import TextWindow


class JsonEnding(WritingEnding):
    """JSON lines. ``contents`` None: without contents."""

    def __init__(
        self, sink: Sink, contents: json_lines.Contents | None, bytes_as: str, *, deep: bool, skip_metadata: bool
    ) -> None:
        super().__init__(sink, deep=deep, skip_metadata=skip_metadata)
        self._contents = contents
        self._field = json_lines.FIELDS[bytes_as]

    def file(self, file: DumpedFile, size_bytes: Callable[[], int]) -> None:
        self._write(json_lines.file_line(file.path, file.kind, size_bytes(), file.base_offset, file.epoch))

    def batch(self, view: BatchView, crc_ok: bool) -> str:
        base_offset, record_count = opened(view)
        return json_lines.batch_line(view, crc_ok, base_offset=base_offset, record_count=record_count)

    def broken_batch(self, view: BatchView) -> str:
        base_offset, record_count = (view.base_offset, view.record_count) if view.magic >= 2 else (None, None)
        return json_lines.batch_line(view, view.crc_ok(), base_offset=base_offset, record_count=record_count)

    def finding_line(self, finding: Finding) -> str:
        return json_lines.finding_line(finding)

    def record(self, view: BatchView, record: Record) -> None:
        if not view.is_control:
            self._write(json_lines.record_line(record, self._field, self._contents, skip_metadata=self._skip_metadata))
        elif not self._skip_metadata:
            from kafka_tools.dump.json.contents import control as control_parts

            self._write(json_lines.control_line(record, *control_parts(record)))

    def window(
        self, views: Sequence[BatchView], crcs_ok: Sequence[bool], findings: Sequence[Sequence[Finding]]
    ) -> TextWindow | None:
        from kafka_tools.dump.json import columns as json_columns

        def batch_lines(count: int) -> list[bytes]:
            each = zip(views[:count], crcs_ok, findings, strict=False)
            return [
                (self.batch(view, crc_ok) + "".join(map(self.finding_line, found))).encode("utf-8", "replace")
                for view, crc_ok, found in each
            ]

        return json_columns.window(views, batch_lines, self._contents, self._field, self._skip_metadata)

    def end(self, gaps: Iterable[Finding], position: int, next_offset: int | None) -> None:
        for gap in gaps:
            self._write(json_lines.finding_line(gap))
        self._write(json_lines.end_line(position, next_offset))

    def sanity(self, path: str) -> None:
        self._write(json_lines.sanity_line(True))

    def entry(self, entry: Entry) -> None:
        self._write(_LINES[type(entry)](entry))

    def topic_id(self, topic_id: str) -> None:
        self._write(json_lines.topic_id_line(topic_id))


def opened(view: BatchView) -> tuple[int | None, int | None]:
    """(base offset, record count) of a batch. Decompresses a wrapper of magic 0 or 1; None if that fails."""
    try:
        return view.base_offset, view.record_count
    except CorruptBatch:
        return None, None


_LINES: dict[type[Entry], Callable[..., str]] = {
    OffsetEntry: json_lines.offset_entry_line,
    TimeEntry: json_lines.time_entry_line,
    AbortedTransaction: json_lines.aborted_transaction_line,
    ProducerStateEntry: json_lines.producer_line,
    LeaderEpoch: json_lines.leader_epoch_line,
}
