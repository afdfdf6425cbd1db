"""The cluster's own log is not a topic: no client makes, writes, reads or deletes it; what came of it is mended."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded.cluster import topic_names
from kafka_tools.broker_embedded.coordinators import mending
from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorLog
from kafka_tools.broker_embedded.directories.local_store import encode_record
from kafka_tools.broker_embedded.opening import open_core
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.clock import ManualClock
from kafka_tools.errors import BrokerError, ConfigError, LogError
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.codec import encode_versioned
from kafka_tools.protocol.enums import CLUSTER_METADATA
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.stored.cluster_metadata import (
    ClientQuotaRecord,
    PartitionRecord,
    ProducerIdsRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from kafka_tools.protocol.stored.transaction_log import TransactionLogValue
from kafka_tools.records.build import build_batch
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog
from kafka_tools.storage.snapshots import write_partition_metadata
from tests.broker_embedded.disk_broker import DiskBroker
from tests.broker_embedded.transactional_client import Client

STATE = "__cluster_metadata-0"


@pytest.fixture
def broker(tmp_path: Path) -> DiskBroker:
    return DiskBroker(tmp_path / "data")


def test_the_state_cannot_be_made_a_topic(broker: DiskBroker) -> None:
    Topic = CreateTopicsRequest.CreatableTopic
    wanted = [Topic(name=name, num_partitions=1, replication_factor=1) for name in (CLUSTER_METADATA, "other")]
    refused, made = broker.call(CreateTopicsRequest(topics=wanted), 7).topics
    assert (refused.error_code, refused.error_message) == (
        codes.INVALID_REQUEST,
        "Creation of internal topic __cluster_metadata is prohibited.",
    )
    assert made.error_code == 0
    asked = MetadataRequest(
        topics=[MetadataRequest.RequestTopic(name=CLUSTER_METADATA)], allow_auto_topic_creation=True
    )
    (described,) = broker.call(asked, 12).topics
    assert described.error_code == codes.UNKNOWN_TOPIC_OR_PARTITION
    with pytest.raises(BrokerError, match="prohibited"):
        whole(CoordinatorLog(broker.core.runtime, CLUSTER_METADATA).ensured())
    assert set(broker.core.cluster.topics) == {"other"}
    broker.restart(kill=True)
    assert set(broker.core.cluster.topics) == {"other"}


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("name", ["__cluster_metadata-x", "__cluster_metadata-0", "__cluster_metadata-0-1", "x-delete"])
def test_a_name_that_begins_like_the_states_is_a_topics(tmp_path: Path, name: str, kill: bool) -> None:
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    core = open_core({}, data_dirs=paths, clock=ManualClock())
    whole(core.topics.create(name, [[1]] * 2, {}))
    for number in range(2):
        CoordinatorLog(core.runtime, name).append_batch(number, build_batch([(1, b"k", b"v", ())] * 3))
    core.close(clean=not kill)
    core = open_core({}, data_dirs=paths, clock=ManualClock())
    assert {str(partition.id): partition.log.log_end_offset for partition in core.partitions} == {
        f"{name}-0": 3,
        f"{name}-1": 3,
    }
    core.close()


def test_a_directory_that_is_there_is_never_taken_over_by_a_topic(broker: DiskBroker) -> None:
    """As where a file system does not tell Orders-0 from orders-0."""
    (broker.path / "orders-1").mkdir()
    (broker.path / "orders-1" / "mine").write_text("mine")
    Topic = CreateTopicsRequest.CreatableTopic
    wanted = Topic(name="orders", num_partitions=2, replication_factor=1)
    (result,) = broker.call(CreateTopicsRequest(topics=[wanted]), 7).topics
    assert (result.error_code, result.error_message) == (
        codes.KAFKA_STORAGE_ERROR,
        "The disk refused the partitions: File exists.",
    )
    assert broker.core.cluster.topic("orders") is None
    assert sorted(path.name for path in broker.path.glob("orders-*")) == ["orders-1"]
    assert os.listdir(broker.path / "orders-1") == ["mine"]


# Directories in which it has happened


def forbid_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker as 0.1.0 was: it makes any topic, on directories that are there."""
    monkeypatch.setattr(topic_names, "check_not_the_brokers_own", lambda name: None)
    real = os.mkdir
    monkeypatch.setattr(os, "mkdir", lambda path, mode=0o777: os.path.isdir(path) or real(path, mode))


class Past:
    """A broker of the past, in whose state a client's topic came."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            self.broker = DiskBroker(path)
            core = self.broker.core
            whole(core.topics.create("before", [[1]] * 2, {"retention.ms": "5000"}))
            core.journal.commit([UserScramCredentialRecord(name="alice", mechanism=1, iterations=4096)])
            CoordinatorLog(core.runtime, "before").append_batch(0, build_batch([(1, b"k", b"v", ())]))
            forbid_nothing(patch)
            self.topic = whole(core.topics.create(CLUSTER_METADATA, [[1]], {}))
            whole(core.topics.create("after", [[1]], {}))
        self.after = core.cluster.topics["after"].id

    def forge(self, epoch: int) -> None:
        """What a client could write: a user, as a record of the state, behind what the broker has written."""
        forged = UserScramCredentialRecord(name="mallory", mechanism=1, iterations=4096)
        batch = build_batch([(1, None, encode_record(forged), ())], leader_epoch=epoch)
        log = PartitionLog.open(str(self.broker.path / STATE), LogConfig(), ManualClock(), clean=False)
        log.append(bytearray(batch), leader_epoch=epoch, from_client=False)
        log.close()

    def delete(self) -> None:
        whole(self.broker.core.topics.delete(self.broker.core.cluster.topics[CLUSTER_METADATA]))


def mended(path: Path) -> list[str]:
    command = [sys.executable, "-m", "kafka_tools", "broker", "mend", "--data-dir", str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.splitlines()


def users(broker: DiskBroker) -> set[str]:
    return {record.name for record in broker.core.store.replay() if isinstance(record, UserScramCredentialRecord)}


def everything(folder: Path) -> set[bytes]:
    return {path.read_bytes() for path in folder.rglob("*.log")}


def test_a_forged_state_is_told_at_the_start_and_mended_without_the_forgery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data"
    past = Past(path, monkeypatch)
    past.broker.core.close()
    past.forge(epoch=0)
    logs = everything(path)
    with pytest.raises(
        LogError, match=f"{STATE} belongs to a topic __cluster_metadata that a client created"
    ) as raised:
        DiskBroker(path)
    assert "kafka-tools broker mend" in str(raised.value.hint)
    lines = mended(path)
    assert "Omitted: UserScramCredentialRecord, 1 time." in lines
    assert everything(path) >= logs, "nothing is destroyed"
    broker = DiskBroker(path)
    assert users(broker) == {"alice"}
    assert set(broker.core.cluster.topics) == {"before", "after"}
    assert broker.core.cluster.topics["after"].id == past.after
    assert broker.core.configs.topic("before").get("retention.ms") == 5000
    assert broker.core.partitions.led("before", 0).log.log_end_offset == 1
    broker.core.close()
    assert mended(path) == [f"{path / STATE} is valid: {broker.core.store.end_offset} records, nothing to repair."]


def test_what_a_client_may_have_written_as_well_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a restart the topic's leader epoch is the state's own: records cannot be told apart any more."""
    path = tmp_path / "data"
    past = Past(path, monkeypatch)
    past.broker.core.close()
    (path / STATE / "partition.metadata").unlink()  # the start of the past is played by this one
    with monkeypatch.context() as patch:
        patch.setattr("kafka_tools.broker_embedded.core.check_topics", lambda cluster: None)
        forbid_nothing(patch)
        past.broker.open()
        past.broker.core.journal.commit([UserScramCredentialRecord(name="bob", mechanism=1, iterations=4096)])
        whole(past.broker.core.topics.create("late", [[1]] * 2, {}))
        CoordinatorLog(past.broker.core.runtime, "late").append_batch(1, build_batch([(1, b"k", b"late", ())]))
        past.broker.core.close()
    past.forge(epoch=1)
    with pytest.raises(LogError, match="a client created"):
        DiskBroker(path)
    (path / STATE / "partition.metadata").unlink()
    with pytest.raises(LogError, match="the cluster metadata has a topic __cluster_metadata"):
        DiskBroker(path)
    lines = mended(path)
    assert "Omitted: UserScramCredentialRecord, 2 times." in lines
    assert any(line.startswith("Topic late: restored from its directories") for line in lines)
    broker = DiskBroker(path)
    assert users(broker) == {"alice"}
    assert set(broker.core.cluster.topics) == {"before", "after", "late"}
    assert broker.core.configs.topic("late").get("retention.ms") == -1, "no record may go before somebody has looked"
    assert broker.core.partitions.led("late", 1).log.log_end_offset == 1


def test_a_deleted_state_is_told_and_brought_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data"
    past = Past(path, monkeypatch)
    past.delete()
    past.broker.core.journal.commit([ClientQuotaRecord(key="producer_byte_rate", value=7.0)])
    past.broker.core.close(clean=False)
    assert not (path / STATE).exists()
    with pytest.raises(LogError, match="the cluster metadata was deleted, as a topic named __cluster_metadata"):
        DiskBroker(path)
    mended(path)
    broker = DiskBroker(path)
    assert set(broker.core.cluster.topics) == {"before", "after"} and users(broker) == {"alice"}


def test_a_state_that_is_gone_is_made_anew_from_the_partitions(tmp_path: Path) -> None:
    path = tmp_path / "data"
    broker = DiskBroker(path)
    broker.create("kept", 3)
    whole(broker.core.groups.log.ensured())
    topic_id = broker.core.cluster.topics["kept"].id
    for number in range(3):
        broker.produce("kept", broker.batch(b"a", b"b"), partition=number)
    broker.restart()
    broker.produce("kept", broker.batch(b"c"))
    broker.core.close()
    shutil.rmtree(path / STATE)
    with pytest.raises(LogError, match="is missing, but"):
        DiskBroker(path)
    # What a broker of the past did then: it set all of them aside.
    for name in ("kept-1", "kept-2"):
        os.rename(path / name, path / f"{name}.{uuid.uuid4().hex}-stray")
    lines = mended(path)
    assert [line.split()[1] for line in lines if line.startswith("Topic")] == ["__consumer_offsets:", "kept:"]
    broker = DiskBroker(path)
    kept = broker.core.cluster.topics["kept"]
    assert kept.id == topic_id and sorted(kept.partitions) == [0, 1, 2]
    assert [broker.core.partitions.led("kept", number).log.log_end_offset for number in range(3)] == [3, 2, 2]
    assert broker.core.configs.topic("__consumer_offsets").get("cleanup.policy") == ["compact"]
    epochs = broker.core.partitions.led("kept", 0).log.epochs
    assert broker.produce("kept", broker.batch(b"d")).base_offset == 3
    assert epochs.entries == sorted(epochs.entries) and epochs.entries[-1][1] == 3


def test_a_state_that_was_only_moved_aside_is_brought_back(tmp_path: Path) -> None:
    """As by a mending that was killed before the new state had its name."""
    path = tmp_path / "data"
    broker = DiskBroker(path)
    broker.create("t")
    broker.core.close()
    (path / STATE).rename(path / f"{STATE}.{'0' * 32}-stray")
    with pytest.raises(LogError, match="is missing"):
        DiskBroker(path)
    assert "rewritten with" in mended(path)[0]
    broker = DiskBroker(path)
    assert set(broker.core.cluster.topics) == {"t"}
    broker.core.close()


def test_a_damaged_state_is_named_at_the_start_and_mended_around_the_damage(tmp_path: Path) -> None:
    path = tmp_path / "data"
    broker = DiskBroker(path)
    broker.create("first")
    damaged_from = os.path.getsize(path / STATE / "00000000000000000000.log")
    broker.core.journal.commit([UserScramCredentialRecord(name="alice", mechanism=1, iterations=4096)])
    damaged_to = os.path.getsize(path / STATE / "00000000000000000000.log")
    broker.create("second")
    broker.core.close()
    with open(path / STATE / "00000000000000000000.log", "r+b") as file:
        file.seek(damaged_to - 3)
        file.write(b"\xff\xff")
    assert damaged_from < damaged_to
    with pytest.raises(LogError, match=f"{STATE}/0+.log at [0-9]+: the CRC of the batch at offset") as raised:
        DiskBroker(path)
    assert "broker mend" in str(raised.value.hint)
    assert "Omitted: damaged span, 1 time." in mended(path)
    broker = DiskBroker(path)
    assert set(broker.core.cluster.topics) == {"first", "second"} and users(broker) == set()


def test_a_mending_that_ends_early_is_finished_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data"
    past = Past(path, monkeypatch)
    past.broker.core.close()
    whole = tmp_path / "whole"
    shutil.copytree(path, whole)
    real = os.rename
    for failing_at in range(1, 4):
        shutil.rmtree(path)
        shutil.copytree(whole, path)
        count = 0

        def rename(*arguments: Any, at: int = failing_at, real: Callable[..., Any] = real) -> None:
            nonlocal count
            count += 1
            if count == at:
                raise OSError(5, "Input/output error")
            real(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(os, "rename", rename)
            try:
                mending.mend([str(path)], ManualClock())
            except OSError:
                with pytest.raises(LogError):
                    DiskBroker(path)
        mending.mend([str(path)], ManualClock())
        broker = DiskBroker(path)
        assert set(broker.core.cluster.topics) == {"before", "after"} and users(broker) == {"alice"}
        broker.core.close()


def test_mending_touches_no_folder_of_somebody_else_and_no_broker_at_work(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "backup-1").mkdir()
    with pytest.raises(ConfigError, match="not empty"):
        mending.mend([str(tmp_path / "mine")], ManualClock())
    with pytest.raises(ConfigError, match="no data of this broker to repair"):
        mending.mend([str(tmp_path / "absent")], ManualClock())
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine"]
    broker = DiskBroker(tmp_path / "data")
    with pytest.raises(ConfigError, match="in use"):
        mending.mend([str(tmp_path / "data")], ManualClock())
    broker.core.close()


def test_producer_ids_of_a_state_that_is_lost_are_not_given_again(tmp_path: Path) -> None:
    """The log of transactional ids tells them, as far as its numbers may be true."""
    broker = DiskBroker(tmp_path / "data", {"transaction.state.log.num.partitions": "1"})
    broker.core.journal.commit([ProducerIdsRecord(broker_id=1, next_producer_id=7000)])
    client = Client(broker)
    assert client.init() == 0 and client.producer_id == 7000
    value = TransactionLogValue(producer_id=2**63 - 1, producer_epoch=0, transaction_timeout_ms=1)
    key = b"\0\0\0\4evil"
    batch = build_batch([(1, key, encode_versioned(value, 1), ())])
    broker.core.transactions.log.append_batch(0, batch)
    broker.core.close()
    shutil.rmtree(tmp_path / "data" / STATE)
    done = mending.mend([str(tmp_path / "data")], ManualClock())
    assert done.state.next_producer_id == 8000
    assert [each.reason for each in done.logs[0].left_out] == [f"producer id {2**63 - 1} was never allocated"]
    broker.open()
    assert client.init() == 0 and client.producer_id == 7000
    assert Client(broker, "other").init() == 0
    assert broker.core.producer_ids.next_id() == 8001
    broker.core.close()


def test_the_topic_of_the_past_in_another_directory_is_moved_aside(tmp_path: Path) -> None:
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    core = open_core({}, data_dirs=paths, clock=ManualClock())
    whole(core.topics.create("t", [[1]], {}))
    topic_id = uuid.uuid4()
    core.journal.commit(
        [
            TopicRecord(name=CLUSTER_METADATA, topic_id=topic_id),
            PartitionRecord(partition_id=0, topic_id=topic_id, replicas=[1], isr=[1], leader=1, leader_epoch=0),
        ]
    )
    core.close()
    log = PartitionLog.open(f"{paths[1]}/{STATE}", LogConfig(), ManualClock(), clean=True)
    write_partition_metadata(f"{paths[1]}/{STATE}/partition.metadata", topic_id)
    log.append(bytearray(build_batch([(1, b"k", b"v", ())])), leader_epoch=0, from_client=False)
    log.close()
    with pytest.raises(LogError, match=f"{paths[1]}/{STATE} belongs to a topic"):
        open_core({}, data_dirs=paths, clock=ManualClock())
    done = mending.mend(paths, ManualClock())
    assert done.state.state == f"{paths[0]}/{STATE}"
    core = open_core({}, data_dirs=paths, clock=ManualClock())
    assert set(core.cluster.topics) == {"t"}
    core.close()
    assert [path.name[:21] for path in (tmp_path / "b").glob("*-stray")] == ["__cluster_metadata-0."]


def test_deleting_the_state_by_name_finds_no_topic(broker: DiskBroker) -> None:
    topics = [DeleteTopicsRequest.DeleteTopicState(name=CLUSTER_METADATA)]
    request = DeleteTopicsRequest(topics=topics, timeout_ms=30_000)
    (result,) = broker.call(request, 6).responses
    assert result.error_code == codes.UNKNOWN_TOPIC_OR_PARTITION
    assert (broker.path / STATE).is_dir()
