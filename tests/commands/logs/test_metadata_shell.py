"""``kafka-metadata-shell``: statuses, complaints, words of a line, and the terminal with history and completion."""

from __future__ import annotations

import itertools
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kafka_tools import cli
from kafka_tools.broker_embedded.directories.local_store import encode_record
from kafka_tools.commands import running
from kafka_tools.commands.logs.shell.lines import parse, split
from kafka_tools.commands.logs.shell.loading import load
from kafka_tools.commands.logs.shell.nodes import root
from kafka_tools.commands.logs.shell.paths import continuations, glob_pattern
from kafka_tools.commands.logs.shell.session import ShellSession, column_widths
from kafka_tools.commands.logs.shell.terminal import candidates
from kafka_tools.errors import UsageError
from kafka_tools.protocol.stored.cluster_metadata import (
    ClientQuotaRecord,
    FeatureLevelRecord,
    TopicRecord,
    UnfenceBrokerRecord,
)
from kafka_tools.storage.kraft_snapshots import write_kraft_snapshot
from kafka_tools.storage.names import log_file_name
from tests.cluster_image.files import ORDERS, log_bytes, state, write_snapshot


def shell(*arguments: object) -> int:
    return running.run(cli.load("metadata-shell"), [str(argument) for argument in arguments], "kafka-metadata-shell")


@pytest.mark.parametrize(
    "line, status, out, err",
    [
        ("ls", 0, "image\nlocal\n", ""),
        ("cat image/producerIds/nextProducerId", 0, "9000\n", ""),
        ("cat nope image/producerIds/nextProducerId", 1, "9000\n",
         "kafka-metadata-shell: cat: nope: No such file or directory.\n"),
        ("cat image", 1, "", "kafka-metadata-shell: cat: image: Is a directory\n"),
        ("ls nope image/producerIds", 1, "nextProducerId\n",
         "kafka-metadata-shell: ls: nope: no such file or directory.\n"),
        ("tree nope", 1, "", "kafka-metadata-shell: tree: nope: No such file or directory.\n"),
        ("find nope", 1, "", "kafka-metadata-shell: find: nope: no such file or directory.\n"),
        ("foo", 2, "", "kafka-metadata-shell: invalid choice: 'foo' (choose from 'cat', 'find', 'ls', 'tree')\n"),
        ("c x", 2, "", "kafka-metadata-shell: invalid choice: 'c': did you mean 'cat'?\n"),
        ("cat", 2, "", "kafka-metadata-shell: too few arguments\n"),
        ("cd image", 2, "", "kafka-metadata-shell: invalid choice: 'cd' (choose from 'cat', 'find', 'ls', 'tree')\n"),
    ],
)  # fmt: skip
def test_one_command_says_what_it_could_not_do(
    tmp_path: Path, line: str, status: int, out: str, err: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell("--snapshot", write_snapshot(tmp_path), *line.split()) == status
    assert capsys.readouterr() == (out, err)


def test_a_record_that_was_passed_over_is_told_and_the_status_is_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / log_file_name(0)
    path.write_bytes(log_bytes([[UnfenceBrokerRecord(id=9, epoch=1), TopicRecord(name="a", topic_id=ORDERS)]]))
    assert shell("-s", path, "ls", "image/topics/byName") == 1
    out, err = capsys.readouterr()
    assert out == "a\n"
    assert err == f"kafka-metadata-shell: cannot apply {path}: the record at offset 0: broker 9 is not registered\n"


def test_quotas_of_defaults_have_an_empty_name_and_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / log_file_name(0)
    entity = [ClientQuotaRecord.EntityData(entity_type="user", entity_name=None)]
    path.write_bytes(log_bytes([state(), [ClientQuotaRecord(entity=entity, key="q", value=1.0)]]))
    assert shell("-s", path, "find", "image/clientQuotas") == 0
    assert capsys.readouterr().out.startswith(
        "image/clientQuotas\nimage/clientQuotas/\nimage/clientQuotas/clientId(c)_user(u)\n"
    )


@pytest.mark.parametrize(
    "text, words",
    [
        ("", []),
        ("  ls   a  ", ["ls", "a"]),
        ("ls 'a b' \"c 'd\" e\\ f", ["ls", "a b", "c 'd", "e f"]),
        ("ls ''", ["ls", ""]),
        ("ls 'open", ["ls", "open"]),
        ("ls end\\", ["ls", "end\\"]),
        ("ls a'b'c", ["ls", "abc"]),
    ],
)
def test_lines_are_cut_into_words(text: str, words: list[str]) -> None:
    assert split(text) == words


def test_a_long_line_is_cut_in_time_and_an_endless_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    began_s = time.process_time()
    assert split("x" * 1_000_000 + " y")[1] == "y"
    assert time.process_time() - began_s < 5
    with open("/dev/zero") as endless:
        monkeypatch.setattr(sys, "stdin", endless)
        assert shell("-s", write_snapshot(tmp_path)) == 1
    assert "a line of the input is longer than 1048576 characters" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["ls /image/topics/byName", "tree /image/topics/byName", "find /image/topics/byName"])
def test_on_a_terminal_a_name_makes_up_no_lines(
    tmp_path: Path, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / log_file_name(0)
    path.write_bytes(log_bytes([[TopicRecord(name="a\nfake \x1b[31m", topic_id=ORDERS)]]))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert shell("-s", path, *line.split()) == 0
    out = capsys.readouterr().out
    assert "fake" in out
    assert "\x1b" not in out
    assert not re.search(r"^\s*fake", out, re.MULTILINE)


@pytest.mark.parametrize("text", ["history 99999999999999999999", "history 1.5", "history 2147483648"])
def test_a_number_of_lines_that_java_would_not_read_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="could not convert"):
        parse(split(text), interactive=True)


@pytest.mark.parametrize(
    "glob, matches, misses",
    [("a*", ["a", "abc"], ["ba"]), ("a?c", ["abc"], ["ac"]), ("{ab,c}d", ["abd", "cd"], ["ad"]),
     ("a.b*", ["a.b"], ["axb"]), ("*\\*", ["x*"], ["x"])],
)  # fmt: skip
def test_globs(glob: str, matches: list[str], misses: list[str]) -> None:
    pattern = glob_pattern(glob)
    assert pattern is not None
    assert all(pattern.fullmatch(text) for text in matches)
    assert not any(pattern.fullmatch(text) for text in misses)


def test_a_glob_of_many_stars_says_no_in_time_and_means_the_same() -> None:
    pattern = glob_pattern("*a" * 8 + "*b")
    assert pattern is not None
    began_s = time.process_time()
    assert not pattern.fullmatch("a" * 249)
    assert time.process_time() - began_s < 5
    for stars in ("*", "a*", "*a", "*ab*b", "a*?b*", "**", "?*", "*.**b", "a*a"):
        found = glob_pattern(stars)
        assert found is not None
        wanted = re.compile("".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in stars))
        for length in range(6):
            for letters in itertools.product("ab.*", repeat=length):
                name = "".join(letters)
                assert bool(found.fullmatch(name)) == bool(wanted.fullmatch(name)), (stars, name)


@pytest.mark.parametrize("glob", ["plain", "{a", "{a{b}}", "a}b", "a,b", "\\*"])
def test_what_is_not_a_glob_is_a_name(glob: str) -> None:
    assert glob_pattern(glob) is None


def test_completion_offers_commands_and_nodes(tmp_path: Path) -> None:
    session = ShellSession(root(load(str(write_snapshot(tmp_path))).image), print, print)
    assert candidates(session, "", "h") == ["help ", "history "]
    assert candidates(session, "man ", "c") == ["cat ", "cd "]
    assert candidates(session, "ls ", "im") == ["image/"]
    assert candidates(session, "cat /local ", "image/prod") == ["image/producerIds/"]
    assert candidates(session, "cat ", "image/producerIds/") == ["image/producerIds/nextProducerId "]
    assert candidates(session, "cd image ", "c") == []
    assert candidates(session, "nope ", "c") == []
    assert candidates(session, "ls ", "nope/") == []
    session.working_directory = "/image/topics"
    assert candidates(session, "cd ", "by") == ["byId/", "byName/"]
    assert candidates(session, "cd ", "../sc") == ["../scram/"]
    assert continuations(session.root, "", "/") == ["image/", "local/"]


@pytest.mark.parametrize("width", [None, 1, 8, 20, 80, 300])
def test_columns_fit_the_screen(width: int | None) -> None:
    entries = [f"entry-{n}" * (1 + n % 3) for n in range(23)]
    widths = column_widths(entries, width)
    lines = -(-len(entries) // len(widths))
    assert len(widths) == 1 or (width is not None and sum(widths) <= width)
    assert (len(widths) - 1) * lines < len(entries)
    assert len(column_widths(entries, 300)) > len(column_widths(entries, 80))


class Terminal:
    """A shell on a terminal of its own; ``until`` waits for what it shows."""

    def __init__(self, snapshot: Path) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kafka_tools", "metadata-shell", "-s", str(snapshot)],
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            env={**os.environ, "TERM": "dumb", "INPUTRC": "/dev/null"},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # pytest-xdist's processes ignore it
        )  # fmt: skip
        os.close(theirs)
        self.shown = ""

    def until(self, text: str) -> str:
        """What has been shown up to ``text``, since the last time."""
        end = time.monotonic() + 60
        while text not in self.shown:
            assert time.monotonic() < end, self.shown
            if select.select([self._ours], [], [], 1)[0]:
                try:
                    self.shown += os.read(self._ours, 65536).decode()
                except OSError as error:
                    raise AssertionError(self.shown) from error
        before, _, self.shown = self.shown.partition(text)
        return before.replace("\r\n", "\n")

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C once it waits for a key: Python's readline misses one that comes just before."""
        end = time.monotonic() + 60
        while Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
            assert time.monotonic() < end, "it does not come to wait for a key"
            time.sleep(0.01)
        self.process.send_signal(signal.SIGINT)
        self.until("^C")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks at processes through /proc")
def test_a_terminal_has_completion_history_and_ctrl_c(tmp_path: Path) -> None:
    pytest.importorskip("readline", reason="this Python has no readline")
    terminal = Terminal(write_snapshot(tmp_path))
    try:
        terminal.until("[ Kafka Metadata Shell ]")
        terminal.until(">> ")
        terminal.type("cat im\tprod\tne\t\n")
        assert "9000" in terminal.until(">> ")
        terminal.type("\x1b[A\n")  # the arrow up
        assert "9000" in terminal.until(">> ")
        terminal.type("dropped")
        terminal.until("dropped")
        terminal.interrupt()
        terminal.until(">> ")
        terminal.type("history\n")
        assert re.findall(r"^ +(\d+)  (.*)$", terminal.until(">> "), re.MULTILINE) == [
            ("0", "cat image/producerIds/nextProducerId "),
            ("1", "history"),
        ]
        terminal.type("\x04")
        assert terminal.process.wait(60) == 0
    finally:
        terminal.close()


def test_an_empty_word_is_the_current_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "00000000000000000001-0000000001.checkpoint"
    record = encode_record(FeatureLevelRecord(name="metadata.version", feature_level=30))
    write_kraft_snapshot(str(path), [[record]], epoch=1, last_contained_ms=0, written_ms=0)
    assert running.run(cli.load("metadata-shell"), ["-s", str(path), "ls", ""], "kafka-metadata-shell") == 0
    assert "image" in capsys.readouterr().out


def test_bytes_that_are_no_text_do_not_end_the_session(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kafka_tools", "metadata-shell", "-s", str(write_snapshot(tmp_path))],
        input=b"ls \xff\nls image\n", capture_output=True, timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"ls: \udcff: no such file or directory." in done.stdout
    assert b"producerIds" in done.stdout
