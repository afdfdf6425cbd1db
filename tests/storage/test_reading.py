"""Log directories as brokers left them: names, segments in windows, indexes, snapshots, checkpoints, the walk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafka_tools.errors import CorruptBatch, CorruptIndex, InputError, LogError
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.build import build_batch
from kafka_tools.storage import checkpoints, indexes, layout, names, snapshots
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.log.segment import LogSegment
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
        ("00000000000000000042-0000000007.checkpoint.deleted", names.FileName(42, ".checkpoint", ".deleted", 7)),
        ("00000000000000000042-0000000007-123456.checkpoint.part", names.FileName(42, ".checkpoint", ".part", 7)),
        ("00000000000000000042.snapshot.deleted", names.FileName(42, ".snapshot", ".deleted")),
        ("00000000000000000042.txnindex.cleaned", names.FileName(42, ".txnindex", ".cleaned")),
        ("99999999999999999999.log", None),
        ("\u0664\u0662.log", None),
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


def test_names_of_directories_are_cut_as_kafka_does() -> None:
    unique = "0123456789abcdef0123456789abcdef"
    partition = TopicPartition("t" * 249, 12)
    assert names.directory_name(TopicPartition("orders", 3)) == "orders-3"
    for state in ("delete", "stray"):
        name = names.directory_name(partition, state=state, unique_id=unique)
        assert len(name) == 255
        assert names.parse_partition_dir(name) == (TopicPartition("t" * (255 - len(state) - 37), 12), state, unique)
    future = names.directory_name(TopicPartition("orders", 3), state="future", unique_id=unique)
    assert names.parse_partition_dir(future) == (TopicPartition("orders", 3), "future", unique)


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


@pytest.mark.req("REC-14")
def test_reading_at_impossible_places_names_the_file(tmp_path: Path) -> None:
    with log(tmp_path, BATCH) as segment:
        with pytest.raises(InputError, match=f"^Invalid position: -1 in read from {segment.path}$"):
            segment.read(-1, 5)
        with pytest.raises(InputError, match=f"^Invalid size: -5 in read from {segment.path}$"):
            segment.read(0, -5)
        assert segment.read(len(BATCH) + 10, 5) == b""


@pytest.mark.req("REC-15")
def test_a_log_cannot_be_cut_to_more_than_it_has(tmp_path: Path) -> None:
    segment = LogSegment(str(tmp_path), 0, created_ms=0)
    segment.append(BATCH, list(batches(BATCH)), 4096)
    for size in (-1, len(BATCH) + 1):
        with pytest.raises(LogError) as caught:
            segment.truncate(size)
        assert str(caught.value) == (
            f"Attempt to truncate log segment {segment.path} to {size} bytes failed,  "
            f"size of this log segment is {len(BATCH)} bytes."
        )
    segment.truncate(len(BATCH))
    segment.truncate(0)
    assert os.path.getsize(segment.path) == 0
    segment.close()


@pytest.mark.req("REC-12", "EASY-13")
def test_exactly_17_bytes_left_are_the_end(tmp_path: Path) -> None:
    header = b"\x00" * 8 + b"\x00\x00\x00\x01" + b"\x00" * 5  # a length that would be an error
    with log(tmp_path, BATCH + header) as segment:
        assert len(list(segment.walk())) == 1
    with log(tmp_path, BATCH + header + b"\x00") as segment, pytest.raises(CorruptBatch):
        list(segment.walk())


@pytest.mark.parametrize("left", [0, 10, 150, 500, 999])
def test_a_file_that_is_cut_while_it_is_read_ends_there(
    left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "00000000000000000000.log"
    batch = build_batch([(1, None, b"v" * 50, ())])
    path.write_bytes(batch * 30)
    reads = []
    plain = Segment.read

    def counted(self: Segment, position: int, size_bytes: int) -> bytes:
        reads.append(position)
        assert len(reads) < 50, "it reads the same place again and again"
        return plain(self, position, size_bytes)

    monkeypatch.setattr(Segment, "read", counted)
    with Segment(path) as segment:
        os.truncate(path, left)
        found = list(segment.batches())
    assert [item.kind for item in found if isinstance(item, Finding)] == ["torn-tail"]
    assert len(found) - 1 == left // len(batch)


@pytest.mark.req("REC-13", "DL-11")
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


def test_text_files_are_written_as_kafka_wrote_them(tmp_path: Path) -> None:
    """Entries of Kafka's checkpoints stand in the order of a hash map, those of properties under a date."""
    path = tmp_path / "written"
    for original in files("leader-epoch-checkpoint"):
        if original.stat().st_size:
            snapshots.write_leader_epochs(str(path), snapshots.read_leader_epochs(str(original)))
            assert path.read_bytes() == original.read_bytes()
    for original in files("partition.metadata"):
        snapshots.write_partition_metadata(str(path), snapshots.read_partition_metadata(str(original)))
        assert path.read_bytes() == original.read_bytes()
    for original in files("quorum-state"):
        checkpoints.write_quorum_state(str(path), checkpoints.read_quorum_state(str(original)))
        assert path.read_bytes() == original.read_bytes()
    for original in files("-offset-checkpoint"):
        checkpoints.write_offset_checkpoint(str(path), checkpoints.read_offset_checkpoint(str(original)))
        assert sorted(path.read_bytes().split(b"\n")) == sorted(original.read_bytes().split(b"\n")) or (
            path.read_bytes() == b"0\n0\n" and not original.read_bytes()
        )
    for original in files("meta.properties"):
        checkpoints.write_meta_properties(str(path), checkpoints.read_meta_properties(str(original)))
        kept = [line for line in original.read_text().splitlines() if not line.startswith("#")]
        assert sorted(path.read_text().splitlines()[1:]) == sorted(kept)
    assert os.listdir(tmp_path) == ["written"]


@pytest.mark.parametrize(
    "meta",
    [
        checkpoints.MetaProperties(0, None, 3),
        checkpoints.MetaProperties(0, "a cluster=with:odd\\letters", None, "dir"),
        checkpoints.MetaProperties(1, " #blanks! at both ends\u2028\x0b\x85 ", 0, "\u3000"),
        checkpoints.MetaProperties(1, "MkU3OEVBNTcwNTJENDM2Qk", 2147483647, "id", {"a key": "\tvalue\n"}),
    ],
)
def test_meta_properties_of_both_versions_come_back(meta: checkpoints.MetaProperties, tmp_path: Path) -> None:
    path = str(tmp_path / "meta.properties")
    checkpoints.write_meta_properties(path, meta)
    assert checkpoints.read_meta_properties(path) == meta


def test_meta_properties_are_spelt_as_java_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "meta.properties"
    written = {
        " ": "\\ ",
        "a b ": "a b ",
        "x\ny": "x\\ny",
        "a=b": "a\\=b",
        "é😀": "\\u00E9\\uD83D\\uDE00",
        "#!:": "\\#\\!\\:",
        "\x1b": "\\u001B",
    }
    for cluster_id, text in written.items():
        checkpoints.write_meta_properties(str(path), checkpoints.MetaProperties(1, cluster_id, 1))
        assert f"\ncluster.id={text}\n" in path.read_text(encoding="ascii")
        assert checkpoints.read_meta_properties(str(path)).cluster_id == cluster_id


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cluster.id=x\n", "no version"),
        ("version=7\n", "version 7"),
        ("version=x\n", "'x': expected a number"),
        ("version=1\nnode.id=1\n", "but no cluster.id"),
        ("version=1\ncluster.id=x\n", "but no node.id"),
        ("version=0\nbroker.id=99999999999\n", "expected a number"),
        ("version\n", "'': expected a number"),
        ("version=1\nnode.id=\\u12\n", r"line 2: .*hexadecimal"),
    ],
)
def test_meta_properties_that_no_broker_starts_with_are_errors(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "meta.properties"
    path.write_text(text)
    with pytest.raises(CorruptIndex, match=told):
        checkpoints.read_meta_properties(str(path))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"leaderEpoch":1}', '{"leaderEpoch":"1","data_version":0}',
             '{"leaderEpoch":1,"data_version":2}', "[" * 100_000],
)  # fmt: skip
def test_a_quorum_state_that_is_none_is_an_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "quorum-state"
    path.write_text(text)
    with pytest.raises(CorruptIndex, match="quorum"):
        checkpoints.read_quorum_state(str(path))


@pytest.mark.parametrize("text", ["0\n1\nt 0 99999999999999999999\n", "0\n1\n" + "t" * 2000 + " 0 1\n", "0\n-1\n"])
def test_numbers_and_names_beyond_any_are_errors(text: str, tmp_path: Path) -> None:
    path = tmp_path / "recovery-point-offset-checkpoint"
    path.write_text(text)
    with pytest.raises(CorruptIndex):
        checkpoints.read_offset_checkpoint(str(path))


def test_numbers_that_do_not_fit_an_index_are_errors() -> None:
    with pytest.raises(CorruptIndex):
        indexes.pack_offset_index([indexes.OffsetEntry(2**40, 0)], 0)
    with pytest.raises(CorruptIndex):
        indexes.pack_time_index([indexes.TimeEntry(2**63, 0)], 0)


def test_damage_in_every_batch_costs_what_the_file_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes read are counted: going on behind damage must not read a whole window again each time."""
    read_bytes = 0
    pread = os.pread

    def counted(fd: int, size: int, position: int) -> bytes:
        nonlocal read_bytes
        data = pread(fd, size, position)
        read_bytes += len(data)
        return data

    padded = build_batch([(1, None, b"v" * 6000, ())])
    broken = padded[:8] + bytes(4) + padded[12:]
    monkeypatch.setattr(os, "pread", counted)
    with log(tmp_path, (padded + broken) * 500) as segment:
        found = list(segment.batches())
        assert len(found) == 3 * 500 - 1
        assert read_bytes < 12 * segment.size_bytes


def test_a_segment_is_walked_batch_by_batch_whatever_their_sizes(tmp_path: Path) -> None:
    """Small ones are read many at once, large ones alone; none is left out, and none comes twice."""
    sizes = [10, 20_000, *range(30, 1500), 70_000, 70_000, 5, *range(600, 900), 15_000, 16_500, 3]
    stored = [build_batch([(number, None, b"x" * size, ())]) for number, size in enumerate(sizes)]
    segment = LogSegment(str(tmp_path), 0, created_ms=0)
    (tmp_path / "00000000000000000000.log").write_bytes(b"".join(stored))
    segment = LogSegment(str(tmp_path), 0, created_ms=0)
    position = 0
    walked = list(segment.walk())
    for (at, view), batch in zip(walked, stored, strict=True):
        assert (at, view.file_position, view.raw()) == (position, position, batch)
        position += len(batch)
    middle = len(walked) // 2
    assert [at for at, _ in segment.walk(walked[middle][0])] == [at for at, _ in walked[middle:]]


@pytest.mark.parametrize("lost", [1, 30, 100_000])
def test_a_segment_that_is_cut_while_it_is_read_ends_in_one_clear_error(tmp_path: Path, lost: int) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(BATCH * 3000 + build_batch([(1, None, b"x" * 90_000, ())]))
    segment = LogSegment(str(tmp_path), 0, created_ms=0)
    os.truncate(path, path.stat().st_size - lost)
    with pytest.raises(CorruptBatch, match=str(path)):
        list(segment.walk())
