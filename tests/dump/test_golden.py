"""Recorded runs of DumpLogSegments of Kafka 4.3.1 and of the newest release, replayed: equal to the byte.

One test per case, so that a failure names it, and the number of runs compared is asserted: none is left out in silence.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_tools import KAFKA_MINOR, KAFKA_RELEASE
from kafka_tools.commands import running
from kafka_tools.commands.logs.dump_log import PROGRAM, command
from kafka_tools.dump import walk
from kafka_tools.protocol.enums import TransactionState
from tests.corpus.golden import Case, Run, cases, newest_cases

TOOL = "4.3.1"

NOT_COMPARED = {
    "cli-43-0": "usage",
    "cli-43-1": "usage",
    "cli-43-2": "the version line is ours",
    "cli-43-3": "option without its argument",
    "cli-43-4": "usage",
    "cli-43-12": "--files twice",
    "cli-43-13": "unknown option",
    "cli-43-14": "Kafka reads the value of --max-message-size only when it needs it",
    "cli-43-18": "--max-bytes -1",
    "cli-43-25": "usage",
    "cli-43-26": "usage",
    "cli-43-28": "unknown option",
    "cli-43-32": "a directory",
    "cli-43-33": "a directory",
    "cli-43-34": "an empty name",
    "corrupt-index-odd-size-none43-1": "Kafka's tool had cut the index in a run before, and refuses it uncut",
    "corrupt-snapshot-txnindex-43-2": "an entry of version 1, which 4.3.1 shows as 0 and 4.4 refuses",
    "numbers-43-3": "DefaultDecoder prints the addresses of Java objects",
    "numbers-43-6": "a decoder's old name, which 4.3.1 refuses",
    "numbers-43-7": "a decoder's old name, which 4.3.1 refuses",
    "numbers-43-8": "a decoder that does not exist",
}
"""Help, usage and options that one of the tools rejects, and a file that a tool changed."""

COMPARED = 2660
COMPARED_OF_NEWEST = 44

SECRETS = re.compile(rb'"(salt|storedKey|serverKey)":"[^"]+"')
"""What is masked in records of the cluster's metadata, unlike in Kafka's tool."""


STATUSES = re.compile(rb'(?<="transactionStatus":)-?\d+')
"""What 4.4 shows by name, and 4.3.1 as a number."""


def _status_name(match: re.Match[bytes]) -> bytes:
    known = dict(enumerate(TransactionState.all))
    return b'"%s"' % known.get(int(match[0]), match[0].decode()).encode()


def runs(case: Case) -> list[Run]:
    return [run for run in case.runs if run.tool_version == TOOL and run.id not in NOT_COMPARED]


class _Text(io.TextIOWrapper):
    """Standard output that keeps its bytes."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", newline="\n")

    def data(self) -> bytes:
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue()


@contextmanager
def output() -> Iterator[tuple[_Text, _Text]]:
    kept = sys.stdout, sys.stderr
    captured = _Text(), _Text()
    sys.stdout, sys.stderr = captured
    try:
        yield captured
    finally:
        sys.stdout, sys.stderr = kept


def replay(run: Run) -> tuple[int, bytes, str]:
    with output() as (stdout, stderr):
        status = running.run(command, list(run.args), PROGRAM)
        return status, stdout.data(), stderr.data().decode()


def difference(ours: bytes, theirs: bytes) -> str:
    mine, kafkas = ours.split(b"\n"), theirs.split(b"\n")
    for number, (a, b) in enumerate(zip(mine, kafkas, strict=False), 1):
        if a != b:
            return f"line {number}:\n ours  {a[:2000]!r}\n Kafka {b[:2000]!r}"
    return f"{len(mine)} lines instead of {len(kafkas)}; the first {min(len(mine), len(kafkas))} are equal"


@pytest.mark.req("DL-5", "DL-6", "DL-10", "REC-5", "REC-6", "REC-12", "REC-13")
@pytest.mark.parametrize("way", ["scalar", "columns"])
@pytest.mark.parametrize("case", [case for case in cases() if runs(case)], ids=lambda case: case.id)
def test_output_is_kafkas_to_the_byte(case: Case, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case.cwd)
    monkeypatch.setattr(walk, "FAST_FROM_BYTES", 0 if way == "columns" else 1 << 60)
    monkeypatch.setattr(walk, "WINDOW_BYTES", 3000)
    for run in runs(case):
        expected = run.stdout
        if "--transaction-log-decoder" in run.args:
            expected = STATUSES.sub(_status_name, expected)
        compare(run, expected)


@pytest.mark.parametrize("way", ["scalar", "columns"])
@pytest.mark.parametrize("case", newest_cases(), ids=lambda case: case.id)
def test_output_is_the_newest_kafkas_to_the_byte(case: Case, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case.cwd)
    monkeypatch.setattr(walk, "FAST_FROM_BYTES", 0 if way == "columns" else 1 << 60)
    monkeypatch.setattr(walk, "WINDOW_BYTES", 3000)
    for run in case.runs:
        assert run.tool_version.startswith(f"{KAFKA_MINOR}.")
        compare(run, run.stdout)


def compare(run: Run, expected: bytes) -> None:
    """Run ours, which has to print what Kafka did, and fail where Kafka did."""
    if "--cluster-metadata-decoder" in run.args:
        expected = SECRETS.sub(rb'"\1":"***"', expected)
    status, stdout, stderr = replay(run)
    assert stdout == expected, f"{run.id} {' '.join(run.args)}: {difference(stdout, expected)}\n{stderr}"
    assert "Traceback" not in stderr and "internal error" not in stderr, f"{run.id}: {stderr}"
    if run.exit_code:
        assert status == 1, f"{run.id}: Kafka failed, status {status} here: {stderr}"
    for line in stderr.splitlines():
        assert line.startswith((f"{PROGRAM}: ", "Non-consecutive offsets in ", "  ", "Ignoring unknown file")), line


def test_no_run_is_left_out() -> None:
    wanted = f"python -m tests.corpus.collect {KAFKA_RELEASE}"
    assert sum(len(case.runs) for case in newest_cases()) == COMPARED_OF_NEWEST, wanted
    assert sum(len(runs(case)) for case in cases()) == COMPARED
    assert len([run for case in cases() for run in case.runs if run.tool_version == TOOL]) == COMPARED + len(
        NOT_COMPARED
    )
