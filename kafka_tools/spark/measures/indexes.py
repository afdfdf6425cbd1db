"""The indexes of a range of a log, local or in a store: read before the log, and compared with it.

``storage.index_columns`` produces the findings. A broker rebuilds a missing or unreadable index when it starts. A wrong
index that looks right sends consumers to the wrong position.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.spark.files import exists, read_whole, size_and_identity
from kafka_tools.spark.scan import reason
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.index_columns import SoundBatches, offset_index_findings, time_index_findings
from kafka_tools.storage.index_follow import Part
from kafka_tools.storage.indexes import MAX_INDEX_BYTES, OFFSET_ENTRY, TIME_ENTRY, IndexBytes
from kafka_tools.storage.names import INDEX, LOG, TIME_INDEX

if TYPE_CHECKING:
    from kafka_tools.spark.segments import Range

_UNTOLD = "index-batch-range"
"""Every entry of an old broker's index may be one: a remark of the checks that says nothing about a whole cluster."""


_UNKNOWN = 1 << 62
"""The size of a log that compaction has replaced since."""


class Indexes(NamedTuple):
    """A segment's indexes, None where there is none that can be used, and what is wrong with the files.

    Read before the log is opened: what a broker appends later to both is not compared.
    """

    offsets: IndexBytes | None
    times: IndexBytes | None
    problems: list[Finding]


def read_indexes(range_: Range) -> Indexes:
    """The indexes beside the log of a range, as far as they can be read."""
    if range_.size == 0:
        return Indexes(None, None, [])
    problems: list[Finding] = []
    offsets = _load(range_.file.removesuffix(LOG) + INDEX, OFFSET_ENTRY, range_, problems)
    times = _load(range_.file.removesuffix(LOG) + TIME_INDEX, TIME_ENTRY, range_, problems)
    return Indexes(offsets, times, problems)


def check_indexes(range_: Range, indexes: Indexes, batches: SoundBatches) -> Iterator[Finding]:
    """Findings about the index entries for the valid batches of a range; in the first range also about the files."""
    if range_.start == 0:
        yield from indexes.problems
    size, which = size_and_identity(range_.file)
    is_same = range_.identity is None or which == range_.identity
    # A live segment and its index grow after planning: only what lies beyond the file of now is wrong.
    log_bytes = max(size, range_.size) if is_same else _UNKNOWN
    is_last = range_.end >= range_.size and is_same and size == range_.size
    part = Part(range_.start, range_.end, is_last=is_last)
    if indexes.offsets is not None:
        for finding in offset_index_findings(indexes.offsets, range_.base_offset, batches, part, log_bytes):
            if finding.kind != _UNTOLD:
                yield finding
    if indexes.times is not None:
        yield from time_index_findings(indexes.times, range_.base_offset, batches, part, log_bytes)


def _load(path: str, layout: Struct, range_: Range, problems: list[Finding]) -> IndexBytes | None:
    """An index file, None if it cannot be used."""
    kind = "timeindex" if path.endswith(TIME_INDEX) else "index"
    try:
        size, _ = size_and_identity(path)
        if size > MAX_INDEX_BYTES:
            text = f"{size} bytes are too many for an index, so it was not checked"
            problems.append(Finding(path, f"{kind}-size", text))
            return None
        return IndexBytes(path, layout, read_whole(path, MAX_INDEX_BYTES))
    except FileNotFoundError:
        # Gone together with its log: retention. Gone alone: the broker builds it anew when it starts.
        if exists(range_.file):
            problems.append(Finding(path, f"{kind}-missing", "the segment has no such index file"))
        return None
    except OSError as error:
        problems.append(Finding(path, "unreadable", f"cannot read an index: {reason(error)}"))
        return None
