"""The standard streams of a command: closed ones, full ones, and readers of the output that have gone.

A reader that goes away ends a command as it ends any Unix filter: quietly, with status 141 (``running``). Commands that
wait call ``require_reader`` while they do; what writes finds out by itself.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TextIO

READER_CHECK_S = 0.25
"""How often a command that waits for something else looks whether its output is still read."""


def open_missing() -> bool:
    """Put ``/dev/null`` where the caller closed a standard stream; whether there was a standard output.

    A free descriptor 0, 1 or 2 would become that of the first socket, and print() without a stderr writes to stdout.
    """
    has_output = sys.stdout is not None
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - lives as long as the process
    return has_output


def buffer_output() -> None:
    """Standard output takes all of what is written to it, or fails, also where PYTHONUNBUFFERED is set.

    Without a buffer of Python's a disk that becomes full, or a signal, cuts what is written, and nobody is told.
    """
    out = sys.stdout
    raw: object = getattr(out, "buffer", None)
    if isinstance(out, io.TextIOWrapper) and isinstance(raw, io.RawIOBase):
        encoding, errors = out.encoding, out.errors
        out.detach()
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors, line_buffering=True)


def require_reader() -> None:
    """BrokenPipeError when standard output is a pipe or socket whose other end is closed."""
    import select

    try:
        descriptor = sys.stdout.fileno()
    except (io.UnsupportedOperation, ValueError):
        return  # a stream in memory, as tests have
    poll = select.poll()
    poll.register(descriptor, 0)  # errors and hang-ups are reported unasked; files and terminals have neither
    if any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0)):
        raise BrokenPipeError


def make_printable() -> None:
    """A name that the terminal's encoding lacks is printed escaped instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def say(line: str) -> None:
    """A line on stderr. Nobody can be told that stderr takes no more, and nothing else changes by it."""
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def give_up() -> None:
    """The last act of a process: output that a stream has not taken is dropped, before Python tries it once more.

    Python would add a complaint of its own to stderr and change the exit status to 120.
    """
    for stream in (sys.stdout, sys.stderr):
        if not takes_all(stream):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def takes_all(stream: TextIO) -> bool:
    """Whether a stream took what was written to it so far."""
    try:
        stream.flush()
    except OSError:
        return False
    return True
