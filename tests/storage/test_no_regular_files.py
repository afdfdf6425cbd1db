"""What is no regular file under the name of one, or larger than any: a finding each, and nobody waits for it.

A FIFO keeps who opens it waiting, ``/dev/zero`` has no end, a sparse file of a terabyte takes hours to read. What lies
beside it is read and judged as without it.
"""

from __future__ import annotations

import io
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path

import pytest

from kafka_tools import cli
from kafka_tools.clock import ManualClock
from kafka_tools.commands import running
from kafka_tools.spark.audit import Audit, AuditOptions, audit_with
from kafka_tools.spark.engine import ProcessEngine
from kafka_tools.storage import names
from kafka_tools.storage.check import check_file, check_log_dir, check_partition
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog
from kafka_tools.storage.opening import LARGEST_LOG_BYTES, open_file
from tests.corpus.golden import golden_root

SOUND = min(path for path in (golden_root() / "m2-none-43" / "data").rglob("*.log") if path.stat().st_size).parent
NAME = f"{0:020d}"
BESIDE_LOGS = (
    *(NAME + suffix for suffix in (".index", ".timeindex", ".txnindex", ".snapshot", "-0000000001.checkpoint")),
    *(names.LEADER_EPOCHS, names.PARTITION_METADATA, names.QUORUM_STATE),
)
LOGS = (NAME + ".log", f"{1 << 40:020d}.log")
OF_LOG_DIRS = (*names.OFFSET_CHECKPOINTS, names.META_PROPERTIES, names.BOOTSTRAP_CHECKPOINT)


def socket_file(path: Path) -> None:
    with chdir(path.parent), socket.socket(socket.AF_UNIX) as opened:  # a whole path may be too long
        opened.bind(path.name)


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


WAYS: dict[str, Callable[[Path], object]] = {
    "FIFO": os.mkfifo,
    "/dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to nothing": lambda path: path.symlink_to("gone"),
    "directory": lambda path: path.mkdir(),
    "socket": socket_file,
    "terabyte": sparse,
}


def partition_with(folder: Path, way: str, *replaced: str) -> Path:
    directory = folder / "t-0"
    shutil.copytree(SOUND, directory)
    for name in replaced:
        (directory / name).unlink(missing_ok=True)
        WAYS[way](directory / name)
    return directory


def audited(log_dir: Path) -> Audit:
    return audit_with(ProcessEngine(), [str(log_dir)], AuditOptions())


def told(findings: list[Finding], path: Path) -> list[Finding]:
    return [finding for finding in findings if finding.path == str(path) and finding.severity != "info"]


def missing_index(way: str, name: str) -> bool:
    """Whether it is as if there were no index, which a broker builds anew."""
    return way == "link to nothing" and name.endswith("index")


@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_file_beside_a_log_is_a_finding_and_the_log_is_read(way: str, tmp_path: Path) -> None:
    directory = partition_with(tmp_path, way, *BESIDE_LOGS)
    checked = list(check_partition(directory))
    result = audited(tmp_path)
    for name in BESIDE_LOGS:
        for findings in (checked, result.findings):
            assert len(told(findings, directory / name)) == (0 if missing_index(way, name) else 1), findings
        assert missing_index(way, name) or list(check_file(directory / name))
    sound = next(each for each in audited(SOUND.parent).partitions if each.facts)
    assert result.partitions[0].summary.batches == sound.summary.batches


@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_file_in_the_place_of_a_log_is_a_finding(way: str, tmp_path: Path) -> None:
    directory = partition_with(tmp_path, way, *LOGS)
    for findings in (list(check_partition(directory)), audited(tmp_path).findings):
        for name in LOGS:
            (finding,) = told(findings, directory / name)
            assert finding.kind == "unreadable" and finding.severity == "error"


@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_file_in_a_log_directory_is_a_finding(way: str, tmp_path: Path) -> None:
    shutil.copytree(SOUND, tmp_path / "t-0")
    for name in OF_LOG_DIRS:
        WAYS[way](tmp_path / name)
    for findings in (list(check_log_dir(tmp_path)), audited(tmp_path).findings):
        for name in OF_LOG_DIRS:
            assert len(told(findings, tmp_path / name)) == 1, findings


@pytest.mark.parametrize("way", WAYS)
def test_a_dump_ends_on_what_is_no_file_with_one_line(
    way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = partition_with(tmp_path, way, *BESIDE_LOGS, *LOGS)
    for words in (*(["--files", directory / name] for name in (*BESIDE_LOGS, *LOGS)), ["--partition-dir", directory]):
        running.run(cli.load("dump-log"), list(map(str, words)), "kafka-dump-log")
        err = capsys.readouterr().err
        assert "internal error" not in err and "Traceback" not in err


def test_the_largest_log_of_kafka_is_opened_and_the_next_larger_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / f"{NAME}.log"
    path.touch()
    os.truncate(path, LARGEST_LOG_BYTES + 1)
    (finding,) = (each for each in check_file(path) if each.severity != "info")
    assert finding.kind == "unreadable" and str(LARGEST_LOG_BYTES) in finding.text
    os.truncate(path, 1 << 20)
    assert [each.kind for each in check_file(path) if each.severity != "info"] == ["zero-tail"]


def test_a_file_of_the_system_that_would_keep_its_reader_waiting_is_refused(tmp_path: Path) -> None:
    """``/proc/kmsg`` passes for a regular file; a pipe read without waiting stands for it."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    try:
        from kafka_tools.storage.opening import _Unwaiting

        with pytest.raises(BlockingIOError, match="cannot read from it"):
            io.BufferedReader(_Unwaiting(read, closefd=False)).read(1)
        with pytest.raises(OSError, match="not a regular file"):
            open_file("/dev/zero")
    finally:
        os.close(read)
        os.close(write)


@pytest.mark.parametrize("way", ["FIFO", "/dev/zero", "directory"])
@pytest.mark.parametrize("clean", [True, False])
def test_a_broker_writes_no_log_to_what_is_no_file(clean: bool, way: str, tmp_path: Path) -> None:
    """What is acknowledged would be gone."""
    directory = partition_with(tmp_path, way, NAME + ".log")
    for path in directory.iterdir():
        if not path.name.startswith(NAME):
            path.unlink()
    with pytest.raises(OSError, match=r"not a regular file|Is a directory"):
        PartitionLog.open(str(directory), LogConfig(), ManualClock(), clean=clean)


def test_names_begin_no_lines_of_their_own_in_what_check_prints(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{NAME}.log").write_bytes(b"\1" * 100)
    os.rename(tmp_path / "t-0", tmp_path / "t\nall is well-0")
    out = io.StringIO()
    out.buffer = io.BytesIO()  # type: ignore[misc]
    with redirect_stdout(out):
        running.run(cli.load("dump-log"), ["--check", str(tmp_path / "t\nall is well-0")], "kafka-dump-log")
    lines = out.buffer.getvalue().decode().splitlines()
    assert lines and all(line.startswith(str(tmp_path)) for line in lines)


def test_a_directory_that_is_no_partition_is_no_damage(tmp_path: Path) -> None:
    shutil.copytree(SOUND, tmp_path / "t-0")
    (tmp_path / "notes").mkdir()
    assert [each.kind for each in check_log_dir(tmp_path)] == ["unknown-file"]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that anybody may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="takes the right to become somebody else")
def test_what_may_not_be_read_is_a_finding_and_the_rest_is_read(open_folder: Path) -> None:
    tmp_path = open_folder
    for name in ("t-0", "t-1", "t-2"):
        shutil.copytree(SOUND, tmp_path / name)
    audited(tmp_path)  # what is imported on first use may not be readable by somebody else either
    (tmp_path / "t-0").chmod(0)
    (tmp_path / "t-1" / f"{NAME}.log").chmod(0)
    os.seteuid(65534)
    try:
        result = audited(tmp_path)
    finally:
        os.seteuid(0)
    wrong = [finding.path for finding in result.findings if finding.kind == "unreadable"]
    assert wrong == [str(tmp_path / "t-0"), str(tmp_path / "t-1" / f"{NAME}.log")]
    assert [bool(each.summary.batches) for each in result.partitions] == [False, True, True]
