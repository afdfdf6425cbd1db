"""``--fsync always``: nothing is said before it is on the disk, and nothing at all after an fsync has failed."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded.broker import EmbeddedBroker
from kafka_tools.broker_embedded.listeners import threads
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.errors import ConfigError, LogError
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.end_txn import EndTxnRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.storage.log import syncing
from kafka_tools.storage.names import CLEAN_SHUTDOWN
from tests.broker_embedded.disk_broker import DiskBroker, fetch_request
from tests.broker_embedded.transactional_client import Client
from tests.broker_embedded.wire_client import WireClient

Done = Callable[[Any, BaseException | None], None]


class SlowDisk:
    """A broker whose fsyncs are done when the test says so; ``forced`` tells which files they were for."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.broker = DiskBroker(path, fsync="always")
        self._waiting: list[tuple[Callable[[], Any], Done]] = []
        self.forced: list[str] = []
        self._real = os.fdatasync
        monkeypatch.setattr(os, "fdatasync", self._force)
        self.slow()

    def slow(self) -> None:
        assert self.broker.core.group_commit is not None
        self.broker.core.group_commit.offload = lambda function, done: self._waiting.append((function, done))

    def _force(self, fd: int) -> None:
        self.forced.append(os.path.basename(os.path.dirname(os.readlink(f"/proc/self/fd/{fd}"))))
        self._real(fd)

    @property
    def is_busy(self) -> bool:
        return bool(self._waiting)

    def finish(self) -> None:
        """One round of fsyncs."""
        function, done = self._waiting.pop(0)
        failure = None
        try:
            function()
        except OSError as error:
            failure = error
        done(None, failure)
        self.broker.step()

    def fail(self, error: OSError) -> None:
        done = self._waiting.pop(0)[1]
        done(None, error)
        self.broker.step()

    def finish_all(self) -> None:
        while self._waiting:
            self.finish()


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowDisk]:
    made = SlowDisk(tmp_path / "data", monkeypatch)
    for name in ("t", "u"):
        Topic = CreateTopicsRequest.CreatableTopic
        asked = CreateTopicsRequest(topics=[Topic(name=name, num_partitions=1, replication_factor=1)])
        pending = made.broker.send(asked, 5)
        assert pending.response is None, "a topic is acknowledged when its record and its files are on the disk"
        made.finish_all()
        assert pending.response.topics[0].error_code == 0
    made.forced.clear()
    yield made
    made.broker.core.close(clean=False)


def test_one_fsync_of_a_file_answers_all_who_came_meanwhile(disk: SlowDisk) -> None:
    broker = disk.broker
    first = broker.produce_pending("t", broker.batch(b"a"))
    assert disk.is_busy
    others = [broker.produce_pending(topic, broker.batch(b"b")) for topic in "tutu" for _ in range(5)]
    assert not any(each.response for each in (first, *others))
    disk.finish()
    assert first.response and not any(each.response for each in others), "what came later is not covered"
    disk.finish()
    assert all(each.response for each in others) and not disk.is_busy
    assert sorted(disk.forced) == ["t-0", "t-0", "u-0"]
    offsets = [each.response.responses[0].partition_responses[0].base_offset for each in others]
    assert sorted(offsets) == sorted([*range(1, 11), *range(10)])


def test_what_only_tells_of_a_change_waits_for_it_too(disk: SlowDisk) -> None:
    """A repeated batch, a fetch, and a question for what was committed: none may tell what power could take back."""
    broker = disk.broker
    batch = broker.batch(b"a", producer_id=7, producer_epoch=0, base_sequence=0)
    told = [broker.produce_pending("t", batch) for _ in range(2)]
    told.append(broker.send(fetch_request("t", 0), 11))
    assert not any(each.response for each in told)
    disk.finish()
    disk.finish_all()
    assert all(each.response for each in told)
    assert told[1].response.responses[0].partition_responses[0].base_offset == 0
    again = broker.produce_pending("t", batch)
    assert again.response and not disk.is_busy, "what is on the disk is answered at once"


def test_an_acknowledgement_that_nobody_wants_does_not_wait(disk: SlowDisk) -> None:
    broker = disk.broker
    broker.produce_pending("t", broker.batch(b"a"), acks=0)
    assert not disk.is_busy
    waiting = broker.produce_pending("t", broker.batch(b"b"), acks=1)
    assert disk.is_busy and waiting.response is None
    disk.finish()
    assert waiting.response


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_after_a_failed_fsync_nothing_is_acknowledged_whatever_the_next_one_says(
    disk: SlowDisk, caplog: pytest.LogCaptureFixture, code: int
) -> None:
    broker = disk.broker
    waiting = [broker.produce_pending("t", broker.batch(b"a"))]
    waiting.append(broker.produce_pending("u", broker.batch(b"b")))
    disk.fail(OSError(code, os.strerror(code), "t-0/0.log"))
    waiting.append(broker.produce_pending("u", broker.batch(b"c")))
    waiting.append(broker.send(fetch_request("u", 0), 11))
    disk.finish_all()
    broker.advance(1)
    assert not any(each.response for each in waiting)
    (told,) = [record.getMessage() for record in caplog.records if record.levelname == "CRITICAL"]
    assert "t-0/0.log" in told and os.strerror(code) in told and "start the broker again" in told
    broker.restart(kill=True)
    assert broker.produce("t", broker.batch(b"d")).error_code == 0


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE])
def test_without_a_descriptor_to_force_a_file_with_answers_wait_for_one(
    disk: SlowDisk, caplog: pytest.LogCaptureFixture, code: int
) -> None:
    caplog.set_level("INFO")
    broker = disk.broker
    first = broker.produce_pending("t", broker.batch(b"a"))
    others = []
    for _ in range(3):
        disk.fail(OSError(code, os.strerror(code), "t-0"))
        others.append(broker.produce_pending("u", broker.batch(b"b")))
        others.append(broker.send(fetch_request("t", 0), 11))
        assert not any(each.response for each in (first, *others)) and not disk.is_busy
        broker.advance(1)
        assert disk.is_busy, "it is tried again"
    disk.finish()
    assert first.response and not any(each.response for each in others), "what came later is not covered"
    disk.finish_all()
    assert all(each.response for each in others)
    told = [record.getMessage() for record in caplog.records if "flush" in record.getMessage()]
    assert len(told) == 2 and os.strerror(code) in told[0] and "again" in told[1]


def test_without_a_descriptor_a_sealed_segment_is_forced_later(disk: SlowDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = disk.broker
    log = broker.core.partitions.led("t", 0).log
    broker.produce_pending("t", broker.batch(b"a"))
    log.roll()
    waiting = broker.produce_pending("t", broker.batch(b"b"))
    real = os.open

    def none_left(path: str, flags: int, *arguments: Any, **options: Any) -> int:
        if path.endswith(".index"):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)
        return real(path, flags, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", none_left)
        for _ in range(3):
            disk.finish_all()
            broker.advance(1)
    assert waiting.response is None and log.recovery_point == 0
    disk.finish_all()
    assert waiting.response.responses[0].partition_responses[0].error_code == 0
    assert log.recovery_point == 1 and not log.offline
    assert broker.core.group_commit is not None and broker.core.group_commit.failure is None


def test_a_transaction_ends_nowhere_before_its_end_is_decided_for_good(disk: SlowDisk) -> None:
    """A marker on the disk without the decision would let the rest of the transaction end otherwise."""
    disk.broker.core.group_commit.offload = _at_once  # type: ignore[union-attr]
    client = Client(_Stepped(disk.broker))
    client.init()
    client.add(0, topic="t")
    client.produce(b"a", partition=0, topic="t")
    disk.slow()
    log = disk.broker.core.partitions.led("t", 0).log
    before = log.log_end_offset
    request = EndTxnRequest(
        transactional_id=client.id, producer_id=client.producer_id, producer_epoch=client.epoch, committed=True
    )
    ended = disk.broker.send(request, 4)
    disk.broker.step()
    assert log.log_end_offset == before, "no marker while the decision is not on the disk"
    disk.finish()
    disk.broker.step()
    disk.broker.step()
    assert log.log_end_offset == before + 1 and ended.response is None
    while ended.response is None:
        disk.finish_all()
        disk.broker.step()
    assert ended.response.error_code == 0


def test_a_group_s_commit_is_on_the_disk(disk: SlowDisk) -> None:
    Topic = OffsetCommitRequest.RequestTopic
    topic = Topic(name="t", partitions=[Topic.RequestPartition(partition_index=0, committed_offset=3)])
    request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, topics=[topic])
    whole(disk.broker.core.groups.log.ensured())
    disk.forced.clear()
    pending = disk.broker.send(request, 8)
    assert pending.response is None
    disk.finish_all()
    assert pending.response.topics[0].partitions[0].error_code == 0
    assert any(name.startswith("__consumer_offsets-") for name in disk.forced)


def test_a_segment_goes_only_when_the_name_of_the_next_is_on_the_disk(disk: SlowDisk) -> None:
    """Else a loss of power could leave neither, and offsets would begin anew."""
    log = disk.broker.core.partitions.led("t", 0).log
    disk.broker.produce_pending("t", disk.broker.batch(b"a"))
    disk.finish_all()
    log.roll()
    log.delete_before(1)
    assert len(log.segments) == 2 and log.log_start_offset == 1
    disk.broker.produce_pending("t", disk.broker.batch(b"b"))
    disk.finish_all()
    log.enforce_retention()
    assert len(log.segments) == 1


class _Stepped:
    """Answers at once, of a broker whose fsyncs take no time."""

    def __init__(self, broker: DiskBroker) -> None:
        self._broker = broker
        self.batch = broker.batch

    def call(self, request: Any, version: int) -> Any:
        pending = self._broker.send(request, version)
        while pending.response is None:
            self._broker.step()
        return pending.response


def _at_once(function: Callable[[], Any], done: Done) -> None:
    function()
    done(None, None)


# Over the wire


def test_the_broker_s_thread_does_not_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_work, done = threading.Event(), threading.Event()
    real = syncing.force

    def slow(fd: int) -> None:
        at_work.set()
        assert done.wait(60)
        real(fd)

    with EmbeddedBroker(tmp_path / "data", fsync="always") as broker, WireClient(broker.bootstrap_servers) as client:
        Topic = CreateTopicsRequest.CreatableTopic
        wanted = CreateTopicsRequest(topics=[Topic(name="t", num_partitions=1, replication_factor=1)])
        monkeypatch.setattr(syncing, "force", slow)
        answers: list[Any] = []
        asking = threading.Thread(target=lambda: answers.append(client.call(wanted, 5)))
        asking.start()
        assert at_work.wait(60)
        assert broker.call(lambda core: core.cluster.topic("t")) is not None, "the loop goes on meanwhile"
        assert not answers
        done.set()
        asking.join(60)
        assert answers[0].topics[0].error_code == 0


def test_an_embedded_broker_that_had_to_stop_can_be_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    Topic = CreateTopicsRequest.CreatableTopic
    wanted = CreateTopicsRequest(topics=[Topic(name="t", num_partitions=1, replication_factor=1)])
    broker = EmbeddedBroker(tmp_path / "data", fsync="always").start()
    try:
        with WireClient(broker.bootstrap_servers) as client, monkeypatch.context() as patch:
            patch.setattr(syncing, "force", refused)
            with pytest.raises((OSError, EOFError)):
                client.call(wanted, 5)
        broker.restart(kill=True)
        with WireClient(broker.bootstrap_servers) as client:
            assert client.call(wanted, 5).topics[0].error_code in (0, 36), "made before it was known to be on the disk"
    finally:
        broker.stop()


def test_an_fsync_that_fails_while_the_broker_stops_leaves_its_logs_to_be_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_work, stopping = threading.Event(), threading.Event()

    class Telling(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            stopping.set()
            super().shutdown(wait, cancel_futures=cancel_futures)

    def refused(fd: int) -> None:
        at_work.set()
        assert stopping.wait(60)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(threads, "ThreadPoolExecutor", Telling)
    Topic = CreateTopicsRequest.CreatableTopic
    wanted = CreateTopicsRequest(topics=[Topic(name="t", num_partitions=1, replication_factor=1)])
    broker = EmbeddedBroker(tmp_path / "data", fsync="always").start()

    def ask() -> None:
        with WireClient(broker.bootstrap_servers) as client, pytest.raises((OSError, EOFError)):
            client.call(wanted, 5)

    asking = threading.Thread(target=ask)
    monkeypatch.setattr(syncing, "force", refused)
    asking.start()
    assert at_work.wait(60)
    broker.stop()
    asking.join(60)
    assert not (tmp_path / "data" / CLEAN_SHUTDOWN).exists()


def test_the_process_ends_with_a_line_that_says_what_to_do(tmp_path: Path) -> None:
    program = (
        "import errno, os, sys\n"
        "from kafka_tools.storage.log import syncing\n"
        "from kafka_tools.broker_embedded.broker import DEFAULTS_FOR_TESTS\n"
        "from kafka_tools.broker_embedded.process import log_to_stderr, run\n"
        "def refused(fd):\n"
        "    raise OSError(errno.EIO, os.strerror(errno.EIO))\n"
        "log_to_stderr('error')\n"
        "syncing.force = refused\n"
        "run({'listeners': 'PLAINTEXT://127.0.0.1:0'}, [sys.argv[1]], release=None, fsync='always',\n"
        "    ready=lambda line: print(line, flush=True))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "data")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        address = json.loads(process.stdout.readline())["bootstrap_servers"]
        Topic = CreateTopicsRequest.CreatableTopic
        wanted = CreateTopicsRequest(topics=[Topic(name="t", num_partitions=1, replication_factor=1)])
        with WireClient(address) as client, pytest.raises((OSError, EOFError)):
            client.call(wanted, 5)
        told = process.stderr.read()
        assert process.wait(60) == 1
    assert "cannot flush to the disk: [Errno 5] Input/output error" in told
    assert "and stops. Check the disk" in told


def test_a_start_that_cannot_force_what_it_finds_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed broker may have left what is the kernel's alone: to serve it as kept would be a lie."""
    broker = DiskBroker(tmp_path / "data")
    broker.create("t")
    broker.produce("t", broker.batch(b"a"))
    broker.core.close(clean=False)
    broker.fsync = "always"
    forced: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(syncing, "sync_file", lambda path: forced.append(path))
        broker.open()
    assert any(path.endswith("t-0/00000000000000000000.log") for path in forced)
    assert not any(path.endswith(".lock") for path in forced), "to close a second descriptor would end the lock"
    broker.core.close(clean=False)

    def refused(path: str) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    monkeypatch.setattr(syncing, "sync_file", refused)
    with pytest.raises(LogError, match=r"cannot start the broker: .*Input/output error"):
        broker.open()


def test_there_are_two_levels(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="invalid fsync 'often': expected one of kafka, always"):
        DiskBroker(tmp_path / "data", fsync="often")


def test_no_producer_id_is_given_before_its_block_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that loses its power keeps the blocks of all ids that anybody has."""
    broker = DiskBroker(tmp_path / "data")
    log = broker.core.store._log  # type: ignore[attr-defined]
    assert broker.core.producer_ids.next_id() == 0 and log._unflushed == 0
    with monkeypatch.context() as patch:

        def refused(fd: int) -> None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        patch.setattr("kafka_tools.storage.log.partition_log.force", refused)
        for _ in range(999):
            broker.core.producer_ids.next_id()
        with pytest.raises(OSError, match="Input/output"):
            broker.core.producer_ids.next_id()
    broker.core.close(clean=False)
