"""``kafka-storage`` beside Kafka's tool: the same text and the same files, and Kafka starts on them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_tools import AdminClient
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.commands.logs.shell.loading import load
from kafka_tools.protocol import feature_levels
from kafka_tools.storage.checkpoints import read_meta_properties
from kafka_tools.storage.segment import Segment
from kafka_tools.texts.properties import read_properties
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import BEFORE, NEWEST
from tests.against_kafka.tool_server import run_tool

CLUSTER = "4L6g3nShT-eMCtK--X86sw"
QUORUM = "1@localhost:9093:JEXY6aqzQY-32P5TStzaFg,2@[::1]:9094:MvDxzVmcRsaTz33bUuRU6A"
SCRAM = 'SCRAM-SHA-256=[name=alice,iterations=8192,salt="bWFkZSB1cCBmb3IgYSB0ZXN0",password=wonderland]'
DYNAMIC = "controller.quorum.bootstrap.servers=localhost:9093\n"
EVERY_LEVEL = [
    *(f"metadata.version={level}" for level in feature_levels.known_levels()),
    *(f"{name}={level}" for name, levels in feature_levels.FEATURES.items() for level in (0, *levels)),
]
HIDDEN = re.compile(r"(salt|storedKey|serverKey)=\[[^\]]*\]")


def ours(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kafka_tools", "storage", *map(str, words)], capture_output=True, text=True, timeout=60
    )


def theirs(*words: object) -> subprocess.CompletedProcess[str]:
    # A JVM of its own: the tool ends it.
    return run_tool(NEWEST, "kafka.tools.StorageTool", *words, fresh=True)


def properties(folder: Path, voters: str) -> Path:
    """A server.properties; ``voters``: further lines, of which the last one of a name counts."""
    folder.mkdir()
    path = folder / "server.properties"
    path.write_text(
        "process.roles=broker,controller\nnode.id=1\nlisteners=PLAINTEXT://localhost:9092,CONTROLLER://:9093\n"
        f"controller.listener.names=CONTROLLER\nlog.dirs={folder}/b,{folder}/a\nmetadata.log.dir={folder}/a\n"
        f"listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n{voters}"
    )
    return path


def written(folder: Path) -> dict[str, object]:
    """What the files say, less what is random: directory ids and the one of a voter that is alone."""
    found: dict[str, object] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".properties"):
        with Segment(path) as segment:
            found[str(path.relative_to(folder))] = [
                (view.is_control, view.record_count, view.size_bytes, view.partition_leader_epoch, view.base_offset,
                 view.producer_id, view.attributes)
                for view in segment.walk()
            ]  # fmt: skip
        if path.suffix == ".checkpoint":
            image = load(str(path)).image
            found[f"{path.parent.name} image"] = (image.features, image.scram)
    for path in sorted(folder.rglob("meta.properties")):
        meta = read_meta_properties(str(path))
        found[f"{path.parent.name} meta"] = meta._replace(directory_id=None)
    return found


@pytest.mark.parametrize(
    "words, voters",
    [
        (["--standalone", "--add-scram", SCRAM], DYNAMIC),
        (["-I", QUORUM, "-r", "4.1"], DYNAMIC),
        (["-r", "3.9-IV0", "-f", "group.version=1"], "controller.quorum.voters=1@localhost:9093\n"),
        (["-N", "-r", "4.4-IV0"], DYNAMIC),
        (["-I", QUORUM], f"{DYNAMIC}process.roles=broker\nlisteners=PLAINTEXT://localhost:9092\n"),
    ],
)
def test_both_tools_write_and_say_the_same(tmp_path: Path, words: list[str], voters: str) -> None:
    files = [properties(tmp_path / name, voters) for name in ("ours", "their")]
    done = [run("format", "-t", CLUSTER, "-c", path, *words) for run, path in zip((ours, theirs), files, strict=True)]
    assert [each.returncode for each in done] == [0, 0], done
    said = [
        sorted(HIDDEN.sub(r"\1=[hidden]", each.stdout).replace(str(path.parent), "DIR").splitlines())
        for each, path in zip(done, files, strict=True)
    ]
    assert said[0] == said[1]
    assert written(files[0].parent) == written(files[1].parent)
    info = [run("info", "-c", files[0]).stdout for run in (ours, theirs)]
    assert info[0] == info[1]


@pytest.mark.parametrize(
    "words",
    ["version-mapping", "version-mapping -r 4.0", "version-mapping -r 4.4-IV1", "version-mapping -r 9.9",
     f"feature-dependencies {' '.join(f'-f {level}' for level in EVERY_LEVEL)}",
     "feature-dependencies -f share.version=9", "feature-dependencies -f nope=1"],
)  # fmt: skip
def test_what_asks_no_directory_says_the_same(words: str) -> None:
    our, their = ours(*words.split()), theirs(*words.split())
    assert our.stdout == their.stdout
    complaints = [line for line in their.stderr.splitlines() if "ERROR Reconfiguration" not in line]  # of its logging
    assert [line.removeprefix("kafka-tools: ") for line in our.stderr.splitlines()] == complaints
    assert our.returncode == their.returncode


@pytest.mark.parametrize(
    "release, words, voters",
    [
        (NEWEST, ["--standalone", "--add-scram", SCRAM], DYNAMIC),
        (NEWEST, ["-r", "4.1", "--add-scram", SCRAM], "controller.quorum.voters=1@localhost:9093\n"),
        (BEFORE, ["--standalone", "--add-scram", SCRAM], DYNAMIC),
        ("3.9.2", ["--add-scram", SCRAM], "controller.quorum.voters=1@localhost:9093\n"),
    ],
)
def test_the_bundled_broker_starts_on_what_kafka_formatted(
    tmp_path: Path, release: str, words: list[str], voters: str
) -> None:
    path = properties(tmp_path / "server", voters)
    done = run_tool(release, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", path, *words, fresh=True)
    assert done.returncode == 0, done.stderr
    ids = {meta.parent.name: read_meta_properties(str(meta)).directory_id for meta in path.parent.glob("*/meta.*")}
    (records,) = path.parent.glob("a/bootstrap.checkpoint" if release < "4.4" else "a/*/*.checkpoint")
    level = load(str(records)).image.features["metadata.version"]
    config = {
        **read_properties(str(path)),
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    }
    del config["listeners"]
    with EmbeddedBroker(listeners=["SASL://127.0.0.1:0"], config=config) as broker:
        for _ in range(2):
            login = {
                "bootstrap.servers": broker.bootstrap_servers, "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config":
                "org.apache.kafka.common.security.scram.ScramLoginModule required "
                'username="alice" password="wonderland";',
            }  # fmt: skip
            with AdminClient(login) as client:
                assert client.describe_cluster().cluster_id == CLUSTER
            assert broker.call(lambda core: core.features.finalized["metadata.version"]) == level
            broker.restart(kill=True)
    assert {
        meta.parent.name: read_meta_properties(str(meta)).directory_id for meta in path.parent.glob("*/meta.*")
    } == ids


@pytest.mark.parametrize("standalone", [True, False])
def test_kafka_starts_on_what_was_formatted_here(
    tmp_path: Path, standalone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = RealKafka._properties

    def dynamic(self: RealKafka, node: int) -> str:
        return re.sub(
            r"controller\.quorum\.voters=\d+@", "controller.quorum.bootstrap.servers=", usual(self, node)
        )  # fmt: skip

    def format_here(self: RealKafka) -> None:
        self.cluster_id = ours("random-uuid").stdout.strip()
        path = self.folder / "server-1.properties"
        words = ["--standalone"] if standalone else []
        done = ours("format", "-t", self.cluster_id, "-c", path, "-S", SCRAM, "-r", "4.2", *words)
        assert done.returncode == 0, done.stderr

    if standalone:
        monkeypatch.setattr(RealKafka, "_properties", dynamic)
    monkeypatch.setattr(RealKafka, "_format", format_here)
    with RealKafka.start(Setup(NEWEST), tmp_path / "kafka") as kafka:
        described = kafka.tool("org.apache.kafka.tools.MetadataQuorumCommand", "describe", "--status").stdout
        assert f"ClusterId:              {kafka.cluster_id}" in described
        id = read_meta_properties(str(kafka.log_dirs[0] / "meta.properties")).directory_id
        assert (f'"directoryId": "{id}"' in described) == standalone
        features = kafka.tool("org.apache.kafka.tools.FeatureCommand", "describe").stdout
        assert re.search(r"metadata.version\s.*FinalizedVersionLevel: 4.2-IV1", features)
        assert re.search(rf"kraft.version\s.*FinalizedVersionLevel: {int(standalone)}", features)
        users = kafka.tool("kafka.admin.ConfigCommand", "--describe", "--entity-type", "users").stdout
        assert "SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-256=iterations=8192" in users
        kafka.restart()  # and again on what it has made of it
