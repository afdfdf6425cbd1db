"""Answers as they leave the broker: bytes, or parts, some of them ranges of a log's file (Kafka's ``FileRecords``)."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_tools.protocol.headers import encode_response_into
from kafka_tools.protocol.schema import Response
from kafka_tools.storage.log.file_range import FileRange

Part = bytes | memoryview | FileRange


class CutShort(list[bytes]):
    """The first bytes of an answer that goes no further (a fault), its length before it included."""


Payload = bytes | Sequence[Part]
"""An answer as the dispatcher gives it, without the length before it; all that is sent if it is ``CutShort``."""


_COPIED_BYTES = 64 * 1024
"""Up to here an answer is copied to end as plain bytes; a larger one would be in memory twice."""


def encode_whole(response: Response, version: int, correlation_id: int) -> Payload:
    """Header and body of a response. Raises EncodeError."""
    out = bytearray()
    encode_response_into(response, version, correlation_id, out)
    return bytes(out) if len(out) <= _COPIED_BYTES else (memoryview(out),)


class _Parts(bytearray):
    """The buffer that a response is encoded into; ranges of files are kept as ranges, not read."""

    def __init__(self) -> None:
        super().__init__()
        self.ranges: list[tuple[int, FileRange]] = []

    def __iadd__(self, value: object) -> _Parts:
        if type(value) is FileRange:
            self.ranges.append((len(self), value))
        else:
            self.extend(value)  # type: ignore[arg-type]
        return self


def encode_with_files(response: Response, version: int, correlation_id: int) -> list[Part]:
    """Header and body of a response whose records may be ranges of files. Raises EncodeError."""
    out = _Parts()
    encode_response_into(response, version, correlation_id, out)
    parts: list[Part] = []
    view, start = memoryview(bytes(out)), 0
    for position, found in out.ranges:
        parts.append(view[start:position])
        parts.append(found)
        start = position
    parts.append(view[start:])
    return [part for part in parts if len(part)]
