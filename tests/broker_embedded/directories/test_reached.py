"""A cluster's state that is gone, emptied or cut stops the start; a first start that did not end does not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.broker_embedded.coordinators.mending import mend
from kafka_tools.broker_embedded.core import Core
from kafka_tools.broker_embedded.directories import reached
from kafka_tools.broker_embedded.directories.reached import BOOT_END_FILE, STATE_END_FILE
from kafka_tools.broker_embedded.opening import open_core
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.clock import ManualClock, SystemClock
from kafka_tools.errors import LogError
from kafka_tools.protocol.stored.cluster_metadata import ConfigRecord
from kafka_tools.records.batches import batches
from kafka_tools.records.build import build_batch
from tests.broker_embedded.disk_broker import step


def begun(folder: Path, *, fsync: str = "kafka") -> Core:
    return open_core({}, data_dirs=[str(folder)], clock=ManualClock(), fsync=fsync)


def config(core: Core, value: str) -> None:
    core.journal.commit([ConfigRecord(resource_type=4, resource_name="", name="log.retention.ms", value=value)])


def state_of(folder: Path) -> Path:
    return folder / "__cluster_metadata-0" / f"{0:020d}.log"


def append(core: Core, topic: str) -> None:
    partition = core.partitions.get(topic, 0)
    assert partition is not None
    partition.log.append(bytearray(build_batch([(0, b"k", b"v", ())])), leader_epoch=partition.leader_epoch)


def emptied(log: Path) -> None:
    os.truncate(log, 0)


def removed(log: Path) -> None:
    log.unlink()


def all_removed(log: Path) -> None:
    for path in log.parent.iterdir():
        path.unlink()


def directory_removed(log: Path) -> None:
    shutil.rmtree(log.parent)


def cut(log: Path) -> None:
    os.truncate(log, [view.position for view in batches(log.read_bytes())][-1])


def torn(log: Path) -> None:
    os.truncate(log, log.stat().st_size - 3)


def flipped(log: Path) -> None:
    data = bytearray(log.read_bytes())
    data[[view.position for view in batches(bytes(data))][1] + 70] ^= 4
    log.write_bytes(data)


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("with_partitions", [True, False])
@pytest.mark.parametrize(
    ("harm", "text"),
    [
        (emptied, "the cluster metadata has no records, but it had"),
        (removed, "the cluster metadata has no records, but it had"),
        (all_removed, "the cluster metadata has no records, but it had"),
        (directory_removed, r"the cluster metadata \(__cluster_metadata-0\) is missing, but it had"),
        (cut, "ends at offset [0-9]+, but it reached offset [0-9]+: its last 1 record is missing"),
        (torn, "the segment was valid up to offset"),
        (flipped, "CRC .*does not match"),
    ],
)
def test_what_is_gone_of_the_state_stops_the_start_and_nothing_is_renamed(
    tmp_path: Path, harm: Callable[[Path], None], text: str, clean: bool, with_partitions: bool
) -> None:
    core = begun(tmp_path)
    if with_partitions:
        whole(core.topics.create("t", [[1]], {}))
        append(core, "t")
    config(core, "1")
    config(core, "2")  # not yet forced to the disk, and killed
    core.close(clean=clean)
    harm(state_of(tmp_path))
    files = {path: path.read_bytes() for path in tmp_path.rglob("*.log")}
    for _ in range(2):
        with pytest.raises(LogError, match=text) as raised:
            begun(tmp_path)
        assert "kafka-tools broker mend" in str(raised.value.hint)
    assert {path: path.read_bytes() for path in files if path.exists()} == files
    assert (tmp_path / ".kafka_cleanshutdown").exists() == clean, "the next start need not check the logs either"
    mended = mend([str(tmp_path)], SystemClock()).state
    assert mended.gone or mended.left_out
    core = begun(tmp_path)
    assert list(core.cluster.topics) == (["t"] if with_partitions else [])
    core.close()
    begun(tmp_path).close()


def test_without_any_note_partitions_with_logs_say_that_there_was_a_state(tmp_path: Path) -> None:
    core = begun(tmp_path)
    whole(core.topics.create("t", [[1]], {}))
    core.close()
    for name in (STATE_END_FILE, BOOT_END_FILE):
        (tmp_path / name).unlink()
    emptied(state_of(tmp_path))
    with pytest.raises(LogError, match=r"has no records, but 1 partition has a log, for example .*/t-0"):
        begun(tmp_path)
    assert (tmp_path / "t-0").exists()


@pytest.mark.parametrize("clean", [True, False])
def test_a_topic_that_the_state_does_not_know_stops_the_start_after_a_clean_stop(tmp_path: Path, clean: bool) -> None:
    """Its id tells, where no note does. After a crash the topic's record may never have been on the disk."""
    core = begun(tmp_path)
    whole(core.topics.create("t", [[1]], {}))
    append(core, "t")
    core.close(clean=clean)
    for name in (STATE_END_FILE, BOOT_END_FILE):
        (tmp_path / name).unlink()
    cut(state_of(tmp_path))
    if not clean:
        begun(tmp_path).close()
        assert [path.name[-6:] for path in tmp_path.glob("t-0*")] == ["-stray"]
        return
    with pytest.raises(LogError, match=r"does not contain the topics of 1 partition with records, for example .*/t-0"):
        begun(tmp_path)
    assert mend([str(tmp_path)], SystemClock()).state.recovered == ["t"]
    begun(tmp_path).close()


def test_a_topic_that_was_deleted_explains_its_directory(tmp_path: Path) -> None:
    core = begun(tmp_path)
    whole(core.topics.create("t", [[1]], {}))
    append(core, "t")
    shutil.copytree(tmp_path / "t-0", tmp_path / "kept")
    whole(core.topics.delete(core.cluster.topics["t"]))
    core.close()
    (tmp_path / "kept").rename(tmp_path / "t-0")  # as if it could not be renamed
    core = begun(tmp_path)
    assert not (tmp_path / "t-0").exists()
    core.close()


def test_a_loss_of_power_may_take_what_was_not_forced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The note of what the kernel had holds for its boot alone."""
    core = begun(tmp_path)
    config(core, "1")
    core.close(clean=False)
    cut(state_of(tmp_path))
    with pytest.raises(LogError, match="its last 1 record is missing"):
        begun(tmp_path)
    monkeypatch.setattr(reached, "_boot_id", lambda: b"another")
    begun(tmp_path).close()


@pytest.mark.parametrize("fsync", ["kafka", "always"])
def test_the_end_is_noted_when_it_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fsync: str) -> None:
    core = begun(tmp_path, fsync=fsync)
    forced: list[str] = []
    fsync_of_os = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (forced.append(os.readlink(f"/proc/self/fd/{fd}")), fsync_of_os(fd)))
    for number in range(3):
        config(core, str(number))
    end = core.store.end_offset
    step(core)
    assert forced.index(str(state_of(tmp_path))) < forced.index(f"{tmp_path}/{STATE_END_FILE}.tmp")
    assert len(forced) <= 6, "once for all three"
    assert f"__cluster_metadata 0 {end}" in (tmp_path / STATE_END_FILE).read_text()
    core.close(clean=False)


def test_an_end_that_cannot_be_noted_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*_: object) -> None:
        raise OSError(28, "No space left on device")

    core = begun(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(reached, "write_offset_checkpoint", refused)
        for number in range(3):
            config(core, str(number))
            step(core)
    assert sum("cannot record the end offset" in line for line in caplog.messages) == 1
    config(core, "4")
    step(core)
    assert f" {core.store.end_offset}\n" in (tmp_path / STATE_END_FILE).read_text()
    core.close()


def test_garbage_in_the_notes_counts_as_none(tmp_path: Path) -> None:
    core = begun(tmp_path)
    core.close()
    for name, data in ((STATE_END_FILE, b"\xff\0"), (BOOT_END_FILE, b"x y z")):
        (tmp_path / name).write_bytes(data)
    assert reached.read_state_end(str(tmp_path)) == 0
    core = begun(tmp_path)
    assert reached.read_state_end(str(tmp_path)) == core.store.end_offset
    core.close()
