"""Limits the memory of large requests while they arrive, and of answers that clients do not read.

Each limit applies to all connections together. Small amounts are limited per connection and not counted:
``receiving.SMALL_BYTES`` of requests, a piece of an answer.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.timers import Timers

REQUEST_BYTES = 32 * 1024 * 1024
"""Limit of large requests if ``queued.max.request.bytes`` is -1, with which only its heap limits Kafka."""

ANSWER_BYTES = 32 * 1024 * 1024
"""Limit of unread answers. Ranges that are sent from files are not in memory and do not count."""

_TURN_MS = 2000
_TURN_BYTES = 1024 * 1024
"""While others wait, the one active sender must send a mebibyte every two seconds, and read its answers."""


class RequestHolder(Protocol):
    """A connection whose client sends a large request."""

    @property
    def received_bytes(self) -> int: ...

    @property
    def is_receiving(self) -> bool: ...

    @property
    def is_blocked(self) -> bool: ...

    def hold(self) -> None: ...

    def go_on(self) -> None: ...

    def give_up(self, reason: str) -> None: ...


class RequestMemory:
    """The bytes of large requests, from the first one received to the answer.

    Like Kafka's memory pool, it lets one request exceed the limit: at the limit, reading pauses on all connections with
    large requests except one, which continues until its request is served. Kafka reserves the size that a request
    claims, so that a claim alone blocks others. Here only received bytes count.
    """

    def __init__(self, limit_bytes: int, timers: Timers) -> None:
        """``limit_bytes``: ``queued.max.request.bytes``."""
        self.limit_bytes = limit_bytes if limit_bytes > 0 else REQUEST_BYTES
        self.held_bytes = 0
        self._timers = timers
        self._waiting: deque[RequestHolder] = deque()
        self._alone: RequestHolder | None = None
        self._seen_bytes = 0
        self._watching = False

    def grew(self, sender: RequestHolder, size_bytes: int) -> None:
        """``size_bytes`` more of ``sender``'s request were received."""
        self.held_bytes += size_bytes
        if self.held_bytes <= self.limit_bytes or sender is self._alone:
            return
        if self._alone is None:
            self._begin_turn(sender)
        else:
            sender.hold()
            self._waiting.append(sender)
            self._watch()

    def freed(self, sender: RequestHolder, size_bytes: int) -> None:
        """``sender``'s request is served, or its connection has ended."""
        self.held_bytes -= size_bytes
        if sender is self._alone:
            self._alone = None
        elif sender in self._waiting:
            self._waiting.remove(sender)
            sender.go_on()  # its request was complete except for bytes received before ``hold``
        while self._waiting and (self._alone is None or self.held_bytes < self.limit_bytes):
            following = self._waiting.popleft()
            if self.held_bytes >= self.limit_bytes:
                self._begin_turn(following)
            following.go_on()

    def _begin_turn(self, sender: RequestHolder) -> None:
        self._alone = sender
        self._seen_bytes = sender.received_bytes - _TURN_BYTES  # the next check may come before a turn is over

    def _watch(self) -> None:
        if not self._watching:
            self._watching = True
            self._timers.call_later(_TURN_MS, self._look)

    def _look(self) -> None:
        """End the turn of a client that blocks the others."""
        self._watching = False
        if not self._waiting or self._alone is None:
            return
        alone, before = self._alone, self._seen_bytes
        self._seen_bytes = alone.received_bytes
        self._watch()
        if alone.is_receiving and self._seen_bytes - before < _TURN_BYTES:
            alone.give_up("it sends a large request too slowly while other connections wait for the memory")
        elif alone.is_blocked and self._seen_bytes == before:
            alone.give_up(
                "it does not read its responses while other connections wait for the memory of its large request"
            )


class AnswerHolder(Protocol):
    """A connection with answers that its client has not read."""

    unsent_bytes: int
    took_s: float

    def give_up(self, reason: str) -> None: ...


class AnswerMemory:
    """The bytes of unread answers. Over the limit, the connection that has read nothing for longest is aborted."""

    def __init__(self, limit_bytes: int = ANSWER_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self._holders: dict[AnswerHolder, None] = {}

    def changed(self, receiver: AnswerHolder, difference_bytes: int) -> None:
        """``receiver`` has ``difference_bytes`` more unread bytes than before; negative if fewer."""
        self.held_bytes += difference_bytes
        if not receiver.unsent_bytes:
            self._holders.pop(receiver, None)
            return
        self._holders[receiver] = None
        while self.held_bytes > self.limit_bytes and len(self._holders) > 1:
            slowest = min(self._holders, key=lambda holder: holder.took_s)
            slowest.give_up("it does not read its responses, and other connections need the memory")
