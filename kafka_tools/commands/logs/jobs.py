"""Several files at once, and pieces of large logs, each in a process of its own; the output is that of one process.

A worker writes its output itself when the turn of its file or piece comes. Until then it keeps the output in memory,
and in a temporary file if it is too large. If the parent has to treat the output (a document, a terminal), it reads it
from a temporary file. At most twice as many tasks as there are workers are ahead of the one whose output is next.
"""

from __future__ import annotations

import os
import pickle
import select
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import IO, NamedTuple, NoReturn

from kafka_tools.commands import running
from kafka_tools.commands.logs.output import Output
from kafka_tools.dump.notes import FileNotes
from kafka_tools.dump.run import DumpRun, FileOutcome, PieceSum, Reading
from kafka_tools.dump.walk import LogPiece
from kafka_tools.errors import LogError, OutputError, UsageError
from kafka_tools.storage.segment import Segment

COPY_BYTES = 1 << 20
KEPT_BYTES = 32 * 1024 * 1024
"""Maximum output that a worker keeps in memory until its turn."""
_AHEAD = 2
_OUTPUT_FULL = 74
"""Exit status of a worker that cannot write (EX_IOERR)."""


class _Spool(Output):
    """Into a temporary file that the parent reads."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file

    def _put(self, data: bytes) -> None:
        self._file.write(data)

    def close(self) -> None:
        self._pass_on()
        self._file.flush()


def _readable(descriptors: Iterable[int], timeout_ms: int | None = None) -> set[int]:
    """The descriptors that can be read or have reached their end. ``select`` fails for numbers from 1024 on."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(timeout_ms)}


class _InTurn(Output):
    """Output to standard output after a byte arrives through ``turn``, and to a buffer before."""

    def __init__(self, turn: int) -> None:
        super().__init__()
        self._turn: int | None = turn
        self._kept = tempfile.SpooledTemporaryFile(KEPT_BYTES, prefix="kafka-dump-log-")  # noqa: SIM115 - until our turn

    def _put(self, data: bytes) -> None:
        if self._turn is not None and _readable([self._turn], timeout_ms=0):
            self._begin(self._turn)
        if self._turn is None:
            sys.stdout.buffer.write(data)
        else:
            self._kept.write(data)

    def _begin(self, turn: int) -> None:
        """Wait for the turn, then write the kept output."""
        if not os.read(turn, 1):
            raise BrokenPipeError  # the parent is gone
        self._turn = None
        self._kept.seek(0)
        shutil.copyfileobj(self._kept, sys.stdout.buffer, COPY_BYTES)
        self._kept.close()

    def close(self) -> None:
        self._pass_on()
        if self._turn is not None:
            self._begin(self._turn)
        sys.stdout.buffer.flush()


class _Worker:
    """A child process and its data so far."""

    def __init__(self, pid: int, answer: int, turn: int, spool: IO[bytes] | None) -> None:
        self.pid = pid
        self.answer = answer
        self.turn = turn
        self.spool = spool
        self.done = False
        self._said = bytearray()
        self._status = 0
        self._has_turn = False

    @property
    def descriptors(self) -> tuple[int, ...]:
        return (self.answer, self.turn)

    @property
    def is_at_work(self) -> bool:
        """Whether the worker still reads its file, and does not wait for its turn."""
        return not self.done and len(self._said) < 8 + int.from_bytes(self._said[:8], "big")

    def begin(self) -> None:
        """Give the turn to the worker: its file is the next one."""
        if self.spool is None and not self._has_turn and not self.done:
            self._has_turn = True
            os.write(self.turn, b"!")

    def listen(self) -> None:
        """Read the child's data; at its end, its exit status."""
        data = os.read(self.answer, COPY_BYTES)
        if data:
            self._said += data
        else:
            self._end()

    def _end(self) -> None:
        self.done = True
        for descriptor in self.descriptors:
            os.close(descriptor)
        _, status = os.waitpid(self.pid, 0)
        self._status = os.waitstatus_to_exitcode(status)

    def result(self) -> tuple[FileOutcome, FileNotes]:
        """The findings of the child. Raises LogError if it died, BrokenPipeError if the reader closed the output."""
        if self._status == running.OUTPUT_CLOSED:
            raise BrokenPipeError
        if self._status == _OUTPUT_FULL:
            raise OutputError("cannot write to standard output or to the disk for temporary files")
        if self._status or not self._said:
            raise LogError("a worker process ended before it read its file", hint="try again with --jobs 1")
        found: tuple[FileOutcome, FileNotes] = pickle.loads(self._said[8:])  # from our own child, through our own pipe
        return found

    def stop(self) -> None:
        if not self.done:
            import signal

            os.kill(self.pid, signal.SIGKILL)
            self._end()
        if self.spool is not None:
            self.spool.close()


class _Task(NamedTuple):
    """A file, or a piece of one, for a worker. ``number``: the file's."""

    number: int
    reading: Reading
    piece: LogPiece | None = None


class _Tasks:
    """The tasks in their order; a large log is cut piece by piece as needed. ``planned``: tasks that are not done."""

    def __init__(self, run: DumpRun, readings: list[Reading]) -> None:
        self.planned: deque[_Task] = deque()
        self._run = run
        self._files = iter(list(enumerate(readings)))
        self._number = -1
        self._cut: Iterator[_Task] = iter(())
        self._segments: dict[int, Segment] = {}

    def plan(self, count: int) -> bool:
        """Plan up to ``count`` tasks. Returns whether there are that many."""
        while len(self.planned) < count:
            task = next(self._cut, None)
            if task is not None:
                self.planned.append(task)
                continue
            file = next(self._files, None)
            if file is None:
                return False
            self._number, reading = file
            self._cut = self._tasks_of(self._number, reading)
        return True

    def _tasks_of(self, number: int, reading: Reading) -> Iterator[_Task]:
        with suppress(OSError):  # whoever reads it as a whole says why it cannot be opened
            if self._run.is_cut(reading):
                segment = self._segments[number] = self._run.open(reading)
                return (_Task(number, reading, piece) for piece in self._run.cut(reading, segment))
        return iter([_Task(number, reading)])

    def drop(self, number: int) -> None:
        """Remove the planned tasks of a file."""
        self.planned = deque(task for task in self.planned if task.number != number)
        if self._number == number:
            self._cut = iter(())

    def close(self, number: int) -> None:
        """The pieces of a file are done."""
        self._segments.pop(number).close()

    def close_all(self) -> None:
        for number in list(self._segments):
            self.close(number)


def in_processes(
    run: DumpRun, readings: list[Reading], jobs: int, output: Output
) -> Iterator[tuple[FileOutcome, FileNotes]]:
    """The outcome of each file, in order, once its output is written.

    Raises LogError if a worker dies, UsageError without fork, OutputError, BrokenPipeError.
    """
    if not hasattr(os, "fork"):
        raise UsageError("cannot start the processes of --jobs on this system", hint="leave out --jobs")
    run.warm_up(readings)
    tasks = _Tasks(run, readings)
    workers: deque[_Worker] = deque()
    total: PieceSum | None = None
    try:
        while tasks.plan(1):
            _wait_for_first(run, tasks, workers, jobs, output)
            task, worker = tasks.planned.popleft(), workers.popleft()
            outcome, notes = _result(worker, output)
            piece = task.piece
            if piece is None:
                yield outcome, notes
                continue
            total = total or PieceSum(piece.segment.path)
            whole = outcome.reached is not None and outcome.reached.whole
            outcome = total.add(outcome, notes)
            run.pieces_end = outcome.position or 0
            if outcome.failure is None and not piece.last and whole:
                continue
            if not piece.last:
                _stop(workers)
                tasks.drop(task.number)
                if outcome.failure is None and outcome.position is not None:
                    end = run.options.end_of(piece.segment)
                    rest = LogPiece(piece.segment, outcome.position, end, first=False, last=True)
                    tasks.planned.appendleft(task._replace(piece=rest))
                    continue
            if outcome.failure is None:
                gaps = total.notes.gap_findings(piece.segment.path)
                run.make_ending(output).end(gaps, outcome.position or 0, outcome.next_offset)
            tasks.close(task.number)
            notes, total = total.notes, None
            yield outcome, notes
    finally:
        _stop(workers)
        tasks.close_all()


def _wait_for_first(run: DumpRun, tasks: _Tasks, workers: deque[_Worker], jobs: int, output: Output) -> None:
    """Keep ``jobs`` workers running until the first one, whose output comes next, is done."""
    direct = type(output) is Output
    while not (workers and workers[0].done):
        at_work = sum(worker.is_at_work for worker in workers)
        while at_work < jobs and len(workers) < _AHEAD * jobs and tasks.plan(len(workers) + 1):
            workers.append(_start(run, tasks.planned[len(workers)], direct, list(workers)))
            at_work += 1
        if direct:
            output.flush()
        workers[0].begin()
        waiting = [worker for worker in workers if not worker.done]
        ready = _readable(worker.answer for worker in waiting)
        for worker in waiting:
            if worker.answer in ready:
                worker.listen()


def _result(worker: _Worker, output: Output) -> tuple[FileOutcome, FileNotes]:
    """Copy the output of a worker that is done. Returns its findings."""
    try:
        found = worker.result()
        if worker.spool is not None:
            _copy(worker.spool, output)
        return found
    finally:
        worker.stop()


def _stop(workers: deque[_Worker]) -> None:
    while workers:
        workers.pop().stop()


def _copy(spool: IO[bytes], output: Output) -> None:
    """Copy a worker's output to ``output``, in pieces of whole lines."""
    spool.seek(0)
    while lines := spool.readlines(COPY_BYTES):
        output.write_bytes(b"".join(lines))


def _start(run: DumpRun, task: _Task, direct: bool, others: list[_Worker]) -> _Worker:
    sys.stdout.flush()
    sys.stderr.flush()
    spool = None if direct else tempfile.TemporaryFile(prefix="kafka-dump-log-")  # noqa: SIM115 - closed by stop()
    answer, say = os.pipe()
    wait, turn = os.pipe()
    pid = os.fork()
    if not pid:
        # The pipes of other workers must close when the parent ends: this child keeps no copy of them.
        for descriptor in (answer, turn, *(each for other in others if not other.done for each in other.descriptors)):
            os.close(descriptor)
        _work(run, task, _InTurn(wait) if spool is None else _Spool(spool), say)
    os.close(say)
    os.close(wait)
    return _Worker(pid, answer, turn, spool)


def _work(run: DumpRun, task: _Task, sink: Output, say: int) -> NoReturn:
    """The work of the child. It never returns to the caller's code, and prints nothing itself."""
    status = running.FAILED
    try:
        notes = FileNotes()
        outcome = run.one(task.reading, sink, notes, task.piece)
        found = pickle.dumps((outcome, notes))
        with os.fdopen(say, "wb", closefd=False) as pipe:
            pipe.write(len(found).to_bytes(8, "big") + found)
        sink.close()
        status = 0
    except BrokenPipeError:
        status = running.OUTPUT_CLOSED
    except (OSError, OutputError):
        status = _OUTPUT_FULL
    finally:
        os._exit(status)
