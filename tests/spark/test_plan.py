"""Input is cut at batch boundaries only, whatever the index says, and small files go together."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest

from kafka_tools.errors import InputError
from kafka_tools.records.batches import batches
from kafka_tools.records.build import build_batch
from kafka_tools.spark.columns.files import directories, record_batches
from kafka_tools.spark.columns.tables import FILE_COLUMNS
from kafka_tools.spark.cutting import cut
from kafka_tools.spark.options import FILE_OPTIONS, parse_options
from kafka_tools.spark.plan import OPEN_COST_BYTES, pack
from kafka_tools.spark.segments import Range, partitions, segments
from kafka_tools.storage.indexes import OFFSET_ENTRY

RANGE_BYTES = 4096


def write_segment(folder: Path, base_offset: int = 0, count: int = 200, *, index: bool = True) -> Path:
    """A segment of ``count`` batches with an index entry every few of them."""
    folder.mkdir(parents=True, exist_ok=True)
    pick = random.Random(base_offset)
    path = folder / f"{base_offset:020d}.log"
    entries = bytearray()
    data = bytearray()
    for number in range(count):
        batch = build_batch([(1, None, pick.randbytes(pick.randrange(400)), ())], base_offset=base_offset + number)
        if number % 5 == 4:
            entries += OFFSET_ENTRY.pack(number, len(data))
        data += batch
    path.write_bytes(data)
    if index:
        path.with_suffix(".index").write_bytes(entries)
    return path


def ranges_of(folder: Path, range_bytes: int = RANGE_BYTES) -> list[Range]:
    return [part for segment in segments(str(folder), ()) for part in cut(segment, range_bytes)]


def assert_sound(ranges: list[Range], path: Path) -> None:
    """Together the ranges are the file, and each starts at a batch."""
    data = path.read_bytes()
    starts = {view.position for view in batches(data)}
    assert ranges[0].start == 0
    assert ranges[-1].end == len(data)
    for before, after in pairwise(ranges):
        assert before.end == after.start
        assert after.start in starts


@pytest.mark.parametrize("index", [True, False])
def test_a_segment_is_many_ranges_of_bounded_size(tmp_path: Path, index: bool) -> None:
    path = write_segment(tmp_path / "orders-0", index=index)
    ranges = ranges_of(tmp_path)
    assert_sound(ranges, path)
    assert len(ranges) > 5
    assert max(each.end - each.start for each in ranges) <= 2 * RANGE_BYTES


def test_an_index_that_lies_makes_no_wrong_cut(tmp_path: Path) -> None:
    path = write_segment(tmp_path / "orders-0")
    pick = random.Random(1)
    for seed in range(20):
        path.with_suffix(".index").write_bytes(pick.randbytes(8 * 50) if seed % 2 else b"\x00" * 800)
        assert_sound(ranges_of(tmp_path), path)


def test_an_entry_into_the_middle_of_a_batch_is_not_taken(tmp_path: Path) -> None:
    path = write_segment(tmp_path / "orders-0")
    entries = path.with_suffix(".index").read_bytes()
    moved = bytearray(entries)
    for at in range(0, len(moved), 8):
        moved[at + 4 : at + 8] = (int.from_bytes(moved[at + 4 : at + 8], "big") + 1).to_bytes(4, "big")
    path.with_suffix(".index").write_bytes(moved)
    assert_sound(ranges_of(tmp_path), path)


def test_behind_damage_there_are_cuts_again(tmp_path: Path) -> None:
    path = write_segment(tmp_path / "orders-0", index=False)
    data = bytearray(path.read_bytes())
    starts = [view.position for view in batches(bytes(data))]
    hurt = starts[100]
    data[hurt + 8 : hurt + 12] = b"\xff\xff\xff\xff"
    path.write_bytes(data)
    ranges = ranges_of(tmp_path)
    assert {each.start for each in ranges} <= set(starts)
    assert [each.end for each in ranges] == [*(each.start for each in ranges[1:]), len(data)]
    assert max(each.end - each.start for each in ranges) <= 2 * RANGE_BYTES
    assert sum(each.start > hurt for each in ranges) > 3


def test_a_record_that_holds_batches_makes_no_wrong_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where batches are searched for, as in a store: one within a record is no place to begin."""
    from kafka_tools.spark import cutting

    inner = b"".join(build_batch([(1, None, bytes(500), ())], base_offset=50 + n) for n in range(12))
    parts = [build_batch([(1, None, inner, ())], base_offset=n) for n in range(8)]
    path = tmp_path / "orders-0" / f"{0:020d}.log"
    path.parent.mkdir()
    path.write_bytes(b"".join(parts))
    monkeypatch.setattr(cutting, "is_remote", lambda file: file.endswith(".log"))
    (segment,) = segments(str(tmp_path), ())
    ranges = cut(segment, RANGE_BYTES)
    assert_sound(ranges, path)
    assert len(ranges) > 3


def test_small_segments_go_together_and_the_largest_tasks_come_first(tmp_path: Path) -> None:
    for number in range(30):
        write_segment(tmp_path / f"orders-{number}", count=3)
    write_segment(tmp_path / "payments-0", count=400)
    ranges = ranges_of(tmp_path, 64 * 1024)
    tasks = pack(ranges, 64 * 1024 + 9 * OPEN_COST_BYTES)
    assert sorted(each for task in tasks for each in task) == sorted(ranges)
    assert len(tasks) < len(ranges) / 3
    costs = [sum(each.end - each.start + OPEN_COST_BYTES for each in task) for task in tasks]
    assert costs == sorted(costs, reverse=True)


def test_topics_are_chosen_by_pattern_and_directories_in_transit_left_out(tmp_path: Path) -> None:
    names = ["orders-0", "orders-1", "payments-0", f"orders-2.{'0' * 32}-delete", f"orders-3.{'1' * 32}-future"]
    for name in names:
        write_segment(tmp_path / name, count=1)
    (tmp_path / "not-a-partition").mkdir()
    assert [(each.topic, each.partition) for each in segments(str(tmp_path), ())] == [
        ("orders", 0),
        ("orders", 1),
        ("payments", 0),
    ]
    assert {each.topic for each in segments(str(tmp_path), ("pay*", "nothing"))} == {"payments"}


def test_one_partition_directory_can_be_given(tmp_path: Path) -> None:
    write_segment(tmp_path / "orders-7", 0, count=2)
    write_segment(tmp_path / "orders-7", 2, count=2)
    found = list(segments(str(tmp_path / "orders-7"), ()))
    assert [(each.topic, each.partition, each.base_offset, each.last_segment) for each in found] == [
        ("orders", 7, 0, False),
        ("orders", 7, 2, True),
    ]


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"log directory .*/missing: No such file or directory"):
        list(segments(str(tmp_path / "missing"), ()))


def test_what_a_broker_removes_while_directories_are_listed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafka_tools.spark import segments as module

    for number in range(3):
        write_segment(tmp_path / f"orders-{number}", count=1)
    listed = module.partition_files

    def vanishing(directory: str) -> object:
        if directory.endswith("orders-1"):
            raise FileNotFoundError(2, "No such file or directory", directory)
        return listed(directory)

    monkeypatch.setattr(module, "partition_files", vanishing)
    assert [each.partition for each in segments(str(tmp_path), ())] == [0, 2]


def test_a_partition_without_segments_is_passed_over(tmp_path: Path) -> None:
    from kafka_tools.spark.columns.tables import BATCH_COLUMNS
    from kafka_tools.spark.options import parse_options
    from kafka_tools.spark.plan import plan

    (tmp_path / "empty-0").mkdir()
    write_segment(tmp_path / "orders-0", 0, count=2)
    assert [each.topic for each in plan(parse_options({"path": str(tmp_path)}, BATCH_COLUMNS))] == ["orders"]


def test_offsets_choose_segments_and_where_reading_begins(tmp_path: Path) -> None:
    from kafka_tools.spark.columns.tables import BATCH_COLUMNS
    from kafka_tools.spark.options import parse_options
    from kafka_tools.spark.plan import plan

    for base_offset in (0, 200, 400):
        path = write_segment(tmp_path / "orders-0", base_offset, count=200)
    path = path.with_name(f"{200:020d}.log")
    planned = list(plan(parse_options({"path": str(tmp_path), "minOffset": "250", "maxOffset": "399"}, BATCH_COLUMNS)))
    assert [(each.base_offset, each.end) for each in planned] == [(200, path.stat().st_size)]
    starts = {view.position: view.base_offset for view in batches(path.read_bytes())}
    assert 240 < starts[planned[0].start] <= 250
    path.with_suffix(".index").write_bytes(bytes(8000))
    planned = list(plan(parse_options({"path": str(tmp_path), "minOffset": "250", "maxOffset": "399"}, BATCH_COLUMNS)))
    assert [each.start for each in planned] == [0]


def test_a_log_directory_may_be_called_like_a_partition(tmp_path: Path) -> None:
    """As /mnt/broker-1 and /data/kafka-2 are: what lies in it tells."""
    write_segment(tmp_path / "broker-1" / "orders-0", count=2)
    (tmp_path / "broker-1" / "meta.properties").write_text("version=1\n")
    (tmp_path / "broker-2").mkdir()
    assert [(found.topic, found.partition) for found in partitions(str(tmp_path / "broker-1"))] == [("orders", 0)]
    assert list(partitions(str(tmp_path / "broker-2"))) == []
    alone = str(tmp_path / "broker-1" / "orders-0")
    assert [(found.topic, found.partition) for found in partitions(alone)] == [("orders", 0)]
    options = parse_options({"path": str(tmp_path / "broker-1")}, FILE_COLUMNS, FILE_OPTIONS)
    rows = [row for task in directories(options) for each in task for part in record_batches(each, options)
            for row in part.to_pylist()]  # fmt: skip
    assert {row["topic"] for row in rows if row["file"].endswith("meta.properties")} == {None}
    assert {row["topic"] for row in rows if row["kind"] == "log"} == {"orders"}
