"""Faults of requests: one class for each kind, with the number of requests to which it applies."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition
from typing import TYPE_CHECKING, Any

from kafka_tools.broker_embedded.faults.selectors import Selector
from kafka_tools.closing import Closing
from kafka_tools.protocol.error_codes import ErrorCode
from kafka_tools.protocol.schema import Response

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.purgatory import Parked

WAIT_S = 10.0


class Fault(Closing):
    """A fault. As a context manager, it ends with the block.

    ``hits`` counts the requests to which it was applied. Raises ValueError for ``times`` and ``skip`` below 1 and 0.
    """

    kind = ""

    def __init__(self, selector: Selector, times: int | None, skip: int, served: bool) -> None:
        if times is not None and times < 1:
            raise ValueError(f"invalid times {times}: expected a number of at least 1, or None for no limit")
        if skip < 0:
            raise ValueError(f"invalid skip {skip}: expected a number of at least 0")
        self.selector = selector
        self.times = times
        self.skip = skip
        self.served = served
        self.hits = 0
        self.remove: Callable[[], None] = lambda: None
        """End the fault. Held requests continue."""
        self.changed = Condition()

    def close(self) -> None:
        self.remove()

    def __repr__(self) -> str:
        left = "until it is removed" if self.times is None else f"{self.times - self.hits} times more"
        return f"<{self.kind} {self.selector}, {left}, applied {self.hits} times>"

    @property
    def is_over(self) -> bool:
        return self.times is not None and self.hits >= self.times

    def strikes(self) -> bool:
        """Whether the fault applies to a matching request: not to the first ``skip`` ones. Counts the request."""
        if self.skip:
            self.skip -= 1
            return False
        self.hits += 1
        with self.changed:
            self.changed.notify_all()
        return True

    def wait(self, hits: int = 1, timeout_s: float = WAIT_S) -> None:
        """Wait until the fault was applied to ``hits`` requests. Raises TimeoutError."""
        self._wait(
            lambda: self.hits >= hits,
            lambda: f"{self.kind} {self.selector} was applied to {self.hits} of {hits}",
            timeout_s,
        )

    def _wait(self, is_so: Callable[[], bool], told: Callable[[], str], timeout_s: float) -> None:
        with self.changed:
            if not self.changed.wait_for(is_so, timeout_s):
                raise TimeoutError(f"{told()} requests within {timeout_s:g} s")


class ErrorFault(Fault):
    """An error code in the error fields of the answer."""

    kind = "error"

    def __init__(self, code: ErrorCode, message: str | None, *rest: Any) -> None:
        super().__init__(*rest)
        self.selector.check_holds_error()
        self.code = code
        self.message = message


class Delay(Fault):
    """A delay of ``delay_ms`` before a request is served, or before its answer is sent."""

    kind = "delay"

    def __init__(self, delay_ms: float, *rest: Any) -> None:
        super().__init__(*rest)
        if delay_ms < 0:
            raise ValueError(f"invalid delay {delay_ms:g} ms: expected a number of at least 0")
        self.delay_ms = delay_ms


class Hold(Fault):
    """The broker holds requests until the test releases them."""

    kind = "hold"

    def __init__(self, *rest: Any) -> None:
        super().__init__(*rest)
        self.waiting: list[Parked] = []
        """The held requests, in the order of their arrival."""
        self.release: Callable[..., None] = lambda count=None: None
        """``release()`` continues all requests and ends the hold; ``release(1)`` continues only the oldest one."""

    def wait(self, hits: int = 1, timeout_s: float = WAIT_S) -> None:
        """Wait until ``hits`` requests are held at the same time. Raises TimeoutError."""
        told = lambda: f"{self.kind} {self.selector} holds {len(self.waiting)} of {hits}"  # noqa: E731
        self._wait(lambda: len(self.waiting) >= hits, told, timeout_s)

    def add(self, parked: Parked) -> None:
        with self.changed:
            self.waiting.append(parked)
            self.changed.notify_all()

    def drop(self, parked: Parked) -> None:
        with self.changed:
            if parked in self.waiting:
                self.waiting.remove(parked)
                self.changed.notify_all()


class Disconnect(Fault):
    """The broker closes the connection instead of sending the answer."""

    kind = "disconnect"


class ShortWrite(Fault):
    """The broker sends the first bytes of the answer, then closes the connection."""

    kind = "short write"

    def __init__(self, sent_bytes: int | None, *rest: Any) -> None:
        super().__init__(*rest)
        if sent_bytes is not None and sent_bytes < 0:
            raise ValueError(f"invalid number of bytes {sent_bytes}: expected at least 0")
        self.sent_bytes = sent_bytes


Scripted = Callable[[Any], Response | None]
"""(RecordedRequest) -> the answer, or None for the broker's own."""


class Answer(Fault):
    """An answer from a function of the test."""

    kind = "answer"

    def __init__(self, make: Scripted, *rest: Any) -> None:
        super().__init__(*rest)
        self.make = make
