"""The header's layout, the walk from batch to batch, and its vectorised twin."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest

pytest.importorskip("numpy")

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import kafka_tools
from kafka_tools.records import chain, chain_columns
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.build import build_batch
from tests.corpus.golden import cases, golden_root

PACKAGE = Path(kafka_tools.__file__).parent


def test_fields_lie_where_kafka_has_them() -> None:
    """``DefaultRecordBatch`` names these offsets."""
    assert chain.POSITIONS == {
        "base_offset": 0, "length": 8, "leader_epoch": 12, "magic": 16, "crc": 17, "attributes": 21,
        "last_offset_delta": 23, "base_timestamp": 27, "max_timestamp": 35, "producer_id": 43, "producer_epoch": 51,
        "base_sequence": 53, "record_count": 57,
    }  # fmt: skip
    assert (chain.HEADER_BYTES, chain.PREFIX_BYTES, chain.LEAST_LENGTH) == (61, 12, 14)
    assert (chain.LEGACY_HEADER.size, chain.LEGACY_CRC_POSITION, chain.LEGACY_CRC_FROM) == (18, 12, 16)
    assert chain_columns.HEADER.itemsize == chain.HEADER_BYTES
    assert {name: offset for name, (_, offset) in chain_columns.HEADER.fields.items()} == chain.POSITIONS
    assert len(chain.OF_FILES) == len(chain.OF_KNOWN_MAGIC) == len(chain.OF_MAGIC_2) == len(chain.OF_ANY_MAGIC) == 256


def test_the_columns_say_what_a_view_says() -> None:
    data = bytearray(17)
    data += build_batch([(5, b"k", b"v", ())], base_offset=9, producer_id=7, producer_epoch=3, base_sequence=11)
    data += build_batch([(8, b"k", b"v", ())] * 3, base_offset=2**40, leader_epoch=6, control=True)
    starts, _ = chain.follow(data, 17)
    views = [BatchView(data, start) for start in starts]
    headers = chain_columns.gather(bytes(data), starts)
    for name in chain.POSITIONS.keys() - {"length", "leader_epoch", "last_offset_delta"}:
        assert headers[name].tolist() == [getattr(view, name) for view in views]
        assert chain_columns.field(bytes(data), name, np.array(starts)).tolist() == headers[name].tolist()
    assert headers["leader_epoch"].tolist() == [view.partition_leader_epoch for view in views]
    assert [chain.size_at(data, start) for start in starts] == [view.size_bytes for view in views]
    assert [chain.offsets_at(data, start) for start in starts] == [(9, 9), (2**40, 2**40 + 2)]


def naively(data: bytes, end: int, least: tuple[int, ...]) -> tuple[list[int], int]:
    starts, at = [], 0
    while at + 17 <= len(data):
        length = int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        if length < least[data[at + 16]] or at + 12 + length > end:
            break
        starts.append(at)
        at += 12 + length
    return starts, at


@pytest.mark.parametrize("case", [case.id for case in cases()][::7])
def test_it_follows_what_every_release_wrote(case: str) -> None:
    for path in (golden_root() / case).rglob("*.log"):
        data = path.read_bytes()[: 1 << 20]
        for least in (chain.OF_FILES, chain.OF_KNOWN_MAGIC, chain.OF_MAGIC_2, chain.OF_ANY_MAGIC):
            assert chain.follow(data, least=least) == naively(data, len(data), least)
        half = data[: len(data) // 2]
        assert chain.follow(half, 0, len(data)) == naively(half, len(data), chain.OF_FILES)
        assert chain_columns.follow_many(data) == chain.follow(data, least=chain.OF_MAGIC_2)


def embedded(pick: random.Random) -> bytes:
    """What looks like batches to whoever does not follow the lengths."""
    inner = build_batch([(1, None, pick.randbytes(pick.randrange(20)), ())], base_offset=pick.randrange(1000))
    return bytes([2]) * pick.randrange(40) + inner * pick.randrange(1, 3) + pick.randbytes(pick.randrange(40))


@settings(deadline=None, max_examples=150)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 60), spoiled=st.integers(0, 6), cut=st.integers(0, 90))
def test_small_batches_are_found_where_following_them_leads(seed: int, count: int, spoiled: int, cut: int) -> None:
    """Also where records hold batches, where bytes are damaged, and where the data end within a batch."""
    pick = random.Random(seed)
    plain = (b"v", bytes(9), bytes([2] * 30))
    made = (pick.choice(plain) if pick.random() < 0.7 else embedded(pick) for _ in range(count))
    data = bytearray().join(build_batch([(1, None, value, ())], base_offset=n) for n, value in enumerate(made))
    for _ in range(spoiled):
        data[pick.randrange(len(data))] ^= 1 << pick.randrange(8)
    end = max(len(data) - cut, 0)
    plainly = chain.follow(data, 0, end, chain.OF_MAGIC_2)
    assert plainly == naively(bytes(data[:end]), end, chain.OF_MAGIC_2)
    for first_bytes in (1, 300):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(chain_columns, "_FIRST_BYTES", first_bytes)
            patch.setattr(chain_columns, "_MANY", -1)
            assert chain_columns.follow_many(data, 0, end) == plainly


def test_a_thousand_small_batches_take_no_step_each(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytearray().join(build_batch([(1, None, b"v", ())], base_offset=n) for n in range(1000))
    steps = []
    plain = chain_columns.follow

    def counted(*given: object) -> tuple[list[int], int]:
        found = plain(*given)
        steps.append(len(found[0]))
        return found

    monkeypatch.setattr(chain_columns, "follow", counted)
    starts, after = chain_columns.follow_many(data)
    assert (starts, after) == ([view.position for view in batches(data)], len(data))
    assert sum(steps) < 300


OTHER_LAYOUTS = {("storage/indexes.py", ">qi")}  # an entry of a time index


def copied_layouts(path: str, tree: ast.Module) -> list[str]:
    """Where a module writes down again what a header looks like: its struct, or its positions."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            if text.startswith((">qi", ">i4xb", ">i4xB", ">hiqq")) and (path, text) not in OTHER_LAYOUTS:
                found.append(f"{path}:{node.lineno}: {text}")
        numbers = [node.left, node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else []
        if isinstance(node, ast.Subscript):
            numbers = [node.slice]
            if isinstance(node.slice, ast.Slice):
                numbers = [edge for edge in (node.slice.lower, node.slice.upper) if edge is not None]
        for number in numbers:
            positions = {17, 21, 22, 23, 27, 35, 43, 51, 53, 57, 61}
            if isinstance(number, ast.Constant) and type(number.value) is int and number.value in positions:
                found.append(f"{path}:{number.lineno}: {number.value}")
        if isinstance(node, ast.Slice) and ast.unparse(node) == "8:12":
            found.append(f"{path}:{node.lineno}: 8:12")
    return found


def test_the_layout_of_a_header_stands_once() -> None:
    found = []
    for folder in ("records", "storage", "dump", "spark", "clients", "broker_embedded"):
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            name = path.relative_to(PACKAGE).as_posix()
            if name != "records/chain.py":
                found += copied_layouts(name, ast.parse(path.read_text(encoding="utf-8")))
    assert found == []
