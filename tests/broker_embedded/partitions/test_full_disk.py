"""A broker whose disk is full, or lost something: topics are made whole or not at all, and what is gone is told."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded.directories import checkpoint_files
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.create_partitions import CreatePartitionsRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_records import DeleteRecordsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from tests.broker_embedded.disk_broker import DiskBroker

Topic = CreateTopicsRequest.CreatableTopic


@pytest.fixture
def broker(tmp_path: Path) -> DiskBroker:
    return DiskBroker(tmp_path / "data")


class FullFrom:
    """From its ``number``-th change on a disk has no room: what makes files or writes to them fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
        self.calls = 0

        def needing(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **options: Any) -> Any:
                if real is not os_open or arguments[1] & os.O_CREAT:
                    self.calls += 1
                    if self.calls >= number:
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return real(*arguments, **options)

            return call

        os_open = os.open
        for name in ("mkdir", "pwrite", "open", "posix_fallocate"):
            monkeypatch.setattr(os, name, needing(getattr(os, name)))


def test_topics_on_a_full_disk_are_made_whole_or_not(broker: DiskBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [Topic(name=name, num_partitions=3, replication_factor=1) for name in ("a", "b")]
    number, made = 0, 0
    while made < 2:
        number += 1
        with monkeypatch.context() as patch:
            FullFrom(patch, number)
            results = broker.call(CreateTopicsRequest(topics=wanted), 7).topics
        broker.advance(0.01)
        done = {result.name for result in results if not result.error_code}
        assert set(broker.core.cluster.topics) == done, "what is answered as refused is not there"
        assert {result.error_code for result in results} <= {0, codes.KAFKA_STORAGE_ERROR}
        assert all(result.error_message for result in results if result.error_code)
        assert {path.name[0] for path in broker.path.glob("[ab]-?")} == done
        made = len(done)
        broker.restart(kill=bool(number % 2))
        assert set(broker.core.cluster.topics) == done, "nor after a start"
        assert not [name for name in os.listdir(broker.path) if name.endswith("-stray")]
        for name in done if made < 2 else ():
            (answer,) = broker.call(DeleteTopicsRequest(topic_names=[name], timeout_ms=1), 5).responses
            assert answer.error_code == 0
            broker.advance(61)
    assert number > 20


def test_a_directory_that_cannot_be_deleted_does_not_take_its_name(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when no descriptor is left, which looking into a directory needs."""
    wanted = CreateTopicsRequest(topics=[Topic(name="a", num_partitions=1, replication_factor=1)])

    def refuse(path: str) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)

    with monkeypatch.context() as patch:
        FullFrom(patch, 2)  # the directory is there
        patch.setattr(shutil, "rmtree", refuse)
        assert broker.call(wanted, 7).topics[0].error_code == codes.KAFKA_STORAGE_ERROR
    assert [path.name.endswith("-delete") for path in broker.path.glob("a-0*")] == [True]
    assert broker.call(wanted, 7).topics[0].error_code == 0
    broker.restart()
    assert [path.name for path in broker.path.glob("a-0*")] == ["a-0"]


def test_partitions_on_a_full_disk_are_added_all_or_none(broker: DiskBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.create("t", 2)
    wanted = CreatePartitionsRequest.Topic(name="t", count=4, assignments=None)
    request = CreatePartitionsRequest(topics=[wanted], timeout_ms=1)
    number, code = 0, -1
    while code:
        number += 1
        with monkeypatch.context() as patch:
            FullFrom(patch, number)
            code = broker.call(request, 3).results[0].error_code
        broker.advance(0.01)
        assert code in (0, codes.KAFKA_STORAGE_ERROR)
        assert len(broker.core.cluster.topics["t"].partitions) == (2 if code else 4)
        assert len(list(broker.path.glob("t-*"))) == (2 if code else 4)
    assert number > 5
    assert broker.produce("t", broker.batch(b"a"), partition=3).error_code == 0


def test_a_full_disk_is_no_coordinator_yet_and_no_topic_by_itself(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        FullFrom(patch, 1)
        found = broker.call(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4).coordinators[0]
        assert found.error_code == codes.COORDINATOR_NOT_AVAILABLE
        asked = MetadataRequest(topics=[MetadataRequest.RequestTopic(name="t")], allow_auto_topic_creation=True)
        assert broker.call(asked, 12).topics[0].error_code != 0
    assert set(broker.core.cluster.topics) == set()
    broker.advance(0.01)
    found = broker.call(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4).coordinators[0]
    assert found.error_code == 0


def test_an_unfinished_topic_is_removed_by_the_next_start(broker: DiskBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash between its directories and the commit."""

    class Crash(BaseException):
        pass

    def crash(*_: object) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(broker.core.journal, "commit", crash)
        patch.setattr(broker.core.partitions, "unmake", lambda made: iter(()))
        with pytest.raises(Crash):
            broker.create("t", 2)
    assert (broker.path / "t-1").exists()
    broker.core.close(clean=False)
    broker.open()
    assert not list(broker.path.glob("t-*"))


def test_a_crash_in_the_first_moment_of_a_topic_leaves_its_name_free(broker: DiskBroker) -> None:
    """What it was to be is not in the directory yet: only the file that would have become its metadata."""
    broker.core.close(clean=False)
    (broker.path / "t-0").mkdir()
    (broker.path / "t-0" / "partition.metadata.tmp").write_bytes(b"vers")
    broker.open()
    broker.create("t")
    assert broker.produce("t", broker.batch(b"a")).error_code == 0


def test_checkpoints_that_cannot_be_written_are_told_once_and_written_later(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    broker.create("t")
    broker.produce("t", broker.batch(b"a"))
    with monkeypatch.context() as patch:
        FullFrom(patch, 1)
        for _ in range(5):
            broker.advance(60)
    broker.advance(61)
    assert "t 0 1" in (broker.path / "replication-offset-checkpoint").read_text()
    told = [record.getMessage() for record in caplog.records if "checkpoints of" in record.getMessage()]
    assert len(told) == 2 and "cannot write" in told[0] and "written again" in told[1]
    assert "a timer failed" not in caplog.text


def test_index_entries_that_one_log_has_no_room_for_keep_no_checkpoint_from_being_written(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for topic in ("a", "b"):
        broker.create(topic)
        broker.produce(topic, broker.batch(b"1"))
    asked: list[None] = []

    def refused() -> None:
        asked.append(None)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(broker.core.partitions.led("a", 0).log, "flush", refused)
    for _ in range(3):
        broker.advance(61)
    assert len(asked) == 3, "it is tried again"
    assert {"a 0 1", "b 0 1"} <= set((broker.path / "replication-offset-checkpoint").read_text().splitlines())
    told = [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert len(told) == 1 and told[0].startswith("cannot write index entries of a-0")


def test_a_stop_on_a_full_disk_is_checked_by_the_next_start(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broker.create("t")
    for number in range(3):
        broker.produce("t", broker.batch(b"%d" % number))
    with monkeypatch.context() as patch:
        FullFrom(patch, 1)
        broker.core.close()
    assert not (broker.path / ".kafka_cleanshutdown").exists()
    assert "the next start checks" in caplog.text
    broker.open()
    assert broker.core.partitions.led("t", 0).log.log_end_offset == 3


# What is gone


def warnings(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(record.getMessage() for record in caplog.records if record.levelname == "WARNING")


@pytest.mark.parametrize("kill", [False, True])
def test_a_partition_whose_directory_is_gone_is_named(
    broker: DiskBroker, caplog: pytest.LogCaptureFixture, kill: bool
) -> None:
    broker.create("orders", 2)
    broker.produce("orders", broker.batch(*[b"v"] * 7), partition=1)
    broker.advance(61)
    broker.core.close(clean=not kill)
    shutil.rmtree(broker.path / "orders-1")
    broker.open()
    assert "orders-1: the directory of this partition is missing, which had offsets up to 6" in warnings(caplog)
    assert "orders-0" not in warnings(caplog)
    caplog.clear()
    broker.restart(kill=kill)
    assert warnings(caplog) == "", "it is told once"


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("gone", ["first", "middle", "last"])
def test_segments_that_are_gone_are_named(
    broker: DiskBroker, caplog: pytest.LogCaptureFixture, gone: str, kill: bool
) -> None:
    broker.create("orders", 1, segment_bytes="1048576")
    for _ in range(4):
        broker.produce("orders", broker.batch(b"v" * 700_000))
    broker.advance(61)
    broker.core.close(clean=not kill)
    paths = sorted((broker.path / "orders-0").glob("*.log"))
    number = {"first": 0, "middle": 2, "last": 3}[gone]
    paths[number].unlink()
    broker.open()
    assert f"offsets {number} to {number} are missing" in warnings(caplog)


def test_what_retention_and_deletions_remove_is_not_missed(
    broker: DiskBroker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.create("orders", 1, segment_bytes="1048576", retention_bytes="1")
    for _ in range(4):
        broker.produce("orders", broker.batch(b"v" * 700_000))
    broker.advance(61)
    whole(broker.core.partitions.upkeep.enforce_retention())
    broker.restart(kill=True)
    whole(broker.core.partitions.upkeep.enforce_retention())
    broker.advance(301)
    broker.restart(kill=True)
    assert warnings(caplog) == ""


def test_offsets_of_a_deleted_topic_are_not_those_of_the_next_with_its_name(broker: DiskBroker) -> None:
    """The checkpoints of the old one would have the log of the new one emptied, as before its start."""
    broker.create("t")
    broker.produce("t", broker.batch(*[b"old"] * 50))
    Wanted = DeleteRecordsRequest.Topic
    wanted = Wanted(name="t", partitions=[Wanted.Partition(partition_index=0, offset=50)])
    broker.call(DeleteRecordsRequest(topics=[wanted], timeout_ms=1), 2)
    broker.advance(61)
    broker.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1), 5)
    broker.create("t")
    broker.produce("t", broker.batch(*[b"new"] * 5))
    broker.restart(kill=True)
    opened = broker.core.partitions.led("t", 0).log
    assert (opened.log_start_offset, opened.log_end_offset) == (0, 5)


def test_deleted_records_are_kept_once_for_all_partitions_and_acknowledged_only_then(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create("t", 3)
    for number in range(3):
        broker.produce("t", broker.batch(b"a", b"b"), partition=number)
    Wanted = DeleteRecordsRequest.Topic
    parts = [Wanted.Partition(partition_index=number, offset=1) for number in (0, 1, 2, 9)]
    asked = DeleteRecordsRequest(topics=[Wanted(name="t", partitions=parts)], timeout_ms=1)
    replace, written = checkpoint_files.replace_file, []

    def refused(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def told() -> list[tuple[int, int]]:
        (topic,) = broker.call(asked, 2).topics
        return [(each.error_code, each.low_watermark) for each in topic.partitions]

    unknown = (codes.UNKNOWN_TOPIC_OR_PARTITION, -1)
    monkeypatch.setattr(checkpoint_files, "replace_file", refused)
    for _ in range(2):
        assert told() == [*[(codes.KAFKA_STORAGE_ERROR, -1)] * 3, unknown], "also if it is asked again"
    monkeypatch.setattr(checkpoint_files, "replace_file", lambda *given: written.append(replace(*given)))
    assert told() == [*[(codes.NONE, 1)] * 3, unknown]
    assert len(written) == 1
    broker.restart(kill=True)
    assert [partition.log.log_start_offset for partition in broker.core.partitions] == [1, 1, 1]
