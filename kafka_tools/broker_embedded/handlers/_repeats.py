"""What a request names again: Kafka answers it again, and of a few bytes a client could make an answer of any size."""

from __future__ import annotations

MOST_REPEATS = 10
"""So often in a request something is told that was told before."""


class Repeats:
    """What one request has named so far."""

    def __init__(self) -> None:
        self._named: set[object] = set()
        self._left = MOST_REPEATS

    def too_many(self, name: object) -> bool:
        """Whether this was named before, and enough was told again: it is left out."""
        if name not in self._named:
            self._named.add(name)
            return False
        self._left -= 1
        return self._left < 0
