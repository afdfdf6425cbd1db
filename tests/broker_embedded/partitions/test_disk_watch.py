"""What the disk loses under a running broker is offline at the next look, told once, and touched no more."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.configs.limits import BrokerLimits
from kafka_tools.broker_embedded.directories.local_store import LocalStore
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.errors import LogError
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_records import DeleteRecordsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafka_tools.storage.log import segment as segment_module
from kafka_tools.storage.names import CLEAN_SHUTDOWN
from tests.broker_embedded.disk_broker import DiskBroker, fetch_request

FIRST = "00000000000000000000.log"
STATE = "__cluster_metadata-0"


def _aside(path: Path) -> Path:
    return path.with_name(path.name + ".aside")


def _removed(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def _moved(path: Path) -> None:
    path.rename(_aside(path))


def _replaced(path: Path) -> None:
    """By a copy, as from a backup."""
    if path.is_dir():
        shutil.copytree(path, _aside(path))
        shutil.rmtree(path)
    else:
        shutil.copy2(path, _aside(path))
    _aside(path).rename(path)


LOSSES: list[Callable[[Path], None]] = [_removed, _moved, _replaced]


def _below(path: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything at a path: what it is, and when it was written."""
    return {
        str(found): (found.stat().st_ino, found.stat().st_mtime_ns, found.read_bytes() if found.is_file() else b"")
        for found in sorted(path.rglob("*"))
    }


def _fetch(broker: DiskBroker, topic: str, partition: int = 0) -> Any:
    response = broker.call(fetch_request(topic, 0, partition=partition, max_wait_ms=0), 12)
    return response.responses[0].partitions[0]


def _codes(broker: DiskBroker, topic: str, partition: int = 0) -> tuple[int, int]:
    produced = broker.produce(topic, broker.batch(b"later"), partition=partition).error_code
    return produced, _fetch(broker, topic, partition).error_code


LOST = (codes.KAFKA_STORAGE_ERROR,) * 2


def _told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.fixture
def broker(tmp_path: Path) -> DiskBroker:
    made = DiskBroker(tmp_path / "data")
    for topic in ("t", "u"):
        made.create(topic)
        for _ in range(3):  # so that there are index entries, which are not written before a stop
            assert made.produce(topic, made.batch(b"a" * 5000)).error_code == 0
    made.core.disk_watch.look(at_all=True)
    return made


class Loop:
    """Real time, as the watch gets it: what is due later happens when the test says so."""

    def __init__(self, broker: DiskBroker) -> None:
        self.stopped = 0
        self._due: list[tuple[float, Callable[[], object]]] = []
        broker.core.disk_watch.start(lambda delay_s, run: self._due.append((delay_s, run)), self._stop)

    def _stop(self) -> None:
        self.stopped += 1

    def run(self) -> float:
        """Run what is due next; after how many seconds it was due."""
        delay_s, run = self._due.pop(0)
        run()
        return delay_s


@pytest.mark.parametrize("name", ["", ".lock", "meta.properties", STATE, f"{STATE}/{FIRST}"])
@pytest.mark.parametrize("lose", LOSSES)
def test_a_broker_that_loses_its_directory_says_so_once_refuses_and_stops(
    broker: DiskBroker, caplog: pytest.LogCaptureFixture, lose: Callable[[Path], None], name: str
) -> None:
    loop = Loop(broker)
    lose(broker.path / name)
    there = _below(broker.path)
    assert loop.run() < 1, "a second is the most that clients are left believing"
    (line,) = _told(caplog)
    assert f"the log directory {broker.path}, which contains the cluster metadata, is offline: {broker.path}" in line
    assert "the broker stops with status 1" in line
    if not name.startswith(STATE):
        assert _codes(broker, "t") == _codes(broker, "u") == LOST
    wanted = CreateTopicsRequest.CreatableTopic(name="new", num_partitions=1, replication_factor=1)
    assert broker.call(CreateTopicsRequest(topics=[wanted]), 5).topics[0].error_code != 0
    caplog.clear()
    broker.advance(4000)  # a snapshot of the state would be due
    assert not loop.stopped, "clients are told for a while"
    loop.run()
    loop.run()
    assert loop.stopped == 1
    failure = broker.core.disk_watch.end()
    assert isinstance(failure, LogError) and str(broker.path) in str(failure)
    broker.core.close()
    if not name.startswith(STATE):
        assert _below(broker.path) == there, "what is there now may be somebody else's"
    assert not (broker.path / CLEAN_SHUTDOWN).exists()
    assert not _told(caplog)


@pytest.mark.parametrize("name", ["", FIRST])
@pytest.mark.parametrize("lose", LOSSES)
def test_a_partition_whose_files_are_gone_is_offline_alone(
    broker: DiskBroker, caplog: pytest.LogCaptureFixture, lose: Callable[[Path], None], name: str
) -> None:
    place = broker.path / "t-0"
    lose(place / name)
    there = _below(place)
    broker.core.disk_watch.look()
    assert _codes(broker, "t") == LOST
    assert _codes(broker, "u") == (0, 0)
    broker.core.disk_watch.look()
    whole(broker.core.partitions.upkeep.enforce_retention())
    whole(broker.core.partitions.upkeep.write_checkpoints())
    failure = broker.core.disk_watch.end()
    assert failure is not None and "with 1 partition offline: t-0" in str(failure)
    broker.core.close()
    (line,) = _told(caplog)
    assert line.startswith(f"1 partition is offline, because files are missing or were replaced (t-0: {place / FIRST}")
    assert _below(place) == there
    assert not (broker.path / CLEAN_SHUTDOWN).exists()


def test_a_stop_with_a_log_in_doubt_is_no_stop_in_order(broker: DiskBroker) -> None:
    """Whatever took it offline, unless it only waits for room."""
    opened = broker.core.partitions.led("t", 0).log
    opened._refused(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert opened.offline and broker.core.disk_watch.end() is None
    opened.take_offline(OSError(errno.EIO, os.strerror(errno.EIO)))
    assert "with 1 partition offline: t-0" in str(broker.core.disk_watch.end())


def test_a_state_log_that_cannot_be_written_stops_the_broker(
    broker: DiskBroker, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Kafka halts: what is decided from then on would be known to nobody."""
    real = os.pwrite

    def refuse(fd: int, data: bytes, position: int) -> int:
        if STATE in os.readlink(f"/proc/self/fd/{fd}"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(fd, data, position)

    loop = Loop(broker)
    monkeypatch.setattr(os, "pwrite", refuse)
    wanted = CreateTopicsRequest.CreatableTopic(name="new", num_partitions=1, replication_factor=1)
    assert broker.call(CreateTopicsRequest(topics=[wanted]), 5).topics[0].error_code != 0
    caplog.clear()
    for _ in range(3):
        loop.run()
    assert loop.stopped == 1
    assert "which contains the cluster metadata, is offline: [Errno 5]" in _told(caplog)[0]


def test_a_snapshot_that_is_being_written_when_the_state_is_lost_gets_no_name(broker: DiskBroker) -> None:
    core = broker.core
    assert isinstance(core.store, LocalStore)
    work = core.store.write_snapshot(core.journal.image(), core.slices, begin_segment=False)
    next(work)
    _replaced(broker.path)
    core.disk_watch.look()
    with pytest.raises(FileNotFoundError):
        whole(work)
    assert not list((broker.path / STATE).glob("*.checkpoint*"))


def test_many_partitions_that_are_lost_together_are_one_line(
    broker: DiskBroker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.create("many", 8)
    for number in range(8):
        assert broker.produce("many", broker.batch(b"a"), partition=number).error_code == 0
        shutil.rmtree(broker.path / f"many-{number}")
    broker.core.disk_watch.look()
    broker.core.disk_watch.look()
    (line,) = _told(caplog)
    assert line.startswith("8 partitions are offline") and "and 5 more)" in line


def test_a_directory_that_goes_file_by_file_is_told_as_one(
    broker: DiskBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """As ``rm -rf`` does it, between whose steps the broker looks."""
    shutil.rmtree(broker.path / "t-0")
    broker.core.disk_watch.look()
    assert _codes(broker, "t") == LOST
    shutil.rmtree(broker.path)
    broker.core.disk_watch.look()
    (line,) = _told(caplog)
    assert line.startswith("the log directory")


def test_what_is_not_written_to_is_looked_at_in_turn(broker: DiskBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many partitions there are: each look costs the same."""
    looked: list[str] = []

    def counted(path: str, expected: int) -> str | None:
        looked.append(path)
        return real(path, expected)

    real = segment_module.why_gone
    monkeypatch.setattr(segment_module, "why_gone", counted)
    broker.create("idle", 250)
    shutil.rmtree(broker.path / "idle-207")
    for _ in range(5):
        looked.clear()
        broker.core.disk_watch.look()
        assert len([path for path in looked if STATE not in path]) <= 100
    assert _codes(broker, "idle", 207) == LOST
    assert _codes(broker, "idle", 208) == (0, 0)


def test_old_segments_are_looked_at_too(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data")
    broker.create("t", segment_bytes="1048576")
    for _ in range(3):
        assert broker.produce("t", broker.batch(b"x" * 700_000)).error_code == 0
    first, second, _ = sorted((broker.path / "t-0").glob("*.log"))
    second.unlink()
    for _ in range(3):
        broker.core.disk_watch.look()
    assert first.exists() and _codes(broker, "t") == LOST


def test_what_the_broker_removes_and_renames_itself_is_not_lost(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data", {"log.cleaner.backoff.ms": "1"})
    broker.create("t", segment_bytes="1048576", file_delete_delay_ms="0")
    broker.create("c", segment_bytes="1048576", cleanup_policy="compact", min_cleanable_dirty_ratio="0.01")
    broker.create("gone")

    def look() -> None:
        broker.core.disk_watch.look(at_all=True)

    for _ in range(4):
        for topic in ("t", "c", "gone"):
            assert broker.produce(topic, broker.batch(b"x" * 700_000)).error_code == 0
            look()
    Topic = DeleteRecordsRequest.Topic
    wanted = Topic(name="t", partitions=[Topic.Partition(partition_index=0, offset=3)])
    broker.send(DeleteRecordsRequest(topics=[wanted], timeout_ms=1), 2)
    broker.send(DeleteTopicsRequest(topic_names=["gone"], timeout_ms=1), 5)
    for _ in range(200):
        broker.advance(1)
        look()
    assert sum(path.stat().st_size for path in (broker.path / "c-0").glob("*.log")) < 2_000_000, "it was compacted"
    assert len(list((broker.path / "t-0").glob("*.log*"))) < 4, "segments were deleted"
    assert broker.core.disk_watch.end() is None
    broker.core.close()
    assert (broker.path / CLEAN_SHUTDOWN).exists()


@pytest.fixture
def two(tmp_path: Path) -> DiskBroker:
    """A broker with two directories, the state in the first; ``t`` has partitions in both."""
    broker = DiskBroker(tmp_path / "data", more_dirs=[tmp_path / "second"])
    broker.create("t", 4)
    for number in range(4):
        assert broker.produce("t", broker.batch(b"a"), partition=number).error_code == 0
    assert (
        sorted(each.log_dir for each in broker.core.partitions)
        == [str(broker.path)] * 2 + [str(tmp_path / "second")] * 2
    )
    return broker


@pytest.mark.parametrize("lose", LOSSES)
def test_of_two_directories_the_lost_one_goes_and_the_other_serves(
    two: DiskBroker, caplog: pytest.LogCaptureFixture, lose: Callable[[Path], None]
) -> None:
    (second,) = two.more_dirs
    on = {each.id.partition: each.log_dir for each in two.core.partitions}
    lose(second)
    there = _below(second)
    loop = Loop(two)
    loop.run()
    for number, log_dir in on.items():
        assert _codes(two, "t", number) == (LOST if log_dir == str(second) else (0, 0))
    (line,) = _told(caplog)
    assert line.startswith(f"the log directory {second} is offline: {second}") and "2 partitions" in line
    two.create("new", 3)
    assert {each.log_dir for each in two.core.partitions if each.id.topic == "new"} == {str(two.path)}
    results = two.call(DescribeLogDirsRequest(topics=None), 4).results
    assert {each.log_dir: each.error_code for each in results} == {
        str(two.path): 0,
        str(second): codes.KAFKA_STORAGE_ERROR,
    }
    two.send(DeleteTopicsRequest(topic_names=["new"], timeout_ms=1), 5)
    two.advance(100)
    failure = two.core.disk_watch.end()
    assert failure is not None and "with 1 log directory and 2 partitions offline" in str(failure)
    assert not loop.stopped
    two.core.close()
    assert (two.path / CLEAN_SHUTDOWN).exists() and not (second / CLEAN_SHUTDOWN).exists()
    assert _below(second) == there
    assert len(_told(caplog)) == 1


def test_a_lost_directory_without_partitions_is_not_called_clean(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data", more_dirs=[tmp_path / "second"])
    _replaced(tmp_path / "second")
    broker.core.disk_watch.look()
    broker.core.close()
    assert not (tmp_path / "second" / CLEAN_SHUTDOWN).exists()


def test_a_directory_that_comes_back_is_checked_and_served_by_the_next_start(two: DiskBroker) -> None:
    (second,) = two.more_dirs
    _moved(second)
    two.core.disk_watch.look()
    assert two.core.disk_watch.end() is not None
    two.core.close()
    assert not second.exists(), "nothing was made in its place"
    _aside(second).rename(second)
    two.open()
    assert not two.core.dirs.clean[str(second)] and two.core.dirs.clean[str(two.path)]
    for number in range(4):
        assert _codes(two, "t", number) == (0, 0)
        assert two.core.partitions.led("t", number).log.log_end_offset == 2


def test_a_topic_deleted_meanwhile_is_gone_when_its_directory_comes_back(two: DiskBroker) -> None:
    (second,) = two.more_dirs
    _replaced(second)
    two.core.disk_watch.look()
    (answer,) = two.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1), 5).responses
    assert answer.error_code == 0
    two.advance(100)
    assert len(list(second.glob("t-*"))) == 2 and not list(two.path.glob("t-*"))
    two.core.close()
    two.open()
    assert not list(second.glob("t-*")) and not list(second.glob("*-stray"))


def test_a_read_only_file_system_is_a_lost_directory(
    two: DiskBroker, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (second,) = two.more_dirs

    class ReadOnly:
        f_flag = os.ST_RDONLY

    real = os.statvfs
    monkeypatch.setattr(os, "statvfs", lambda path: ReadOnly if path == str(second) else real(path))
    two.core.disk_watch.look()
    assert f"the file system of {second} is now read-only" in _told(caplog)[0]
    assert sorted(_codes(two, "t", number) for number in range(4)) == [(0, 0)] * 2 + [LOST] * 2


def test_a_checkpoint_that_no_path_leads_to_is_a_lost_directory(
    two: DiskBroker, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the flags of the file system say nothing of it."""
    (second,) = two.more_dirs
    real = os.open

    def refuse(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if flags & os.O_CREAT and str(path).startswith(str(second)):
            raise OSError(30, os.strerror(30), path)
        return real(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", refuse)
    whole(two.core.partitions.upkeep.write_checkpoints())
    two.core.disk_watch.look()
    (line,) = _told(caplog)
    assert line.startswith(f"the log directory {second} is offline: {second}") and "Read-only file system" in line


def test_a_broker_on_a_thread_stops_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmbeddedBroker, "limits", BrokerLimits(answering_s=0.0))
    with EmbeddedBroker(data_dir=tmp_path / "data") as broker:
        thread = broker._thread
        assert thread is not None
        _removed(tmp_path / "data")
        thread.join(60)
        assert not thread.is_alive()
    assert not (tmp_path / "data").exists()


# --fsync always


@pytest.fixture
def forced(tmp_path: Path) -> DiskBroker:
    broker = DiskBroker(tmp_path / "data", fsync="always")
    for topic in ("t", "u"):
        broker.create(topic)
        assert broker.produce(topic, broker.batch(b"a")).error_code == 0
    return broker


@pytest.mark.parametrize("name", ["", "t-0", f"t-0/{FIRST}"])
@pytest.mark.parametrize("lose", LOSSES)
def test_with_fsync_nothing_is_written_to_a_file_that_is_lost(
    forced: DiskBroker, lose: Callable[[Path], None], name: str
) -> None:
    """Before anybody has looked."""
    lose(forced.path / name)
    assert forced.produce("t", forced.batch(b"b")).error_code == codes.KAFKA_STORAGE_ERROR
    assert forced.produce("u", forced.batch(b"b")).error_code == (0 if name else codes.KAFKA_STORAGE_ERROR)


@pytest.mark.parametrize("lose", LOSSES)
def test_with_fsync_a_file_that_is_lost_while_it_is_forced_is_acknowledged_to_nobody(
    forced: DiskBroker, lose: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fdatasync
    once = [forced.path / "t-0"]

    def force(fd: int) -> None:
        real(fd)  # which succeeds, whatever happens to the name
        if once:
            lose(once.pop())

    monkeypatch.setattr(os, "fdatasync", force)
    pending = forced.produce_pending("t", forced.batch(b"b"))
    assert pending.response is None
    assert forced.connection.close_after_reply, "the client asks again, on another connection"
    forced.connection.close_after_reply = False
    assert forced.produce("t", forced.batch(b"b")).error_code == codes.KAFKA_STORAGE_ERROR
    assert forced.produce("u", forced.batch(b"b")).error_code == 0
    assert not forced.connection.close_after_reply


def test_with_fsync_a_file_that_the_broker_deletes_meanwhile_is_not_lost(
    forced: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[tuple[Callable[[], Any], Callable[[Any, BaseException | None], None]]] = []
    assert forced.core.group_commit is not None
    monkeypatch.setattr(forced.core.group_commit, "offload", lambda run, done: waiting.append((run, done)))
    pending = [forced.produce_pending(topic, forced.batch(b"b")) for topic in "tu"]
    (partition,) = (each for each in forced.core.partitions if each.id.topic == "t")
    partition.log.roll()
    waiting.pop(0)[1]([], None)
    run, done = waiting.pop(0)  # for the second answer, and the name of the new segment
    partition.log._named(partition.log.log_end_offset)
    partition.log.delete_before(partition.log.log_end_offset)
    whole(forced.core.partitions.delete(forced.core.partitions.take_out("u", [0])))
    assert not (forced.path / "t-0" / FIRST).exists() and not (forced.path / "u-0").exists()
    done(run(), None)
    assert all(each.response.responses[0].partition_responses[0].error_code == 0 for each in pending)
    assert not forced.connection.close_after_reply
    forced.core.close(clean=False)


# On real mounts


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    if _mount("-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)):
        pytest.skip("this user cannot mount file systems here")
    yield place
    while not subprocess.run(["umount", "-l", str(place)], capture_output=True, check=False).returncode:
        pass


def _mount(*arguments: str) -> int:
    try:
        return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode
    except FileNotFoundError:
        return 1


def test_a_disk_that_is_unmounted_lazily_is_lost(mounted: Path, caplog: pytest.LogCaptureFixture) -> None:
    broker = DiskBroker(mounted / "data")
    broker.create("t")
    assert _codes(broker, "t") == (0, 0)
    subprocess.run(["umount", "-l", str(mounted)], check=True)
    broker.core.disk_watch.look()
    assert _codes(broker, "t") == LOST
    assert f"{broker.path}: No such file or directory" in _told(caplog)[0]
    assert broker.core.disk_watch.end() is not None
    broker.core.close()
    assert not list(mounted.iterdir()), "nothing was made where the disk was"


def test_a_disk_that_becomes_read_only_is_lost(mounted: Path, caplog: pytest.LogCaptureFixture) -> None:
    broker = DiskBroker(mounted)
    broker.create("t")
    assert _mount("--bind", str(mounted), str(mounted)) == _mount("-o", "remount,bind,ro", str(mounted)) == 0
    broker.core.disk_watch.look()
    assert _codes(broker, "t") == LOST
    assert f"the file system of {mounted} is now read-only" in _told(caplog)[0]
    assert broker.core.disk_watch.end() is not None
    broker.core.close()
