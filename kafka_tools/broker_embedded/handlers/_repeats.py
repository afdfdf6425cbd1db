"""Limits repeated names in a request. Kafka answers each, so that a small request can cause a response of any size."""

from __future__ import annotations

MOST_REPEATS = 10
"""Maximum number of repeated names that are answered in a request."""


class Repeats:
    """The names in one request so far."""

    def __init__(self) -> None:
        self._named: set[object] = set()
        self._left = MOST_REPEATS

    def too_many(self, name: object) -> bool:
        """Add a name; returns whether it exceeds the limit of repeated names, so that the response omits it."""
        if name not in self._named:
            self._named.add(name)
            return False
        self._left -= 1
        return self._left < 0
