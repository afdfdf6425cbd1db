"""A log directory that is missing at the start is told and not begun anew; one that is new needs nothing."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.coordinators.mending import mend
from kafka_tools.broker_embedded.core import Core
from kafka_tools.broker_embedded.directories import data_dirs
from kafka_tools.broker_embedded.directories.known_dirs import named_in
from kafka_tools.broker_embedded.opening import open_core
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.clock import ManualClock, SystemClock
from kafka_tools.errors import ConfigError
from kafka_tools.storage.checkpoints import MetaProperties, read_meta_properties
from tests.broker_embedded.cuts.images import CutDisk
from tests.broker_embedded.cuts.recording import Recorder
from tests.broker_embedded.directories.test_data_dirs import snapshot


def begun(paths: list[str], lost: tuple[str, ...] = ()) -> Core:
    return open_core({}, data_dirs=paths, clock=ManualClock(), lost_data_dirs=lost)


def filled(folder: Path, names: str = "ab") -> list[str]:
    """Directories with two partitions each, the state in the first."""
    paths = [str(folder / name) for name in names]
    core = begun(paths)
    whole(core.topics.create("t", [[1]] * 2 * len(paths), {}))
    core.close()
    return paths


def directory_id(path: str) -> str:
    return read_meta_properties(f"{path}/meta.properties").directory_id or ""


@pytest.mark.parametrize("gone", [0, 1])
@pytest.mark.parametrize("how", ["missing", "empty", "not given", "another"])
def test_a_directory_that_is_missing_stops_the_start_and_nothing_is_touched(
    tmp_path: Path, gone: int, how: str
) -> None:
    paths = filled(tmp_path)
    lost, id = Path(paths[gone]), directory_id(paths[gone])
    lost.rename(tmp_path / "unmounted")
    given, text = paths, "does not exist: it has no meta.properties"
    if how == "empty":
        lost.mkdir()
        text = "is empty: it has no meta.properties"
    elif how == "not given":
        given, text = [paths[1 - gone]], "is missing: it is no longer in log.dirs"
    elif how == "another":
        shutil.copytree(paths[1 - gone], lost)
        meta = lost / "meta.properties"
        meta.write_text(meta.read_text().replace(f"directory.id={directory_id(str(lost))}", "directory.id=Other"))
        text = "is now a different directory: its directory.id is Other"
    before = snapshot(tmp_path)
    with pytest.raises(ConfigError, match=f"the data directory {lost} .*{text}") as raised:
        EmbeddedBroker(config={"log.dirs": given}).start()
    assert id in str(raised.value) and f"--lost-data-dir {id}" in str(raised.value.hint)
    assert snapshot(tmp_path) == before
    shutil.rmtree(lost, ignore_errors=True)
    (tmp_path / "unmounted").rename(lost)
    core = begun(paths)
    assert len(list(core.partitions)) == 4
    core.close()


def test_the_command_tells_it_in_two_lines_and_goes_on_when_it_is_meant(tmp_path: Path) -> None:
    paths = filled(tmp_path)
    id = directory_id(paths[1])
    shutil.rmtree(paths[1])
    command = [sys.executable, "-m", "kafka_tools", "broker", "run", "--listen", "127.0.0.1:0", "--data-dir"]
    ended = subprocess.run([*command, ",".join(paths)], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert [line for line in ended.stderr.splitlines() if not line.startswith("[")] == [
        f"kafka-tools: the data directory {paths[1]} does not exist: it has no meta.properties, but it used to be "
        f"the broker's directory {id}",
        "  check that its disk is mounted; nothing was changed. To abandon its contents and start its partitions again "
        f"without records, start once with --lost-data-dir {id}",
    ]
    assert not Path(paths[1]).exists()
    begun(paths, (id,)).close()
    begun(paths, (id,)).close()  # who leaves the option there is protected all the same
    shutil.rmtree(paths[1])
    with pytest.raises(ConfigError, match="does not exist"):
        begun(paths, (id,))


def test_log_dirs_may_become_more_and_fewer_on_purpose_and_move(tmp_path: Path) -> None:
    paths = filled(tmp_path, "a")
    more = [*paths, str(tmp_path / "b")]
    core = begun(more)
    whole(core.topics.create("u", [[1]] * 4, {}))
    assert {partition.log_dir for partition in core.partitions} == set(more)
    core.close()
    moved = [str(tmp_path / "x"), more[1]]
    Path(more[0]).rename(moved[0])
    begun(moved).close()
    assert read_meta_properties(f"{moved[1]}/meta.properties").others == {
        "written.by": "kafka_tools", **{f"log.dir.{directory_id(path)}": path for path in moved}
    }  # fmt: skip
    begun(moved[:1], (directory_id(moved[1]),)).close()
    begun(moved[:1]).close()


def test_a_first_start_that_ends_anywhere_can_be_repeated(tmp_path: Path) -> None:
    root = tmp_path / "data"
    for name in "abc":
        (root / name).mkdir(parents=True)
    recorder = Recorder(root)
    with recorder.recording():
        begun([str(root / name) for name in "abc"]).close(clean=False)
    disk = CutDisk(recorder)
    for number, event in enumerate([None, *recorder.events]):
        if event is not None:
            disk.happen(event)
        for kept in (0.0, 0.5, 1.0):
            image = tmp_path / "image"
            disk.write(image, random.Random(number), kept)
            begun([str(image / name) for name in "abc"]).close(clean=False)
            shutil.rmtree(image)


def test_an_unmounted_directory_is_not_mended_away(tmp_path: Path) -> None:
    paths = filled(tmp_path)
    id = directory_id(paths[0])
    shutil.rmtree(paths[0])  # with the state
    with pytest.raises(ConfigError, match="does not exist"):
        mend(paths, SystemClock())
    assert mend(paths, SystemClock(), lost=[id]).state.recovered == ["t"]
    core = begun(paths)
    assert len(core.cluster.topics["t"].partitions) == 4
    core.close()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EBUSY, errno.EROFS])  # EBUSY: a file that is a mount of its own
def test_directories_of_an_older_broker_start_where_meta_properties_cannot_be_replaced(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    paths = filled(tmp_path)
    files = [Path(path, "meta.properties") for path in paths]
    for file in files:  # as brokers wrote it that did not name the directories
        file.write_text("".join(line for line in file.read_text().splitlines(True) if not line.startswith("log.dir.")))
    before = [file.read_bytes() for file in files]

    def refused(path: str, meta: MetaProperties) -> None:
        raise OSError(number, os.strerror(number), path)

    with monkeypatch.context() as patched:
        patched.setattr(data_dirs, "write_meta_properties", refused)
        core = begun(paths)
        assert core.cluster.topic("t") is not None
        core.close()
    assert [file.read_bytes() for file in files] == before
    assert [record.levelname for record in caplog.records if "cannot update the list" in record.message] == [
        "WARNING"
    ] * 2
    begun(paths).close()
    assert all(set(named_in(read_meta_properties(str(file)))) == set(map(directory_id, paths)) for file in files)
