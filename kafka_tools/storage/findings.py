"""What is wrong in data on disk, as values.

Whoever reads tolerantly yields these; printing and counting are the caller's business.
"""

from __future__ import annotations

from typing import NamedTuple

REMARKS = frozenset({"offset-gap", "index-batch-range"})
"""Kinds that are no damage: compaction and old brokers make them."""


class Finding(NamedTuple):
    """One thing wrong (or remarkable) in a file.

    ``position`` is a byte offset in the file and ``offset`` a record offset, None where unknown. ``kind`` is a
    stable word for scripts, ``text`` one sentence for people.
    """

    path: str
    kind: str
    text: str
    position: int | None = None
    offset: int | None = None

    @property
    def is_damage(self) -> bool:
        return self.kind not in REMARKS

    def __str__(self) -> str:
        at = "" if self.position is None else f" at {self.position}"
        return f"{self.path}{at}: {self.text}"
