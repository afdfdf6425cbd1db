"""Several files at once, each in a process of its own; the output is that of one process, in the order of the files.

A worker writes to a temporary file and answers with what it noticed; memory stays at a piece of output per worker. No
more than twice as many files as workers are ahead of the one whose output is next.
"""

from __future__ import annotations

import os
import pickle
import select
import sys
import tempfile
from collections.abc import Iterator
from typing import IO, NoReturn

from kafka_tools.commands._dump_run import Outcome, Reading, Run
from kafka_tools.errors import LogError, UsageError
from kafka_tools.output.dump_endings import Sink
from kafka_tools.output.dump_files import Notes

COPY_BYTES = 1 << 20
_AHEAD = 2


class _Spool:
    """The sink of a worker: its temporary file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        self._file.write(text.encode("utf-8", "backslashreplace"))

    def write_bytes(self, data: bytes) -> None:
        self._file.write(data)


class _Worker:
    """A child process and what it has said so far."""

    def __init__(self, pid: int, answer: int, spool: IO[bytes]) -> None:
        self.pid = pid
        self.answer = answer
        self.spool = spool
        self.said = bytearray()
        self.done = False

    def listen(self) -> None:
        """Take what the child wrote; at its end, its exit status."""
        data = os.read(self.answer, COPY_BYTES)
        if data:
            self.said += data
            return
        self.done = True
        os.close(self.answer)
        os.waitpid(self.pid, 0)

    def result(self) -> tuple[Outcome, Notes]:
        """What the child found. Raises LogError if it died."""
        if not self.said:
            raise LogError("a worker process ended before its file was read", hint="try again with --jobs 1")
        found: tuple[Outcome, Notes] = pickle.loads(self.said)  # from our own child, through our own pipe
        return found

    def stop(self) -> None:
        if not self.done:
            import signal

            os.kill(self.pid, signal.SIGKILL)
            os.close(self.answer)
            os.waitpid(self.pid, 0)
        self.spool.close()


def in_processes(run: Run, readings: list[Reading], jobs: int) -> Iterator[tuple[IO[bytes], Outcome, Notes]]:
    """(output, outcome, notes) of each file, in order. Raises LogError if a worker dies, UsageError without fork."""
    if not hasattr(os, "fork"):
        raise UsageError("--jobs needs processes that this system cannot start", hint="leave --jobs out")
    workers: dict[int, _Worker] = {}
    started = 0
    try:
        for number in range(len(readings)):
            while number not in workers or not workers[number].done:
                running = [worker for worker in workers.values() if not worker.done]
                while len(running) < jobs and started < min(len(readings), number + _AHEAD * jobs):
                    workers[started] = _start(run, readings[started])
                    running.append(workers[started])
                    started += 1
                ready, _, _ = select.select([worker.answer for worker in running], [], [])
                for worker in running:
                    if worker.answer in ready:
                        worker.listen()
            worker = workers.pop(number)
            with worker.spool as spool:
                outcome, notes = worker.result()
                spool.seek(0)
                yield spool, outcome, notes
    finally:
        for worker in workers.values():
            worker.stop()


def copy(spool: IO[bytes], sink: Sink) -> None:
    """A worker's output to ``sink``, in pieces of whole lines."""
    while lines := spool.readlines(COPY_BYTES):
        sink.write_bytes(b"".join(lines))


def _start(run: Run, reading: Reading) -> _Worker:
    sys.stdout.flush()
    sys.stderr.flush()
    spool = tempfile.TemporaryFile(prefix="kafka-dump-log-")  # noqa: SIM115 - closed when its output is copied
    answer, say = os.pipe()
    pid = os.fork()
    if not pid:
        _work(run, reading, spool, say)
    os.close(say)
    return _Worker(pid, answer, spool)


def _work(run: Run, reading: Reading, spool: IO[bytes], say: int) -> NoReturn:
    """The child: never returns into the caller's code, and says nothing itself."""
    status = 1
    try:
        notes = Notes()
        outcome = run.one(reading, _Spool(spool), notes)
        spool.flush()
        with os.fdopen(say, "wb") as pipe:
            pickle.dump((outcome, notes), pipe)
        status = 0
    finally:
        os._exit(status)
