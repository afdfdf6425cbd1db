"""Tries of commands against something hostile, in virtual time: how each ended, and what is wrong with that.

``ended`` runs a command line on a cluster of ``tests.admin.virtual_cluster``; ``main`` makes many tries from a seed
and prints those that ended in another way than a command may.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import shlex
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from kafka_tools import cli
from kafka_tools.commands import running
from tests.admin.virtual_cluster import VirtualCluster
from tests.commands import fault_table
from tests.net.virtual import without_chance

FILES = {
    "offsets.json": json.dumps(fault_table.OFFSETS),
    "plan.json": json.dumps(fault_table.PLAN),
    "there.json": json.dumps(fault_table.THERE),
    "topics.json": json.dumps(fault_table.TOPICS_TO_MOVE),
    "elect.json": json.dumps({"partitions": [{"topic": "t", "partition": 0}]}),
    "dirs.json": json.dumps(
        {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["/e"]}]}
    ),
    "reset.csv": "t,0,3\nu,1,4\n",
}
CHANGES = re.compile("Alter|Elect|Create|Delete|OffsetCommit|LeaveGroup|InitProducerId|WriteTxn")
"""The requests that change something, by their names."""
LASTING = ("--watch", "--batch-size")
INTERRUPT_S = 2_000.0
"""Virtual seconds after which somebody presses Ctrl-C on what may last."""
CPU_S = 20.0
"""Of the processor, after which a try is taken to hang."""
OWN_CONTROLS = re.compile(r"\x1b\[(0m|1m|K)|\r")
"""What tables and progress on a terminal are made with: bold titles, a line written anew."""


class Ended(NamedTuple):
    """What a try left, and what is wrong with that ("" for nothing)."""

    line: str
    status: int
    out: str
    err: str
    complaint: str


class Screen(io.StringIO):
    """Standard output that may be a terminal."""

    is_terminal = False

    def isatty(self) -> bool:
        return self.is_terminal


class Hangs(BaseException):
    """A try takes more of the processor than anything should; no error that is caught."""


def ended(
    line: str,
    cluster: VirtualCluster,
    files: Mapping[str, str | bytes],
    on_terminal: bool = False,
    is_local: bool = False,
    may_be_wrong: bool = False,
) -> Ended:
    """Run a command line on a cluster, in a folder with these files, and judge how it ended.

    ``is_local``: the command takes no address of a broker. ``may_be_wrong``: the line itself may be.
    """
    program, *arguments = shlex.split(line)
    lasting = any(word in line for word in LASTING)
    place = 1 if program == "kafka-cluster" else 0
    if not is_local:
        arguments[place:place] = ["--bootstrap-server", cluster.bootstrap, "--timeout", str(fault_table.TIMEOUT_MS)]
    out, err = Screen(), io.StringIO()
    out.is_terminal = on_terminal
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        for name, text in files.items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_bytes(
                text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
            )
        stack.enter_context(contextlib.chdir(folder))
        stack.enter_context(mock.patch.dict("os.environ", {"XDG_STATE_HOME": folder}))
        stack.enter_context(cluster.network.in_use())
        stack.enter_context(_interrupted(cluster, lasting))
        stack.enter_context(without_chance())
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        stack.enter_context(_limited())
        try:
            status = running.run(cli.load(program.removeprefix("kafka-")), arguments, program)
        except Hangs:
            import traceback

            return Ended(line, -1, out.getvalue(), err.getvalue() + traceback.format_exc(), "hangs")
        except AssertionError as error:
            return Ended(line, -1, out.getvalue(), f"{err.getvalue()}{error}", "spins")
    seconds = cluster.network.clock.monotonic_s()
    complaint = _judged(line, status, err.getvalue(), seconds, lasting, may_be_wrong)
    if on_terminal and not complaint and _steers(out.getvalue()):
        complaint = "control characters on a terminal"
    return Ended(line, status, out.getvalue(), err.getvalue(), complaint)


def _steers(text: str) -> bool:
    """Whether a text moves the cursor or changes colours, beyond what tables and progress do of themselves."""
    return any(ord(sign) < 32 and sign not in "\n\t" for sign in OWN_CONTROLS.sub("", text))


def _judged(line: str, status: int, err: str, seconds: float, lasting: bool, may_be_wrong: bool) -> str:
    program = line.split()[0]
    if "internal error" in err or "Traceback" in err:
        return "internal error"
    usual = {0, running.FAILED} | ({running.INTERRUPTED} if lasting else set())
    if status not in usual and not (may_be_wrong and status == running.USAGE):
        return f"exit status {status}"
    is_told = program == "kafka-storage" or any(told.startswith(program) for told in err.splitlines())
    if status in (running.FAILED, running.USAGE) and not is_told:
        return "no line says why"
    if _steers(err):
        return "control characters on stderr"
    if len(err) > 20_000:
        return f"{len(err)} characters on stderr"
    if not lasting and "--timeout" not in line and seconds > fault_table.TIMEOUT_MS / 1000 + 0.01:
        return f"took {seconds:.1f} s"
    return ""


@contextlib.contextmanager
def _interrupted(cluster: VirtualCluster, lasting: bool) -> Iterator[None]:
    """Ctrl-C at a time: whatever moves time on raises KeyboardInterrupt from then on, once."""
    clock = cluster.network.clock
    move = clock.advance

    def advance(seconds: float) -> None:
        move(seconds)
        if lasting and clock.monotonic_s() > INTERRUPT_S:
            raise KeyboardInterrupt

    with mock.patch.object(clock, "advance", advance):
        yield


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def end(*_: object) -> None:
        raise Hangs

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def main(name: str, document: str | None, attempt: Callable[[str, str | None], Ended]) -> int:
    """The command of a module with tries: ``attempt(seed, line)`` makes one, whose line is chosen where it is None."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.commands.{name}", description=document)
    parser.add_argument("--tries", type=int, default=2_000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", metavar="SEED", help="one try: the seed that a complaint named")
    parser.add_argument("--line", help="this command line alone")
    parser.add_argument("--heads", action="store_true", help="also print how complaints begin, each once")
    given = parser.parse_args()
    seeds = [given.only] if given.only else [f"{given.seed}-{number}" for number in range(given.tries)]
    counts: dict[int, int] = {}
    heads: dict[str, str] = {}
    wrong = 0
    for seed in seeds:
        tried = attempt(seed, given.line)
        counts[tried.status] = counts.get(tried.status, 0) + 1
        heads.setdefault(re.sub(r"/tmp/\w+|[0-9]+|'.*?'|[^\x20-\x7e]", "#", tried.err.split("\n")[0][:110]), seed)
        if tried.complaint or given.only:
            wrong += bool(tried.complaint)
            print(f"--only {seed}: {tried.line}: {tried.complaint}\n{tried.out[-500:]}\n{tried.err[-3000:]}")
    for head, seed in sorted(heads.items()) if given.heads else ():
        print(f"{seed:>10} {head}")
    print(f"{len(seeds)} tries, {wrong} wrong; exit statuses {dict(sorted(counts.items()))}")
    return 1 if wrong else 0
