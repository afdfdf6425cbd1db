"""Readers that go away and streams that take no more: quiet, the same status everywhere, and noticed while waiting."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_tools.broker_embedded.broker import EmbeddedBroker
from kafka_tools.clients import Producer
from tests.corpus.golden import golden_root

WAIT_S = 60
LOG = min(path for path in golden_root().rglob("*.log") if path.stat().st_size)
METADATA = max(golden_root().glob("metadata-43/data/__cluster_metadata-0/*.checkpoint"))
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with EmbeddedBroker(config={"group.initial.rebalance.delay.ms": "0"}) as broker:
        with Producer(broker.bootstrap_servers) as producer:
            for number in range(5):
                producer.send("t", b"record %d" % number)
        yield broker.bootstrap_servers


def start(output: int, *arguments: str) -> subprocess.Popen[bytes]:
    """A command that writes to the descriptor ``output``, which is closed here."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kafka_tools", *arguments], stdout=output, stderr=subprocess.PIPE, env=ENVIRONMENT
    )
    os.close(output)
    return process


def ends_quietly(process: subprocess.Popen[bytes]) -> None:
    _, err = process.communicate(timeout=WAIT_S)
    assert (process.returncode, err) == (141, b"")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_is_cut_is_told_also_without_a_buffer(unbuffered: str, tmp_path: Path) -> None:
    most = 1 << 10  # the file takes no more: what is written is cut there
    words = ["dump-log", "--print-data-log", str(LOG)]
    with open(tmp_path / "out", "wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "kafka_tools", *words], stdout=out, stderr=subprocess.PIPE, timeout=WAIT_S,
            env=ENVIRONMENT | {"PYTHONUNBUFFERED": unbuffered, "PYTHONDONTWRITEBYTECODE": "1"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
            check=False,
        )  # fmt: skip
    assert (tmp_path / "out").stat().st_size == most
    assert (done.returncode, done.stderr) == (1, b"kafka-tools: standard output: File too large\n")


def two_ends(kind: str) -> tuple[int, int]:
    if kind == "pipe":
        return os.pipe()
    ours, theirs = socket.socketpair()
    return ours.detach(), theirs.detach()


def read_lines(descriptor: int, count: int) -> bytes:
    data = b""
    while data.count(b"\n") < count:
        piece = os.read(descriptor, 10)
        assert piece, data
        data += piece
    return data


@pytest.mark.parametrize("kind", ["pipe", "socket"])
@pytest.mark.parametrize("in_group", [False, True])
def test_the_console_consumer_ends_when_its_reader_has_gone(servers: str, kind: str, in_group: bool) -> None:
    ours, theirs = two_ends(kind)
    # A group of its own: what one consumer has committed the next one would not read, and would wait for ever.
    options = ["--from-beginning", *(["--group", f"of-{kind}"] if in_group else [])]
    process = start(theirs, "console-consumer", "--bootstrap-server", servers, "--topic", "t", *options)
    assert read_lines(ours, 5) == b"".join(b"record %d\n" % number for number in range(5))
    os.close(ours)  # everything is read, nothing more arrives
    ends_quietly(process)


def test_it_ends_too_where_nothing_ever_arrives(servers: str) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    ends_quietly(start(theirs, "console-consumer", "--bootstrap-server", servers, "--topic", "t"))


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_following_a_log_ends_when_the_reader_has_gone(tmp_path: Path, kind: str) -> None:
    shutil.copyfile(LOG, tmp_path / LOG.name)
    ours, theirs = two_ends(kind)
    process = start(theirs, "dump-log", "--follow", "--files", str(tmp_path / LOG.name))
    assert read_lines(ours, 1)
    os.close(ours)
    ends_quietly(process)


COMMANDS = (
    ("--version", 0),
    ("topics --version", 0),
    ("topics --help", 0),
    ("completion bash", 0),
    ("dump-log --files {log}", 0),
    ("metadata-shell -s {metadata} tree image", 0),
    ("topics --list -b {servers}", 0),
    ("topics --list -o json -b {servers}", 0),
    ("console-consumer --topic t --from-beginning --max-messages 5 -b {servers}", 0),
    ("topics --describe --topic nosuch -b {servers}", 1),
    ("topics --nosuch", 2),
)


@pytest.mark.parametrize("line, usual", COMMANDS)
def test_what_cannot_be_written_changes_the_status_and_nothing_else(servers: str, line: str, usual: int) -> None:
    arguments = line.format(log=LOG, metadata=METADATA, servers=servers).split()

    def run(redirections: str) -> subprocess.CompletedProcess[str]:
        shell = f'exec "$0" -m kafka_tools "$@" {redirections}'
        return subprocess.run(
            ["sh", "-c", shell, sys.executable, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=WAIT_S,
            env=ENVIRONMENT,
        )

    done = run("")
    assert done.returncode == usual, done
    writes = bool(done.stdout)
    full = run(">/dev/full")
    assert full.returncode == (1 if writes else usual), full
    assert "Traceback" not in full.stderr and "Exception ignored" not in full.stderr
    assert len(full.stderr.splitlines()) <= 3, full.stderr
    if writes and not usual:
        assert "No space left on device" in full.stderr
    deaf = run("2>/dev/full")
    assert (deaf.returncode, deaf.stdout) == (usual, done.stdout)

    ours, theirs = os.pipe()
    os.close(ours)
    process = start(theirs, *arguments)
    _, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == (141 if writes else usual), err
    assert not err if writes else b"Traceback" not in err
