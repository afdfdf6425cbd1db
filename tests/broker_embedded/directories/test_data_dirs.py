"""Directories that are not the broker's are refused and left alone, whatever they hold; so are disks that refuse."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.core import Core
from kafka_tools.broker_embedded.opening import open_core
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.clock import ManualClock
from kafka_tools.errors import ConfigError, LogError
from kafka_tools.storage.checkpoints import read_meta_properties

_WAIT_S = 60


def snapshot(folder: Path) -> dict[str, tuple[int, bytes | str | None]]:
    """Everything below a folder: modes, contents, links."""
    found: dict[str, tuple[int, bytes | str | None]] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = (mode, content)
    return found


def files(folder: Path) -> None:
    (folder / "backup-1").mkdir()
    (folder / "backup-1" / "notes.txt").write_text("mine")


def kafka(folder: Path) -> None:
    (folder / "meta.properties").write_text("#\nversion=1\ncluster.id=abc\nnode.id=1\ndirectory.id=xyz\n")
    (folder / "orders-0").mkdir()
    (folder / "orders-0" / "00000000000000000000.log").write_bytes(b"")


def old_kafka(folder: Path) -> None:
    (folder / "meta.properties").write_text("#\nversion=0\nbroker.id=1\n")


def no_meta(folder: Path) -> None:
    (folder / "meta.properties").write_text("something else\n")


def meta_is_a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "meta.properties")


def lock_of_somebody(folder: Path) -> None:
    (folder / ".lock").write_text("4711")


def only_hidden(folder: Path) -> None:
    (folder / ".profile").write_text("")


def link(folder: Path) -> None:
    (folder / "loop-0").symlink_to(folder)


@pytest.mark.parametrize(
    ("fill", "text"),
    [
        (files, "not empty .* it contains backup-1"),
        (kafka, "another broker, Apache Kafka: .*cluster abc, node 1"),
        (old_kafka, "another broker, Apache Kafka"),
        (no_meta, "does not belong to this broker"),
        (meta_is_a_pipe, "meta.properties is not a file"),
        (lock_of_somebody, "it contains .lock"),
        (only_hidden, "it contains .profile"),
        (link, "it contains loop-0"),
    ],
)
def test_a_folder_that_is_not_ours_is_refused_and_nothing_is_touched(
    tmp_path: Path, fill: Callable[[Path], None], text: str
) -> None:
    folder, fresh = tmp_path / "data", tmp_path / "fresh"
    folder.mkdir()
    fill(folder)
    before = snapshot(tmp_path)
    with pytest.raises(ConfigError, match=text) as raised:
        EmbeddedBroker(data_dir=folder).start()
    assert str(folder) in str(raised.value)
    with pytest.raises(ConfigError, match=text):
        EmbeddedBroker(config={"log.dirs": f"{fresh},{folder}"}).start()
    assert snapshot(tmp_path) == before, "the other directory is not made either"


def test_the_command_leaves_a_foreign_folder_alone_and_exits_1(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    files(folder)
    before = snapshot(tmp_path)
    status, errors = run("--listen", "127.0.0.1:0", "--data-dir", str(folder))
    assert status == 1
    assert errors.startswith(f"kafka-tools: the data directory {folder} is not empty")
    assert snapshot(tmp_path) == before


def run(*arguments: str, cwd: Path | None = None) -> tuple[int, str]:
    """(status, stderr) of a broker that does not start."""
    command = [sys.executable, "-m", "kafka_tools", "broker", "run", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=_WAIT_S, cwd=cwd, check=False)
    assert ended.stdout == "" and "Traceback" not in ended.stderr
    errors = "".join(line + "\n" for line in ended.stderr.splitlines() if not line.startswith("["))
    return ended.returncode, errors


def test_an_empty_folder_a_new_one_and_one_with_lost_and_found_are_taken(tmp_path: Path) -> None:
    for name, make in (("empty", True), ("deep/new", False), ("disk", True)):
        folder = tmp_path / name
        if make:
            folder.mkdir()
        if name == "disk":
            (folder / "lost+found").mkdir()
        for _ in range(2):
            open_core({}, data_dirs=[str(folder)], clock=ManualClock()).close()


def test_a_first_start_that_ended_early_can_be_repeated(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / "meta.properties.tmp").write_text("#\nversio")
    open_core({}, data_dirs=[str(tmp_path)], clock=ManualClock()).close()


def test_a_link_to_a_data_directory_is_followed_and_one_to_nothing_named(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    open_core({}, data_dirs=[str(tmp_path / "link")], clock=ManualClock()).close()
    assert (tmp_path / "real" / "meta.properties").exists()
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(ConfigError, match="dangling is a link to nowhere, which does not exist"):
        EmbeddedBroker(data_dir=tmp_path / "dangling").start()


@pytest.mark.parametrize("kind", ["file", "pipe", "below a file"])
def test_what_is_not_a_directory_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "place"
    os.mkfifo(path) if kind == "pipe" else path.write_text("mine")
    wanted = path / "below" if kind == "below a file" else path
    text = {"file": "is a file, not", "pipe": "is a named pipe, not", "below a file": "place is not a directory"}[kind]
    with pytest.raises(ConfigError, match=f"data directory {wanted}.*{text}"):
        EmbeddedBroker(data_dir=wanted).start()
    assert [entry.name for entry in tmp_path.iterdir()] == ["place"]


def test_log_dirs_twice_or_one_within_the_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "again").symlink_to("a")
    for other, text in (
        ("a", "duplicate"),
        ("a/", "duplicate"),
        ("x/../a", "duplicate"),
        ("again", "duplicate"),
        ("a/b-1", "contains"),
    ):
        with pytest.raises(ConfigError, match=text):
            open_core({}, data_dirs=[str(tmp_path / "a"), f"{tmp_path}/{other}"], clock=ManualClock())
    assert list((tmp_path / "a").iterdir()) == []


@pytest.mark.parametrize("arguments", [["--data-dir", ""], ["--set", "log.dirs="], ["--data-dir", "a,,b"]])
def test_an_empty_name_of_a_directory_is_not_a_temporary_one(tmp_path: Path, arguments: list[str]) -> None:
    status, errors = run("--listen", "127.0.0.1:0", *arguments, cwd=tmp_path)
    assert (status == 1 and "empty directory name" in errors) or (status == 2 and "--data-dir" in errors)
    with pytest.raises(ConfigError, match="empty directory name"):
        EmbeddedBroker(data_dir="").start()
    assert list(tmp_path.iterdir()) == []


def test_two_brokers_of_one_process_do_not_share_a_directory(tmp_path: Path) -> None:
    with EmbeddedBroker(data_dir=tmp_path / "a") as broker:
        (tmp_path / "link").symlink_to("a")
        for path in (tmp_path / "a", tmp_path / "link"):
            with pytest.raises(ConfigError, match="in use by another broker"):
                EmbeddedBroker(data_dir=path).start()
        status, errors = run("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "a"))
        assert status == 1 and "in use by another broker" in errors, "the first one still has the lock"
        assert broker.call(lambda core: core.dirs.paths) == [str(tmp_path / "a")]
    EmbeddedBroker(data_dir=tmp_path / "a").start().stop()


@pytest.mark.parametrize(
    ("function", "number", "text"),
    [
        ("listdir", errno.EACCES, "cannot read data directory {}.*: Permission denied"),
        ("makedirs", errno.EROFS, "cannot create data directory {}.*: Read-only file system"),
        ("open", errno.EROFS, "cannot use data directory {}.*: Read-only file system"),
        ("fsync", errno.ENOSPC, "cannot use data directory {}.*/meta.properties: No space left on device"),
        ("fsync", errno.EIO, "cannot use data directory {}.*/meta.properties: Input/output error"),
        ("replace", errno.ENOSPC, "cannot use data directory {}.*/meta.properties.tmp: No space left on device"),
    ],
)
def test_a_disk_that_refuses_at_the_first_start_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, number: int, text: str
) -> None:
    path = tmp_path / "data"
    if function != "makedirs":
        path.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(os, function, failing(getattr(os, function), number, str(path)))
        with pytest.raises(ConfigError, match=text.format(path)):
            open_core({}, data_dirs=[str(path)], clock=ManualClock())
    open_core({}, data_dirs=[str(path)], clock=ManualClock()).close()


def failing(real: Callable[..., Any], number: int, below: str) -> Callable[..., Any]:
    """A function of os that fails for paths below a directory, and for descriptors."""

    def call(first: Any, *arguments: Any, **options: Any) -> Any:
        writes = real is not os.open or arguments[0] & os.O_CREAT
        if writes and (isinstance(first, int) or str(first).startswith(below)):
            name = None if isinstance(first, int) else first
            raise OSError(number, os.strerror(number), name)
        return real(first, *arguments, **options)

    return call


def test_a_disk_that_is_full_once_the_directory_is_made_is_named_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = open_core({}, data_dirs=[str(tmp_path)], clock=ManualClock())
    whole(core.topics.create("t", [[1]], {}))
    core.close()

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(LogError, match=f"cannot start the broker: {tmp_path}.*log: No space left on device"):
            EmbeddedBroker(data_dir=tmp_path).start()
    EmbeddedBroker(data_dir=tmp_path).start().stop()


def test_log_dirs_in_another_order_are_the_same_broker(tmp_path: Path) -> None:
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    core = open_core({}, data_dirs=paths, clock=ManualClock())
    whole(core.topics.create("t", [[1]] * 4, {}))
    core.close()
    core = open_core({}, data_dirs=paths[::-1], clock=ManualClock())
    assert set(core.cluster.topics) == {"t"} and len(list(core.partitions)) == 4
    core.close()
    assert strays(tmp_path) == []


def strays(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*-stray")]


def test_a_missing_directory_of_the_state_stops_the_start_and_renames_nothing(tmp_path: Path) -> None:
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    core = open_core({}, data_dirs=paths, clock=ManualClock())
    whole(core.topics.create("t", [[1]] * 4, {}))
    core.close()
    with pytest.raises(ConfigError, match=f"the data directory {paths[0]} .* is missing: it is no longer in log.dirs"):
        open_core({}, data_dirs=paths[1:], clock=ManualClock())
    id = read_meta_properties(f"{paths[0]}/meta.properties").directory_id or ""
    with pytest.raises(LogError, match=r"metadata .* is missing, but 2 partitions have logs") as raised:
        open_core({}, data_dirs=paths[1:], clock=ManualClock(), lost_data_dirs=[id])
    assert "all of log.dirs" in str(raised.value.hint)
    assert strays(tmp_path) == []
    reopened(paths).close()


def reopened(paths: list[str]) -> Core:
    return open_core({}, data_dirs=paths, clock=ManualClock())


def test_only_what_is_a_log_is_set_aside(tmp_path: Path) -> None:
    reopened([str(tmp_path)]).close()
    files(tmp_path)
    (tmp_path / "orders-3").mkdir()
    (tmp_path / "orders-3" / "00000000000000000000.log").write_bytes(b"x" * 100)
    reopened([str(tmp_path)]).close()
    assert (tmp_path / "backup-1" / "notes.txt").read_text() == "mine"
    (name,) = strays(tmp_path)
    assert name.startswith("orders-3.")
    assert (tmp_path / name / "00000000000000000000.log").exists()


def test_a_partition_that_is_there_twice_stops_the_start(tmp_path: Path) -> None:
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    core = reopened(paths)
    whole(core.topics.create("t", [[1]], {}))
    core.close()
    (tmp_path / "b" / "t-0").mkdir()
    with pytest.raises(LogError, match=f"found two copies of partition t-0: {tmp_path}/a/t-0 and {tmp_path}/b/t-0"):
        reopened(paths)


def test_checkpoints_are_written_when_they_change_or_are_gone(tmp_path: Path) -> None:
    core = reopened([str(tmp_path)])
    whole(core.topics.create("t", [[1]], {}))
    whole(core.partitions.upkeep.write_checkpoints())
    path = tmp_path / "recovery-point-offset-checkpoint"
    first = path.stat().st_ino
    whole(core.partitions.upkeep.write_checkpoints())
    assert path.stat().st_ino == first
    whole(core.topics.create("u", [[1]], {}))
    whole(core.partitions.upkeep.write_checkpoints())
    assert "u 0 0" in path.read_text()
    path.unlink()
    whole(core.partitions.upkeep.write_checkpoints())
    assert "u 0 0" in path.read_text()
    core.close()


def test_the_state_is_for_the_brokers_user_alone(tmp_path: Path) -> None:
    core = reopened([str(tmp_path)])
    whole(core.topics.create("t", [[1]], {}))
    core.close()
    state = tmp_path / "__cluster_metadata-0"
    for path in state.iterdir():
        path.chmod(0o644)
    state.chmod(0o755)
    reopened([str(tmp_path)]).close()  # as a directory of an earlier version
    assert state.stat().st_mode & 0o777 == 0o700
    assert {path.name: oct(path.stat().st_mode & 0o777) for path in state.iterdir()} == dict.fromkeys(
        (path.name for path in state.iterdir()), "0o600"
    )
    assert (tmp_path / "t-0").stat().st_mode & 0o777 != 0o700
