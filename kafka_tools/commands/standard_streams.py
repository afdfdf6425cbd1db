"""The standard streams of a command: closed streams, full disks, and readers that closed the output.

A closed output ends a command like any Unix filter: quietly, with status 141 (``running``). Commands call
``require_reader`` while they wait. A write fails by itself.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TextIO

READER_CHECK_S = 0.25
"""Interval at which a waiting command checks whether its output is still open."""


def open_missing() -> bool:
    """Open ``/dev/null`` for each closed standard stream. Returns whether there was a standard output.

    Otherwise the first socket would get a free descriptor 0, 1 or 2, and print() without a stderr writes to stdout.
    """
    has_output = sys.stdout is not None
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - lives as long as the process
    return has_output


def buffer_output() -> None:
    """Make each write to standard output complete or fail, even if PYTHONUNBUFFERED is set.

    Without Python's buffer, a full disk or a signal cuts a write without an error.
    """
    out = sys.stdout
    raw: object = getattr(out, "buffer", None)
    if isinstance(out, io.TextIOWrapper) and isinstance(raw, io.RawIOBase):
        encoding, errors = out.encoding, out.errors
        out.detach()
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors, line_buffering=True)


def require_reader() -> None:
    """Raise BrokenPipeError if standard output is a pipe or socket whose other end is closed."""
    import select

    try:
        descriptor = sys.stdout.fileno()
    except (io.UnsupportedOperation, ValueError):
        return  # a stream in memory, as in tests
    poll = select.poll()
    poll.register(descriptor, 0)  # errors and hang-ups are always reported; files and terminals have neither
    if any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0)):
        raise BrokenPipeError


def make_printable() -> None:
    """Escape characters that the terminal's encoding lacks. Otherwise they would end the command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def say(line: str) -> None:
    """Print a line on stderr. Errors are ignored: there is no place to report them."""
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def give_up() -> None:
    """Drop output that a stream did not accept, at the end of the process, before Python retries the write.

    Python would print its own complaint on stderr and change the exit status to 120.
    """
    for stream in (sys.stdout, sys.stderr):
        if not takes_all(stream):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def takes_all(stream: TextIO) -> bool:
    """Flush a stream. Returns whether that succeeded."""
    try:
        stream.flush()
    except OSError:
        return False
    return True
