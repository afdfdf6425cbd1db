"""CRC-32C (Castagnoli), the checksum of magic 2 batches and producer snapshots.

google-crc32c computes it in hardware (about 20 GB/s). If the package falls back to Python, it warns on import, and
reading is hundreds of times slower. Source: RFC 3720, appendix B.4; KIP-98.
"""

from __future__ import annotations

from functools import cache
from typing import Protocol


class _Library(Protocol):
    def value(self, data: bytes) -> int: ...

    def extend(self, crc: int, data: bytes) -> int: ...


@cache
def _implementation() -> _Library:
    # google_crc32c: 4 ms, and not needed to read magic 0 and 1 or file names.
    import google_crc32c

    library: _Library = google_crc32c
    return library


def crc32c(data: bytes | bytearray | memoryview) -> int:
    """The unsigned CRC-32C of ``data``."""
    return _implementation().value(data if type(data) is bytes else bytes(data))


def crc32c_extend(crc: int, data: bytes) -> int:
    """The CRC-32C of some bytes followed by ``data``; ``crc`` is the CRC-32C of the first bytes."""
    return _implementation().extend(crc, data)
