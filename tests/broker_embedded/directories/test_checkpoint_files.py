"""Checkpoints are written beside the broker's thread: nobody waits for the disk, and nothing older replaces them."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.core import Core
from kafka_tools.broker_embedded.directories import checkpoint_files
from kafka_tools.broker_embedded.directories.checkpoint_files import CheckpointFile, read_checkpoint
from kafka_tools.broker_embedded.slices import Slices, Work, at_once, whole
from kafka_tools.broker_embedded.timers import Timers
from kafka_tools.clock import ManualClock
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_records import DeleteRecordsRequest
from kafka_tools.records.build import build_batch
from kafka_tools.storage.checkpoints import write_offset_checkpoint
from kafka_tools.storage.names import HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS
from kafka_tools.values import TopicPartition
from tests.broker_embedded.disk_broker import DiskBroker

T0 = TopicPartition("t", 0)
ALL = (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS)
ENOSPC = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class SlowDisk:
    """What replaces checkpoints is done when the test says so."""

    def __init__(self, slices: Slices) -> None:
        self.waiting: list[tuple[Callable[[], Any], Callable[[Any, BaseException | None], None]]] = []
        slices.disk = lambda run, done: self.waiting.append((run, done))

    def go_on(self, at: int = 0) -> None:
        run, done = self.waiting.pop(at)
        try:
            result = run()
        except OSError as error:
            done(None, error)
        else:
            done(result, None)


def delete_records(offset: int) -> DeleteRecordsRequest:
    Wanted = DeleteRecordsRequest.Topic
    wanted = Wanted(name="t", partitions=[Wanted.Partition(partition_index=0, offset=offset)])
    return DeleteRecordsRequest(topics=[wanted], timeout_ms=1)


def told(pending: Any) -> tuple[int, int]:
    (found,) = pending.response.topics[0].partitions
    return found.error_code, found.low_watermark


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[DiskBroker]:
    made = DiskBroker(tmp_path / "data")
    made.create("t")
    made.produce("t", made.batch(*[b"v"] * 9))
    made.step()
    yield made
    made.core.slices.disk = at_once
    made.core.close()


def test_deleted_records_are_acknowledged_when_the_disk_has_it_and_others_are_served_meanwhile(
    broker: DiskBroker,
) -> None:
    disk = SlowDisk(broker.core.slices)
    first, second = broker.send(delete_records(3), 2), broker.send(delete_records(5), 2)
    Topic = CreateTopicsRequest.CreatableTopic
    other = CreateTopicsRequest(topics=[Topic(name="u", num_partitions=1, replication_factor=1)])
    for _ in range(3):
        broker.step()
    assert (first.response, second.response) == (None, None)
    pending = broker.send(other, 5)
    broker.step()
    assert pending.response.topics[0].error_code == codes.NONE, "which is long work too"
    disk.go_on()
    broker.step()
    assert (told(first), second.response) == ((codes.NONE, 3), None)
    disk.go_on()
    broker.step()
    assert told(second) == (codes.NONE, 5)
    assert read_checkpoint(str(broker.path / LOG_STARTS))[T0] == 5


def test_deleted_records_that_the_disk_does_not_keep_are_told(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise ENOSPC

    disk = SlowDisk(broker.core.slices)
    pending = broker.send(delete_records(3), 2)
    broker.step()
    with monkeypatch.context() as patched:
        patched.setattr(checkpoint_files, "replace_file", refused)
        disk.go_on()
    broker.step()
    assert told(pending) == (codes.KAFKA_STORAGE_ERROR, -1)


class Turns:
    """One step after the other: a pause of long work, or one file that is replaced."""

    def __init__(self, broker: DiskBroker, monkeypatch: pytest.MonkeyPatch, *, slow: bool) -> None:
        """``slow``: the disk does nothing while there is something else to do."""
        self._core = broker.core
        self._disk = SlowDisk(broker.core.slices)
        self._slow = slow
        moments = iter(range(1_000_000_000))
        monkeypatch.setattr(self._core.clock, "monotonic_s", lambda: next(moments) * 5e-3)  # more than a slice

    def take(self) -> bool:
        """Whether there was anything left to do."""
        busy = self._core.timers.run_due() if self._slow or not self._disk.waiting else 0
        if not busy and self._disk.waiting:
            self._disk.go_on()
        return bool(len(self._core.slices))

    def end(self, work: Work[Any]) -> None:
        """Take turns until this is over."""
        ended: list[BaseException | None] = []
        self._core.slices.begin(work, lambda _, error: ended.append(error))
        while not ended:
            self.take()
        assert ended == [None]


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("finished", [False, True])
@pytest.mark.parametrize("deleted_before", [False, True])
def test_a_topic_that_is_made_anew_while_checkpoints_are_written_has_none_of_the_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deleted_before: bool, finished: bool, slow: bool
) -> None:
    """Between two steps of writing them anybody may delete and make topics."""
    cut, more = 0, True
    while more:
        broker = DiskBroker(tmp_path)
        core = broker.core
        for name in ("t", "u"):
            if core.cluster.topic(name) is None:
                broker.create(name)
        broker.produce("t", broker.batch(b"1", b"2", b"3"))
        assert told(broker.send(delete_records(2), 2)) == (codes.NONE, 2)
        with monkeypatch.context() as patched:
            turns = Turns(broker, patched, slow=slow)
            core.slices.later(core.partitions.upkeep.write_checkpoints(), lambda *_: None)
            if deleted_before:
                turns.end(core.topics.delete(core.cluster.topics["t"]))
            for _ in range(cut):
                more = turns.take()
            if not deleted_before:
                turns.end(core.topics.delete(core.cluster.topics["t"]))
            turns.end(core.topics.create("t", [[1]], {}))
            while finished and turns.take():
                pass
        core.close(clean=False)
        for name in ALL:
            assert read_checkpoint(str(tmp_path / name)).get(T0, 0) == 0, (name, cut)
        cut += 1
    assert cut > 6


def test_nothing_older_replaces_what_was_read_of_the_logs_later(tmp_path: Path) -> None:
    timers = Timers(ManualClock())
    slices = Slices(timers)
    disk = SlowDisk(slices)
    path = tmp_path / "file"
    write_offset_checkpoint(str(path), {T0: 0})
    file = CheckpointFile(str(path))
    ended: list[object] = []

    def settle() -> None:
        while timers.run_due():
            pass

    def write(offsets: dict[TopicPartition, int]) -> None:
        slices.begin(file.end(file.begin(offsets), offsets, slices), lambda _, error: ended.append(error))
        settle()

    other = TopicPartition("u", 0)
    write({T0: 1})
    write({other: 2})
    write({other: 3})
    assert file.may_name(T0)
    disk.go_on(1)
    settle()
    assert (read_checkpoint(str(path)), file.may_name(T0)) == ({other: 2}, False)
    disk.go_on(0)
    settle()
    assert read_checkpoint(str(path)) == {other: 2}, "and the older one is told that it is done"
    disk.go_on(0)
    settle()
    assert (read_checkpoint(str(path)), ended) == ({other: 3}, [None] * 3)
    write({T0: 4})
    assert file.may_name(T0)
    path.unlink()
    path.mkdir()
    disk.go_on()
    settle()
    assert isinstance(ended.pop(), OSError)
    assert not file.may_name(T0), "which the disk has refused"


def test_a_stop_waits_for_the_disk_and_what_it_writes_is_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, may_end = threading.Event(), threading.Event()
    at_work: set[threading.Thread] = set()
    replace = checkpoint_files.replace_file

    def slow(path: str, data: bytes) -> None:
        beside = threading.current_thread()
        if beside.name.startswith("checkpoints") and path.startswith(str(tmp_path)):  # another broker may have one, too
            at_work.add(beside)
            began.set()
            assert may_end.wait(60)
        replace(path, data)

    monkeypatch.setattr(checkpoint_files, "replace_file", slow)
    broker = EmbeddedBroker(tmp_path / "data")
    broker.start()
    try:
        broker.call(lambda core: whole(core.topics.create("t", [[1]], {})))
        broker.call(append)
        broker.advance(61)
        assert began.wait(60)
        broker.call(append)
    finally:
        threading.Timer(0.2, may_end.set).start()
        broker.stop()
    assert not [each for each in at_work if each.is_alive()]
    for name in (RECOVERY_POINTS, HIGH_WATERMARKS):
        assert read_checkpoint(str(tmp_path / "data" / name))[T0] == 2


def append(core: Core) -> None:
    core.partitions.led("t", 0).log.append(bytearray(build_batch([(1, b"k", b"v", ())])), leader_epoch=0)
