"""The search behind damage: what it finds, what it takes for rubbish, and what it may cost."""

from __future__ import annotations

import os
import random
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.records.batches import BatchView
from kafka_tools.records.build import build_batch
from kafka_tools.storage import search
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.search import BatchSearch
from kafka_tools.storage.segment import Segment

BATCH = build_batch([(1, b"key", b"value", ()), (2, None, None, ())])
RUBBISH = bytes(8) + b"\xff" * 30
CODECS = ("none", "gzip", "snappy", "lz4")


def old(magic: int, codec: str = "none", base_offset: int = 7) -> bytes:
    return build_batch(
        [(1, b"key", b"value", ()), (2, None, b"v", ())], magic=magic, codec=codec, base_offset=base_offset
    )


def log(tmp_path: Path, data: bytes, base_offset: int = 0) -> Segment:
    path = tmp_path / f"{base_offset:020d}.log"
    path.write_bytes(data)
    return Segment(path)


def found_in(data: bytes, start: int = 0, before: int | None = None, base_offset: int = 0) -> int | None:
    look = BatchSearch(lambda position, most: data[position : position + most], base_offset)
    return look.next(start, len(data), len(data) if before is None else before)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("magic", [0, 1])
def test_reading_goes_on_at_old_messages(magic: int, codec: str, tmp_path: Path) -> None:
    data = old(magic, codec)
    with log(tmp_path, data + RUBBISH + data) as segment:
        items = list(segment.batches())
    per_copy = 1 if codec != "none" else 2
    kinds = [item.kind if isinstance(item, Finding) else item.magic for item in items]
    assert kinds == [magic] * per_copy + ["bad-length", "skipped"] + [magic] * per_copy
    resumed = items[per_copy + 2]
    assert isinstance(resumed, BatchView)
    assert resumed.file_position == len(data + RUBBISH)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("value", [None, b"", b"v" * 20_000])
def test_the_last_message_of_a_file_is_found(magic: int, value: bytes | None) -> None:
    """The smallest are shorter than the header of a magic 2 batch; the largest go beyond what was read at first."""
    message = build_batch([(1, None, value, ())], magic=magic)
    for rubbish in (1, 26, 61, 8 * 1024, 300_000):
        assert found_in(b"\xff" * rubbish + message) == rubbish


@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrong_length_among_old_messages_hides_none_of_them(magic: int, tmp_path: Path) -> None:
    message = build_batch([(1, b"key", b"value", ())], magic=magic, base_offset=5)
    liar = bytearray(message)
    liar[8:12] = (len(message) * 2 + 3).to_bytes(4, "big")
    with log(tmp_path, bytes(liar) + message * 4) as segment:
        view = next(segment.walk())
        assert segment.hidden_in(view) == len(message)
    # Only the contents are wrong where the next message starts as the length says, right or wrong itself.
    broken = message[:-1] + b"?"
    with log(tmp_path, broken * 2 + message) as segment:
        assert segment.hidden_in(next(segment.walk())) is None


def test_a_message_that_does_not_end_with_its_value_costs_no_crc() -> None:
    for at, size in ((18, 2), (18, -2), (25, 4), (25, -1), (8, 30)):
        liar = bytearray(build_batch([(1, b"key", b"value", ())], magic=0) + bytes(10))
        liar[at : at + 4] = size.to_bytes(4, "big", signed=True)
        with patch.object(BatchSearch, "_crc_ok", side_effect=AssertionError("read for nothing")):
            assert found_in(bytes(liar)) is None


def test_messages_within_a_wrapper_are_none_of_the_log() -> None:
    """What cannot be compressed is stored as it is; its offsets are relative."""
    rows = [(1, None, random.Random(number).randbytes(9000), ()) for number in range(8)]
    wrapper = build_batch(rows, magic=1, codec="lz4", base_offset=1000)
    assert found_in(wrapper, 1) is not None
    assert found_in(wrapper, 1, base_offset=900) is None
    assert found_in(wrapper, base_offset=900) == 0


def test_what_only_looks_like_a_header_is_passed_over(tmp_path: Path) -> None:
    """Sizes, offsets and counts that cannot be cost no CRC; a real batch behind a wrong CRC's length is found."""
    liar = bytearray(BATCH)
    liar[8:12] = (len(BATCH) * 3).to_bytes(4, "big")  # its CRC cannot be right
    with log(tmp_path, BATCH + RUBBISH + bytes(liar) + BATCH * 3) as segment:
        position = len(BATCH) + len(RUBBISH)
        assert segment.next_plausible(1) == position + len(BATCH)
        positions = [item.file_position for item in segment.batches() if isinstance(item, BatchView)]
    assert positions == [0, *(position + len(BATCH) * number for number in (1, 2, 3))]


def test_made_up_headers_cost_no_more_than_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each claims all that follows. The searches of a file share what their CRCs may read; small batches stay found."""
    crc_bytes = 0
    extend = search.crc32c_extend

    def counted(crc: int, data: bytes) -> int:
        nonlocal crc_bytes
        crc_bytes += len(data)
        return extend(crc, data)

    monkeypatch.setattr(search, "_CRC_BYTES", 10_000)
    monkeypatch.setattr(search, "crc32c_extend", counted)
    block_bytes = len(RUBBISH + BATCH * 2)
    data = bytearray()
    for number in range(300):
        liar = bytearray(BATCH)
        liar[8:12] = ((300 - number) * block_bytes - len(RUBBISH) - 12).to_bytes(4, "big")
        data += RUBBISH + liar + BATCH
    with log(tmp_path, bytes(data)) as segment:
        at, found = 0, []
        while (position := segment.next_plausible(at)) is not None:
            found.append(position)
            at = position + len(BATCH)
    assert found == [block_bytes * (number + 1) - len(BATCH) for number in range(300)]
    assert crc_bytes <= 10_000 + len(data)


def test_what_is_found_costs_nothing_of_what_made_up_headers_may_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark looks for the start of each of its ranges, megabytes apart."""
    monkeypatch.setattr(search, "_CRC_BYTES", len(BATCH))
    data = (RUBBISH + BATCH) * 50
    look = BatchSearch(lambda position, most: data[position : position + most], 0)
    for number in range(50):
        start = number * len(RUBBISH + BATCH) + len(RUBBISH)
        assert look.next(start, len(data), len(data)) == start


def test_a_made_up_size_takes_no_memory(tmp_path: Path) -> None:
    """The CRC is read in parts, however long the batch claims to be."""
    liar = bytearray(BATCH)
    liar[8:12] = (40 << 20).to_bytes(4, "big")
    sizes = []
    pread = os.pread

    def measured(fd: int, size: int, position: int) -> bytes:
        sizes.append(size)
        return pread(fd, size, position)

    with log(tmp_path, bytes(liar)) as segment:
        os.truncate(segment.path, 64 << 20)
        segment.refresh()
        with patch.object(os, "pread", measured):
            assert segment.next_plausible(0) is None
    assert max(sizes) <= 1 << 20
    assert sum(sizes) > 100 << 20  # it was read, all of it


PIECES = st.one_of(
    st.binary(max_size=80),
    st.integers(1, 90).map(bytes),
    st.sampled_from([BATCH, BATCH[:40], *(old(magic, codec) for magic in (0, 1) for codec in CODECS)]),
    st.sampled_from([old(0)[:-1] + b"?", old(1)[9:], build_batch([], base_offset=9)]),
)


def slowly(data: bytes, start: int, before: int) -> int | None:
    """The search as it is defined: every byte is tried."""
    for at in range(start, min(before, len(data) - 25)):
        size_bytes = 12 + int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        magic = data[at + 16]
        least = {0: 26, 1: 34, 2: 61}.get(magic, len(data))
        if not least <= size_bytes <= len(data) - at or int.from_bytes(data[at : at + 8], "big") >= 2**31:
            continue
        view = BatchView(data[at : at + size_bytes], 0)
        if view.crc_ok():
            return at
    return None


@given(st.lists(PIECES, max_size=8).map(b"".join), st.integers(0, 100), st.none() | st.integers(0, 400))
def test_it_finds_what_trying_every_byte_finds(data: bytes, start: int, before: int | None) -> None:
    with patch.object(search, "FIRST_BYTES", 100), patch.object(search, "_WINDOW_BYTES", 150):
        assert found_in(data, start, before) == slowly(data, start, len(data) if before is None else before)
