"""``kafka-metadata-shell`` beside Kafka's shell over the same files: what both print, to the byte."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.broker_embedded.directories.snapshots import snapshots_in
from tests.against_kafka.archives import TOOLS, shared, tool_path
from tests.against_kafka.jars import ENVIRONMENT, SHELL, WITH_SHELL, java, library
from tests.against_kafka.jvm import QUIET, TOOL_OPTIONS
from tests.against_kafka.tool_server import LOCALE
from tests.broker_embedded.directories.test_state_log import BETWEEN
from tests.broker_embedded.directories.test_state_snapshots import CHANGES_OF_EVERY_KIND
from tests.broker_embedded.directories.test_state_snapshots import PROPERTIES as STATE_PROPERTIES
from tests.broker_embedded.disk_broker import DiskBroker
from tests.cluster_image.files import write_log, write_snapshot
from tests.corpus.golden import golden_root

Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]
ATTEMPTS = 4

PREFIX = re.compile(r"^kafka-(metadata-shell|tools)( metadata-shell)?: ")
INTERACTIVE = (
    "help", "man ls", "man cat", "man cd", "man exit", "man find", "man help", "man history", "man man", "man pwd",
    "man tree", "man foo", "man", "man ls x", "ls", "cd image", "ls", "pwd", "cd nope", "cd /local/version",
    "ls /local", "cd /image/topics", "cd ..", "pwd", "cd ../..", "pwd", "", "  ", "history", "history 3", "history x",
    "history -1", "history 1 2", "ls", "ls", " pwd", "history", "ls 'a b", "ls \"a  b\" c\\ d", "foo", "p", "h",
    "ls --bad", "ls -- -x", "-x", "--", "help x", "cat", "tree", "cat /image/features/finalized_zzz",
    "tree /image/features", "cd", "pwd", "cd image c", "cat image", "ls image/{cluster,acls}", "ls im?ge/a*",
    "cat image/cluster/brokers/*", "cat image/cluster/brokers/+1", "ls {a", "ls a}", "ls a\\*", "exit",
)  # fmt: skip
"""Lines for a shell that is read from a pipe."""


SECRETS = re.compile(r"(salt|storedKey|serverKey)=[0-9a-f]*")
"""What is masked in our shell."""


@pytest.fixture(scope="module")
def theirs() -> Run:
    """Kafka's own shell; its arguments, and what it reads."""
    jars = os.pathsep.join(map(str, [*tool_path(WITH_SHELL), *library(SHELL).glob("*.jar")]))
    start = [
        java(),
        *TOOL_OPTIONS,
        *shared(TOOLS, WITH_SHELL),
        *QUIET,
        *LOCALE,
        "-cp",
        jars,
        "org.apache.kafka.shell.MetadataShell",
    ]

    def run(*arguments: object, stdin: str = "") -> Done:
        done = subprocess.run(
            [*start, *map(str, arguments)], input=stdin, capture_output=True, encoding="utf-8", timeout=120,
            env=ENVIRONMENT,
        )  # fmt: skip
        done.stdout = SECRETS.sub(r"\1=***", done.stdout)
        return done

    return run


def ours(*arguments: object, stdin: str = "") -> Done:
    return subprocess.run(
        [sys.executable, "-m", "kafka_tools", "metadata-shell", *map(str, arguments)],
        input=stdin, capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip


def both(theirs: Run, *arguments: object, stdin: str = "") -> tuple[Done, Done]:
    """What Kafka's shell and ours did. Kafka's may answer before it has read the file, of an empty tree: then again."""
    our = ours(*arguments, stdin=stdin)
    for _ in range(ATTEMPTS):
        done = theirs(*arguments, stdin=stdin)
        if done.stdout == our.stdout:
            break
    return done, our


@pytest.mark.parametrize("release", ["39", "43"])
def test_the_tree_of_real_files_is_kafkas(theirs: Run, release: str) -> None:
    folder = golden_root() / f"metadata-{release}" / "data" / "__cluster_metadata-0"
    for path in (max(folder.glob("*.checkpoint")), min(folder.glob("*.log"))):
        done, our = both(theirs, "--snapshot", path, "tree", "/image")
        assert len(done.stdout.splitlines()) > 50
        assert our.stdout == done.stdout, path
        assert (our.returncode, our.stderr) == (0, "")


def test_every_kind_of_record_shows_as_in_kafkas_tree(theirs: Run, tmp_path: Path) -> None:
    """What no broker of one node writes: racks, cordoned directories, tokens, removals, transactions, ..."""
    for path in (write_snapshot(tmp_path), write_log(tmp_path)):
        done, our = both(theirs, "-s", path, "tree", "image")
        assert our.stdout == done.stdout, path
        assert "Optional[4.3-IV0]" in done.stdout
        assert our.returncode == 0, our.stderr


@pytest.mark.parametrize(
    "line",
    ["ls '' image loc* /image/to?ics", "find image/features", "cat image/topics/byName/o*/0 image/provenance",
     "cat nope image local/nope", "tree nope", "find nope .", "foo", "l", "c", "pwd",
     "ls image/configs/{TOPIC,GROUP}* image/acls/*/*"],
)  # fmt: skip
def test_one_command_prints_what_kafkas_shell_prints(theirs: Run, tmp_path: Path, line: str) -> None:
    path = write_snapshot(tmp_path)
    our = ours("--snapshot", path, *shlex.split(line))
    # Complaints are on stderr here, and that is the only difference.
    said = [PREFIX.sub("", text) for text in our.stderr.splitlines() if not text.startswith("  ")]
    printed = sorted(filter(None, [*our.stdout.splitlines(), *said]))
    for _ in range(ATTEMPTS):
        done = theirs("--snapshot", path, *shlex.split(line))
        if sorted(filter(None, done.stdout.splitlines())) == printed:
            break
    assert printed == sorted(filter(None, done.stdout.splitlines()))
    assert (our.returncode != 0) == bool(said)


def test_a_session_is_kafkas_to_the_byte(theirs: Run, tmp_path: Path) -> None:
    path = write_snapshot(tmp_path)
    done, our = both(theirs, "--snapshot", path, stdin="\n".join(INTERACTIVE) + "\n")
    assert len(done.stdout.splitlines()) > 150
    assert our.stdout == done.stdout
    assert (our.returncode, our.stderr) == (done.returncode, "")


def test_the_snapshots_of_the_bundled_broker_read_as_kafkas(theirs: Run, tmp_path: Path) -> None:
    release = WITH_SHELL.rpartition(".")[0]  # the shell reads no newer level
    broker = DiskBroker(tmp_path / "data", {**STATE_PROPERTIES, BETWEEN: "3000"}, release=release)
    for change in CHANGES_OF_EVERY_KIND:
        change(broker)
        broker.step()
    broker.core.close()
    snapshots = snapshots_in(str(tmp_path / "data" / "__cluster_metadata-0"))
    assert len(snapshots) > 1
    for snapshot in snapshots[-2:]:
        done, our = both(theirs, "--snapshot", snapshot.path, "tree", "/image")
        assert our.stdout == done.stdout
        assert (our.returncode, our.stderr) == (0, "")
    for told in ("TOPIC:a:", "retention.ms:", "user(u)", "producer_byte_rate", "leaderEpoch=0", "User:a", "SHA-256"):
        assert told.lower() in done.stdout.lower(), done.stdout
