"""The progress of a long operation: a progress bar, or a status line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from kafka_tools.clock import Clock

_INTERVAL_S = 0.2
_QUIET_S = 30.0


@contextmanager
def progress(title: str, poll: Callable[[], tuple[int, int]], stream: TextIO | None = None) -> Iterator[None]:
    """Show ``title`` and the progress while the ``with`` block runs. The bar disappears afterwards.

    The bar is on stderr, and only if that is a terminal.

    ``poll()`` returns (done, total). Another thread calls it a few times a second. A total of 0 means "not known yet".
    """
    out = stream if stream is not None else sys.stderr
    if not out.isatty():
        yield
        return
    import threading

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    ended = threading.Event()
    with Progress(*columns, console=Console(file=out), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def follow() -> None:
            while not ended.wait(_INTERVAL_S):
                done, total = poll()
                bar.update(task, completed=done, total=total or None)

        follower = threading.Thread(target=follow, name="progress", daemon=True)
        follower.start()
        try:
            yield
        finally:
            ended.set()
            follower.join()


class StatusLine:
    """A status line. A terminal shows it in place; other outputs get a new line every 30 s."""

    def __init__(self, stream: TextIO, clock: Clock) -> None:
        self._stream = stream
        self._clock = clock
        self._is_terminal = stream.isatty()
        self._last_s: float | None = None
        self._is_shown = False

    def show(self, text: str) -> None:
        """Update the line."""
        if self._is_terminal:
            import shutil

            self._stream.write(f"\r{text[: shutil.get_terminal_size().columns - 1]}\x1b[K")
            self._is_shown = True
        else:
            now_s = self._clock.monotonic_s()
            if self._last_s is not None and now_s - self._last_s < _QUIET_S:
                return
            self._last_s = now_s
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def clear(self) -> None:
        """Remove the line, before other output. The next line is shown immediately."""
        self._last_s = None
        if self._is_shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._is_shown = False
