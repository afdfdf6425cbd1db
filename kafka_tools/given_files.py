"""Reads whole files that a user or a setting names, within a limit of size and time.

A directory, an endless device, a file of a terabyte or a FIFO without a writer raises an OSError. Its ``strerror``
gives the reason. A FIFO that has a writer, such as a shell's ``<(...)``, is read like a file.
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
"""Maximum size of settings, tokens and passwords. Settings may contain certificates."""
DOCUMENT_BYTES = 64 * 1024 * 1024
"""Maximum size of documents, such as offsets for each of 500,000 partitions."""
WAIT_S = 30.0
"""Timeout of a FIFO or standard input if no deadline is set."""
_PIECE_BYTES = 1024 * 1024

_deadline: ContextVar[Callable[[], Deadline] | None] = ContextVar("deadline", default=None)
"""The deadline of the current command. Readers are deep in code that does not know commands."""


@contextmanager
def within(deadline: Callable[[], Deadline]) -> Iterator[None]:
    """Apply ``deadline`` to all reads in the ``with`` block. A reader calls it when it may have to wait."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


def read_given(path: str, max_bytes: int = SETTINGS_BYTES) -> bytes:
    """The whole content of a file. Raises OSError, also for more than ``max_bytes`` and after the deadline."""
    if "\0" in path:
        raise OSError(errno.EINVAL, "invalid file name: it contains a null character", path)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)  # a FIFO opens immediately
    try:
        return _read(descriptor, path, max_bytes)
    finally:
        os.close(descriptor)


def read_standard_input(max_bytes: int = DOCUMENT_BYTES) -> bytes:
    """Standard input up to its end. Raises OSError as ``read_given``. A terminal has no deadline."""
    try:
        descriptor = sys.stdin.fileno()
    except io.UnsupportedOperation:  # a program that runs a command in its own process may use a stream in memory
        return sys.stdin.read().encode("utf-8", "surrogateescape")
    return _read(descriptor, "standard input", max_bytes)


def read_answer() -> str:
    """One line of standard input, without its line end. Later bytes stay unread. Raises OSError as ``read_given``."""
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
            continue  # another reader took the bytes
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
    """Wait until data arrives or the writer closes. Raises TimeoutError after the deadline."""
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if os.isatty(descriptor):
        poll.poll()
        return
    if not poll.poll(deadline.left_ms()):
        text = f"timed out after {deadline.timeout_s:g} s waiting for the end of the input"
        raise TimeoutError(errno.ETIMEDOUT, text, name)
