"""Findings about files on disk: every damage that was made on purpose is found at its place, and nothing else is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.records.build import build_batch
from kafka_tools.storage import checkpoints, indexes, snapshots
from kafka_tools.storage.check import check_file, check_log_dir, check_partition, check_segment
from kafka_tools.storage.findings import ERROR, INFO, WARNING, Finding
from kafka_tools.storage.indexes import AbortedTransaction, OffsetEntry, TimeEntry
from kafka_tools.storage.kraft_snapshots import read_kraft_snapshot, write_kraft_snapshot
from kafka_tools.storage.snapshots import LeaderEpoch
from tests.corpus.golden import cases, golden_root

DAMAGED = {
    "bad-name-none43": [
        ("unknown-file", "not-a-number.index", None),
        ("unknown-file", "not-a-number.log", None),
        ("unknown-file", "notes.txt", None),
    ],
    "codec-6-gz43": [("unknown-codec", ".log", 760)],
    "codec-6-none43": [("unknown-codec", ".log", 3662)],
    "deleted-suffix-none43": [
        ("leftover-file", ".index.deleted", None),
        ("leftover-file", ".log.deleted", None),
        ("leftover-file", ".timeindex.cleaned", None),
    ],
    "empty-files-none43": [],
    "flip-crc-none43": [("crc-mismatch", ".log", 3662)],
    "flip-record-byte-gz43": [("crc-mismatch", ".log", 760)],
    "flip-record-byte-none22": [("crc-mismatch", ".log", 0)],
    "flip-record-byte-none43": [("crc-mismatch", ".log", 3662)],
    "garbage-tail-m0none": [("bad-length", ".log", 4451)],
    "garbage-tail-m1gz": [("bad-length", ".log", 4905)],
    "garbage-tail-none22": [("torn-tail", ".log", 5301)],
    "garbage-tail-none43": [("torn-tail", ".log", 14286)],
    "huge-length-none43": [("bad-length", ".log", 3662), ("skipped", ".log", 3662)],
    "index-last-below-base-none43": [("index-order", ".index", 40)],
    "index-not-monotonic-none22": [],
    "index-not-monotonic-none43": [("index-order", ".index", 8)],
    "index-odd-size-none43": [("index-size", ".index", 48)],
    "index-past-end-none22": [("index-nowhere", ".index", 0)],
    "index-past-end-none43": [("index-nowhere", ".index", 40)],
    "index-wrong-offset-none43": [("index-order", ".index", 8), ("index-mismatch", ".index", 0)],
    "index-wrong-position-none43": [("index-nowhere", ".index", 0)],
    "index-zero-padded-none43": [],
    "last-offset-delta-gz43": [("offset-order", ".log", 760)],
    "last-offset-delta-none43": [("offset-order", ".log", 3662)],
    "magic-255-none43": [("unknown-magic", ".log", 3662)],
    "magic-3-none22": [("unknown-magic", ".log", 0)],
    "magic-3-none43": [("unknown-magic", ".log", 3662)],
    "max-timestamp-none43": [("bad-timestamp", ".log", 3662)],
    "negative-length-none22": [("bad-length", ".log", 0), ("skipped", ".log", 0)],
    "negative-length-none43": [("bad-length", ".log", 3662), ("skipped", ".log", 3662)],
    "no-index-none43": [("index-missing", ".index", None), ("timeindex-missing", ".timeindex", None)],
    "no-log-none43": [("orphan-file", ".index", None), ("orphan-file", ".timeindex", None)],
    "offset-back-none43": [("offset-order", ".log", 3662)],
    "offset-gap-none22": [("offset-order", ".log", 0)],
    "offset-gap-none43": [("offset-order", ".log", 3662)],
    "payload-garbage-gz43": [("unreadable-records", ".log", 760)],
    "payload-garbage-none43": [("unreadable-records", ".log", 3662)],
    "payload-garbage-zstd43": [("unreadable-records", ".log", 295)],
    "record-count-gz43": [("bad-count", ".log", 760)],
    "record-count-low-gz43": [("bad-count", ".log", 760)],
    "record-count-low-none43": [("bad-count", ".log", 3662)],
    "record-count-none43": [("bad-count", ".log", 3662)],
    "record-count-zstd43": [("bad-count", ".log", 295)],
    "snapshot-txnindex-43": [
        ("orphan-file", ".txnindex", None),
        ("orphan-file", ".txnindex", None),
        ("orphan-file", ".txnindex", None),
        ("orphan-file", ".txnindex", None),
        ("orphan-file", ".txnindex", None),
        ("producer-snapshot", ".snapshot", 2),
        ("producer-snapshot", ".snapshot", 6),
        ("producer-snapshot", ".snapshot", None),
        ("producer-snapshot", ".snapshot", 0),
        ("producer-snapshot", ".snapshot", 2),
    ],
    "swapped-batches-none43": [("offset-order", ".log", 3662)],
    "timeindex-mismatch-none22": [("timeindex-mismatch", ".timeindex", 0)],
    "timeindex-mismatch-none43": [("timeindex-mismatch", ".timeindex", 0)],
    "timeindex-not-monotonic-none43": [("timeindex-order", ".timeindex", 12)],
    "timeindex-odd-size-none43": [("timeindex-size", ".timeindex", 60)],
    "timeindex-wrong-offset-none43": [("timeindex-mismatch", ".timeindex", 0)],
    "tiny-length-none43": [("bad-length", ".log", 3662), ("skipped", ".log", 3662)],
    "truncated-batch-gz43": [("torn-tail", ".log", 9285)],
    "truncated-batch-m0none": [("torn-tail", ".log", 4401)],
    "truncated-batch-m1gz": [("torn-tail", ".log", 4063)],
    "truncated-batch-none22": [("torn-tail", ".log", 1370)],
    "truncated-batch-none43": [("torn-tail", ".log", 11296)],
    "truncated-header-none43": [("torn-tail", ".log", 11296)],
    "zero-tail-m0none": [("zero-tail", ".log", 4451)],
    "zero-tail-m1gz": [("zero-tail", ".log", 4905)],
    "zero-tail-none22": [("zero-tail", ".log", 5301)],
    "zero-tail-none43": [("zero-tail", ".log", 14286)],
    "zero-tail-short-none43": [("zero-tail", ".log", 14286)],
}
"""What was damaged by hand in a case: kind, file and position of each finding."""

REMARKS = {"offset-gap", "index-batch-range"}


def partitions(case: str) -> list[Path]:
    """The directories of a golden case that hold files of a partition."""
    data = golden_root() / case / "data"
    return sorted({path.parent for path in data.glob("**/*") if path.is_file() and path.parent.name.rpartition("-")[1]})


def short(finding: Finding) -> tuple[str, str, int | None]:
    name = os.path.basename(finding.path)
    return finding.kind, name[20:] if name[:20].isdigit() else name, finding.position


@pytest.mark.parametrize("case", DAMAGED)
def test_each_damage_is_found_where_it_was_made(case: str) -> None:
    found = [
        finding for directory in partitions("corrupt-" + case) for finding in check_partition(directory, records=True)
    ]
    assert [short(finding) for finding in found if finding.kind not in REMARKS] == DAMAGED[case]
    for finding in found:
        assert "\n" not in str(finding) and finding.path not in finding.text
        assert finding.severity == INFO or finding.advice or finding.kind == "bad-timestamp"


def test_every_damaged_case_is_looked_at() -> None:
    assert {"corrupt-" + name for name in DAMAGED} == {case.id for case in cases() if case.id.startswith("corrupt-")}


def test_what_every_release_wrote_has_no_damage() -> None:
    """A clean directory of each release: remarks at most; the killed ones have nothing but their zero tail."""
    looked_at = 0
    for case in cases():
        if case.id.startswith("corrupt-"):
            continue
        for directory in partitions(case.id):
            looked_at += 1
            damage = [short(finding) for finding in check_partition(directory, records=True) if finding.is_damage]
            assert damage == ([("zero-tail", ".log", 7384)] if case.id == "preallocated-killed-22" else []), directory
    assert looked_at > 130


@pytest.mark.parametrize("case", ["logdir-clean-43", "logdir-killed-43", "metadata-39", "metadata-43"])
def test_whole_log_directories_of_kafka_have_no_damage(case: str) -> None:
    assert [
        finding for finding in check_log_dir(golden_root() / case / "data", records=True) if finding.is_damage
    ] == []


# What does not agree, made here


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[str, str], Path]:
    """``copied("txn-43", "payments-0")``: a partition of a golden case that may be changed."""

    def copy(case: str, partition: str) -> Path:
        (source,) = (path for path in partitions(case) if path.name == partition)
        shutil.copytree(source, tmp_path / "logs" / partition)
        return tmp_path / "logs" / partition

    return copy


def damage(directory: Path) -> list[tuple[str, str, int | None]]:
    return [short(finding) for finding in check_partition(directory, records=True) if finding.is_damage]


def txn_indexes(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("*.txnindex") if path.stat().st_size)


def test_a_transaction_index_is_compared_with_the_markers(copied: Callable[[str, str], Path]) -> None:
    directory = copied("txn-43", "payments-0")
    path = txn_indexes(directory)[0]
    entries = list(indexes.read_txn_index(str(path)))
    assert damage(directory) == []
    path.write_bytes(indexes.pack_txn_index(entries[1:]))
    assert damage(directory) == [("txnindex-missing", ".txnindex", None)]
    wrong = entries[0]._replace(producer_id=77)
    path.write_bytes(indexes.pack_txn_index([wrong, *entries[1:]]))
    assert damage(directory) == [("txnindex-mismatch", ".txnindex", 0)]
    later = AbortedTransaction(0, 1, 10**6, 10**6 + 5, 10**6)
    path.write_bytes(indexes.pack_txn_index([*entries, later]))
    assert damage(directory) == [("txnindex-mismatch", ".txnindex", len(entries) * 34)]
    path.write_bytes(indexes.pack_txn_index([entries[0]._replace(version=3), *entries[1:]]))
    assert ("txnindex-version", ".txnindex", 0) in damage(directory)
    path.write_bytes(indexes.pack_txn_index([*entries, entries[0]])[:-3])
    assert damage(directory) == [("txnindex-size", ".txnindex", len(entries) * 34)]
    path.write_bytes(indexes.pack_txn_index([*entries, entries[0]]))
    assert damage(directory) == [("txnindex-order", ".txnindex", len(entries) * 34)]


def test_without_its_transaction_index_every_abort_is_missing(copied: Callable[[str, str], Path]) -> None:
    directory = copied("txn-43", "payments-0")
    aborted = 0
    for path in txn_indexes(directory):
        aborted += len(list(indexes.read_txn_index(str(path))))
        path.unlink()
    assert [kind for kind, _, _ in damage(directory)] == ["txnindex-missing"] * aborted


def test_a_producer_snapshot_is_compared_with_the_log(copied: Callable[[str, str], Path]) -> None:
    directory = copied("txn-39", "moves-0")
    path, written = next(
        (path, state)
        for path in directory.glob("*.snapshot")
        for state in snapshots.read_producers(str(path))
        if state.has_batch and state.transaction_start is None
    )
    states = snapshots.read_producer_snapshot(str(path))
    for wrong, text in (
        (written._replace(last_offset=written.last_offset - 1), "its last offset is"),
        (written._replace(last_sequence=written.last_sequence + 1), "its last sequence is"),
        (written._replace(producer_epoch=written.producer_epoch - 1), "its epoch is"),
        (written._replace(transaction_start=written.last_offset), "is open, but the log ends it"),
    ):
        rest = [state for state in states if state != written]
        path.write_bytes(snapshots.pack_producer_snapshot([wrong, *rest]))
        (found,) = (finding for finding in check_partition(directory) if finding.is_damage)
        assert found.kind == "producer-snapshot-mismatch" and text in found.text, found
    path.rename(directory / "00000000000000999999.snapshot")
    assert damage(directory) == [("producer-snapshot-mismatch", ".snapshot", None)]


def test_an_open_transaction_that_a_snapshot_lacks_is_a_mismatch(tmp_path: Path) -> None:
    directory = tmp_path / "logs" / "t-0"
    directory.mkdir(parents=True)
    batch = build_batch([(1, b"k", b"v", ())], producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    (directory / "00000000000000000000.log").write_bytes(batch)
    (directory / "00000000000000000000.index").touch()
    (directory / "00000000000000000000.timeindex").touch()
    (directory / "00000000000000000001.snapshot").write_bytes(snapshots.pack_producer_snapshot([]))
    (found,) = (finding for finding in check_partition(directory) if finding.is_damage)
    assert found.text == "does not contain producer 5, whose transaction from 0 on is open at 1"


def test_leader_epochs_are_compared_with_the_batches(copied: Callable[[str, str], Path]) -> None:
    directory = copied("txn-43", "payments-0")
    path = str(directory / "leader-epoch-checkpoint")
    epochs = snapshots.read_leader_epochs(path)
    assert len(epochs) > 1
    snapshots.write_leader_epochs(path, epochs[:1])
    assert damage(directory) == [("leader-epochs-mismatch", "leader-epoch-checkpoint", None)]
    snapshots.write_leader_epochs(path, [epochs[0], epochs[1]._replace(start_offset=epochs[1].start_offset + 20)])
    assert damage(directory) == [("leader-epochs-mismatch", "leader-epoch-checkpoint", None)]
    snapshots.write_leader_epochs(path, [LeaderEpoch(5, 0), LeaderEpoch(4, 10)])
    assert damage(directory) == [("leader-epochs", "leader-epoch-checkpoint", None)]
    Path(path).write_text("garbage")
    assert damage(directory) == [("leader-epochs", "leader-epoch-checkpoint", None)]


def test_checkpoints_beyond_the_log_are_told(copied: Callable[[str, str], Path]) -> None:
    directory = copied("m2-none-43", partitions("m2-none-43")[0].name)
    topic, _, number = directory.name.rpartition("-")
    end = next(int(path.name[:20]) for path in sorted(directory.glob("*.snapshot"), reverse=True))
    for name, severity in (
        ("recovery-point-offset-checkpoint", ERROR),
        ("replication-offset-checkpoint", WARNING),
        ("log-start-offset-checkpoint", WARNING),
        ("cleaner-offset-checkpoint", WARNING),
    ):
        path = directory.parent / name
        path.write_text(f"0\n1\n{topic} {number} {end}\n")
        assert damage(directory) == []
        path.write_text(f"0\n1\n{topic} {number} {end + 1}\n")
        (found,) = (finding for finding in check_partition(directory) if finding.is_damage)
        assert (found.kind, found.path, found.severity) == ("offset-checkpoint-mismatch", str(path), severity)
        assert list(check_log_dir(directory.parent)).count(found) == 1
        path.write_text("0\n1\nx\n")
        assert [f.kind for f in check_log_dir(directory.parent) if f.is_damage] == ["offset-checkpoint"]
        path.unlink()


def test_segments_must_follow_each_other(copied: Callable[[str, str], Path]) -> None:
    directory = copied("m2-none-43", partitions("m2-none-43")[0].name)
    first, second = sorted(directory.glob("*.log"))[:2]
    whole = first.read_bytes()
    beyond = build_batch([(1, None, b"v", ())], base_offset=int(second.name[:20]))
    first.write_bytes(whole + beyond)
    assert ("segment-overlap", ".log", None) in damage(directory)
    first.write_bytes(whole[:-1])
    (torn,) = (finding for finding in check_partition(directory) if finding.kind == "torn-tail")
    assert torn.severity == ERROR, "a tail in the middle of a partition was never cut by a broker"
    first.unlink()
    orphans = [finding for finding in check_partition(directory) if finding.kind == "orphan-file"]
    assert sorted(os.path.splitext(finding.path)[1] for finding in orphans) == [".index", ".timeindex"]


def test_the_last_segment_may_end_in_a_tail(copied: Callable[[str, str], Path]) -> None:
    directory = copied("m2-none-43", partitions("m2-none-43")[0].name)
    last = max(directory.glob("*.log"))
    with last.open("ab") as file:
        file.write(bytes(40))
    (tail,) = (finding for finding in check_partition(directory) if finding.is_damage)
    assert (tail.kind, tail.severity) == ("zero-tail", WARNING)


def test_an_index_with_one_wrong_entry_has_one_finding(copied: Callable[[str, str], Path]) -> None:
    """An entry that is wrong says nothing about those after it."""
    directory = copied("m2-none-43", partitions("m2-none-43")[0].name)
    log = max(directory.glob("*.log"), key=lambda path: path.stat().st_size)
    base = int(log.name[:20])
    path, time_path = log.with_suffix(".index"), log.with_suffix(".timeindex")
    entries = list(indexes.read_offset_index(str(path), base))
    times = list(indexes.read_time_index(str(time_path), base))
    assert len(entries) > 2 and len(times) > 2
    for position, kind in ((entries[1].position + 1, "index-nowhere"), (2**31 - 1, "index-nowhere")):
        wrong = [entries[0], OffsetEntry(entries[1].offset, position), *entries[2:]]
        path.write_bytes(indexes.pack_offset_index(wrong, base))
        assert damage(directory) == [(kind, ".index", 8)]
        assert [short(finding) for finding in check_file(path)] == [(kind, ".index", 8)]
    path.write_bytes(indexes.pack_offset_index(entries, base) + bytes(8) + b"\x01" * 8)
    assert damage(directory) == [("index-order", ".index", len(entries) * 8 + 8)]
    path.write_bytes(indexes.pack_offset_index(entries, base) + bytes(80))
    assert damage(directory) == []
    late = [times[0], TimeEntry(times[1].timestamp - 1, times[1].offset), *times[2:]]
    time_path.write_bytes(indexes.pack_time_index(late, base))
    assert damage(directory) == [("timeindex-mismatch", ".timeindex", 12)]
    ahead = [times[0], times[1]._replace(offset=times[-1].offset + 10**6), *times[2:]]
    time_path.write_bytes(indexes.pack_time_index(ahead, base))
    assert damage(directory) == [("timeindex-offset", ".timeindex", 12), ("timeindex-order", ".timeindex", 24)]


def test_a_snapshot_of_the_metadata_must_be_complete(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000042-0000000003.checkpoint"
    write_kraft_snapshot(str(path), [[b"one", b"two"], [], [b"three"]], epoch=3, last_contained_ms=7, written_ms=9)
    assert [record.value for record in read_kraft_snapshot(str(path))] == [b"one", b"two", b"three"]
    assert list(check_file(path)) == []
    whole = path.read_bytes()
    footer = whole.rfind(b"\x00\x00\x00\x04") - 20
    for cut in range(footer - 60, footer):
        path.write_bytes(whole[:cut])
        found = list(check_file(path))
        assert found and all(finding.severity == ERROR for finding in found)


def test_batches_that_a_wrong_length_hides_are_found(tmp_path: Path) -> None:
    """A length that is too large but possible swallows what follows: as much as may be is still looked at."""
    path = tmp_path / "00000000000000000000.log"
    parts = [build_batch([(1, None, b"v" * 40, ())], base_offset=offset) for offset in range(9)]
    size = len(parts[0])
    for length in (size + 30, 3 * size + 7, 8 * size - 12 - 5):
        liar = bytearray(parts[1])
        liar[8:12] = length.to_bytes(4, "big")
        path.write_bytes(parts[0] + liar + b"".join(parts[2:]))
        (path.with_suffix(".index")).write_bytes(indexes.pack_offset_index([OffsetEntry(2, 2 * size)], 0))
        path.with_suffix(".timeindex").touch()
        found = [finding for finding in check_segment(path) if finding.is_damage]
        assert [short(finding) for finding in found] == [("bad-length", ".log", size)]
        assert str(2 * size) in found[0].text
    path.write_bytes(parts[0] + parts[1][:-1] + b"!" + parts[2])
    assert [short(f) for f in check_segment(path) if f.is_damage] == [("crc-mismatch", ".log", size)]


def test_findings_of_one_kind_are_counted_when_there_are_many(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    batch = bytearray(build_batch([(1, None, b"v", ())]))
    batch[-1] ^= 1
    path.write_bytes(bytes(batch) * 50)
    found = [finding for finding in check_segment(path, most=7) if finding.path == str(path)]
    assert [finding.kind for finding in found] == ["crc-mismatch"] * 7 + ["unlisted"]
    assert found[-1].text.startswith("43 more")


def test_files_that_are_no_files_are_findings(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "00000000000000000000.log")
    for path in ("00000000000000000000.log", "00000000000000000001.log", "meta.properties"):
        assert [finding.kind for finding in check_file(tmp_path / path)] == ["unreadable"]
    assert [finding.kind for finding in check_partition(tmp_path / "gone")] == ["unreadable"]
    assert [finding.kind for finding in check_log_dir(tmp_path / "gone")] == ["unreadable"]
    assert [finding.kind for finding in check_partition(tmp_path)] == ["unreadable"]


def test_every_text_file_has_its_finding(tmp_path: Path) -> None:
    for name, kind in (
        ("meta.properties", "meta-properties"),
        ("quorum-state", "quorum-state"),
        ("partition.metadata", "partition-metadata"),
        ("leader-epoch-checkpoint", "leader-epochs"),
        ("cleaner-offset-checkpoint", "offset-checkpoint"),
        ("notes.txt", "unknown-file"),
    ):
        path = tmp_path / name
        path.write_bytes(b"\xffrubbish")
        assert [finding.kind for finding in check_file(path)] == [kind]
    checkpoints.write_offset_checkpoint(str(tmp_path / "cleaner-offset-checkpoint"), {})
    assert list(check_file(tmp_path / "cleaner-offset-checkpoint")) == []
