"""The hash of keys and values: the numbers of the xxHash library and of Spark, for spans of every size."""

from __future__ import annotations

import random

import numpy as np
import pytest
import xxhash

from kafka_tools.spark.xxh64 import SEED, xxh64_spans


def unsigned(hashes: np.ndarray) -> list[int]:
    return [int(value) for value in hashes.view(np.uint64)]


def spans(seed: int, sizes: list[int]) -> tuple[bytes, np.ndarray, np.ndarray]:
    pick = random.Random(seed)
    arena, starts = bytearray(), []
    for size in sizes:
        arena += pick.randbytes(pick.randrange(5))
        starts.append(len(arena))
        arena += pick.randbytes(size)
    return bytes(arena), np.array(starts, np.int64), np.array(sizes, np.int64)


@pytest.mark.parametrize("order", ["ascending", "mixed", "equal"])
def test_many_spans_have_the_librarys_hashes(order: str) -> None:
    sizes = [*range(200), 1000, 1023, 1024, 1025, 5000]
    if order == "mixed":
        random.Random(3).shuffle(sizes)
    if order == "equal":
        sizes = [100] * 50
    arena, starts, counts = spans(1, sizes)
    expected = [xxhash.xxh64_intdigest(arena[s : s + n], SEED) for s, n in zip(starts, sizes, strict=True)]
    assert unsigned(xxh64_spans(arena, starts, counts)) == expected


def test_no_spans() -> None:
    none = np.zeros(0, np.int64)
    assert len(xxh64_spans(b"", none, none)) == 0
