"""A directory of an older level keeps it until kafka-features upgrade raises it: at once, whatever ends the broker."""

from __future__ import annotations

import random
import shutil
import signal
import threading
from pathlib import Path

import pytest

from kafka_tools import cli
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.cluster.features import UPGRADE, Update
from kafka_tools.broker_embedded.core import Core
from kafka_tools.broker_embedded.opening import open_core
from kafka_tools.clock import ManualClock
from kafka_tools.commands import running
from kafka_tools.protocol.feature_levels import LATEST_PRODUCTION, METADATA_VERSIONS, metadata_level, of_release
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.update_features import UpdateFeaturesRequest
from tests.broker_embedded.cuts.images import CutDisk
from tests.broker_embedded.cuts.recording import Recorder
from tests.broker_embedded.kills.killed_broker import KilledBroker
from tests.broker_embedded.wire_client import WireClient
from tests.server_properties import write_server_properties

CLUSTER = "4L6g3nShT-eMCtK--X86sw"
OLD_RELEASE = "4.3"
STEPS = 8
"""Of the trace: what an upgrade does, appending and forcing its records, are the first of them."""
Topic = CreateTopicsRequest.CreatableTopic


def levels_of(release: str) -> dict[str, int]:
    """What a new cluster of a release works at, with voters that are configured."""
    levels = of_release(metadata_level(release))
    return {name: level for name, level in levels.items() if level and name != "kraft.version"}


OLD, NEW = levels_of(OLD_RELEASE), levels_of(METADATA_VERSIONS[LATEST_PRODUCTION])


def format_as_before(data_dir: Path) -> None:
    """A directory at the levels of an older release."""
    values = {"process_roles": "broker,controller", "node_id": "1", "log_dirs": str(data_dir),
              "controller_quorum_voters": "1@localhost:9093", "controller_listener_names": "C"}  # fmt: skip
    data_dir.parent.mkdir(exist_ok=True)
    path = write_server_properties(data_dir.parent, values)
    words = ["format", "-t", CLUSTER, "-c", str(path), "-r", OLD_RELEASE]
    assert running.run(cli.load("storage"), words, "kafka-storage") == 0


def features(broker: EmbeddedBroker, *words: str) -> int:
    return running.run(cli.load("features"), [*words, "--bootstrap-server", broker.bootstrap_servers], "kafka-features")


def finalized(client: WireClient) -> dict[str, int]:
    answer = client.call(ApiVersionsRequest(client_software_name="t", client_software_version="1"), 4)
    return {each.name: each.max_version_level for each in answer.finalized_features}


def raised(levels: dict[str, int]) -> UpdateFeaturesRequest:
    Key = UpdateFeaturesRequest.FeatureUpdateKey
    return UpdateFeaturesRequest(
        feature_updates=[
            Key(feature=name, max_version_level=level, upgrade_type=UPGRADE) for name, level in levels.items()
        ]
    )


def test_a_directory_of_an_older_level_keeps_it_until_it_is_raised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    format_as_before(tmp_path / "data")
    with EmbeddedBroker(data_dir=tmp_path / "data") as broker:
        for kill in (False, True):
            assert broker.call(lambda core: core.features.finalized) == OLD
            broker.restart(kill=kill)
        capsys.readouterr()
        assert features(broker, "upgrade", "--release-version", METADATA_VERSIONS[LATEST_PRODUCTION], "--dry-run") == 0
        assert broker.call(lambda core: core.features.finalized) == OLD
        assert features(broker, "upgrade", "--release-version", METADATA_VERSIONS[LATEST_PRODUCTION]) == 0
        assert f"metadata.version was upgraded to {LATEST_PRODUCTION}." in capsys.readouterr().out
        assert features(broker, "downgrade", "--release-version", OLD_RELEASE) == 1
        refused = f"Unsupported metadata.version downgrade from {LATEST_PRODUCTION} to {OLD['metadata.version']}."
        assert refused in capsys.readouterr().err
        assert features(broker, "downgrade", "--feature", "share.version=1") == 0
        for kill in (True, False):
            broker.restart(kill=kill)
            assert broker.call(lambda core: core.features.finalized) == {**NEW, "kraft.version": 1, "share.version": 1}


@pytest.mark.parametrize("kept", [1.0, 0.5], ids=["killed", "without power"])
def test_all_levels_rise_at_once_wherever_the_broker_ends(tmp_path: Path, kept: float) -> None:
    """What the kernel has, or what is on the disk, after each of its steps has all of the old levels or the new."""
    root = tmp_path / "root"
    format_as_before(root / "data")

    def begin(data_dir: Path) -> Core:
        return open_core({"node.id": "1"}, data_dirs=[str(data_dir)], clock=ManualClock(), fsync="always")

    core = begin(root / "data")
    recorder = Recorder(root)
    with recorder.recording():
        changes = core.features.changes([Update(name, level, UPGRADE) for name, level in NEW.items()], ())
        core.journal.commit(changes)
        core.close()
    disk, dice, seen = CutDisk(recorder), random.Random(1), []
    for number, event in enumerate(recorder.events):
        disk.happen(event)
        if STEPS <= number < len(recorder.events) - 1:
            continue  # of the close: the levels are not touched any more
        image = tmp_path / str(number)
        disk.write(image, dice, kept)
        core = begin(image / "data")
        seen.append(dict(core.features.finalized))
        core.close()
        shutil.rmtree(image)
    assert len(seen) == STEPS + 1
    assert seen[-1] == NEW
    assert [levels for levels in seen if levels not in (OLD, NEW)] == []


@pytest.fixture(scope="module")
def old_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old") / "data"
    format_as_before(folder)
    return folder


@pytest.mark.parametrize("seed", range(2))
def test_an_upgrade_survives_kills(tmp_path: Path, old_directory: Path, seed: int) -> None:
    """SIGKILL while levels rise and topics are made: what was acknowledged is there, of the rest all or nothing."""
    dice = random.Random(seed)
    shutil.copytree(old_directory, tmp_path / "data")
    broker = KilledBroker(tmp_path, {"node.id": "1"}, "kafka")
    made: list[str] = []
    told: list[int] = []
    try:
        broker.spawn()
        broker.wait_until_ready()
        killing = threading.Timer(dice.random() * 0.02, broker.end)
        with WireClient(broker.address) as client:
            killing.start()
            try:
                for number in range(10_000):
                    if number == 3:
                        told.append(client.call(raised(NEW), 2).error_code)
                    topic = CreateTopicsRequest.CreatableTopic(
                        name=f"t{number}", num_partitions=1, replication_factor=1
                    )
                    (answer,) = client.call(CreateTopicsRequest(topics=[topic]), 7).topics
                    assert answer.error_code == 0
                    made.append(f"t{number}")
            except OSError:
                pass
        killing.join()
        broker.spawn()
        broker.wait_until_ready()
        with WireClient(broker.address) as client:
            assert told in ([], [0])
            levels = finalized(client)
            assert levels == NEW if told else levels in (OLD, NEW)
            found = {topic.name for topic in client.call(MetadataRequest(topics=None), 12).topics}
            assert found >= set(made)
            assert client.call(raised(NEW), 2).error_code == 0
            assert finalized(client) == NEW
        broker.end(signal.SIGTERM)
    finally:
        broker.close()
