"""All measures of a partition directory, range by range: the map side of the audit, without Spark."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.spark.files import modified_ms, open_file
from kafka_tools.spark.measures.batches import BatchMeasures, Piece
from kafka_tools.spark.measures.groups import InternalMeasures
from kafka_tools.spark.measures.indexes import check_indexes, read_indexes
from kafka_tools.spark.measures.producers import ProducerPiece, RangeProducers
from kafka_tools.spark.measures.records import AlikeBatches, RecordMeasures, windows
from kafka_tools.spark.measures.summary import Seen, Summary, most
from kafka_tools.spark.scan import HeaderRun, reason, scan_range
from kafka_tools.storage.findings import Finding

if TYPE_CHECKING:
    from kafka_tools.spark.segments import Range
    from kafka_tools.storage.index_columns import SoundBatches


class Depth(NamedTuple):
    """The depth of the check. ``records``: decompress and parse them; ``digests``: for comparing replicas.

    ``now_ms`` is the time that timestamps are compared with.
    """

    now_ms: int
    records: bool = True
    digests: bool = False


class PartitionMeasures:
    """All measures of any number of ranges of one partition directory."""

    def __init__(self, log_dir: str, topic: str, partition: int) -> None:
        self.summary = Summary(log_dir, topic, partition)
        self.batches = BatchMeasures()
        self.producers: list[ProducerPiece] = []
        self.records = RecordMeasures()
        self.internal = InternalMeasures()

    def add(self, other: PartitionMeasures) -> PartitionMeasures:
        """Add other ranges of the same partition directory, in any order; returns self."""
        self.summary.add(other.summary)
        self.batches.add(other.batches)
        self.producers += other.producers
        self.records.add(other.records)
        self.internal.add(other.internal)
        return self


def measure(range_: Range, depth: Depth) -> PartitionMeasures:
    """Read one range and measure its contents; check every CRC and every index entry."""
    found = PartitionMeasures(range_.log_dir, range_.topic, range_.partition)
    seen = Seen()
    indexes = read_indexes(range_)
    producers = RangeProducers(range_.file)
    newest: int | None = None
    last: int | None = None
    gaps, gap_offset = 0, None
    for part in scan_range(range_, check_crc=True, count_legacy=True):
        if isinstance(part, HeaderRun):
            found.summary.add_run(part, range_.file)
            run = part.sound()
            seen.add_headers(run.headers)
            if not len(run.codes):
                continue
            first = int(run.headers.fields[0]["base_offset"])
            if last is not None and first > last + 1:
                gaps, gap_offset = gaps + first - last - 1, last + 1 if gap_offset is None else gap_offset
            newest_here, gaps_here, offset_here = found.batches.add_run(run, range_.file, depth.now_ms, depth.digests)
            gap_offset = offset_here if gap_offset is None else gap_offset
            gaps += gaps_here
            newest = most(newest, newest_here)
            last = int(run.headers.last_offsets[-1])
            producers.add_all(run.headers)
        else:
            for row in part:
                found.summary.add_row(row)
                seen.add_row(row)
                if row.get("magic") is not None and row.get("damage") is None:
                    newest = most(newest, found.batches.add_row(row, depth.now_ms))
                    last = row["last_offset"]
    batches = seen.batches()
    summary = found.summary
    if not seen.lost:
        # A log that is removed meanwhile contradicts nothing.
        with suppress(FileNotFoundError):
            for wrong in check_indexes(range_, indexes, batches):
                summary.find(wrong)
    next_offset = None if summary.last_offset is None else summary.last_offset + 1
    offsets = newest, summary.first_offset, next_offset, gaps, gap_offset
    place = range_.base_offset, range_.start, range_.end, range_.size, range_.file, range_.last_segment
    found.batches.pieces.append(Piece(*place, *offsets, modified_ms(range_.file), seen.lost))
    found.producers.append(ProducerPiece(range_.base_offset, range_.start, producers, seen.lost))
    if depth.records and len(batches.position):
        _read_records(range_, batches, found)
    return found


def _read_records(range_: Range, batches: SoundBatches, found: PartitionMeasures) -> None:
    try:
        with open_file(range_.file) as file:
            if range_.identity is not None and file.identity != range_.identity:
                return  # compaction put another segment in its place since its headers were read
            for group in windows(file, batches.position, batches.size_bytes):
                if isinstance(group, AlikeBatches):
                    counted = found.records.add_group(group, range_.file)
                else:
                    counted = found.records.add_views(group, range_.file)
                for columns in counted:
                    found.internal.add_columns(range_.topic, columns)
    except FileNotFoundError:
        return  # removed since its headers were read: its records went the way of retention
    except OSError as error:
        found.summary.find(Finding(range_.file, "unreadable", f"cannot read: {reason(error)}"))
