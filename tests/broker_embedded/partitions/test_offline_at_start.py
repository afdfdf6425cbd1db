"""One partition that cannot be read is offline and named; the others are served, and nothing of it is forgotten."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.broker_embedded.slices import whole
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.storage.checkpoints import read_offset_checkpoint
from kafka_tools.values import TopicPartition
from tests.broker_embedded.disk_broker import DiskBroker, fetch_request

STARTS = "log-start-offset-checkpoint"


def garbage(partition: Path) -> None:
    (partition / "partition.metadata").write_bytes(b"\xff\x00 not one")


def no_file(partition: Path) -> None:
    (partition / "partition.metadata").unlink()
    (partition / "partition.metadata").mkdir()


def log_is_a_directory(partition: Path) -> None:
    log = partition / f"{0:020d}.log"
    log.unlink()
    log.mkdir()


def log_is_a_pipe(partition: Path) -> None:
    log = partition / f"{0:020d}.log"
    log.unlink()
    os.mkfifo(log)


def made(folder: Path) -> DiskBroker:
    broker = DiskBroker(folder)
    broker.create("t", 2)
    for number in range(2):
        for _ in range(6):
            assert broker.produce("t", broker.batch(b"v"), partition=number).error_code == 0
        partition = broker.core.partitions.get("t", number)
        assert partition is not None
        partition.log.roll()
        partition.log.delete_before(2)
    return broker


def list_offset(broker: DiskBroker, number: int) -> tuple[int, int]:
    Topic = ListOffsetsRequest.Topic
    wanted = Topic(name="t", partitions=[Topic.Partition(partition_index=number, timestamp=-1)])
    (found,) = broker.call(ListOffsetsRequest(replica_id=-1, topics=[wanted]), 5).topics[0].partitions
    return found.error_code, found.offset


@pytest.mark.parametrize("kill", [True, False])
@pytest.mark.parametrize("harm", [garbage, no_file, log_is_a_directory, log_is_a_pipe])
def test_the_partition_is_offline_and_named_and_the_other_is_served(
    tmp_path: Path, harm: Callable[[Path], None], kill: bool, caplog: pytest.LogCaptureFixture
) -> None:
    broker = made(tmp_path)
    whole(broker.core.partitions.upkeep.write_checkpoints())
    broker.core.close(clean=not kill)
    harm(tmp_path / "t-0")
    before = sorted(path.name for path in (tmp_path / "t-0").iterdir())
    broker.open()
    (told,) = [line for line in caplog.messages if "t-0 is offline: " in line]
    assert f"{tmp_path}/t-0" in told and "restore it from a copy and restart" in told
    assert broker.produce("t", broker.batch(b"v"), partition=0).error_code == codes.KAFKA_STORAGE_ERROR
    assert list_offset(broker, 0) == (codes.KAFKA_STORAGE_ERROR, -1)
    fetched = broker.call(fetch_request("t", 0), 11)
    assert fetched.responses[0].partitions[0].error_code == codes.KAFKA_STORAGE_ERROR
    assert broker.produce("t", broker.batch(b"v"), partition=1).error_code == 0
    assert list_offset(broker, 1) == (0, 7)
    whole(broker.core.partitions.upkeep.write_checkpoints())
    assert read_offset_checkpoint(str(tmp_path / STARTS)) == {TopicPartition("t", 0): 2, TopicPartition("t", 1): 2}
    broker.core.close()
    assert sorted(path.name for path in (tmp_path / "t-0").iterdir()) == before
    assert (tmp_path / ".kafka_cleanshutdown").exists() != kill, "else nobody would check what was not read"


def test_what_is_put_right_is_served_again_and_what_is_moved_away_begins_anew(tmp_path: Path) -> None:
    broker = made(tmp_path)
    right = (tmp_path / "t-0" / "partition.metadata").read_bytes()
    for put_right in (True, False):
        broker.core.close()
        garbage(tmp_path / "t-0")
        broker.open()
        assert list_offset(broker, 0)[0] == codes.KAFKA_STORAGE_ERROR
        broker.core.close()
        if put_right:
            (tmp_path / "t-0" / "partition.metadata").write_bytes(right)
        else:
            (tmp_path / "t-0").rename(tmp_path / "moved")
        broker.open()
        assert list_offset(broker, 0) == (0, 6 if put_right else 0)
    broker.core.close()


def test_its_topic_can_be_deleted_and_made_again(tmp_path: Path) -> None:
    broker = made(tmp_path)
    broker.core.close()
    garbage(tmp_path / "t-0")
    broker.open()
    answer = broker.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 5)
    assert answer.responses[0].error_code == 0
    assert not (tmp_path / "t-0").exists()
    broker.create("t", 2)
    assert [list_offset(broker, number) for number in range(2)] == [(0, 0), (0, 0)]
    broker.restart()
    assert [list_offset(broker, number) for number in range(2)] == [(0, 0), (0, 0)]
    broker.core.close()


def test_a_missing_topic_id_is_written_again(tmp_path: Path) -> None:
    """A crash may come before it is there, and a loss of power leave it empty."""
    broker = made(tmp_path)
    right = (tmp_path / "t-0" / "partition.metadata").read_bytes()
    for empty in (True, False):
        broker.core.close()
        (tmp_path / "t-0" / "partition.metadata").unlink()
        if empty:
            (tmp_path / "t-0" / "partition.metadata").touch()
        broker.open()
        assert list_offset(broker, 0) == (0, 6)
        assert (tmp_path / "t-0" / "partition.metadata").read_bytes() == right
    broker.core.close()


@pytest.mark.parametrize("how", ["missing", "empty"])
def test_deleted_records_stay_deleted_without_the_checkpoint(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    broker = made(tmp_path)
    broker.core.close()
    (tmp_path / STARTS).unlink()
    if how == "empty":
        (tmp_path / STARTS).touch()
    broker.open()
    partitions = [broker.core.partitions.get("t", number) for number in range(2)]
    assert [partition.log.log_start_offset for partition in partitions if partition is not None] == [2, 2]
    assert sum("no checkpoint contains the log start offset; using" in line for line in caplog.messages) == 2
    broker.core.close()


def test_a_group_is_not_served_from_an_offline_partition(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path, {"offsets.topic.num.partitions": "1"})
    broker.create("t")
    whole(broker.core.groups.log.ensured())
    Topic = OffsetCommitRequest.RequestTopic
    commit = OffsetCommitRequest(
        group_id="g",
        topics=[Topic(name="t", partitions=[Topic.RequestPartition(partition_index=0, committed_offset=5)])],
    )
    assert broker.call(commit, 2).topics[0].partitions[0].error_code == 0
    broker.core.close()
    garbage(tmp_path / "__consumer_offsets-0")
    broker.open()
    wanted = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequest.RequestTopic(name="t", partition_indexes=[0])])
    answer = broker.call(wanted, 2)
    assert answer.error_code == codes.NOT_COORDINATOR, "and not: nothing was committed"
    broker.core.close()
