"""A consumer's requests in progress, each with a function to call once it is answered.

A thin layer over an Exchange: everything a consumer asks for is started here and finished in the caller's own
``turn``, so that no call to a broker blocks another.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from kafka_tools.clock import Clock, Deadline
from kafka_tools.net.exchange import Exchange
from kafka_tools.values import Node

if TYPE_CHECKING:
    from kafka_tools.net.connection import Build, Pending
    from kafka_tools.protocol.schema import Request

Then = Callable[["Pending"], None]


class Calls:
    """At most one request per key is in progress."""

    def __init__(self, exchange: Exchange, clock: Clock) -> None:
        self.exchange = exchange
        self._clock = clock
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
        if self._open:
            pendings = [pending for pending, _ in self._open.values()]
            self.exchange.poll(pendings, Deadline(self._clock, wait_s))
        elif wait_s > 0:
            self._clock.sleep(wait_s)
        for key, (pending, then) in list(self._open.items()):
            # A failing ``then`` leaves the rest for the next turn.
            if pending.done and self._open.pop(key, None) is not None:
                then(pending)
