"""Rounds of compaction: what stays, in the rules of Kafka's ``Cleaner`` (compared with it in ``against_kafka``)."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.errors import CorruptBatch, LogError
from kafka_tools.records.batches import BatchView
from kafka_tools.records.build import build_batch
from kafka_tools.records.control import build_marker
from kafka_tools.records.record import Record
from kafka_tools.storage import partition_check
from kafka_tools.storage.check import check_partition
from kafka_tools.storage.cleaner import rounds
from kafka_tools.storage.cleaner.cleanable import cleanable
from kafka_tools.storage.cleaner.offset_map import OffsetMap
from kafka_tools.storage.cleaner.rounds import CleaningAborted, MapSize, clean
from kafka_tools.storage.log.partition_log import PartitionLog
from kafka_tools.storage.log.replacement import remove_retired
from kafka_tools.storage.producer_state import ProducerEntry
from tests.storage.dirty_logs import COMPACT, START_MS, Writers, clean_once, driven, old_messages, opened

SIZE = MapSize(1 << 20)
DAY_MS = 86_400_000


def visible(log: PartitionLog) -> Iterator[tuple[BatchView, Record]]:
    """What a consumer of committed records gets, with its batch."""
    aborted = sorted(log.aborted_transactions(0, log.log_end_offset), key=lambda each: each[1])
    open_now: set[int] = set()
    for view in log.walk():
        while aborted and aborted[0][1] <= view.last_offset:
            open_now.add(aborted.pop(0)[0])
        if view.is_control:
            open_now.discard(view.producer_id)
        elif not (view.is_transactional and view.producer_id in open_now):
            yield from ((view, record) for record in view.records())


def latest(log: PartitionLog) -> dict[bytes, tuple[int, bytes | None, Any]]:
    """Key -> offset, value and headers of its last committed record."""
    return {
        record.key: (record.offset, record.value, record.headers)
        for _, record in visible(log)
        if record.key is not None
    }


def sound(directory: Path) -> None:
    assert [finding for finding in check_partition(directory, records=True) if finding.is_damage] == []


def put(log: PartitionLog, *pairs: tuple[bytes | None, bytes | None], **options: Any) -> None:
    rows = [(log.clock.now_ms(), key, value, ()) for key, value in pairs]
    log.append(bytearray(build_batch(rows, **options)), leader_epoch=0)


@pytest.mark.req("DESIGN-23")
@pytest.mark.parametrize("seed", range(4))
def test_the_last_record_of_each_key_stays_where_it_was(tmp_path: Path, seed: int) -> None:
    directory = tmp_path / "t-0"
    writers, cleaned_to, log = Writers(seed), None, opened(directory)
    for turn in range(4):
        writers.write(log, 80)
        writers.end_all(log)
        log.roll()
        before = latest(log)
        untouched = (directory / f"{log.active.base_offset:020d}.log").read_bytes()
        writers.now_ms += 50_000
        _, done = clean_once(log, cleaned_to, writers.now_ms, SIZE)
        assert done is not None and done.end_offset == log.active.base_offset
        assert done.bytes_written < done.bytes_read
        cleaned_to = done.end_offset
        after = latest(log)
        assert {key: found for key, found in after.items() if found[1] is not None} == {
            key: found for key, found in before.items() if found[1] is not None
        }
        assert after.items() <= before.items()
        offsets = [record.offset for _, record in visible(log)]
        assert offsets == sorted(offsets)
        assert (directory / f"{log.active.base_offset:020d}.log").read_bytes() == untouched
        for offset in range(0, log.log_end_offset, 7):  # what was asked for is gone: the next that is there comes
            found = [view.last_offset for view in log.walk(offset)]
            assert found[0] >= offset
        log.close(clean=turn % 2 == 0)
        sound(directory)
        log = opened(directory, writers.now_ms, clean=turn % 2 == 0, cleaned_to=cleaned_to)
        assert latest(log) == after
        assert log.active.base_offset == log.log_end_offset


@pytest.mark.req("DESIGN-24")
def test_a_tombstone_stays_for_its_time_after_it_was_first_seen(tmp_path: Path) -> None:
    log = opened(tmp_path / "t-0")
    put(log, (b"a", b"1"), (b"b", b"1"))
    put(log, (b"a", None))
    log.roll()
    (_, first), now_ms = clean_once(log, None, START_MS, SIZE), START_MS
    assert first is not None
    assert [record.key for _, record in visible(log)] == [b"b", b"a"]
    horizons = [view.delete_horizon_ms for view in log.walk()]
    assert horizons == [None, START_MS + COMPACT.delete_retention_ms]
    for later_ms, keys in (
        (COMPACT.delete_retention_ms - 1, [b"b", b"a", b"c"]),
        (COMPACT.delete_retention_ms, [b"b"]),
    ):
        put(log, (b"c", b"%d" % later_ms))
        log.roll()
        clean_once(log, first.end_offset, now_ms + later_ms, SIZE)
        assert [record.key for _, record in visible(log)][: len(keys)] == keys
    assert [record.key for _, record in visible(log)] == [b"b", b"c"]
    assert log.log_end_offset == 5


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_a_tombstone_that_is_to_stay_for_longer_than_times_go_stays(tmp_path: Path, codec: str) -> None:
    config = COMPACT._replace(delete_retention_ms=2**63 - 1)
    log = opened(tmp_path / "t-0", config=config)
    put(log, (b"a", None), (b"b", b"1"), codec=codec)
    log.roll()
    cleaned_to = None
    for _ in range(2):
        _, done = clean_once(log, cleaned_to, START_MS, SIZE)
        assert done is not None
        cleaned_to = done.end_offset
        assert next(log.walk()).delete_horizon_ms == 2**63 - 1
        found = [(record.key, record.timestamp) for _, record in visible(log)]
        assert found[:2] == [(b"a", START_MS), (b"b", START_MS)]
        put(log, (b"c", b"1"))
        log.roll()


@pytest.mark.req("DESIGN-25")
def test_what_is_young_is_not_touched_and_what_waited_too_long_is_due(tmp_path: Path) -> None:
    config = COMPACT._replace(min_compaction_lag_ms=1000, max_compaction_lag_ms=50_000)
    log = opened(tmp_path / "t-0", config=config)
    for turn in range(3):
        put(log, (b"a", b"%d" % turn), (b"b", b"%d" % turn))
        log.roll()
        log.clock.advance(1)  # type: ignore[attr-defined]
    now_ms = START_MS + 1500
    found = cleanable(log, None, now_ms)
    assert (found.first_dirty_offset, found.end_offset) == (0, 2)
    assert not found.overdue and found.worth_it(0.5) and not found.worth_it(1.0)
    assert cleanable(log, None, START_MS + 50_001).overdue
    assert cleanable(log, None, START_MS + 50_001).worth_it(1.0)
    assert cleanable(log, log.log_end_offset, now_ms).cleanable_bytes == 0
    assert cleanable(log, 99, now_ms).first_dirty_offset == 0  # ends before what the checkpoint tells


def test_an_open_transaction_holds_back_what_may_be_cleaned(tmp_path: Path) -> None:
    log = opened(tmp_path / "t-0")
    put(log, (b"a", b"1"))
    log.roll()
    put(log, (b"a", b"2"), producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    log.roll()
    put(log, (b"a", b"3"))
    log.roll()
    assert cleanable(log, None, START_MS).end_offset == 1
    log.append(
        bytearray(build_marker(7, 0, committed=True, coordinator_epoch=0, timestamp=START_MS)),
        leader_epoch=0, from_client=False,
    )  # fmt: skip
    assert cleanable(log, None, START_MS).end_offset == 3


def test_markers_stay_as_long_as_they_are_needed(tmp_path: Path) -> None:
    log, now_ms, cleaned_to = opened(tmp_path / "t-0"), START_MS, None
    for producer, committed in ((7, False), (8, True)):
        key = b"%d" % producer
        put(log, (key, b"in"), producer_id=producer, producer_epoch=0, base_sequence=0, transactional=True)
        marker = build_marker(producer, 0, committed=committed, coordinator_epoch=0, timestamp=START_MS)
        log.append(bytearray(marker), leader_epoch=0, from_client=False)
    seen = []
    for turn in range(4):
        put(log, (b"8", b"%d" % turn))
        log.roll()
        assert not list(log.producers.expire(now_ms + 1))
        _, done = clean_once(log, cleaned_to, now_ms, SIZE)
        assert done is not None
        cleaned_to = done.end_offset
        now_ms += COMPACT.delete_retention_ms
        markers = [view.producer_id for view in log.walk() if view.is_control and view.record_count]
        seen.append((markers, log.aborted_transactions(0, 100)))
    # The records go first; then it is seen that the markers have nothing in front of them; then their time has come.
    assert seen == [([7, 8], [(7, 0)]), ([7, 8], []), ([], []), ([], [])]
    assert [record.value for _, record in visible(log)] == [b"3"]


def test_the_last_sequence_of_a_producer_is_known_though_its_records_are_gone(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    log = opened(directory)
    for sequence in range(3):
        put(log, (b"a", b"%d" % sequence), producer_id=7, producer_epoch=2, base_sequence=sequence)
    put(log, (b"a", b"last"))
    log.roll()
    _, done = clean_once(log, None, START_MS, SIZE)
    assert done is not None
    (empty, full) = log.walk()
    assert (empty.base_offset, empty.record_count, empty.last_sequence, empty.producer_epoch) == (2, 0, 2, 2)
    assert [record.value for record in full.records()] == [b"last"]
    log.close(clean=False)
    for snapshot in directory.glob("*.snapshot"):
        snapshot.unlink()
    log = opened(directory, clean=False, cleaned_to=done.end_offset)
    again = log.append(
        bytearray(build_batch([(START_MS, b"a", b"2", ())], producer_id=7, producer_epoch=2, base_sequence=2)),
        leader_epoch=0,
    )  # fmt: skip
    assert again.duplicate and again.base_offset == 2
    put(log, (b"a", b"3"), producer_id=7, producer_epoch=2, base_sequence=3)


class Asked(dict[int, ProducerEntry]):
    """Producers that are asked for one by one: a log may have millions."""

    def _walked(self) -> Any:
        raise AssertionError("all of them were walked in one piece")

    items = values = keys = __iter__ = copy = _walked  # type: ignore[assignment]


def test_a_round_asks_for_the_producers_whose_batches_it_sees(tmp_path: Path) -> None:
    log = opened(tmp_path / "t-0")
    for producer in range(3):
        put(log, (b"a", b"v"), producer_id=producer, producer_epoch=0, base_sequence=0)
    put(log, (b"a", b"last"))
    log.roll()
    log.producers.entries = Asked(log.producers.entries)
    _, done = clean_once(log, None, START_MS, SIZE)
    assert done is not None
    assert [(view.producer_id, view.record_count) for view in log.walk()] == [(0, 0), (1, 0), (2, 0), (-1, 1)]
    log.close(clean=False)


def test_a_producer_that_writes_on_while_its_batches_are_cleaned_needs_none_of_them(tmp_path: Path) -> None:
    log = opened(tmp_path / "t-0")
    put(log, (b"a", b"1"), producer_id=7, producer_epoch=2, base_sequence=0)
    put(log, (b"a", b"last"))
    log.roll()
    work = clean(log, cleanable(log, None, START_MS), SIZE, START_MS)
    step = work.send(None)
    put(log, (b"b", b"2"), producer_id=7, producer_epoch=2, base_sequence=1)
    with contextlib.suppress(StopIteration):
        while True:
            step = work.send(step() if callable(step) else None)
    assert [(view.producer_id, view.base_offset) for view in log.walk()] == [(-1, 1), (7, 2)]
    put(log, (b"a", b"3"), producer_id=7, producer_epoch=2, base_sequence=2)
    log.close()


@pytest.mark.req("DESIGN-26")
def test_the_map_takes_24_bytes_a_key_and_a_full_one_ends_the_round(tmp_path: Path) -> None:
    offsets = OffsetMap(24 * 100, 0.9, 50)
    for number in range(90):
        assert not offsets.full
        offsets.put(b"%d" % (number % 45), number)
    assert (len(offsets), offsets.latest_offset, offsets.get(b"3"), offsets.get(b"x")) == (45, 89, 48, -1)
    directory = tmp_path / "t-0"
    log = opened(directory)
    for turn in range(3):
        for key in range(40):
            put(log, (b"k%d" % key, b"%d" % turn))
        log.roll()
    rounds, cleaned_to = 0, None
    while True:
        found = cleanable(log, cleaned_to, START_MS)
        if not found.cleanable_bytes:
            break
        done = driven(clean(log, found, MapSize(24 * 34, 0.9), START_MS))
        assert done.end_offset > (cleaned_to or 0)
        cleaned_to, rounds = done.end_offset, rounds + 1
    assert rounds == 4  # 30 keys a round, of 120 records
    assert latest(log).keys() == {b"k%d" % key for key in range(40)}


@pytest.mark.parametrize("load_factor", [1.0, 2.0, math.inf])
def test_a_map_that_may_be_filled_to_the_last_place_is_searched_to_an_end(load_factor: float) -> None:
    """As Kafka's: what is not there is not found, and one key more is an error. It once was searched for for ever."""
    offsets = OffsetMap(24 * 10, load_factor, 50)
    for number in range(10):
        offsets.put(b"%d" % number, number)
    assert (offsets.get(b"9"), offsets.get(b"x")) == (9, -1)
    with pytest.raises(LogError, match=r"more keys than fit into memory \(10\)"):
        offsets.put(b"x", 10)


@pytest.mark.parametrize("load_factor", [0.0, -1.0, math.nan])
def test_a_map_takes_one_key_at_least(load_factor: float) -> None:
    offsets = OffsetMap(24 * 10, load_factor, 50)
    assert not offsets.full
    offsets.put(b"a", 0)
    assert offsets.full


@pytest.mark.req("REC-19")
def test_a_round_counts_what_it_read_and_what_it_wrote(tmp_path: Path) -> None:
    log = opened(tmp_path / "t-0")
    for turn in range(40):
        put(log, (b"a", b"%d" % turn * 50))
    log.roll()
    put(log, (b"a", b"not closed"))
    size = sum(segment.size for segment in log.segments[:-1])
    _, done = clean_once(log, None, START_MS, SIZE)
    assert done is not None
    assert (done.bytes_read, done.bytes_written) == (size, sum(segment.size for segment in log.segments[:-1]))


def test_old_messages_are_written_as_batches_of_magic_2(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    directory.mkdir()
    for magic, first in ((0, 0), (1, 40)):
        (directory / f"{first:020d}.log").write_bytes(old_messages(3, magic, first, 40))
    log = opened(directory, clean=False)
    log.roll()
    before = latest(log)
    _, done = clean_once(log, None, START_MS, SIZE)
    assert done is not None
    assert {view.magic for view in log.walk()} == {2}
    assert latest(log) == before
    log.close()
    sound(directory)


def test_a_damaged_batch_is_not_made_right_by_writing_it_anew(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    log = opened(directory)
    for _ in range(3):
        put(log, (b"a", b"x" * 100))
    log.roll()
    path = directory / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptBatch, match="CRC of the batch at offset 2"):
        clean_once(log, None, START_MS, SIZE)
    assert path.read_bytes() == data
    assert not [name for name in os.listdir(directory) if name.endswith((".cleaned", ".swap", ".deleted"))]


@pytest.mark.parametrize("what", ["close", "delete", "policy"])
def test_a_round_ends_where_its_log_goes_away(tmp_path: Path, what: str) -> None:
    directory = tmp_path / "t-0"
    total = 0
    while True:
        log = opened(directory)
        for turn in range(3):
            put(log, (b"a", b"%d" % turn * 2000))
            put(log, (b"b", b"%d" % turn * 2000))
        log.roll()
        work = clean(log, cleanable(log, None, START_MS), SIZE, START_MS)
        sent = None
        try:
            for _ in range(total):
                step = work.send(sent)
                sent = step() if callable(step) else None
        except StopIteration:
            break
        if what == "close":
            log.close()
        elif what == "delete":
            log.delete_before(log.log_end_offset)
        else:
            log.config = COMPACT._replace(compact=False)
        with contextlib.suppress(CleaningAborted):
            driven(work)
        assert not [name for name in os.listdir(directory) if name.endswith((".cleaned", ".swap"))]
        log.close()
        shutil.rmtree(directory)
        total += 1
    assert total > 10


def test_a_round_whose_directory_goes_away_with_its_log_ends_as_one_of_a_closed_log(tmp_path: Path) -> None:
    """As where a topic is deleted while the disk is at work: no file is missed."""
    total = 0
    while True:
        directory, pieces = tmp_path / str(total) / "t-0", itertools.count()
        directory.parent.mkdir()
        log = opened(directory)
        for turn in range(2):
            put(log, (b"a", b"%d" % turn))
            log.roll()

        def go_away(log: PartitionLog = log, pieces: Iterator[int] = pieces, at: int = total) -> None:
            if next(pieces) == at:
                log.close(clean=False)
                os.rename(log.directory, log.directory + "-retired")

        with contextlib.suppress(CleaningAborted):
            driven(clean(log, cleanable(log, None, START_MS), SIZE, START_MS), go_away)
        if not log.closed:
            break
        total += 1
    assert total > 5


def test_who_reads_an_old_segment_while_it_is_replaced_gets_all_of_it(tmp_path: Path) -> None:
    log = opened(tmp_path / "t-0")
    for turn in range(20):
        put(log, (b"a", b"%d" % turn * 20))
    log.roll()
    ranged = log.range(0, 1 << 20)
    walk = log.walk()
    first = next(walk)
    expected = log.read(0, 1 << 20)
    clean_once(log, None, START_MS, SIZE)
    assert ranged is not None and ranged.read(len(ranged)) == expected
    assert [first.base_offset, *(view.base_offset for view in walk)] == list(range(20))
    assert [view.base_offset for view in log.walk()] == [19]


def test_a_check_beside_it_sees_old_segments_or_new_ones_and_nothing_wrong(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    writers, log, cleaned_to = Writers(3, codec="none"), opened(directory), None
    over = threading.Event()
    wrong: list[Any] = []

    def look() -> None:
        while not over.is_set():
            wrong.extend(finding for finding in check_partition(directory, records=True) if finding.is_damage)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for turn in range(12):
            writers.write(log, 40)
            writers.end_all(log)
            log.roll()
            _, done = clean_once(log, cleaned_to if turn % 3 else None, writers.now_ms, SIZE)
            assert done is not None
            cleaned_to = done.end_offset
            remove_retired(log.take_retired())
    finally:
        over.set()
        looking.join()
    assert wrong == []


def test_a_large_batch_is_rewritten_in_pieces(tmp_path: Path) -> None:
    log = opened(tmp_path / "t-0", config=COMPACT._replace(segment_bytes=1 << 20))
    for turn in range(2):
        put(log, *((b"k%d" % number, b"%d" % turn) for number in range(5000)), codec="zstd" if turn else "none")
    log.roll()
    work = clean(log, cleanable(log, None, START_MS), SIZE, START_MS)
    pieces, sent = 0, None
    with contextlib.suppress(StopIteration):
        while True:
            step = work.send(sent)
            pieces += 1
            sent = step() if callable(step) else None
    assert pieces > 2 * 10_000 / 300  # each record is looked at twice
    assert {record.value for _, record in visible(log)} == {b"1"}


@pytest.mark.parametrize("state", ["", ".swap"])
def test_a_segment_that_was_away_while_the_others_were_listed_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    directory = tmp_path / "t-0"
    log = opened(directory)
    rows: list[Any] = [(START_MS, b"k", b"v", [])]
    batch = build_batch(rows, producer_id=11, producer_epoch=0, base_sequence=0, transactional=True)
    log.append(bytearray(batch), leader_epoch=0)
    log.roll()
    marker = build_marker(11, 0, committed=True, coordinator_epoch=1, timestamp=START_MS)
    log.append(bytearray(marker), leader_epoch=0, from_client=False)
    log.roll()
    log.append(bytearray(build_batch(rows)), leader_epoch=0)
    log.close()
    assert not list(check_partition(directory))
    away = "00000000000000000001"
    real = partition_check.partition_files

    def listed(path: str) -> Any:
        found = real(path)
        return found._replace(segments=[each for each in found.segments if each.base_offset != 1], leftovers=[])

    monkeypatch.setattr(partition_check, "partition_files", listed)
    if state:
        os.rename(directory / f"{away}.log", directory / f"{away}.log{state}")
    assert [each.kind for each in check_partition(directory) if each.is_damage] == []
    os.remove(directory / f"{away}.log{state}")
    kinds = {each.kind for each in check_partition(directory)}
    assert {"offset-gap", "producer-snapshot-mismatch"} <= kinds


def test_a_compacted_segment_is_promised_for_good_before_the_old_ones_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what others are dropped for is on the disk before: else a loss of power takes both."""
    steps: list[str] = []
    log = opened(tmp_path / "t-0")
    for number in range(3):
        put(log, (b"k", b"%d" % number * 100))
        log.roll()
    monkeypatch.setattr(rounds, "sync_directory", lambda path: steps.append("names"))
    monkeypatch.setattr(log, "sync_sealed", lambda: steps.append("sealed"))
    real = os.replace

    def renamed(source: str, target: str) -> None:
        steps.append("." + target.rsplit(".", 1)[1] + (" of " + source.rsplit(".", 1)[1] if "swap" in source else ""))
        real(source, target)

    monkeypatch.setattr(os, "replace", renamed)
    clean_once(log, None, START_MS, MapSize(1 << 20))
    first_old = steps.index(".deleted")
    assert steps[0] == "sealed"
    assert "names" in steps[steps.index(".swap") : first_old], "the promise is on the disk before an old one goes"
    assert steps[-1] == "names"
