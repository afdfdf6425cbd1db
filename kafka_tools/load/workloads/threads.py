"""Runs the parts of a workload on threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event, Thread

_LOOK_S = 0.2
Part = Callable[[], None]


def run_all(parts: Sequence[Part], stopping: Event) -> None:
    """Run all parts at the same time. The first error sets ``stopping`` and is raised after all parts have ended."""
    if len(parts) == 1:
        parts[0]()
        return
    errors: list[Exception] = []

    def run(part: Part) -> None:
        try:
            part()
        except Exception as error:  # noqa: BLE001 - raised below, on the thread that waits for all
            errors.append(error)
            stopping.set()

    threads = [
        Thread(target=run, args=(part,), name=f"load-{number}", daemon=True) for number, part in enumerate(parts)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(_LOOK_S)
    if errors:
        raise errors[0]
