"""Everything that is measured of a partition directory, range by range: the map side of the audit, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafka_tools.records.chain import PREFIX_BYTES
from kafka_tools.spark.damage import SOUND
from kafka_tools.spark.files import modified_ms, open_file
from kafka_tools.spark.measures.batches import BatchMeasures
from kafka_tools.spark.measures.groups import InternalMeasures
from kafka_tools.spark.measures.indexes import read_indexes
from kafka_tools.spark.measures.producers import ProducerPiece, RangeProducers
from kafka_tools.spark.measures.records import AlikeBatches, RecordMeasures, windows
from kafka_tools.spark.measures.summary import Seen, Summary, check_range
from kafka_tools.spark.scan import HeaderRun, reason, scan_range

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.spark.segments import Range


class Depth(NamedTuple):
    """How closely to look. ``records``: decompress and parse them; ``digests``: for comparing replicas.

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
        """Take in other ranges of the same partition directory, in any order; returns self."""
        self.summary.add(other.summary)
        self.batches.add(other.batches)
        self.producers += other.producers
        self.records.add(other.records)
        self.internal.add(other.internal)
        return self


def measure(range_: Range, depth: Depth) -> PartitionMeasures:
    """Read one range and measure what is in it; every CRC is checked, and every index entry about it."""
    found = PartitionMeasures(range_.log_dir, range_.topic, range_.partition)
    seen = Seen()
    indexes = read_indexes(range_)
    producers = RangeProducers(range_.file)
    newest: int | None = None
    last: int | None = None
    gaps, gap_offset = 0, None
    places: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for part in scan_range(range_, check_crc=True, count_legacy=True):
        if isinstance(part, HeaderRun):
            found.summary.add_run(part, range_.file)
            seen.add_run(part)
            run = sound_part(part)
            if not len(run.codes):
                continue
            fields = run.headers.fields
            first = int(fields[0]["base_offset"])
            if last is not None and first > last + 1:
                gaps, gap_offset = gaps + first - last - 1, last + 1 if gap_offset is None else gap_offset
            newest_here, gaps_here, offset_here = found.batches.add_run(run, range_.file, depth.now_ms, depth.digests)
            gap_offset = offset_here if gap_offset is None else gap_offset
            gaps += gaps_here
            newest = _most(newest, newest_here)
            last = int(fields[-1]["base_offset"]) + int(fields[-1]["last_offset_delta"])
            producers.add_all(fields, run.headers.positions)
            places.append((run.headers.positions, fields["length"].astype(np.int64) + PREFIX_BYTES))
        else:
            for row in part:
                found.summary.add_row(row)
                seen.add_row(row)
                if row.get("magic") is not None and row.get("damage") is None:
                    newest = _most(newest, found.batches.add_row(row, depth.now_ms))
                    last = row["last_offset"]
                    places.append((np.array([row["position"]]), np.array([row["size_bytes"]])))
    check_range(range_, indexes, seen, found.summary)
    summary = found.summary
    offsets = summary.first_offset, summary.last_offset
    found.batches.close(range_, newest, *offsets, (gaps, gap_offset), modified_ms(range_.file), lost=seen.lost)
    found.producers.append(producers.piece(range_.base_offset, range_.start, lost=seen.lost))
    if depth.records:
        _read_records(range_, places, found)
    return found


def sound_part(run: HeaderRun) -> HeaderRun:
    """The run without the batches in which something is wrong."""
    sound = run.codes == SOUND
    if sound.all():
        return run
    headers = run.headers
    kept = headers._replace(
        positions=headers.positions[sound],
        fields=headers.fields[sound],
        crc_ok=None if headers.crc_ok is None else headers.crc_ok[sound],
    )
    return HeaderRun(kept, run.codes[sound])


def _read_records(
    range_: Range, places: list[tuple[NDArray[np.int64], NDArray[np.int64]]], found: PartitionMeasures
) -> None:
    if not places:
        return
    positions, sizes = (np.concatenate(column) for column in zip(*places, strict=True))
    try:
        with open_file(range_.file) as file:
            if range_.identity is not None and file.identity != range_.identity:
                return  # compaction put another segment in its place since its headers were read
            for group in windows(file, positions, sizes):
                if isinstance(group, AlikeBatches) and group.is_control:
                    found.records.add_control(group, range_.file)
                    continue
                if isinstance(group, AlikeBatches):
                    counted = found.records.add_group(group, range_.file)
                else:
                    counted = found.records.add_views(group, range_.file)
                for columns in counted:
                    found.internal.add_columns(range_.topic, columns)
    except FileNotFoundError:
        return  # removed since its headers were read: its records went the way of retention
    except OSError as error:
        found.summary.unreadable(range_.file, f"cannot read: {reason(error)}")


def _most(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)
