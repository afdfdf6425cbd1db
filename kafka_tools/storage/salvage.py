"""Reads the sound batches of damaged log files: every batch with a valid CRC, with any bytes between them."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_tools.records.chain import PREFIX_BYTES, size_at
from kafka_tools.storage.layout import partition_files
from kafka_tools.storage.search import BatchSearch
from kafka_tools.storage.segment import Segment


class Salvage:
    """The sound batches of a partition directory. After an iteration, ``damaged_spans`` counts the skipped spans."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.damaged_spans = 0

    def __iter__(self) -> Iterator[bytes]:
        """The bytes of each batch, in order. Raises OSError."""
        self.damaged_spans = 0
        for files in partition_files(self.directory).segments:
            if files.log is not None:
                yield from self._batches(files.log, files.base_offset)

    def _batches(self, path: str, base_offset: int) -> Iterator[bytes]:
        with Segment(path) as segment:
            search, position, end = BatchSearch(segment.read, base_offset), 0, segment.size_bytes
            while position < end:
                found = search.next(position, end, end)
                if found != position:
                    self.damaged_spans += 1
                if found is None:
                    return
                size_bytes = size_at(segment.read(found, PREFIX_BYTES))
                yield segment.read(found, size_bytes)
                position = found + size_bytes
