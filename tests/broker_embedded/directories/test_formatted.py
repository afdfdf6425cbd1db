"""Directories that ``kafka-storage format`` made: a start takes what they say, or refuses and touches nothing."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools import cli
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.coordinators.mending import mend
from kafka_tools.broker_embedded.core import Core
from kafka_tools.broker_embedded.directories.adoption import adopt
from kafka_tools.broker_embedded.directories.local_store import encode_record
from kafka_tools.broker_embedded.opening import open_core
from kafka_tools.clock import ManualClock
from kafka_tools.commands import running
from kafka_tools.errors import ConfigError
from kafka_tools.protocol import feature_levels
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored import cluster_metadata as stored
from kafka_tools.storage.checkpoints import read_meta_properties
from kafka_tools.storage.kraft_snapshots import read_control, read_kraft_snapshot, write_kraft_snapshot
from kafka_tools.texts.properties import read_properties
from tests.broker_embedded.cuts.images import CutDisk
from tests.broker_embedded.cuts.recording import Recorder
from tests.broker_embedded.directories.test_data_dirs import snapshot
from tests.server_properties import write_server_properties

CLUSTER = "4L6g3nShT-eMCtK--X86sw"
SCRAM = ("-S", "SCRAM-SHA-256=[name=alice,password=wonderland,iterations=4096]")
LEVELS = {
    name: level for name, level in feature_levels.of_release(feature_levels.LATEST_PRODUCTION).items()
    if name != "kraft.version"
}  # fmt: skip
NEWER = feature_levels.NEWER.replace("(", r"\(").replace(")", r"\)")
SNAPSHOT = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"


def server(folder: Path, **changed: str | None) -> Path:
    """A server.properties for a node with the directories a and b; a setting of None is left out."""
    values: dict[str, str | None] = {
        "process_roles": "broker,controller", "node_id": "3", "log_dirs": f"{folder}/a,{folder}/b",
        "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://localhost:9093", "controller_listener_names": "CONTROLLER",
    }  # fmt: skip
    return write_server_properties(folder, {**values, **changed})


def formatted(folder: Path, *words: str, **changed: str | None) -> Path:
    """The server.properties of directories that our ``kafka-storage format`` made."""
    path = server(folder, **changed)
    words = ("format", "-c", str(path), "-t", CLUSTER, *words)
    assert running.run(cli.load("storage"), list(words), "kafka-storage") == 0
    return path


def as_before_4_4(folder: Path) -> None:
    """Make of what was formatted here what Kafka 3.3 to 4.3 format: the records in each directory, the voters alone in
    the snapshot."""
    path = folder / "a" / SNAPSHOT
    values = [record.value or b"" for record in read_kraft_snapshot(str(path))]
    _, version, voters = read_control(str(path))
    write_kraft_snapshot(
        str(path), [], epoch=0, last_contained_ms=0, written_ms=0, kraft_version=version, voters=voters
    )
    for each in "ab":
        write_kraft_snapshot(
            str(folder / each / "bootstrap.checkpoint"), [values], epoch=0, last_contained_ms=0, written_ms=0
        )


def begin(path: Path, *, fsync: str = "kafka") -> Core:
    """A broker that is started with a server.properties."""
    properties = read_properties(str(path))
    return open_core(properties, data_dirs=properties["log.dirs"].split(","), clock=ManualClock(), fsync=fsync)


def state(core: Core) -> dict[str, object]:
    """What a formatting says, as the broker has it; closes it."""
    found = {
        "cluster": core.cluster.cluster_id,
        "node": core.node_id,
        "levels": dict(core.features.finalized),
        "users": sorted(core.credentials._by_user),
        "min isr": core.configs.dynamic(4, "").get("min.insync.replicas"),
    }
    core.close()
    return found


@pytest.mark.parametrize("release", ["newest", "before 4.4"])
def test_a_node_alone_begins_as_it_was_formatted(tmp_path: Path, release: str) -> None:
    path = formatted(tmp_path, "--standalone", *SCRAM)
    if release == "before 4.4":
        as_before_4_4(tmp_path)
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*.checkpoint")}
    ids = [read_meta_properties(f"{tmp_path}/{each}/meta.properties").directory_id for each in "ab"]
    wanted = {
        "cluster": CLUSTER, "node": 3, "levels": LEVELS | {"kraft.version": 1}, "users": ["alice"], "min isr": "1",
    }  # fmt: skip
    assert state(begin(path)) == wanted
    for each, id in zip("ab", ids, strict=True):
        meta = read_meta_properties(f"{tmp_path}/{each}/meta.properties")
        assert (meta.directory_id, meta.others["written.by"]) == (id, "kafka_tools")
    assert {path: path.read_bytes() for path in kept} == kept
    core = begin(path)
    core.journal.commit([stored.RemoveUserScramCredentialRecord(name="alice", mechanism=1)])
    core.close()
    assert state(begin(path)) == wanted | {"users": []}, "what was formatted counts once"


@pytest.mark.parametrize(
    ("words", "changed", "levels"),
    [
        (["-I", "3@localhost:9093:JEXY6aqzQY-32P5TStzaFg"], {}, LEVELS | {"kraft.version": 1}),
        (["-r", "3.7"], {"controller_quorum_voters": "3@localhost:9093"}, {"metadata.version": 19}),
        (["-r", "3.3-IV3", "-s"], {}, {"metadata.version": 7, "kraft.version": 1}),
        (["-s", "-f", "group.version=0"], {}, {**LEVELS, "kraft.version": 1, "group.version": None}),
        (["-s"], {"metadata_log_dir": "FOLDER/b"}, LEVELS | {"kraft.version": 1}),
        (["-s"], {"metadata_log_dir": "FOLDER/meta"}, LEVELS | {"kraft.version": 1}),
    ],
)
def test_every_form_of_a_quorum_of_one_and_every_release(
    tmp_path: Path, words: list[str], changed: dict[str, str], levels: dict[str, int | None]
) -> None:
    settings = {key: value.replace("FOLDER", str(tmp_path)) for key, value in changed.items()}
    path = formatted(tmp_path, *words, *(SCRAM if "3.3-IV3" not in words else ()), **settings)
    for _ in range(2):
        found = state(begin(path))
        assert found["levels"] == {name: level for name, level in levels.items() if level is not None}
        assert found["users"] == ([] if "3.3-IV3" in words else ["alice"])
        assert found["min isr"] == ("1" if "eligible.leader.replicas.version" in levels else None)
    in_b = "FOLDER/b" in changed.values()
    assert (tmp_path / "ab"[in_b] / SNAPSHOT.split("/")[0] / f"{0:020d}.log").exists()


def test_without_a_setting_the_node_has_the_id_of_its_directories(tmp_path: Path) -> None:
    formatted(tmp_path, "-s", *SCRAM)
    dirs = [str(tmp_path / each) for each in "ba"]
    for _ in range(2):
        core = open_core({}, data_dirs=dirs, clock=ManualClock())
        assert (core.node_id, core.registration.id, sorted(core.credentials._by_user)) == (3, 3, ["alice"])
        core.close()


def test_a_directory_of_a_kafka_before_3_3_begins_with_the_newest_levels(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "meta.properties").write_text(f"#\ncluster.id={CLUSTER}\nversion=1\nnode.id=1\nkept=yes\n")
    core = open_core({}, data_dirs=[str(tmp_path / "a")], clock=ManualClock())
    assert (core.cluster.cluster_id, core.features.finalized) == (CLUSTER, LEVELS)
    core.close()
    meta = read_meta_properties(f"{tmp_path}/a/meta.properties")
    assert meta.directory_id is not None
    assert {key: meta.others[key] for key in ("kept", "written.by")} == {"kept": "yes", "written.by": "kafka_tools"}


def test_the_snapshot_has_the_say_where_a_bootstrap_checkpoint_is_left_beside_it(tmp_path: Path) -> None:
    path = formatted(tmp_path, "-s", *SCRAM, log_dirs=f"{tmp_path}/a")
    older = stored.FeatureLevelRecord(name="metadata.version", feature_level=7)
    bootstrap(tmp_path / "a" / "bootstrap.checkpoint", older)
    found = state(begin(path))
    assert (found["levels"], found["users"]) == (LEVELS | {"kraft.version": 1}, ["alice"])


def test_a_directory_that_is_formatted_later_is_taken_and_changes_nothing_else(tmp_path: Path) -> None:
    path = formatted(tmp_path, "-s", *SCRAM, log_dirs=f"{tmp_path}/a")
    first = state(begin(path))
    later = formatted(tmp_path, "-s", "-g", log_dirs=f"{tmp_path}/a,{tmp_path}/b")
    assert not read_meta_properties(f"{tmp_path}/b/meta.properties").others
    assert state(begin(later)) == first
    assert read_meta_properties(f"{tmp_path}/b/meta.properties").others["written.by"] == "kafka_tools"


def test_an_unformatted_directory_beside_a_formatted_one_is_refused_as_by_kafka(tmp_path: Path) -> None:
    formatted(tmp_path, "-s", *SCRAM, log_dirs=f"{tmp_path}/b")
    path = server(tmp_path, metadata_log_dir=f"{tmp_path}/b")
    before = snapshot(tmp_path)
    for state_of_a in ("does not exist", "is empty"):
        with pytest.raises(ConfigError, match=f"/a {state_of_a}: it has no meta.properties, .*/b was formatted"):
            begin(path)
        assert snapshot(tmp_path) == before
        (tmp_path / "a").mkdir(exist_ok=True)
        before = snapshot(tmp_path)
    formatted(tmp_path, "-s", "-g", *SCRAM, metadata_log_dir=f"{tmp_path}/b")
    assert state(begin(path))["users"] == ["alice"]
    assert (tmp_path / "b" / SNAPSHOT.split("/")[0] / f"{0:020d}.log").exists(), "where the metadata log was formatted"


# -- refused ---------------------------------------------------------------------------------------------------------


def bootstrap(path: Path, *records: Stored) -> None:
    values = [encode_record(record) for record in records]
    write_kraft_snapshot(str(path), [values], epoch=0, last_contained_ms=0, written_ms=0)


def newer(folder: Path) -> None:
    bootstrap(folder / "a" / SNAPSHOT, stored.FeatureLevelRecord(name="metadata.version", feature_level=99))


def new_feature(folder: Path) -> None:
    levels = [("metadata.version", LEVELS["metadata.version"]), ("mirror.version", 1)]
    records = [stored.FeatureLevelRecord(name=name, feature_level=level) for name, level in levels]
    bootstrap(folder / "b/bootstrap.checkpoint", *records)


def no_version(folder: Path) -> None:
    bootstrap(folder / "b/bootstrap.checkpoint")


def other_record(folder: Path) -> None:
    bootstrap(folder / "a" / SNAPSHOT, stored.TopicRecord(name="x", topic_id=uuid.uuid4()))


def torn(folder: Path) -> None:
    as_before_4_4(folder)
    path = folder / "a/bootstrap.checkpoint"
    path.write_bytes(path.read_bytes()[:-20])


def noise(folder: Path) -> None:
    (folder / "a" / SNAPSHOT).write_bytes(b"\0\xff" * 3000)


def huge(folder: Path) -> None:
    os.truncate(folder / "a" / SNAPSHOT, (16 << 20) + 1)


def same_id(folder: Path) -> None:
    shutil.copy(folder / "a/meta.properties", folder / "b/meta.properties")


def two_logs(folder: Path) -> None:
    shutil.copytree(folder / "a/__cluster_metadata-0", folder / "b/__cluster_metadata-0")


def nothing(folder: Path) -> None:
    pass


def started_on(folder: Path) -> None:
    (folder / "a/__cluster_metadata-0/quorum-state").write_text("{}")


def pipe(folder: Path) -> None:
    os.mkfifo(folder / "a/bootstrap.checkpoint")


QUORUM = "3@localhost:9093:JEXY6aqzQY-32P5TStzaFg,2@[::1]:9094:MvDxzVmcRsaTz33bUuRU6A"


@pytest.mark.parametrize(
    ("words", "change", "changed", "text"),
    [
        (["-s"], newer, {}, rf"would use metadata.version=99, {NEWER}: 7 to {LEVELS['metadata.version']} are"),
        (["-s"], new_feature, {}, rf"its cluster would use mirror.version=1, {NEWER}: unknown feature"),
        (["-s"], no_version, {}, "bootstrap.checkpoint has no metadata.version"),
        (["-s"], other_record, {}, "0000000000.checkpoint contains a TopicRecord, which this broker does not accept"),
        (["-s"], torn, {}, "bootstrap.checkpoint: .* not a complete batch"),
        (["-s"], noise, {}, "0000000000.checkpoint: .* not a complete batch"),
        (["-s"], huge, {}, "0000000000.checkpoint has 16777217 bytes, more than 16777216"),
        (["-s"], same_id, {}, "/b: .*/a has the same directory.id"),
        (["-s"], two_logs, {}, "the metadata log is in several directories: .*/a and .*/b"),
        (["-s"], started_on, {}, "contains the logs of another broker, Apache Kafka"),
        (["-s"], pipe, {}, "contains the logs of another broker, Apache Kafka"),
        (["-s"], nothing, {"node_id": "4"}, "a belongs to node 3, not 4"),
        (["-s"], nothing, {"cluster_id": "other"}, f"a belongs to cluster {CLUSTER}, not other"),
        (["-s"], nothing, {"process_roles": "controller"}, "process.roles=controller is not supported"),
        (["-s"], nothing, {"num_partitions": "x"}, "num.partitions"),
        (["-N"], nothing, {}, "it contains no voter .*: the node would join an existing quorum"),
        ([], nothing, {"process_roles": "broker"}, "process.roles=broker is not supported"),
        (["-I", QUORUM], nothing, {}, "its quorum has the voters 2, 3, but this node must be the only voter"),
        (["-I", QUORUM.split(",")[1]], nothing, {}, "its quorum has the voters 2, but this node"),
        ([], nothing, {"controller_quorum_voters": "3@a:1,4@b:1"}, "its quorum has the voters 3, 4, but this node"),
    ],
)  # fmt: skip
def test_what_one_node_cannot_serve_is_one_line_and_nothing_is_touched(
    tmp_path: Path, words: list[str], change: Callable[[Path], None], changed: dict[str, str], text: str
) -> None:
    kept = {key: value for key, value in changed.items() if key in ("process_roles", "controller_quorum_voters")}
    formatted(tmp_path, *words, **({} if kept.get("process_roles") == "controller" else kept))
    change(tmp_path)
    path = server(tmp_path, **changed)
    before = None if change is pipe else snapshot(tmp_path)
    with pytest.raises(ConfigError, match=text) as refused:
        begin(path)
    assert "\n" not in str(refused.value)
    assert change is pipe or snapshot(tmp_path) == before


def test_what_does_not_start_a_broker_leaves_formatted_directories_alone(tmp_path: Path) -> None:
    formatted(tmp_path, "-s", log_dirs=f"{tmp_path}/a")
    before = snapshot(tmp_path)
    with pytest.raises(
        ConfigError, match=r"a was formatted \(cluster .*, node 3\), but no broker has started on it yet"
    ):
        mend([str(tmp_path / "a")], ManualClock())
    with pytest.raises(ConfigError, match=r"cannot adopt .*a: it was formatted, but no broker has started on it yet"):
        adopt([str(tmp_path / "a")], [str(tmp_path / "n")], node_id=3, cluster_id=None, clock=ManualClock())
    assert snapshot(tmp_path) == before


# -- kills and the command -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [1.0, 0.5], ids=["killed", "without power"])
def test_a_first_start_that_ends_at_any_step_can_be_repeated(tmp_path: Path, kept: float) -> None:
    """What the kernel has, or what is on the disk, after each of its steps is formatted, or ours."""
    root = tmp_path / "root"
    root.mkdir()
    path = formatted(root, "-s", *SCRAM)
    recorder = Recorder(root)
    with recorder.recording():
        core = begin(path, fsync="always")
    wanted = state(core)
    assert len(recorder.events) > 20
    disk = CutDisk(recorder)
    dice = random.Random(1)
    for number, event in enumerate(recorder.events):
        disk.happen(event)
        image = tmp_path / str(number)
        disk.write(image, dice, kept)
        again = server(image)
        assert state(begin(again)) == wanted, f"after step {number}, {event}"
        shutil.rmtree(image)


def test_the_command_starts_on_it_and_users_log_in(tmp_path: Path) -> None:
    from kafka_tools import AdminClient

    path = formatted(tmp_path, "-s", *SCRAM)
    settings = {
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.security.protocol.map": "SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": f"{tmp_path}/a,{tmp_path}/b",
    }
    with EmbeddedBroker(listeners=["SASL://127.0.0.1:0"], config={**settings, "node.id": 3}) as broker:
        assert broker.cluster_id == CLUSTER
        login = {
            "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
            'username="alice" password="wonderland";',
        }  # fmt: skip
        with AdminClient({"bootstrap.servers": broker.bootstrap_servers, **login}) as client:
            assert client.describe_cluster().cluster_id == CLUSTER
    words = [sys.executable, "-m", "kafka_tools", "broker", "run", str(path), "--set", "node.id=9"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"kafka-tools: {tmp_path}/a belongs to node 3, not 9\n  start it with node.id=3\n" in ended.stderr
