"""Files that a user or a setting names, read whole: bounded in size and in time, whatever stands at the path.

A directory, a device without end, a file of a terabyte, a FIFO that nobody writes to: each is an OSError whose
``strerror`` says so in words. A FIFO that somebody does write to, as of a shell's ``<(...)``, is read like a file.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from kafka_tools.clock import Deadline, SystemClock

SETTINGS_BYTES = 4 * 1024 * 1024
"""The most that is read of settings, tokens and passwords; certificates may stand in settings."""
DOCUMENT_BYTES = 64 * 1024 * 1024
"""The most that is read of documents, such as offsets for each of 500,000 partitions."""
WAIT_S = 30.0
"""How long a FIFO, or standard input, may take where no deadline is set."""
_PIECE_BYTES = 1024 * 1024

_deadline: ContextVar[Callable[[], Deadline] | None] = ContextVar("deadline", default=None)
"""Of the command that is being run: readers stand deep in code that knows no commands."""


@contextmanager
def within(deadline: Callable[[], Deadline]) -> Iterator[None]:
    """Let ``deadline`` bound what is waited for in the ``with`` block; it is called when there may be a wait."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


def read_given(path: str, max_bytes: int = SETTINGS_BYTES) -> bytes:
    """The whole content of what stands at ``path``. Raises OSError, also for more than ``max_bytes`` and for no end."""
    if "\0" in path:
        raise OSError(errno.EINVAL, "invalid file name: it contains a null character", path)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)  # a FIFO opens at once
    try:
        return _read(descriptor, path, max_bytes)
    finally:
        os.close(descriptor)


def read_standard_input(max_bytes: int = DOCUMENT_BYTES) -> bytes:
    """Standard input up to its end. Raises OSError as ``read_given``; a terminal is waited for without limit."""
    try:
        descriptor = sys.stdin.fileno()
    except io.UnsupportedOperation:  # a stream in memory, as a program gives that runs a command in its own process
        return sys.stdin.read().encode("utf-8", "surrogateescape")
    return _read(descriptor, "standard input", max_bytes)


def read_answer() -> str:
    """One line of standard input, without its end; bytes behind it are left there. Raises OSError as ``read_given``."""
    try:
        descriptor = sys.stdin.fileno()
    except io.UnsupportedOperation:
        return sys.stdin.readline().rstrip("\n")
    deadline = _bound()
    line = bytearray()
    while len(line) <= 1000:
        _wait(descriptor, "standard input", deadline)
        byte = os.read(descriptor, 1)
        if byte in (b"", b"\n"):
            return line.decode("utf-8", "replace")
        line += byte
    raise OSError(errno.EFBIG, "line too long: expected at most 1000 bytes", "standard input")


def _read(descriptor: int, name: str, max_bytes: int) -> bytes:
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a directory, not a file", name)
    is_file = stat.S_ISREG(status.st_mode)
    data = bytearray()
    if is_file and status.st_size > max_bytes:
        raise _too_long(name, max_bytes)
    deadline = None if is_file else _bound()
    while True:
        if deadline is not None:
            _wait(descriptor, name, deadline)
        try:
            piece = os.read(descriptor, min(_PIECE_BYTES, max_bytes + 1 - len(data)))
        except BlockingIOError:
            continue  # what was there has gone to another reader
        if not piece:
            return bytes(data)
        data += piece
        if len(data) > max_bytes:
            raise _too_long(name, max_bytes)


def _too_long(name: str, max_bytes: int) -> OSError:
    return OSError(errno.EFBIG, f"file too large: expected at most {max_bytes // 1024 // 1024} MiB", name)


def _bound() -> Deadline:
    set_by_command = _deadline.get()
    return set_by_command() if set_by_command is not None else Deadline(SystemClock(), WAIT_S)


def _wait(descriptor: int, name: str, deadline: Deadline) -> None:
    """Wait until something can be read, or the writer has gone. TimeoutError when neither comes in time."""
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if os.isatty(descriptor):
        poll.poll()
        return
    if not poll.poll(deadline.left_ms()):
        text = f"timed out after {deadline.timeout_s:g} s waiting for the end of the input"
        raise TimeoutError(errno.ETIMEDOUT, text, name)
