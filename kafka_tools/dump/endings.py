"""The output of a dump: the base of every form (an ending), and the one that writes Kafka's text.

``files`` and ``walk`` pass everything that they find to an ending, in order. A ``strict`` ending stops at damage, as
Kafka's tool does. All others continue after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafka_tools.dump import text
from kafka_tools.protocol.enums import TIMESTAMP_TYPES
from kafka_tools.records.batches import BatchView
from kafka_tools.records.record import Record
from kafka_tools.shown_text import one_line
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.indexes import AbortedTransaction, OffsetEntry, TimeEntry
from kafka_tools.storage.snapshots import LeaderEpoch, ProducerStateEntry

if TYPE_CHECKING:
    from kafka_tools.dump.decoders import Decoder
    from kafka_tools.dump.text_columns import TextWindow


Entry = OffsetEntry | TimeEntry | AbortedTransaction | ProducerStateEntry | LeaderEpoch


class Sink(Protocol):
    """The destination of the output."""

    def write(self, text: str) -> object: ...

    def write_bytes(self, data: bytes) -> object: ...

    def flush(self) -> object: ...


class DumpedFile(NamedTuple):
    """A file of the dump: its path in the output, its kind, and the fields of its name."""

    path: str
    kind: str
    base_offset: int | None = None
    epoch: int | None = None


class Ending:
    """A form of output. A method that a form does not override writes nothing."""

    strict = False
    """Whether damage ends the dump, as it ends Kafka's tool."""
    deep: bool
    """Whether records are shown."""
    at_once = True
    """Whether ``window`` may be tried; ``batch`` and ``finding_line`` are then called before it is known to work."""

    def dumping(self, path: str) -> None:
        """The next file, before it is opened."""

    def file(self, file: DumpedFile, size_bytes: Callable[[], int]) -> None:
        """The facts about the file that its name and size contain."""

    def batch(self, view: BatchView, crc_ok: bool) -> str:
        """The line of a batch, for ``line`` or ``window``."""
        return ""

    def broken_batch(self, view: BatchView) -> str:
        """The text for a batch whose header is impossible."""
        return ""

    def finding_line(self, finding: Finding) -> str:
        """The line of a finding, empty if the output contains no findings."""
        return ""

    def line(self, line: str) -> None:
        """Write a line that this ending made."""

    def line_bytes(self, data: bytes) -> None:
        """Write the lines that ``window`` made."""

    def record(self, view: BatchView, record: Record) -> None:
        """A record. Raises LogError if it cannot be shown."""

    def window(
        self, views: Sequence[BatchView], crcs_ok: Sequence[bool], findings: Sequence[Sequence[Finding]]
    ) -> TextWindow | None:
        """As many batches as possible. ``crcs_ok`` and ``findings`` belong to ``views``."""

    def invalid_tail(self, name: str, size_bytes: int) -> None:
        """The bytes after the last batch are not a batch."""

    def end(self, gaps: Iterable[Finding], position: int, next_offset: int | None) -> None:
        """The end of a log."""

    def empty_index(self, path: str) -> None:
        """An offset index without entries."""

    def sanity(self, path: str) -> None:
        """An index that passes the check of a broker."""

    def entry(self, entry: Entry) -> None:
        """An entry of an index, a producer snapshot or a list of leader epochs."""

    def topic_id(self, topic_id: str) -> None:
        """The contents of ``partition.metadata``."""


class WritingEnding(Ending):
    """An ending that writes to ``sink`` immediately."""

    def __init__(self, sink: Sink, *, deep: bool, skip_metadata: bool) -> None:
        self.deep = deep
        self._sink = sink
        self._write = sink.write
        self._skip_metadata = skip_metadata

    def line(self, line: str) -> None:
        self._sink.write(line)

    def line_bytes(self, data: bytes) -> None:
        self._sink.write_bytes(data)


class TextEnding(WritingEnding):
    """Kafka's text. ``decoder`` None: without contents."""

    def __init__(
        self, sink: Sink, decoder: Decoder | None, *, deep: bool, skip_metadata: bool, strict: bool = True
    ) -> None:
        super().__init__(sink, deep=deep, skip_metadata=skip_metadata)
        self.strict = strict
        self._decoder = decoder

    def dumping(self, path: str) -> None:
        self._write(f"Dumping {one_line(path)}\n")

    def file(self, file: DumpedFile, size_bytes: Callable[[], int]) -> None:
        if file.kind == "log":
            self._write(f"Log starting offset: {file.base_offset}\n")
        elif file.kind == "kraft_bootstrap_snapshot":
            self._write("KRaft bootstrap snapshot\n")
        elif file.kind == "kraft_snapshot":
            self._write(f"Snapshot end offset: {file.base_offset}, epoch: {file.epoch}\n")

    def batch(self, view: BatchView, crc_ok: bool) -> str:
        return text.batch_start(view) + text.batch_end(view, crc_ok)

    def broken_batch(self, view: BatchView) -> str:
        return text.batch_start(view) + ("" if self.strict else "\n")

    def record(self, view: BatchView, record: Record) -> None:
        line = ""
        if not self._skip_metadata:
            line = text.record_metadata(record, TIMESTAMP_TYPES[view.timestamp_type], view.magic)
            if view.is_control:
                from kafka_tools.dump.internal_decoders import control  # few logs need it, and it takes 3 ms

                self._write(line)
                line = control(record)
        if self._decoder is not None and not view.is_control:
            self._write(line)
            key, payload = self._decoder(record.offset, record.key, record.value)
            line = text.contents(key, payload, "| " if self._skip_metadata else " ")
        self._write(line + "\n")

    def window(
        self, views: Sequence[BatchView], crcs_ok: Sequence[bool], findings: Sequence[Sequence[Finding]]
    ) -> TextWindow | None:
        from kafka_tools.dump import text_columns  # numpy: 100 ms

        return text_columns.window(views, crcs_ok, self._decoder, self._skip_metadata)

    def invalid_tail(self, name: str, size_bytes: int) -> None:
        self._write(f"Found {size_bytes} invalid bytes at the end of {name}\n")

    def empty_index(self, path: str) -> None:
        self._write(f"{path} is empty.\n")

    def sanity(self, path: str) -> None:
        self._write(f"{path} passed sanity check.\n")

    def entry(self, entry: Entry) -> None:
        self._write(_LINES[type(entry)](entry))

    def topic_id(self, topic_id: str) -> None:
        self._write(f"topicId: {topic_id}\n")


_LINES: dict[type[Entry], Callable[..., str]] = {
    OffsetEntry: lambda entry: f"offset: {entry.offset} position: {entry.position}\n",
    TimeEntry: lambda entry: f"timestamp: {entry.timestamp} offset: {entry.offset}\n",
    AbortedTransaction: text.aborted_transaction,
    ProducerStateEntry: text.producer,
    LeaderEpoch: lambda entry: f"leaderEpoch: {entry.epoch} startOffset: {entry.start_offset}\n",
}
