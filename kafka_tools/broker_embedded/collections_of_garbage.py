"""Collections of garbage that hold nobody up: each looks at what was made since the one before.

Python's full collection looks at every object there is, on the thread that does the work: a tenth of a second for the
offsets of some groups, again and again while they become more. What a broker knows is no garbage, and it makes next to
none in circles, so what a full collection has seen is left out of those that follow (``gc.freeze``). The transports of
connections do end in circles (asyncio's): after very many of them all is looked at once more.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

MOST_ARRIVED = 100_000
"""After so many connections everything is looked at: of each a kilobyte may be left."""
_FULL = 2
"""The generation of a full collection."""


class ShortCollections:
    """For a process that is nothing but a broker. ``arrived`` tells how many connections there have been."""

    def __init__(self, arrived: Callable[[], int]) -> None:
        self._arrived = arrived
        self._arrived_before = 0

    def begin(self) -> None:
        """From now on; what is there already is left out."""
        gc.freeze()
        gc.callbacks.append(self._collected)

    def end(self) -> None:
        """As Python does it from now on."""
        gc.callbacks.remove(self._collected)
        gc.unfreeze()

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] != _FULL:
            return
        if phase == "stop":
            gc.freeze()
        elif self._arrived() - self._arrived_before >= MOST_ARRIVED:
            self._arrived_before = self._arrived()
            gc.unfreeze()
