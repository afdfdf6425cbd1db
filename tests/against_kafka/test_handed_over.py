"""What the bundled broker leaves, in Kafka's hands: its dump tool finds nothing wrong in any file, brokers serve the
same records from copies of the partitions, under metadata with the same topic ids, and go on with the directory."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.directories.adoption import adopt
from kafka_tools.broker_embedded.directories.local_store import encode_record
from kafka_tools.broker_embedded.directories.snapshots import snapshots_in
from kafka_tools.clock import SystemClock
from kafka_tools.errors import ConfigError
from kafka_tools.protocol.feature_levels import LATEST_PRODUCTION, METADATA_VERSIONS, metadata_level
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import (
    ConfigRecord,
    FeatureLevelRecord,
    PartitionRecord,
    ProducerIdsRecord,
    TopicRecord,
)
from kafka_tools.storage.checkpoints import read_meta_properties
from kafka_tools.storage.kraft_snapshots import write_kraft_snapshot
from kafka_tools.values import parse_uuid
from tests.against_kafka.filled_cluster import Tool, committed_records, each
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import BEFORE, NEWEST
from tests.against_kafka.tool_server import run_tool

DUMP = "org.apache.kafka.tools.DumpLogSegments"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TOPICS = ("plain", "table", "paid")
STATE = "__cluster_metadata-0"
CONFIG = {
    "offsets.topic.num.partitions": 5, "transaction.state.log.num.partitions": 5, "log.index.interval.bytes": 512,
    "log.cleaner.backoff.ms": 100, "transaction.partition.verification.enable": "true",
}  # fmt: skip
FEATURES = {
    "3.9.2": {"metadata.version": 21},
    NEWEST: {"metadata.version": LATEST_PRODUCTION, "group.version": 1, "transaction.version": 2},
}

LEVELS = {NEWEST: LATEST_PRODUCTION, BEFORE: metadata_level(BEFORE)}


class Written(NamedTuple):
    """A directory that a stopped, or killed, bundled broker has left, and what clients were told."""

    release: str
    """Of the broker that gets it: each release and each end once."""
    directory: Path
    metadata: list[Stored]
    records: dict[str, list[Any]]
    offsets: list[tuple[str, int, int]]


def offsets_of(server: str) -> list[tuple[str, int, int]]:
    admin = AdminClient({"bootstrap.servers": server})
    (future,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("readers")]).values()
    return sorted((at.topic, at.partition, at.offset) for at in future.result(60).topic_partitions)


def fill(broker: EmbeddedBroker) -> None:
    """Segments of every codec, a compacted topic, transactions of each end and one without, a group's offsets."""
    server = broker.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": server})
    small = {"segment.bytes": str(1 << 20)}
    compact = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", **small}
    each(admin.create_topics([
        NewTopic("plain", 2, 1, config=small), NewTopic("table", 1, 1, config=compact), NewTopic("paid", 2, 1),
    ]))  # fmt: skip
    random = Random(13)
    for codec in CODECS:
        plain = Producer({"bootstrap.servers": server, "enable.idempotence": True, "compression.type": codec})
        for number in range(600):
            value = random.randbytes(900)
            plain.produce("plain", value, b"%d" % number, partition=number % 2)
            plain.produce("table", value, b"%d" % (number % 11))
            plain.poll(0)
        assert plain.flush(60) == 0
    for name, ends in (("done", (True, False, True)), ("open", (None,))):
        producer = Producer({"bootstrap.servers": server, "transactional.id": name, "transaction.timeout.ms": 600_000})
        producer.init_transactions(60)
        for turn, commit in enumerate(ends):
            producer.begin_transaction()
            for number in range(100):
                producer.produce("paid", b"%d " % turn * 50, b"%d" % number, partition=number % 2)
            assert producer.flush(60) == 0
            if commit is not None:
                (producer.commit_transaction if commit else producer.abort_transaction)(60)
    reader = Consumer({"bootstrap.servers": server, "group.id": "readers", "enable.auto.commit": False})
    reader.commit(offsets=[TopicPartition("plain", number, 100 + number) for number in range(2)], asynchronous=False)
    reader.close()


def metadata_of(broker: EmbeddedBroker) -> list[Stored]:
    """Topics, partitions and configs as the records of a cluster that has them, all led by nobody."""
    found: list[Stored] = []

    def read(core: Any) -> None:
        for topic in core.cluster.topics.values():
            found.append(TopicRecord(name=topic.name, topic_id=topic.id))
            found.extend(
                ConfigRecord(resource_type=2, resource_name=topic.name, name=key, value=value)
                for key, value in core.configs.dynamic(2, topic.name).items()
            )
            found.extend(
                PartitionRecord(
                    partition_id=info.partition_id, topic_id=topic.id, replicas=[1], isr=[1], leader=-1,
                    leader_epoch=info.leader_epoch, partition_epoch=info.partition_epoch,
                )
                for info in topic.partitions.values()
            )  # fmt: skip
        found.append(ProducerIdsRecord(broker_id=1, broker_epoch=0, next_producer_id=1_000_000))

    broker.call(read)
    return found


def compacted(core: Any) -> bool:
    """Whether the closed segments of ``table`` have been compacted."""
    log = core.partitions.get("table", 0).log
    return len(log.segments) > 1 and sum(segment.size for segment in log.segments[:-1]) < 200_000


@pytest.fixture(scope="module", params=[("stopped", NEWEST), ("killed", "3.9.2")], ids=["stopped", "killed"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    state, release = request.param
    directory = tmp_path_factory.mktemp("bundled") / "data"
    broker = EmbeddedBroker(data_dir=directory, config=CONFIG).start()
    try:
        fill(broker)
        for _ in range(100):
            broker.advance(1)
            if broker.call(compacted):
                break
        assert broker.call(compacted)
        server = broker.bootstrap_servers
        records = {topic: committed_records(server, topic) for topic in TOPICS}
        found = Written(release, directory, metadata_of(broker), records, offsets_of(server))
    finally:
        broker._end(kill=state == "killed")
    assert len(found.records["table"]) < 3000 and len(found.records["paid"]) == 200 and len(found.offsets) == 2
    return found


def files(directory: Path, *suffixes: str) -> list[Path]:
    return [path for path in sorted(directory.rglob("*")) if path.suffix in suffixes and path.stat().st_size]


def test_kafkas_dump_tool_finds_nothing_wrong(written: Written, java_tool: Tool) -> None:
    indexes = files(written.directory, ".index", ".timeindex")
    assert len(indexes) > 3
    for option in ("--index-sanity-check", "--verify-index-only"):
        done = java_tool(NEWEST, DUMP, option, "--files", ",".join(map(str, indexes)))
        text = done.stdout + done.stderr
        assert done.returncode == 0, text
        assert text.count("Dumping") == len(indexes)
        assert text.count("passed sanity check") == (len(indexes) if option == "--index-sanity-check" else 0)
        for wrong in ("ismatch", "Out of order", "not found", "xception", "Found"):
            assert wrong not in text
    others = files(written.directory, ".log", ".txnindex", ".snapshot")
    done = java_tool(NEWEST, DUMP, "--deep-iteration", "--files", ",".join(map(str, others)), timeout_s=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Dumping") == len(others)
    assert "isvalid: true" in done.stdout
    for wrong in ("isvalid: false", "xception", "Could not"):
        assert wrong not in done.stdout + done.stderr


class HandedOver(RealKafka):
    """A broker that finds partitions which it did not write, in a cluster that knows them."""

    written: Written

    def _format(self) -> None:
        super()._format()
        (target,) = self.log_dirs
        for path in sorted(self.written.directory.glob("*-[0-9]")):
            if path.name != STATE:
                shutil.copytree(path, target / path.name)
        directory_id = parse_uuid(read_meta_properties(str(target / "meta.properties")).directory_id or "")
        features = [
            FeatureLevelRecord(name=name, feature_level=level) for name, level in FEATURES[self.release].items()
        ]
        for record in self.written.metadata:
            if isinstance(record, PartitionRecord):
                record.directories = [directory_id]
        (target / STATE).mkdir(exist_ok=True)
        values = [encode_record(record) for record in (*features, *self.written.metadata)]
        snapshot = target / STATE / "00000000000000001000-0000000001.checkpoint"
        write_kraft_snapshot(str(snapshot), [values], epoch=1, last_contained_ms=1, written_ms=1)


def test_kafka_serves_the_same_records_from_copies_of_our_partitions(written: Written, tmp_path: Path) -> None:
    class Given(HandedOver):
        pass

    Given.written = written
    with Given.start(Setup(written.release), tmp_path) as kafka:
        server = kafka.bootstrap_servers
        assert {topic: committed_records(server, topic) for topic in TOPICS} == written.records
        assert offsets_of(server) == written.offsets
        producer = Producer({"bootstrap.servers": server, "transactional.id": "open"})
        producer.init_transactions(60)  # ends the transaction that was left open
        producer.begin_transaction()
        producer.produce("paid", b"by Kafka", partition=0)
        producer.commit_transaction(60)
        added = [row for row in committed_records(server, "paid") if row not in written.records["paid"]]
        assert [row[3] for row in added] == [b"by Kafka"]
        assert not list(kafka.log_dirs[0].glob("*stray*"))


class StateHandedOver(RealKafka):
    """A node that finds the cluster's state as the bundled broker has left it: snapshots, and the log behind them."""

    given: Path

    def _format(self) -> None:
        super()._format()
        (target,) = self.log_dirs
        shutil.rmtree(target / STATE, ignore_errors=True)
        for path in self.given.iterdir():
            if path.is_dir():
                shutil.copytree(path, target / path.name)


def test_kafka_starts_on_the_state_from_its_snapshot_and_the_log_behind_it(tmp_path: Path) -> None:
    config = {"metadata.log.max.record.bytes.between.snapshots": "3000", "metadata.max.retention.bytes": "9000"}
    with EmbeddedBroker(data_dir=tmp_path / "data", config=config) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        each(admin.create_topics([NewTopic("kept", 2, 1), NewTopic("gone", 1, 1)]))
        each(admin.delete_topics(["gone"]))
        first, last = tmp_path / "data" / STATE / "00000000000000000000.log", 0
        while first.exists() or last < 200:  # how soon a snapshot is written depends on the disk
            last += 1
            changed = ConfigResource(ConfigResource.Type.TOPIC, "kept")
            changed.add_incremental_config(
                ConfigEntry("retention.ms", str(10**9 + last), incremental_operation=AlterConfigOpType.SET)
            )
            each(admin.incremental_alter_configs([changed]))
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for number in range(100):
            producer.produce("kept", b"%d" % number, partition=number % 2)
        assert producer.flush(60) == 0
        records = committed_records(broker.bootstrap_servers, "kept")
        state = tmp_path / "data" / STATE
    logs = sorted(path.name for path in state.glob("*.log"))
    assert snapshots_in(str(state)) and logs[0] > "00000000000000000000.log"

    class Given(StateHandedOver):
        given = tmp_path / "data"

    with Given.start(Setup(NEWEST), tmp_path / "kafka") as kafka:
        server = kafka.bootstrap_servers
        assert committed_records(server, "kept") == records
        wanted = ConfigResource(ConfigResource.Type.TOPIC, "kept")
        admin = AdminClient({"bootstrap.servers": server})
        found = admin.describe_configs([wanted])[wanted].result(60)
        assert found["retention.ms"].value == str(10**9 + last)
        assert set(admin.list_topics(timeout=60).topics) - {"__consumer_offsets"} == {"kept"}


class UsedBefore(RealKafka):
    """A node whose directory Kafka formatted, and on which the bundled broker worked before it."""

    is_dynamic: bool
    records: list[Any]

    def _properties(self, node: int) -> str:
        properties = super()._properties(node)
        if not self.is_dynamic:
            return properties
        return properties.replace(f"controller.quorum.voters={node}@", "controller.quorum.bootstrap.servers=")

    def _format(self) -> None:
        self.cluster_id = "4L6g3nShT-eMCtK--X86sw"
        path = self.folder / "server-1.properties"
        words = ["format", "-t", self.cluster_id, "-c", path, *(["--standalone"] if self.is_dynamic else [])]
        assert run_tool(self.release, "kafka.tools.StorageTool", *words).returncode == 0
        with EmbeddedBroker(data_dir=self.log_dirs[0]) as broker:
            admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
            each(admin.create_topics([NewTopic("kept", 2, 1)]))
            producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
            for number in range(100):
                producer.produce("kept", b"%d" % number, partition=number % 2)
            assert producer.flush(60) == 0
            type(self).records = committed_records(broker.bootstrap_servers, "kept")


@pytest.mark.parametrize(("release", "is_dynamic"), [(NEWEST, True), (BEFORE, False)])
def test_kafka_goes_on_where_the_bundled_broker_ended(tmp_path: Path, release: str, is_dynamic: bool) -> None:
    class Used(UsedBefore):
        pass

    Used.is_dynamic = is_dynamic
    with Used.start(Setup(release), tmp_path) as kafka:
        assert len(Used.records) == 100
        assert committed_records(kafka.bootstrap_servers, "kept") == Used.records
        features = kafka.tool("org.apache.kafka.tools.FeatureCommand", "describe").stdout
        assert f"FinalizedVersionLevel: {METADATA_VERSIONS[LEVELS[release]]}" in features
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
        producer.produce("kept", b"by Kafka")
        assert producer.flush(60) == 0
        kafka.stop_node(1)
        with pytest.raises(ConfigError, match="Apache Kafka used the directory after this broker"):
            EmbeddedBroker(data_dir=kafka.log_dirs[0]).start()
        dirs = [str(kafka.log_dirs[0])]
        adopt(dirs, [str(tmp_path / "back")], node_id=1, cluster_id=None, clock=SystemClock())
    with EmbeddedBroker(data_dir=tmp_path / "back") as broker:
        found = committed_records(broker.bootstrap_servers, "kept")
        assert [row[3] for row in found if row not in Used.records] == [b"by Kafka"]
