"""Encodes answers as bytes, or as parts of which some are ranges of a log file (Kafka's ``FileRecords``)."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_tools.protocol.headers import encode_response_into
from kafka_tools.protocol.schema import Response
from kafka_tools.storage.log.file_range import FileRange

Part = bytes | memoryview | FileRange


class CutShort(list[bytes]):
    """The first bytes of an answer that a fault truncates, including the length prefix."""


Payload = bytes | Sequence[Part]
"""An answer from the dispatcher, without the length prefix. A ``CutShort`` is sent as it is."""


_COPIED_BYTES = 64 * 1024
"""An answer up to this size is copied to plain bytes; a copy of a larger one would take its memory twice."""


def encode_whole(response: Response, version: int, correlation_id: int) -> Payload:
    """Header and body of a response. Raises EncodeError."""
    out = bytearray()
    encode_response_into(response, version, correlation_id, out)
    return bytes(out) if len(out) <= _COPIED_BYTES else (memoryview(out),)


class _Parts(bytearray):
    """The buffer into which a response is encoded. It does not read ranges of files but keeps them as ranges."""

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
