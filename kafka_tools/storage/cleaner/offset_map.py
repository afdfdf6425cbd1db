"""The last offset of each key in the dirty part of a log, in memory of a fixed size.

An open-addressing table of 24 bytes per entry: a hash of the key and its offset, as in Kafka's ``SkimpyOffsetMap`` and
its design document. 128 MiB contain five million keys. Two keys never have the same hash of 128 bits in practice.
"""

from __future__ import annotations

from hashlib import blake2b

from kafka_tools.errors import LogError

ENTRY_BYTES = 24
_HASH_BYTES = 16
_FREE = bytes(ENTRY_BYTES - _HASH_BYTES)
"""A free slot has zeros, because offsets are stored plus one."""


class OffsetMap:
    """Key -> offset. ``latest_offset`` is the last offset that was put, -1 without one."""

    def __init__(self, memory_bytes: int, load_factor: float, most_keys: int) -> None:
        """A map of as many keys as fit into ``memory_bytes`` with ``load_factor``.

        Allocates only the memory for ``most_keys``, so callers must not put more keys.
        """
        slots = memory_bytes // ENTRY_BYTES
        self.capacity = int(min(slots + 1, max(1, slots * load_factor)))
        """The maximum number of keys. At least one, because otherwise no round would make progress."""
        self._slots = max(1, min(slots, 2 * most_keys + 1))
        self._places = self._slots + 1  # one slot stays free, to end every search
        self._table = bytearray(self._places * ENTRY_BYTES)
        self._size = 0
        self.latest_offset = -1

    def __len__(self) -> int:
        return self._size

    @property
    def full(self) -> bool:
        """Whether the map accepts no more keys, not even existing ones. Kafka ends a round then."""
        return self._size >= self.capacity

    def put(self, key: bytes, offset: int) -> None:
        """Set the offset of a key. The map must not be full.

        Raises LogError if a load factor above 1 allows more keys than fit into the memory.
        """
        if self._size >= self._slots:
            raise LogError(
                f"it has more keys than fit into memory ({self._slots}), and log.cleaner.io.buffer.load.factor is "
                "more than 1"
            )
        table, digest = self._table, blake2b(key, digest_size=_HASH_BYTES).digest()
        at = self._place(table, digest)
        if table[at + _HASH_BYTES : at + ENTRY_BYTES] == _FREE:
            table[at : at + _HASH_BYTES] = digest
            self._size += 1
        table[at + _HASH_BYTES : at + ENTRY_BYTES] = (offset + 1).to_bytes(8, "big")
        self.latest_offset = offset

    def get(self, key: bytes) -> int:
        """The offset of a key, -1 if the map does not contain it."""
        at = self._place(self._table, blake2b(key, digest_size=_HASH_BYTES).digest())
        return int.from_bytes(self._table[at + _HASH_BYTES : at + ENTRY_BYTES], "big") - 1

    def _place(self, table: bytearray, digest: bytes) -> int:
        """The slot of the hash, or the free slot for it. The table is never full, so a free slot exists."""
        at = int.from_bytes(digest[:8], "big") % self._places * ENTRY_BYTES
        end = len(table)
        while (there := table[at : at + _HASH_BYTES]) != digest:
            if there == _NO_HASH and table[at + _HASH_BYTES : at + ENTRY_BYTES] == _FREE:
                return at
            at += ENTRY_BYTES
            if at == end:
                at = 0
        return at


_NO_HASH = bytes(_HASH_BYTES)
