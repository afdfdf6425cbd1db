"""XXH64 with seed 42 of keys and values, the hash in the tables.

Spark's own ``xxhash64(column)`` gives the same number for the bytes as a binary column. So hashes of a log can be
joined with hashes of other tables, on every machine and in every version. The hash does not withstand people who
construct collisions. Seed: Spark's ``XxHash64``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 42


def xxh64_spans(arena: bytes | memoryview, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The hash of ``arena[start : start + size]`` for each span, as Spark's signed numbers. No size is negative."""
    from xxhash import xxh64_intdigest

    data = memoryview(arena)
    spans = zip(starts.tolist(), (starts + sizes).tolist(), strict=True)
    hashes = (xxh64_intdigest(data[start:end], SEED) for start, end in spans)
    return np.fromiter(hashes, np.uint64, len(starts)).view(np.int64)
