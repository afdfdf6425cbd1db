"""Log directories as brokers left them: names, segments in windows, indexes, snapshots, checkpoints, the walk."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_tools.errors import CorruptBatch, CorruptIndex, InputError
from kafka_tools.records.batches import BatchView
from kafka_tools.records.build import build_batch
from kafka_tools.storage import checkpoints, indexes, layout, names, snapshots
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.segment import Segment
from kafka_tools.values import TopicPartition
from tests.corpus.golden import case, files

BATCH = build_batch([(1, b"key", b"value", ()), (2, None, None, ())])


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("00000000000000000042.log", names.FileName(42, ".log")),
        ("00000000000000000042.timeindex", names.FileName(42, ".timeindex")),
        ("00000000000000000042.index.deleted", names.FileName(42, ".index", ".deleted")),
        ("00000000000000000042.log.swap", names.FileName(42, ".log", ".swap")),
        ("00000000000000000042-0000000007.checkpoint", names.FileName(42, ".checkpoint", "", 7)),
        ("leader-epoch-checkpoint", None),
        ("partition.metadata", None),
        ("notes.log", None),
        ("00000000000000000042-0000000007.log", None),
        ("00000000000000000042.log.txt", None),
    ],
)
def test_names_of_files_are_told_apart(name: str, parsed: names.FileName | None) -> None:
    assert names.parse_file_name(name) == parsed


def test_names_of_partitions_are_told_apart() -> None:
    assert names.partition_of_dir("orders-3") == TopicPartition("orders", 3)
    assert names.partition_of_dir("a-b.c_d-12") == TopicPartition("a-b.c_d", 12)
    unique = "0123456789abcdef0123456789abcdef"
    for state in ("delete", "future", "stray"):
        parsed = names.parse_partition_dir(f"orders-3.{unique}-{state}")
        assert parsed == (TopicPartition("orders", 3), state, unique)
    for other in ("orders", "orders-", "orders-x", "-3", "orders-99999999999", "orders-3.bak"):
        with pytest.raises(InputError):
            names.partition_of_dir(other)
    assert names.parse_file_name(names.log_file_name(5)) == names.FileName(5, ".log")
    assert names.parse_file_name(names.checkpoint_name(5, 2)) == names.FileName(5, ".checkpoint", "", 2)


@pytest.mark.parametrize("window_bytes", [70, 300, 4 << 20])
def test_batches_are_the_same_in_every_window(window_bytes: int) -> None:
    for path in case("mixed-22").cwd.glob("*/*.log"):
        with Segment(path) as segment:
            expected = [(view.file_position, view.raw()) for view in segment.walk(window_bytes=1 << 26)]
            found = [(view.file_position, view.raw()) for view in segment.walk(window_bytes=window_bytes)]
        assert found == expected
        assert b"".join(raw for _, raw in found) == path.read_bytes()


def log(tmp_path: Path, data: bytes) -> Segment:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data)
    return Segment(path)


def test_reading_goes_on_at_the_next_whole_batch(tmp_path: Path) -> None:
    with log(tmp_path, BATCH + b"\x00" * 8 + b"\xff" * 30 + BATCH + bytes(100)) as segment:
        items = list(segment.batches())
    kinds = [item.kind if isinstance(item, Finding) else item.file_position for item in items]
    assert kinds == [0, "bad-length", "skipped", len(BATCH) + 38, "zero-tail"]


def test_strict_reading_raises_at_damage_and_at_a_torn_tail(tmp_path: Path) -> None:
    for tail in (BATCH[:-1], bytes(100), b"\x00" * 8 + b"\xff" * 30):
        with log(tmp_path, BATCH + tail) as segment:
            items = segment.batches(strict=True)
            assert isinstance(next(items), BatchView)
            with pytest.raises(CorruptBatch) as caught:
                next(items)
            assert caught.value.position == len(BATCH)


@pytest.mark.req("REC-12")
def test_exactly_17_bytes_left_are_the_end(tmp_path: Path) -> None:
    header = b"\x00" * 8 + b"\x00\x00\x00\x01" + b"\x00" * 5  # a length that would be an error
    with log(tmp_path, BATCH + header) as segment:
        assert len(list(segment.walk())) == 1
    with log(tmp_path, BATCH + header + b"\x00") as segment, pytest.raises(CorruptBatch):
        list(segment.walk())


@pytest.mark.req("REC-13")
def test_an_undersized_batch_names_size_least_size_and_file(tmp_path: Path) -> None:
    with log(tmp_path, b"\x00" * 11 + b"\x07" + b"\x00" * 60) as segment:
        with pytest.raises(CorruptBatch) as caught:
            list(segment.walk())
        expected = f"Found record size 7 smaller than minimum record overhead (14) in file {segment.path}."
    assert str(caught.value) == expected


def test_every_file_of_real_brokers_is_read() -> None:
    assert sum(len(snapshots.read_leader_epochs(str(path))) for path in files("leader-epoch-checkpoint")) > 200
    assert all(snapshots.read_partition_metadata(str(path)).int for path in files("partition.metadata"))
    assert sum(len(checkpoints.read_offset_checkpoint(str(path))) for path in files("-offset-checkpoint")) > 100
    assert all(checkpoints.read_meta_properties(str(path)).cluster_id for path in files("meta.properties"))
    assert all("leaderEpoch" in checkpoints.read_quorum_state(str(path)) for path in files("quorum-state"))
    for path in files(".snapshot"):
        if "corrupt-" not in str(path):
            snapshots.read_producer_snapshot(str(path))


def test_indexes_point_at_the_batches_of_their_logs() -> None:
    compared = 0
    for path in case("m2-none-43").cwd.glob("*/*.log"):
        with Segment(path) as segment:
            ends = {view.file_position: view.last_offset for view in segment.walk()}
            newest = {view.last_offset: view.max_timestamp for view in segment.walk()}
        for entry in indexes.read_offset_index(str(path.with_suffix(".index")), segment.base_offset):
            assert ends[entry.position] == entry.offset
            compared += 1
        for timed in indexes.read_time_index(str(path.with_suffix(".timeindex")), segment.base_offset):
            assert newest[timed.offset] == timed.timestamp
            compared += 1
    assert compared > 5


@pytest.mark.parametrize("text", ["1\n0\n", "0\n1\n", "0\n2\n1 2\n", "0\n1\n1 x\n", "zero\n", "0\n1\n1 2 3\n", "\xff"])
def test_a_checkpoint_that_is_none_is_an_error_with_its_path(text: str, tmp_path: Path) -> None:
    path = tmp_path / "leader-epoch-checkpoint"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(CorruptIndex, match="leader-epoch-checkpoint"):
        snapshots.read_leader_epochs(str(path))


def test_a_log_directory_is_walked_by_partition() -> None:
    (directory,) = {path.parent.parent for path in files(".log") if "logdir-clean-43" in str(path)}
    found = list(layout.walk([str(directory)]))
    assert len(found) > 40
    by_name = {(entry.topic, entry.partition): entry for entry in found}
    orders = by_name["orders-none", 0]
    assert [segment.base_offset for segment in orders.segments] == sorted(s.base_offset for s in orders.segments)
    assert orders.size_bytes == sum(Path(segment.log).stat().st_size for segment in orders.segments if segment.log)
    assert all(segment.offset_index and segment.time_index for segment in orders.segments)
