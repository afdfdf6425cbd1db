"""Adopting a directory of Apache Kafka: all of what it says, or nothing; Kafka's directory stays as it is."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafka_tools import KAFKA_MINOR
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.directories import adoption
from kafka_tools.broker_embedded.directories.adoption import adopt
from kafka_tools.broker_embedded.directories.local_store import LocalStore, encode_record
from kafka_tools.clock import ManualClock
from kafka_tools.errors import ConfigError, KafkaToolsError, LogError
from kafka_tools.protocol.codec import encode, encode_versioned
from kafka_tools.protocol.feature_levels import LATEST_PRODUCTION as NEWEST
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored import cluster_metadata as stored
from kafka_tools.protocol.stored.share_group import ShareGroupMetadataKey, ShareGroupMetadataValue
from kafka_tools.records.build import build_batch
from kafka_tools.storage.checkpoints import read_meta_properties, write_offset_checkpoint
from kafka_tools.storage.kraft_snapshots import write_kraft_snapshot
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog
from kafka_tools.storage.names import OFFSET_CHECKPOINTS
from kafka_tools.values import TopicPartition, uuid_text
from tests.broker_embedded.directories.test_data_dirs import snapshot
from tests.broker_embedded.disk_broker import DiskBroker, fetch_request

CLUSTER = "P-_gne-USvKjs4nK_arUrw"
STATE = "__cluster_metadata-0"
DIRECTORY = uuid.UUID(int=5)
Change = Callable[[list[Stored]], list[Stored]]


def as_it_is(records: list[Stored]) -> list[Stored]:
    return records


def write_log(directory: Path, batches: Sequence[Sequence[Stored]], *, first: int = 0) -> None:
    """A metadata log of these changes, from offset ``first`` on."""
    shutil.rmtree(directory, ignore_errors=True)
    log = PartitionLog.open(str(directory), LogConfig(), ManualClock(), clean=True, log_start_offset=first)
    for records in batches:
        rows = [(1, None, encode_record(record), ()) for record in records]
        log.append(bytearray(build_batch(rows)), leader_epoch=1, from_client=False)
    log.close()


def kafka_directory(folder: Path, change: Change = as_it_is, *, clean: bool = True, node: int = 1) -> Path:
    """A directory as Kafka leaves it, with two topics, an emptied one, a group, a user and an ACL in it.

    ``change`` has the records of its metadata log, which begin with the registrations of controller and broker.
    """
    path = folder / "kafka"
    broker = DiskBroker(path, {"offsets.topic.num.partitions": "1", "node.id": str(node)})
    broker.create("orders", 2, retention_ms="-1")
    broker.create("table", cleanup_policy="compact")
    for number in range(5):
        broker.produce("orders", broker.batch(b"value %d" % number), partition=number % 2)
    Topic = OffsetCommitRequest.RequestTopic
    offsets = [Topic(name="orders", partitions=[Topic.RequestPartition(partition_index=0, committed_offset=2)])]
    commit = OffsetCommitRequest(group_id="readers", generation_id_or_member_epoch=-1, topics=offsets)
    assert broker.call(commit, 8).topics[0].partitions[0].error_code == 0
    credential = stored.UserScramCredentialRecord(
        name="alice", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096
    )
    entry = stored.AccessControlEntryRecord(
        id=uuid.uuid4(), resource_type=2, resource_name="orders", pattern_type=3, principal="User:alice", host="*",
        operation=3, permission_type=3,
    )  # fmt: skip
    broker.core.journal.commit([credential, entry, stored.ProducerIdsRecord(broker_id=1, next_producer_id=5000)])
    records = list(broker.core.store.replay())
    broker.core.close(clean=clean)
    registered: list[Stored] = [
        stored.RegisterControllerRecord(controller_id=node),
        stored.RegisterBrokerRecord(broker_id=node, log_dirs=[DIRECTORY]),
    ]
    write_log(path / STATE, [[record] for record in change([*registered, *records])])
    text = f"#\n#Sun Nov 22 21:59:19 UTC 2026\nnode.id={node}\ndirectory.id=x\nversion=1\ncluster.id={CLUSTER}\n"
    (path / "meta.properties").write_text(text)
    return path


def begin(kafka_dir: Path, data_dir: Path, *, node_id: int = 1, cluster_id: str | None = None) -> None:
    adopt([str(kafka_dir)], [str(data_dir)], node_id=node_id, cluster_id=cluster_id, clock=ManualClock())


def values_of(broker: DiskBroker, partition: int) -> list[bytes | None]:
    found = broker.call(fetch_request("orders", 0, partition=partition), 11).responses[0].partitions[0]
    from kafka_tools.records.batches import batches

    return [record.value for view in batches(found.records) for record in view.records()]


def check(data_dir: Path) -> None:
    """What ``kafka_directory`` holds is served."""
    broker = DiskBroker(data_dir, {"offsets.topic.num.partitions": "1"})
    assert values_of(broker, 0) == [b"value 0", b"value 2", b"value 4"]
    assert values_of(broker, 1) == [b"value 1", b"value 3"]
    core = broker.core
    assert core.cluster.cluster_id == CLUSTER
    assert core.configs.dynamic(2, "table") == {"cleanup.policy": "compact"}
    assert list(core.credentials._by_user) == ["alice"] and len(core.acls._entries) == 1
    assert core.producer_ids.next_id() == 5000
    asked = OffsetFetchRequest(group_id="readers", topics=None)
    ((topic,),) = (broker.call(asked, 7).topics,)
    assert [(each.partition_index, each.committed_offset) for each in topic.partitions] == [(0, 2)]
    assert broker.produce("orders", broker.batch(b"more")).error_code == 0
    core.close()


@pytest.mark.parametrize("clean", [True, False])
def test_everything_is_served_and_kafkas_directory_stays_as_it_is(tmp_path: Path, clean: bool) -> None:
    kafka_dir = kafka_directory(tmp_path, clean=clean)
    before = snapshot(kafka_dir)
    ids = {path.parent.name: path.read_text() for path in kafka_dir.glob("*/partition.metadata")}
    begin(kafka_dir, tmp_path / "ours")
    assert snapshot(kafka_dir) == before
    check(tmp_path / "ours")
    assert {path.parent.name: path.read_text() for path in (tmp_path / "ours").glob("*/partition.metadata")} == ids
    meta = read_meta_properties(str(tmp_path / "ours" / "meta.properties"))
    assert meta.others["written.by"] == "kafka_tools" and meta.directory_id != "x"
    assert (tmp_path / "ours" / STATE).stat().st_mode & 0o777 == 0o700


def test_state_and_log_come_from_the_newest_snapshot_on(tmp_path: Path) -> None:
    kafka_dir = kafka_directory(tmp_path)
    store = LocalStore(str(kafka_dir), ManualClock(), clean=True)
    records = list(store.replay())
    store.close()
    removed = next(record for record in records if isinstance(record, stored.UserScramCredentialRecord))
    later: list[list[Stored]] = [
        [stored.RemoveUserScramCredentialRecord(name="alice", mechanism=1)],
        [stored.BeginTransactionRecord(name="left"), stored.TopicRecord(name="no", topic_id=uuid.uuid4())],
        [stored.AbortTransactionRecord()],
        [stored.BeginTransactionRecord(name="done"), removed],
        [stored.EndTransactionRecord()],
        [stored.BeginTransactionRecord(name="open"), stored.TopicRecord(name="neither", topic_id=uuid.uuid4())],
    ]
    write_log(kafka_dir / STATE, later, first=100)
    old, new = (kafka_dir / STATE / f"{offset:020d}-0000000001.checkpoint" for offset in (50, 100))
    write_kraft_snapshot(str(old), [[b"never read"]], epoch=1, last_contained_ms=1, written_ms=1)
    values = [encode_record(record) for record in records]
    write_kraft_snapshot(str(new), [values[:3], values[3:]], epoch=1, last_contained_ms=1, written_ms=1)
    begin(kafka_dir, tmp_path / "ours")
    check(tmp_path / "ours")


# -- what cannot be adopted ------------------------------------------------------------------------------------------


def no_meta(path: Path) -> None:
    (path / "meta.properties").unlink()


def zookeeper(path: Path) -> None:
    (path / "meta.properties").write_text(f"#\nversion=0\nbroker.id=1\ncluster.id={CLUSTER}\n")


def ours(path: Path) -> None:
    with (path / "meta.properties").open("a") as file:
        file.write("written.by=kafka_tools\n")


def no_state(path: Path) -> None:
    shutil.rmtree(path / STATE)


def damaged_state(path: Path) -> None:
    (log,) = (path / STATE).glob("*.log")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)


def torn_state_of_a_clean_stop(path: Path) -> None:
    (log,) = (path / STATE).glob("*.log")
    os.truncate(log, log.stat().st_size - 3)


def gap(path: Path) -> None:
    write_log(path / STATE, [[stored.NoOpRecord()]], first=7)


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (no_meta, r"not a log directory of Kafka \(it has no meta.properties\)"),
        (zookeeper, "ZooKeeper mode: the topics, configs and users are in ZooKeeper"),
        (ours, "this broker wrote it, not Kafka"),
        (no_state, r"the cluster metadata \(__cluster_metadata-0\) is missing"),
        (damaged_state, "00000000000000000000.log is damaged at position"),
        (torn_state_of_a_clean_stop, "is damaged at position"),
        (gap, "offsets 0 to 6 of the cluster metadata are missing"),
    ],
)
def test_a_directory_that_cannot_be_adopted_is_refused(
    tmp_path: Path, spoil: Callable[[Path], None], text: str
) -> None:
    kafka_dir = kafka_directory(tmp_path)
    spoil(kafka_dir)
    before = snapshot(kafka_dir)
    with pytest.raises(KafkaToolsError, match=text):
        begin(kafka_dir, tmp_path / "ours")
    assert snapshot(kafka_dir) == before and not (tmp_path / "ours").exists()


def test_what_is_not_a_directory_is_not_adopted(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for name, why in (("nosuch", "no such directory"), ("file", "not a directory")):
        with pytest.raises(KafkaToolsError, match=f"cannot adopt .*{name}: {why}"):
            begin(tmp_path / name, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def other_replica(records: list[Stored]) -> list[Stored]:
    found = next(record for record in records if isinstance(record, stored.PartitionRecord))
    found.replicas = [1, 2]
    return records


def moved_away(records: list[Stored]) -> list[Stored]:
    found = next(record for record in records if isinstance(record, stored.PartitionRecord))
    return [*records, stored.PartitionChangeRecord(partition_id=0, topic_id=found.topic_id, replicas=[3])]


def without(*kinds: type[Stored]) -> Change:
    return lambda records: [record for record in records if not isinstance(record, kinds)]


def with_record(record: Stored) -> Change:
    return lambda records: [*records, record]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (other_replica, r"the cluster has several nodes: orders-0 is on 1, 2"),
        (moved_away, r"the cluster has several nodes: orders-0 is on 3"),
        (with_record(stored.RegisterControllerRecord(controller_id=9)), r"controllers on other nodes \(9\)"),
        (
            with_record(stored.RegisterBrokerRecord(broker_id=1, log_dirs=[DIRECTORY, uuid.UUID(int=6)])),
            "the node has 2 log directories, but 1 of them is missing from --adopt",
        ),
        (without(stored.RegisterBrokerRecord), "broker 1 never registered"),
        (with_record(stored.ZkMigrationStateRecord(zk_migration_state=2)), "is being migrated from ZooKeeper"),
        (
            with_record(stored.FeatureLevelRecord(name="metadata.version", feature_level=99)),
            rf"uses metadata.version=99, newer than this tool knows \({KAFKA_MINOR}\): 7 to {NEWEST} are supported",
        ),
        (with_record(stored.FeatureLevelRecord(name="new", feature_level=1)), "new=1, newer .*: unknown feature"),
        (without(stored.FeatureLevelRecord), "a Kafka before 3.3"),
        (with_record(stored.RemoveTopicRecord(topic_id=uuid.UUID(int=1))), "contradicts the records before it"),
    ],
)  # fmt: skip
def test_a_cluster_that_one_node_cannot_serve_is_refused(tmp_path: Path, change: Change, text: str) -> None:
    kafka_dir = kafka_directory(tmp_path, change)
    with pytest.raises(KafkaToolsError, match=text):
        begin(kafka_dir, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_the_voters_that_were_configured_say_who_decides(tmp_path: Path) -> None:
    """Before 4.4 registrations of controllers are never taken back, and before 3.7 there are none."""
    registered = stored.RegisterControllerRecord(controller_id=9)
    kafka_dir = kafka_directory(tmp_path, with_record(registered))
    state = {"leaderId": 1, "leaderEpoch": 1, "votedId": -1, "data_version": 0}
    quorum = kafka_dir / STATE / "quorum-state"
    for voters, text in (([1, 2, 3], r"\(2, 3\)"), ([], r"\(9\)")):
        quorum.write_text(json.dumps(state | {"currentVoters": [{"voterId": voter} for voter in voters]}))
        with pytest.raises(ConfigError, match=f"controllers on other nodes {text}"):
            begin(kafka_dir, tmp_path / "ours")
    quorum.write_text(json.dumps(state | {"currentVoters": [{"voterId": 1}]}))
    begin(kafka_dir, tmp_path / "ours")
    check(tmp_path / "ours")


def test_a_controller_that_was_unregistered_decides_nothing(tmp_path: Path) -> None:
    gone = [stored.RegisterControllerRecord(controller_id=9), stored.UnregisterControllerRecord(controller_id=9)]
    kafka_dir = kafka_directory(tmp_path, lambda records: [*records, *gone])
    begin(kafka_dir, tmp_path / "ours")
    check(tmp_path / "ours")


def test_records_of_a_newer_kafka_are_refused(tmp_path: Path) -> None:
    kafka_dir = kafka_directory(tmp_path)
    log = PartitionLog.open(str(kafka_dir / STATE), LogConfig(), ManualClock(), clean=True)
    log.append(bytearray(build_batch([(1, None, bytes((1, 99, 0)), ())])), leader_epoch=1, from_client=False)
    log.close()
    with pytest.raises(LogError, match="metadata record of type 99"):
        begin(kafka_dir, tmp_path / "ours")


def test_a_directory_of_ours_with_which_kafka_went_on_is_kafkas(tmp_path: Path) -> None:
    kafka_dir = kafka_directory(tmp_path)
    with (kafka_dir / "meta.properties").open("a") as meta:
        meta.write("written.by=kafka_tools\n")  # which Kafka keeps
    with pytest.raises(ConfigError, match="this broker wrote it, not Kafka"):
        begin(kafka_dir, tmp_path / "ours")
    (kafka_dir / STATE / "quorum-state").write_text('{"leaderId":1,"leaderEpoch":2,"votedId":-1,"data_version":1}')
    with pytest.raises(
        ConfigError,
        match=r"Apache Kafka used the directory after this broker \(__cluster_metadata-0 has quorum-state\)",
    ):
        DiskBroker(kafka_dir)
    begin(kafka_dir, tmp_path / "ours")
    broker = DiskBroker(tmp_path / "ours")
    assert values_of(broker, 0) == [b"value 0", b"value 2", b"value 4"]
    broker.core.close()


def test_a_level_that_is_newer_is_named_before_records_that_it_brought(tmp_path: Path) -> None:
    newer = stored.FeatureLevelRecord(name="metadata.version", feature_level=99)
    kafka_dir = kafka_directory(tmp_path, with_record(newer))
    log = PartitionLog.open(str(kafka_dir / STATE), LogConfig(), ManualClock(), clean=True)
    log.append(bytearray(build_batch([(1, None, bytes((1, 99, 0)), ())])), leader_epoch=1, from_client=False)
    log.close()
    with pytest.raises(LogError, match=r"uses metadata.version=99, newer .* \(.*metadata record of type 99"):
        begin(kafka_dir, tmp_path / "ours")


def test_a_partition_that_is_not_there_is_in_another_log_directory_or_begins_empty(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kafka_dir = kafka_directory(tmp_path)
    shutil.rmtree(kafka_dir / "table-0")
    begin(kafka_dir, tmp_path / "ours")
    assert f"not adopted: records of table-0: it has no directory in {kafka_dir}, so it starts empty" in caplog.text
    check(tmp_path / "ours")

    def older(records: list[Stored]) -> list[Stored]:
        return [stored.RegisterBrokerRecord(broker_id=1), *without(stored.RegisterBrokerRecord)(records)]

    kafka_dir = kafka_directory(tmp_path / "older", older)
    shutil.rmtree(kafka_dir / "table-0")
    with pytest.raises(ConfigError, match="table-0 is missing"):
        begin(kafka_dir, tmp_path / "nothing")


def two_directories(folder: Path) -> tuple[Path, Path]:
    """The same as two log directories of one node: orders-1 and the group are in the second."""
    ids = [uuid.UUID(int=5), uuid.UUID(int=6)]

    def registered(records: list[Stored]) -> list[Stored]:
        return [stored.RegisterBrokerRecord(broker_id=1, log_dirs=ids), *without(stored.RegisterBrokerRecord)(records)]

    first = kafka_directory(folder, registered)
    second = folder / "kafka-2"
    second.mkdir()
    for name in ("orders-1", "__consumer_offsets-0"):
        (first / name).rename(second / name)
    meta = (first / "meta.properties").read_text()
    for path, id in zip((first, second), ids, strict=True):
        (path / "meta.properties").write_text(meta.replace("directory.id=x", f"directory.id={uuid_text(id)}"))
        for name in (".kafka_cleanshutdown", *OFFSET_CHECKPOINTS):
            if (first / name).exists() and path != first:
                shutil.copy(first / name, path / name)
    return first, second


@pytest.mark.parametrize("clean", [True, False])
def test_all_log_directories_of_a_node_are_adopted_together(tmp_path: Path, clean: bool) -> None:
    directories = two_directories(tmp_path)
    # What a directory says of a partition that is not in it is old: it moved away.
    write_offset_checkpoint(str(directories[0] / "log-start-offset-checkpoint"), {TopicPartition("orders", 1): 2})
    if not clean:
        (directories[1] / ".kafka_cleanshutdown").unlink()
    before = list(map(snapshot, directories))
    paths = [str(path) for path in directories]
    adopt(paths, [str(tmp_path / "ours")], node_id=1, cluster_id=None, clock=ManualClock())
    assert list(map(snapshot, directories)) == before
    assert (tmp_path / "ours" / ".kafka_cleanshutdown").exists() == clean
    check(tmp_path / "ours")


def test_some_log_directories_of_a_node_are_refused(tmp_path: Path) -> None:
    first, second = two_directories(tmp_path)
    third = tmp_path / "kafka-3"
    third.mkdir()
    (third / "meta.properties").write_text((second / "meta.properties").read_text().replace("directory.id=", "#"))
    shutil.copytree(second / "orders-1", third / "orders-1")

    def refused(*paths: Path) -> str:
        with pytest.raises(ConfigError) as caught:
            adopt(list(map(str, paths)), [str(tmp_path / "ours")], node_id=1, cluster_id=None, clock=ManualClock())
        assert not (tmp_path / "ours").exists()
        return f"{caught.value}: {caught.value.hint}"

    assert (
        "has 2 log directories, but 1 of them is missing from --adopt: pass all log directories of the node"
        in refused(first)
    )
    assert "is missing: pass all log directories of the node, as in its log.dirs" in refused(second)
    assert f"cannot adopt {third}: the node has no log directory with the id None" in refused(first, second, third)
    assert "duplicate directory" in refused(first, second, first)
    (third / "meta.properties").write_text((second / "meta.properties").read_text())
    assert f"orders-1 is also in {second}" in refused(first, second, third)


def test_wrong_ids_and_places_are_refused(tmp_path: Path) -> None:
    kafka_dir = kafka_directory(tmp_path, node=3)
    with pytest.raises(ConfigError, match="belongs to node 3, not 1"):
        begin(kafka_dir, tmp_path / "ours")
    with pytest.raises(ConfigError, match="belongs to cluster"):
        begin(kafka_dir, tmp_path / "ours", node_id=3, cluster_id="other")
    for place in (kafka_dir, kafka_dir / "within", tmp_path):
        with pytest.raises(ConfigError, match="the two are the same directory, or one contains the other"):
            begin(kafka_dir, place, node_id=3)
    full = tmp_path / "full"
    full.mkdir()
    (full / "notes").write_text("mine")
    with pytest.raises(ConfigError, match="it contains notes"):
        begin(kafka_dir, full, node_id=3)
    assert [path.name for path in full.iterdir()] == ["notes"]
    begin(kafka_dir, tmp_path / "ours", node_id=3)
    with pytest.raises(ConfigError, match="already contains data of this broker"):
        begin(kafka_dir, tmp_path / "ours", node_id=3)


def test_a_directory_with_a_broker_on_it_is_refused(tmp_path: Path) -> None:
    kafka_dir = kafka_directory(tmp_path)
    lock = kafka_dir / ".lock"
    lock.touch()
    hold = "import fcntl; file = open(%r, 'r+'); fcntl.lockf(file, fcntl.LOCK_EX); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold % str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(ConfigError, match="a broker is running on"):
            begin(kafka_dir, tmp_path / "ours")
        holder.communicate("\n")
    begin(kafka_dir, tmp_path / "ours")
    with EmbeddedBroker(data_dir=tmp_path / "ours"), pytest.raises(ConfigError, match="in use by another broker"):
        begin(tmp_path / "ours", tmp_path / "none")


def test_a_broker_that_starts_meanwhile_ends_the_adoption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kafka_dir = kafka_directory(tmp_path)
    (kafka_dir / ".lock").unlink()
    write = adoption._write_state
    monkeypatch.setattr(adoption, "_write_state", lambda *given: (write(*given), (kafka_dir / ".lock").touch()))
    with pytest.raises(ConfigError, match="a broker is running on"):
        begin(kafka_dir, tmp_path / "ours")
    assert [path.name for path in (tmp_path / "ours").iterdir()] == [".lock"]


# -- what is left out ------------------------------------------------------------------------------------------------


def test_what_cannot_be_taken_over_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def change(records: list[Stored]) -> list[Stored]:
        def config(kind: int, name: str, key: str, value: str) -> Stored:
            return stored.ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)

        return [
            *records,
            config(2, "table", "message.format.version", "3.0"),
            config(2, "table", "remote.storage.enable", "true"),
            config(2, "table", "delete.retention.ms", "7"),
            config(4, "2", "ssl.keystore.password", "very secret"),
            config(4, "", "log.cleaner.backoff.ms", "soon"),
        ]

    kafka_dir = kafka_directory(tmp_path, change, clean=False)
    (kafka_dir / "orders-0" / "notes.txt").write_text("mine")
    shutil.copytree(kafka_dir / "table-0", kafka_dir / "gone-0")
    key = ShareGroupMetadataKey(group_id="sharers")
    row = (1, b"\0\x0b" + encode(key, 0), encode_versioned(ShareGroupMetadataValue(epoch=1), 0), ())
    log = PartitionLog.open(str(kafka_dir / "__consumer_offsets-0"), LogConfig(), ManualClock(), clean=True)
    log.append(bytearray(build_batch([row])), leader_epoch=1, from_client=False)
    log.close()
    with next((kafka_dir / STATE).glob("*.log")).open("ab") as state:
        state.write(b"\0" * 8 + b"\0\0\1\0torn")
    begin(kafka_dir, tmp_path / "ours")
    told = [record.message for record in caplog.records if record.message.startswith("not adopted: ")]
    assert [line.removeprefix("not adopted: ").replace(str(kafka_dir), "DIR") for line in told] == [
        f"the last 16 bytes of DIR/{STATE}: an incomplete write of a killed broker",
        "DIR/gone-0: the cluster has no such partition",
        f"message.format.version of topic table: Kafka {KAFKA_MINOR} has no such config",
        "remote.storage.enable of topic table: this broker cannot read records in tiered storage",
        "log.cleaner.backoff.ms of broker (default): its value does not have the type of the config",
        "the configs of broker 2, which is another broker",
        "share group sharers: this broker does not support such groups",
        "DIR/orders-0/notes.txt: not a file of a log",
    ]
    assert "very secret" not in caplog.text
    broker = DiskBroker(tmp_path / "ours")
    wanted = {"cleanup.policy": "compact", "delete.retention.ms": "7"}
    assert broker.core.configs.dynamic(2, "table") == wanted
    assert values_of(broker, 0) == [b"value 0", b"value 2", b"value 4"]
    broker.core.close()


# -- all or nothing --------------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from kafka_tools.broker_embedded.directories import adoption
from kafka_tools.clock import ManualClock
name, count = sys.argv[3], int(sys.argv[4])
place = {"copy_file": adoption, "_write_state": adoption, "rename": os, "sync": os, "mkdir": os}[name]
real = getattr(place, name)
def kill(*given, **named):
    global count
    count -= 1
    if count < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*given, **named)
setattr(place, name, kill)
adoption.adopt([sys.argv[1]], [sys.argv[2]], node_id=1, cluster_id=None, clock=ManualClock())
"""


@pytest.mark.parametrize(
    ("step", "count"),
    [("mkdir", 1), ("copy_file", 0), ("copy_file", 7), ("_write_state", 0), ("sync", 0), ("rename", 0)],
)
def test_a_kill_leaves_nothing_that_counts_and_the_next_adoption_begins_anew(
    tmp_path: Path, step: str, count: int
) -> None:
    kafka_dir = kafka_directory(tmp_path)
    data_dir = tmp_path / "ours"
    data_dir.mkdir()  # so that the first directory that is made is of a partition
    command = [sys.executable, "-c", KILLED, str(kafka_dir), str(data_dir), step, str(count)]
    killed = subprocess.run(command, check=False, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with pytest.raises(ConfigError, match=r"the adoption of a Kafka directory into .* was not completed"):
        DiskBroker(data_dir)
    begin(kafka_dir, data_dir)
    check(data_dir)


def test_a_disk_that_refuses_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kafka_dir = kafka_directory(tmp_path)
    real = adoption.copy_file
    calls: list[str] = []

    def full(source: str, target: str) -> None:
        calls.append(source)
        if len(calls) == 6:
            raise OSError(errno.ENOSPC, "No space left on device", target)
        real(source, target)

    monkeypatch.setattr(adoption, "copy_file", full)
    with pytest.raises(LogError, match=r"cannot adopt .*: No space left on device"):
        begin(kafka_dir, tmp_path / "ours")
    assert [path.name for path in (tmp_path / "ours").iterdir()] == [".lock"]
    begin(kafka_dir, tmp_path / "ours")
    check(tmp_path / "ours")


def test_too_little_room_is_told_before_anything_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kafka_dir = kafka_directory(tmp_path)

    class Small:
        f_bavail, f_frsize = 1, 4096

    monkeypatch.setattr(os, "statvfs", lambda path: Small)
    with pytest.raises(ConfigError, match=r"not enough space in .*: \d+ bytes needed, 4096 available"):
        begin(kafka_dir, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_holes_stay_holes(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    with source.open("wb") as file:
        file.write(b"head")
        file.truncate(10 << 20)
        file.seek(5 << 20)
        file.write(b"middle")
    os.utime(source, (1, 2))
    adoption.copy_file(str(source), str(target))
    assert target.read_bytes() == source.read_bytes()
    assert target.stat().st_blocks * 512 <= 2 << 20 and target.stat().st_mtime == 2


# -- the command -----------------------------------------------------------------------------------------------------


def run(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "kafka_tools", "broker", "run", "--listen", "127.0.0.1:0", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_the_command_adopts_and_serves(tmp_path: Path) -> None:
    kafka_dir = kafka_directory(tmp_path)
    data_dir = tmp_path / "ours"
    with run("--adopt", str(kafka_dir), "--data-dir", str(data_dir)) as broker:
        assert broker.stdout is not None
        ready = json.loads(broker.stdout.readline())
        broker.terminate()
        _, errors = broker.communicate()
    assert (ready["cluster_id"], ready["data_dir"]) == (CLUSTER, str(data_dir))
    assert f"adopted {kafka_dir} in {data_dir}: cluster {CLUSTER}, node 1; topics: 3, partitions: 4," in errors
    with run("--adopt", str(kafka_dir), "--data-dir", str(data_dir)) as again:
        out, errors = again.communicate()
    assert (again.returncode, out) == (1, "")
    assert "already contains data of this broker\n  start without --adopt, or pass" in errors
    check(data_dir)


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["--adopt", "KAFKA"], 2, "--adopt needs --data-dir"),
        (["--adopt", "KAFKA", "--data-dir", "a,b"], 1, "--adopt needs exactly one data directory"),
        (["--adopt", "missing", "--data-dir", "a"], 1, "cannot adopt missing: no such directory"),
        (["--adopt", "KAFKA", "--data-dir", "a", "--set", "node.id=7"], 1, "belongs to node 1, not 7"),
        (["--adopt", "KAFKA", "--data-dir", "a", "--set", "num.partitions=x"], 1, "num.partitions"),
        (["--adopt", "KAFKA", "--data-dir", "a", "--set", "log.roll.ms=0"], 1, "log.roll.ms"),
    ],
)  # fmt: skip
def test_command_lines_that_cannot_be(tmp_path: Path, arguments: list[str], status: int, text: str) -> None:
    kafka_dir = kafka_directory(tmp_path)
    words = [str(kafka_dir) if word == "KAFKA" else word for word in arguments]
    with run(*words, cwd=tmp_path) as ended:
        out, errors = ended.communicate()
    assert (ended.returncode, out) == (status, "")
    assert text in errors and "Traceback" not in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kafka"]
