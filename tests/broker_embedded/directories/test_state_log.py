"""The log of the cluster's state is kept short as Kafka does it (KIP-630), and no moment loses anything."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_tools.broker_embedded.directories.kafka_state import read_kafka_state
from kafka_tools.broker_embedded.directories.reached import forget_state_end
from kafka_tools.broker_embedded.directories.snapshots import snapshots_in
from kafka_tools.broker_embedded.directories.state_mending import MendedState, broker_dirs, mend_state
from kafka_tools.clock import ManualClock
from kafka_tools.errors import LogError
from kafka_tools.protocol.feature_levels import LATEST_PRODUCTION
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.storage.check import check_partition
from tests.broker_embedded.cuts.images import CutDisk
from tests.broker_embedded.cuts.recording import Recorder
from tests.broker_embedded.disk_broker import DiskBroker

STATE = "__cluster_metadata-0"
BETWEEN, INTERVAL = "metadata.log.max.record.bytes.between.snapshots", "metadata.log.max.snapshot.interval.ms"
BYTES, MS, SEGMENT = "metadata.max.retention.bytes", "metadata.max.retention.ms", "internal.metadata.log.segment.bytes"
SMALL = {BETWEEN: "400", BYTES: "2000", "log.cleaner.enable": "false"}
DAY_S = 86_400.0


def change(broker: DiskBroker, number: int) -> None:
    """One change, of 130 bytes in the log."""
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = Resource.AlterableConfig(name="log.retention.bytes", config_operation=0, value=str(number))
    wanted = Resource(resource_type=4, resource_name="", configs=[config])
    (done,) = broker.call(IncrementalAlterConfigsRequest(resources=[wanted]), 1).responses
    assert not done.error_code
    broker.step()


def value(broker: DiskBroker) -> int:
    return int(broker.core.configs.dynamic(4, "").get("log.retention.bytes", "0"))


def of(broker: DiskBroker, suffix: str) -> list[str]:
    """The files of the state with this ending."""
    return sorted(entry.name for entry in (broker.path / STATE).iterdir() if entry.name.endswith(suffix))


def state(broker: DiskBroker) -> Path:
    return broker.path / STATE


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[DiskBroker]:
    """One that has cut its log, killed; it holds 60."""
    broker = DiskBroker(tmp_path / "data", SMALL)
    for number in range(1, 61):
        change(broker, number)
    broker.core.close(clean=False)
    yield broker


def test_after_so_many_bytes_there_is_a_snapshot_and_what_lies_before_it_goes(stopped: DiskBroker) -> None:
    broker = stopped
    snapshots = snapshots_in(str(state(broker)))
    logs = of(broker, ".log")
    assert snapshots, "none was written"
    assert logs[0] > "00000000000000000000.log"
    assert sum(entry.stat().st_size for entry in state(broker).iterdir() if entry.suffix in (".log", ".checkpoint")) < (
        2000 + 400 + 1000
    )
    assert int(logs[0].partition(".")[0]) <= snapshots[-1].end_offset
    assert not [each for each in check_partition(str(state(broker))) if each.is_damage]
    broker.open()
    assert value(broker) == 60
    broker.restart()
    assert value(broker) == 60
    change(broker, 61)
    broker.restart(kill=True)
    assert value(broker) == 61


def test_what_was_renamed_for_deletion_goes_a_minute_later_or_with_the_next_start(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data", SMALL)
    for number in range(1, 61):
        change(broker, number)
    assert any(name.endswith((".log.deleted", ".checkpoint.deleted")) for name in of(broker, ".deleted"))
    broker.advance(61)
    assert of(broker, ".deleted") == []
    for number in range(1, 61):
        change(broker, number)
    assert of(broker, ".deleted")
    broker.restart(kill=True)
    assert of(broker, ".deleted") == []


def test_after_an_interval_there_is_a_snapshot_if_anything_was_changed(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data", {INTERVAL: "7200000"})
    broker.advance(DAY_S / 24)
    assert of(broker, ".checkpoint") == []
    broker.advance(DAY_S / 24)
    broker.advance(61)
    assert len(of(broker, ".checkpoint")) == 1
    for _ in range(200):
        broker.advance(120)
    assert len(of(broker, ".checkpoint")) == 1
    change(broker, 3)
    assert len(of(broker, ".checkpoint")) == 2
    broker.restart(kill=True)
    broker.core.close()
    never = DiskBroker(tmp_path / "never", {INTERVAL: "0"})
    change(never, 3)
    for _ in range(30):
        never.advance(DAY_S)
    assert of(never, ".checkpoint") == []


def test_old_snapshots_go_by_age_and_the_newest_stays(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data", {BETWEEN: "400", INTERVAL: "0", MS: "86400000", SEGMENT: "1000"})
    for number in range(1, 21):
        change(broker, number)
    many = len(of(broker, ".checkpoint"))
    assert many > 3
    broker.advance(DAY_S / 2)
    broker.advance(61)
    assert len(of(broker, ".checkpoint")) == many
    broker.advance(DAY_S / 2)
    broker.advance(61)
    assert len(of(broker, ".checkpoint")) == 1
    assert of(broker, ".log")[0] > "00000000000000000000.log"
    broker.restart(kill=True)
    assert value(broker) == 20


def test_without_limits_of_retention_nothing_goes(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data", {BETWEEN: "400", BYTES: "-1", MS: "-1", SEGMENT: "1000"})
    for number in range(1, 61):
        change(broker, number)
    broker.advance(30 * DAY_S)
    broker.advance(61)
    assert len(of(broker, ".checkpoint")) > 5
    assert len(of(broker, ".log")) > 3
    assert of(broker, ".log")[0] == "00000000000000000000.log"


def test_segments_are_as_old_as_the_config_says(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data", {"metadata.log.segment.ms": "1000", INTERVAL: "0"})
    for number in range(1, 4):
        change(broker, number)
        broker.advance(2)
    assert len(of(broker, ".log")) == 3


@pytest.mark.parametrize("fsync", ["kafka", "always"])
def test_a_crash_at_any_moment_loses_nothing(tmp_path: Path, fsync: str) -> None:
    """A kill, or with ``--fsync always`` a loss of power: of what was not forced the dice keep some."""
    (tmp_path / "data").mkdir()
    recorder = Recorder(tmp_path / "data")
    acknowledged: list[tuple[int, int]] = []
    with recorder.recording():
        broker = DiskBroker(tmp_path / "data", SMALL, fsync=fsync)
        for number in range(1, 41):
            change(broker, number)
            acknowledged.append((len(recorder.events), number))
        broker.core.close(clean=False)
    disk, dice, images = CutDisk(recorder), random.Random(fsync), 0
    for cut, event in enumerate(recorder.events, 1):
        disk.happen(event)
        if cut < acknowledged[5][0] or dice.random() < 0.5:
            continue
        image = tmp_path / f"image-{cut}"
        disk.write(image, dice, 1.0 if fsync == "kafka" else dice.choice((0.0, 0.5, 0.9)))
        images += 1
        found = DiskBroker(image, SMALL)
        said = max(number for at, number in acknowledged if at <= cut)
        assert said <= value(found) <= said + 1, f"cut at {cut}"
        found.core.close(clean=False)
    assert images > 60


def test_a_snapshot_that_was_not_written_to_its_end_does_not_count(stopped: DiskBroker) -> None:
    (state(stopped) / "00000000000000000066-0000000001.checkpoint.part").write_bytes(b"half")
    (state(stopped) / "00000000000000000066-0000000001-7123.checkpoint.part").write_bytes(b"half, of Kafka")
    stopped.open()
    assert value(stopped) == 60
    assert of(stopped, ".part") == []


def test_a_damaged_snapshot_is_told_of_and_an_older_one_does(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    broker = DiskBroker(tmp_path / "data", {BETWEEN: "400"})
    for number in range(1, 21):
        change(broker, number)
    broker.core.close(clean=False)
    for count, snapshot in enumerate(reversed(snapshots_in(str(state(broker)))), 1):
        damage(Path(snapshot.path))
        with caplog.at_level(logging.ERROR):
            broker.open()
        assert next(record.getMessage().split(" is damaged")[0] for record in caplog.records) == (
            f"the snapshot {snapshots_in(str(state(broker)))[-1].path}"
        )
        assert len(caplog.records) == count
        caplog.clear()
        assert value(broker) == 20
        broker.core.close(clean=False)


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _damage_all(directory: Path) -> None:
    for path in directory.glob("*.checkpoint"):
        damage(path)


def _remove_all(directory: Path) -> None:
    for path in directory.glob("*.checkpoint"):
        path.unlink()


def _remove_log(directory: Path) -> None:
    for path in directory.glob("*.log"):
        path.unlink()


def _empty_log(directory: Path) -> None:
    (snapshot := snapshots_in(str(directory))[-1])
    for path in directory.glob("*.log"):
        path.unlink()
    (directory / f"{snapshot.end_offset - 5:020d}.log").write_bytes(b"")


def _hole(directory: Path) -> None:
    """Batches behind the newest snapshot are gone."""
    newest = snapshots_in(str(directory))[-1]
    for path in directory.glob("*.log"):
        path.unlink()
    (directory / f"{newest.end_offset + 1:020d}.log").write_bytes(b"")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_damage_all, "begins at offset .*, and no valid snapshot contains the changes before it"),
        (_remove_all, "begins at offset .*, and no valid snapshot contains the changes before it"),
        (
            _remove_log,
            "ends at offset 0, but its newest snapshot ends at .*: its last files and the changes",
        ),
        (
            _empty_log,
            "ends at offset .*, but its newest snapshot ends at .*: its last files and the changes",
        ),
        (_hole, "begins at offset .*, and no valid snapshot contains"),
    ],
)
def test_a_state_of_which_something_is_missing_is_refused_and_mended(
    stopped: DiskBroker, spoil: object, told: str
) -> None:
    spoil(state(stopped))  # type: ignore[operator]
    with pytest.raises(LogError, match=r"no valid snapshot contains|has no records|it reached offset"):
        stopped.open()
    forget_state_end([str(stopped.path)])  # else that would tell
    with pytest.raises(LogError, match=told) as caught:
        stopped.open()
    assert "broker mend" in (caught.value.hint or "")
    mended = mended_state(stopped)
    assert mended.left_out
    assert len(mended.moved) == 1
    stopped.open()
    kept_by_snapshot = spoil in (_remove_log, _empty_log, _hole)
    assert (50 < value(stopped) <= 60) if kept_by_snapshot else value(stopped) in (0, 60)
    change(stopped, 61)
    stopped.restart(kill=True)
    assert value(stopped) == 61


def mended_state(broker: DiskBroker) -> MendedState:
    dirs = broker_dirs([str(broker.path)])
    try:
        return mend_state(dirs, ManualClock())
    finally:
        dirs.unlock()


def test_mending_finds_a_state_with_snapshots_whole(stopped: DiskBroker) -> None:
    before = sorted(entry.name for entry in state(stopped).iterdir())
    mended = mended_state(stopped)
    assert (mended.left_out, mended.moved) == ({}, [])
    assert sorted(entry.name for entry in state(stopped).iterdir()) == before


def test_what_reads_kafkas_state_reads_this_one(stopped: DiskBroker) -> None:
    """As an adoption of a directory of Kafka does."""
    found, torn_bytes = read_kafka_state(str(state(stopped)), clean=False)
    assert (found.configs[4, ""]["log.retention.bytes"], torn_bytes) == ("60", 0)
    assert found.features["metadata.version"] == LATEST_PRODUCTION


def test_a_disk_that_refuses_a_snapshot_is_asked_again_in_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broker = DiskBroker(tmp_path / "data", SMALL)
    real = os.replace

    def refuse(source: str, target: str) -> None:
        if target.endswith(".checkpoint"):
            raise OSError(28, "No space left on device", target)
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        for number in range(1, 31):
            change(broker, number)
        assert len([each for each in caplog.records if "cannot write a snapshot" in each.getMessage()]) == 1
        assert (of(broker, ".checkpoint"), of(broker, ".part")) == ([], [])
    broker.advance(61)
    assert len(of(broker, ".checkpoint")) == 1
    broker.restart(kill=True)
    assert value(broker) == 30
