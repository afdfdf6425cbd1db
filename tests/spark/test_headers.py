"""The fast header reader against the plain one, batch by batch, with windows of every size and bytes of every kind."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

pytest.importorskip("numpy")

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.build import build_batch
from kafka_tools.records.chain import HEADER_BYTES
from kafka_tools.spark.files import open_file
from kafka_tools.spark.headers import Headers, concatenate, scan


def scanned(
    path: Path, start: int, end: int, *, check_crc: bool = True, window: int = 1024
) -> tuple[Headers | None, int]:
    runs = []
    with open_file(str(path)) as file:
        walk = scan(file, start, end, check_crc=check_crc, window_bytes=window)
        while True:
            try:
                runs.append(next(walk))
            except StopIteration as stop:
                return (concatenate(runs) if runs else None), stop.value


def some_batches(seed: int, count: int) -> bytes:
    pick = random.Random(seed)
    data = bytearray()
    offset = pick.randrange(10**6)
    for _ in range(count):
        records = [
            (pick.randrange(2**41), None, pick.randbytes(pick.choice((0, 5, 300, 3000))), ())
            for _ in range(pick.randrange(1, 6))
        ]
        data += build_batch(
            records,
            base_offset=offset,
            codec=pick.choice(("none", "gzip", "zstd")),
            producer_id=pick.choice((-1, 7)),
            transactional=pick.random() < 0.2,
        )
        offset += len(records) + pick.randrange(3)
    return bytes(data)


def assert_same(headers: Headers, views: list[BatchView]) -> None:
    assert headers.positions.tolist() == [view.position for view in views]
    assert headers.fields["base_offset"].tolist() == [view.base_offset for view in views]
    assert headers.fields["record_count"].tolist() == [view.record_count for view in views]
    assert headers.fields["crc"].tolist() == [view.crc for view in views]
    assert headers.fields["max_timestamp"].tolist() == [view.max_timestamp for view in views]
    assert headers.fields["producer_id"].tolist() == [view.producer_id for view in views]
    assert headers.fields["attributes"].tolist() == [view.attributes for view in views]
    assert headers.crc_ok is not None
    assert headers.crc_ok.tolist() == [view.crc_ok() for view in views]


@pytest.mark.parametrize("window", [HEADER_BYTES, 100, 1000, 5000, 1 << 20])
def test_it_reads_what_the_plain_reader_reads(tmp_path: Path, window: int) -> None:
    data = some_batches(window, 60)
    path = tmp_path / "log"
    path.write_bytes(data)
    headers, end = scanned(path, 0, len(data), window=window)
    assert end == len(data) and headers is not None
    assert_same(headers, list(batches(data)))


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), at=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_flipped_byte_is_a_wrong_crc_or_the_place_where_it_stops(
    tmp_path_factory: pytest.TempPathFactory, seed: int, at: float, flip: int
) -> None:
    data = bytearray(some_batches(seed, 8))
    place = int(at * len(data))
    data[place] ^= flip
    path = tmp_path_factory.mktemp("flip") / "log"
    path.write_bytes(data)
    headers, end = scanned(path, 0, len(data), window=700)
    views = []
    for view in batches(bytes(data), strict=False):
        if view.magic != 2:
            break
        views.append(view)
    if headers is None:
        assert views == [] and end == 0
    else:
        assert_same(headers, views)
        assert end == views[-1].position + views[-1].size_bytes


def test_a_range_ends_with_the_batch_that_starts_in_it(tmp_path: Path) -> None:
    parts = [build_batch([(1, None, b"x" * 50, ())], base_offset=n) for n in range(10)]
    data = b"".join(parts)
    path = tmp_path / "log"
    path.write_bytes(data)
    size = len(parts[0])
    headers, end = scanned(path, 2 * size, 5 * size)
    assert headers is not None
    assert headers.fields["base_offset"].tolist() == [2, 3, 4]
    assert end == 5 * size


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 48, 2**31 - 1])
def test_a_hostile_length_stops_it_at_once(tmp_path: Path, length: int) -> None:
    good = build_batch([(1, None, b"x", ())])
    path = tmp_path / "log"
    path.write_bytes(good + good[:8] + length.to_bytes(4, "big", signed=True) + good[12:] * 5)
    headers, end = scanned(path, 0, path.stat().st_size)
    assert headers is not None
    assert (len(headers.positions), end) == (1, len(good))


def test_a_batch_larger_than_the_window_is_checked_in_pieces(tmp_path: Path) -> None:
    data = build_batch([(1, None, random.Random(1).randbytes(200_000), ())])
    path = tmp_path / "log"
    path.write_bytes(data)
    headers, end = scanned(path, 0, len(data), window=4096)
    assert headers is not None and headers.crc_ok is not None
    assert (headers.crc_ok.tolist(), end) == ([True], len(data))
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    headers, _ = scanned(path, 0, len(data), window=4096)
    assert headers is not None and headers.crc_ok is not None
    assert headers.crc_ok.tolist() == [False]
