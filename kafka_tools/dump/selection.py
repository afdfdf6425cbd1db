"""Selects the batches, records and index entries of a dump: ranges of offsets and times, and a pattern for keys.

The header of a batch decides as far as possible, so that batches outside the selection are never decompressed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate
from typing import NamedTuple

from kafka_tools.dump.decoders import Decoder
from kafka_tools.errors import LogError
from kafka_tools.protocol.enums import TimestampType
from kafka_tools.records.batches import BatchView
from kafka_tools.records.record import Record
from kafka_tools.records.text import java_text

KeyText = Callable[[Record], str | None]

OUT, PART, IN, BEYOND = range(4)
"""The selected records of a batch: none; unknown until it is decompressed; all; none in it or after it."""


class DumpSelection(NamedTuple):
    """Ranges include their start and exclude their end. None means no limit. Times are in ms."""

    from_offset: int | None = None
    to_offset: int | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    key: re.Pattern[str] | None = None
    key_text: KeyText | None = None
    """The function that shows a key to compare with the pattern. None: as text."""

    def of_batch(self, view: BatchView) -> int:
        """OUT, PART, IN or BEYOND, by the header alone."""
        wrapper = view.magic < 2 and view.is_compressed  # its header contains only the last offset
        first = None if wrapper else view.base_offset
        if self.to_offset is not None and first is not None and first >= self.to_offset:
            return BEYOND
        if self.from_offset is not None and view.last_offset < self.from_offset:
            return OUT
        if self.from_ms is not None and view.max_timestamp < self.from_ms:
            return OUT
        append_time = view.timestamp_type == TimestampType.LOG_APPEND_TIME
        if self.to_ms is not None and append_time and view.max_timestamp >= self.to_ms:
            return OUT
        inside = (
            self.key is None
            and (self.from_offset is None or (first is not None and first >= self.from_offset))
            and (self.to_offset is None or view.last_offset < self.to_offset)
            and ((self.from_ms is None and self.to_ms is None) or append_time)
        )
        return IN if inside else PART

    def of_record(self, record: Record) -> bool:
        """Whether a record is selected."""
        return (
            self.has_offset(record.offset)
            and self.has_time(record.timestamp)
            and (self.key is None or self._matches(record))
        )

    def has_offset(self, offset: int) -> bool:
        """Whether an offset is in the range."""
        return (self.from_offset is None or offset >= self.from_offset) and (
            self.to_offset is None or offset < self.to_offset
        )

    def has_time(self, timestamp_ms: int) -> bool:
        """Whether a timestamp is in the range."""
        return (self.from_ms is None or timestamp_ms >= self.from_ms) and (
            self.to_ms is None or timestamp_ms < self.to_ms
        )

    def _matches(self, record: Record) -> bool:
        if record.key is None or self.key is None:
            return False
        shown = java_text(record.key) if self.key_text is None else self.key_text(record)
        return shown is not None and self.key.match(shown) is not None


def decoded_key(decoder: Decoder) -> KeyText:
    """Shows keys with a decoder: as text if it prints no key, and None if it cannot read the key."""

    def key_text(record: Record) -> str | None:
        if record.key is None:
            return None
        try:
            shown, _ = decoder(record.offset, record.key, None)
        except LogError:
            return None
        return java_text(record.key) if shown is None else shown

    return key_text


def key_pattern(glob: str) -> re.Pattern[str]:
    """A pattern for the whole key, in which ``*`` is any text, ``?`` any character and ``[...]`` one of several."""
    return re.compile(translate(glob))
