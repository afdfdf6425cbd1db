"""A consumer's requests in progress, each with a function to call once it is answered.

A thin layer over an Exchange: everything a consumer asks for is started here and finished in the caller's own
``turn``, so that no call to a broker blocks another.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

from kafka_tools.clock import Clock, Deadline
from kafka_tools.net.exchange import Exchange
from kafka_tools.values import Node

if TYPE_CHECKING:
    from kafka_tools.net.connection import Build, Pending
    from kafka_tools.protocol.schema import Request

Then = Callable[["Pending"], None]


class Interruptible(Deadline):
    """A deadline that passes early, once ``interrupted`` is true."""

    def __init__(self, clock: Clock, timeout_s: float, interrupted: Callable[[], bool]) -> None:
        super().__init__(clock, timeout_s)
        self._interrupted = interrupted

    def left_s(self) -> float:
        return 0.0 if self._interrupted() else super().left_s()


class Calls:
    """At most one request per key is in progress. ``interrupted``: whether ``turn`` must not wait any longer."""

    def __init__(self, exchange: Exchange, clock: Clock, interrupted: Callable[[], bool] = lambda: False) -> None:
        self.exchange = exchange
        self._clock = clock
        self._interrupted = interrupted
        self._open: dict[Hashable, tuple[Pending, Then]] = {}

    def is_under_way(self, key: Hashable) -> bool:
        return key in self._open

    def under_way(self) -> list[Hashable]:
        """The keys of the requests in progress."""
        return list(self._open)

    def start(
        self, key: Hashable, node: Node, request: Request | Build, timeout_s: float, then: Then, *, channel: str = ""
    ) -> None:
        """Send a request. ``then`` gets it, answered or failed, in a later ``turn``."""
        assert key not in self._open
        pending = self.exchange.send(
            node, request, Deadline(self._clock, timeout_s), channel=channel, timeout_s=timeout_s
        )
        self._open[key] = (pending, then)

    def forget(self, key: Hashable) -> None:
        """Stop waiting for a response; it is ignored when it comes."""
        self._open.pop(key, None)

    def turn(self, wait_s: float) -> None:
        """Move bytes, waiting up to ``wait_s`` for a response, and finish answered requests. Raises their errors."""
        deadline = Interruptible(self._clock, wait_s, self._interrupted)
        if self._open:
            self.finish(list(self._open), deadline)
        elif not deadline.expired:
            self.exchange.turn(deadline.left_s())

    def finish(self, keys: Sequence[Hashable], deadline: Deadline) -> None:
        """As ``turn``, for these requests only."""
        self.exchange.poll([self._open[key][0] for key in keys if key in self._open], deadline)
        for key in keys:
            # A failing ``then`` leaves the rest for the next turn.
            found = self._open.get(key)
            if found is not None and found[0].done:
                pending, then = self._open.pop(key)
                then(pending)
