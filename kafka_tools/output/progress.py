"""A progress bar on stderr while something long runs, for a person at a terminal; nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

_INTERVAL_S = 0.2


@contextmanager
def progress(title: str, poll: Callable[[], tuple[int, int]], stream: TextIO | None = None) -> Iterator[None]:
    """Show ``title`` and how far things are while the ``with`` block runs; the bar is gone afterwards.

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
