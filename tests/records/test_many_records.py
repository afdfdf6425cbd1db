"""Many records encoded at once have the bytes of records that are encoded one by one."""

from __future__ import annotations

from random import Random

import pytest

from kafka_tools.records.build import Row, build_batch, encode_record
from kafka_tools.records.many_records import encode_records, produced_batch

NOW_MS = 1_700_000_000_000


def one_by_one(rows: list[Row]) -> bytes:
    return b"".join(encode_record(row[0] - rows[0][0], delta, *row[1:]) for delta, row in enumerate(rows))


def rows_of(shape: str, count: int, random: Random) -> list[Row]:
    """``shape``: letters for what differs between records."""
    rows: list[Row] = []
    for number in range(count):
        value = random.randbytes(random.choice((0, 1, 40, 63, 64, 8_191, 8_192))) if "v" in shape else b"v" * 100
        key = b"%d" % number if "k" in shape else b"same" if "K" in shape else None
        if "n" in shape and number % 3 == 0:
            key = None
        time_ms = NOW_MS + (random.choice((-70, -1, 0, 1, 63, 64, 10**6)) if "t" in shape else 0)
        headers = [("h", b"1"), ("none", None)] if "h" in shape and number % 2 else []
        rows.append((time_ms, key, None if "N" in shape and number % 5 == 0 else value, headers))
    return rows


@pytest.mark.parametrize("shape", ["", "v", "k", "K", "t", "vt", "kt", "vk", "vkt", "nk", "N", "h", "vkthnN"])
@pytest.mark.parametrize("count", [1, 2, 15, 16, 63, 64, 65, 300])
def test_every_shape_of_records(shape: str, count: int) -> None:
    rows = rows_of(shape, count, Random(count))
    assert encode_records(rows) == one_by_one(rows)


@pytest.mark.parametrize("shape", ["", "kt"])
def test_offsets_of_every_length(shape: str) -> None:
    rows = [(time_ms, key, b"", headers) for time_ms, key, _, headers in rows_of(shape, 20_000, Random(1))]
    assert encode_records(rows) == one_by_one(rows)


@pytest.mark.parametrize("codec", ["none", "gzip", "lz4"])
def test_a_batch_of_a_producer(codec: str) -> None:
    rows = rows_of("kt", 100, Random(2))
    identity = {"producer_id": 7, "producer_epoch": 3, "base_sequence": 2**31 - 50}
    expected = build_batch(rows, codec=codec, transactional=True, **identity)  # type: ignore[arg-type]
    assert produced_batch(rows, codec=codec, transactional=True, **identity) == expected  # type: ignore[arg-type]
