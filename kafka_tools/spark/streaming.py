"""Streams that follow log directories as they grow. The steps of a stream read each batch exactly once.

The position of a stream is the next offset of each partition directory. So it survives new segments, retention and
compaction. A step ends after a complete batch with a valid CRC. If a topic was deleted and created again (with another
topic id), its directories start again from the beginning. API: ``DataSourceStreamReader``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kafka_tools.errors import KafkaToolsError
from kafka_tools.spark.cutting import cut
from kafka_tools.spark.files import File, read_whole
from kafka_tools.spark.options import LATEST, ReadOptions
from kafka_tools.spark.plan import pack, segments_between
from kafka_tools.spark.scan import HeaderRun, Scan, open_range
from kafka_tools.spark.segments import Range, partitions
from kafka_tools.spark.work import Work, read_work
from kafka_tools.storage.names import PARTITION_METADATA

if TYPE_CHECKING:
    from kafka_tools.storage.layout import PartitionFiles

_METADATA_BYTES = 4096

Offsets = dict[str, Any]
"""By partition directory: ``offset``, the next one to read, and ``topic_id`` ("" where no file tells it)."""


class LogStreamReader(DataSourceStreamReader):
    """Follows the directories of the options; its state is in the offsets alone."""

    def __init__(self, table: str, options: ReadOptions) -> None:
        self.table = table
        self.options = options

    def initialOffset(self) -> Offsets:
        return self._ends({}, None) if self.options.starting_offsets == LATEST else {}

    def getDefaultReadLimit(self) -> Any:
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

        limit = self.options.max_bytes_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxBytes(limit)

    def latestOffset(self, start: Offsets | None = None, limit: Any = None) -> Offsets:
        """The end of the next step. PySpark before 4.2 passes no arguments, and then there is no limit."""
        return self._ends(start or {}, getattr(limit, "max_bytes", None))

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        tasks: list[InputPartition] = []
        for log_dir, found in self._directories():
            until = end.get(found.directory)
            if until is None:
                continue
            interval = (_next_offset(start, found.directory, until["topic_id"]), until["offset"])
            if interval[0] < interval[1]:
                segments = segments_between(log_dir, found, *interval)
                ranges = [part for each in segments for part in cut(each, self._range_bytes)]
                tasks += [Work(task, interval) for task in pack(ranges, self._range_bytes)]
        return tasks

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, Work)
        return read_work(self.table, partition, self.options)

    def commit(self, end: Offsets) -> None:
        """Nothing to do: the stream deletes nothing."""

    @property
    def _range_bytes(self) -> int:
        return self.options.range_bytes

    def _directories(self) -> Iterator[tuple[str, PartitionFiles]]:
        for log_dir in self.options.paths:
            for found in partitions(log_dir, self.options.selection):
                yield log_dir, found

    def _ends(self, start: Offsets, limit_bytes: int | None) -> Offsets:
        ends = dict(start)  # a directory that is not there now may come back
        directories = list(self._directories())
        share = None if limit_bytes is None else max(1, limit_bytes // max(1, len(directories)))
        for log_dir, found in directories:
            topic_id = _topic_id(found.directory)
            first = _next_offset(start, found.directory, topic_id)
            last = _end(log_dir, found, first, share)
            if last is not None:
                # A log that was truncated keeps its position: no batch is read again.
                ends[found.directory] = {"offset": max(first, last), "topic_id": topic_id}
        return ends


def _next_offset(offsets: Offsets, directory: str, topic_id: str) -> int:
    known = offsets.get(directory)
    if known is None or (known["topic_id"] != topic_id and known["topic_id"] and topic_id):
        return 0
    return int(known["offset"])


def _end(log_dir: str, found: PartitionFiles, first: int, share_bytes: int | None) -> int | None:
    """The offset after the last batch to read now; None for a directory without segments."""
    segments = list(segments_between(log_dir, found, first))
    if not segments:
        return None
    if share_bytes is None:
        # Every segment before the last one is complete: where the last one starts, they end.
        segments = segments[-1:]
    end = segments[0].base_offset
    left = share_bytes
    for segment in segments:
        end = max(end, segment.base_offset)
        for last_offset, size_bytes in _sound_batches(segment):
            if last_offset < first:
                continue
            end = max(end, last_offset + 1)
            if left is not None:
                left -= size_bytes
                if left <= 0:
                    return end
    return end


def _sound_batches(segment: Range) -> Iterator[tuple[int, int]]:
    """(last offset, size in bytes) of whole batches with the right CRC, in order."""
    file = open_range(segment)
    if not isinstance(file, File):
        if file["damage"] == "unreadable":
            raise KafkaToolsError(f"{segment.file}: {file['detail']}")
        return
    with file:
        for part in Scan(segment, file, check_crc=True, count_legacy=False, rows_per_part=1).parts():
            if isinstance(part, HeaderRun):
                sound = part.sound().headers
                yield from zip(sound.last_offsets.tolist(), sound.sizes.tolist(), strict=True)
            else:
                for row in part:
                    if row.get("damage") is None:
                        yield row["last_offset"], row["size_bytes"]


def _topic_id(directory: str) -> str:
    """The topic id in the directory's ``partition.metadata``, "" where there is none (before Kafka 2.8)."""
    try:
        text = read_whole(f"{directory}/{PARTITION_METADATA}", _METADATA_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("topic_id:")), "")
