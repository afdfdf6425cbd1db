"""How far something long is: a progress bar, or a line that is brought up to date."""

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
    """Show ``title`` and how far things are while the ``with`` block runs; the bar is gone afterwards.

    It is on stderr, for a person at a terminal; nothing is shown anywhere else.

    ``poll()`` gives (done, total) and is called a few times a second from another thread; total 0 is "not known yet".
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
    """A line that says how far something is: rewritten in its place on a terminal, a new one every 30 s elsewhere."""

    def __init__(self, stream: TextIO, clock: Clock) -> None:
        self._stream = stream
        self._clock = clock
        self._is_terminal = stream.isatty()
        self._last_s: float | None = None
        self._is_shown = False

    def show(self, text: str) -> None:
        """Bring the line up to date."""
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
        """Take it away, before something else is printed; the next one is shown at once."""
        self._last_s = None
        if self._is_shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._is_shown = False
