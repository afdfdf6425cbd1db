"""Parked calls: a change of state or a timer completes them later.

The counterpart of Kafka's ``DelayedOperationPurgatory``. Everything runs on the broker's one thread, so there are no
locks. Code that changes state wakes the keys of that state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable

from kafka_tools.broker_embedded.timers import Timer, Timers
from kafka_tools.protocol.schema import Response


class Later:
    """``try_complete`` returns it if the response is in progress: ``complete`` will be called with the response."""


LATER = Later()


class Parked:
    """A handler returns it instead of a response if the response comes later.

    ``try_complete(expired)`` returns the response, LATER, or None to stay parked. If ``expired`` is true (the wait of
    ``wait_ms`` milliseconds is over), it must not return None. It runs when one of ``keys`` is woken
    (``Purgatory.wake``) and when the wait is over. Its exceptions become the answer; the caller of ``wake`` does not
    get them. Code that keeps the object can also call ``complete(response)`` directly (a join that waits for its
    group). ``wait_ms=None`` sets no timer.
    ``on_cancel`` runs if the connection closes first. ``holds_request`` is true while the bytes of the request are
    needed; ``on_release`` is called when they are no longer needed.
    """

    __slots__ = (
        "_answer",
        "_failed",
        "_on_cancel",
        "_purgatory",
        "_response",
        "_timer",
        "_try_complete",
        "api_key",
        "done",
        "holds_request",
        "keys",
        "on_release",
        "wait_ms",
    )

    def __init__(
        self,
        wait_ms: float | None = None,
        try_complete: Callable[[bool], Response | Later | None] | None = None,
        *,
        keys: Iterable[Hashable] = (),
        on_cancel: Callable[[], None] | None = None,
    ) -> None:
        self.wait_ms = wait_ms
        self.keys = tuple(keys)
        self.done = False
        self.api_key = -1
        """The API of the request; -1 if no client waits for the answer."""
        self.holds_request = False
        self.on_release: Callable[[], None] | None = None
        self._try_complete = try_complete
        self._on_cancel = on_cancel
        self._answer: Callable[[Response | None], object] | None = None
        self._failed: Callable[[Exception], Response] | None = None
        self._response: Response | None = None
        self._purgatory: Purgatory | None = None
        self._timer: Timer | None = None

    def complete(self, response: Response | None) -> bool:
        """Answer now, with None if the client expects no answer. Does nothing and returns False if the call is done."""
        if self.done:
            return False
        answer = self._answer
        self._finish()
        if answer is None:
            self._response = response  # completed before the handler returned it
        else:
            answer(response)
        return True

    def check(self, *, expired: bool = False) -> bool:
        """Call ``try_complete``; True if the call needs no more checks."""
        if self.done:
            return True
        response: Response | Later | None
        try:
            response = self._try_complete(expired) if self._try_complete else None
        except Exception as error:
            if self._failed is None:
                raise
            response = self._failed(error)
        if isinstance(response, Later):
            self._stop_waiting()
            return True
        return self.complete(response) if response is not None else False

    def cancel(self) -> None:
        """Forget the call: the client no longer waits for the answer."""
        if not self.done:
            on_cancel = self._on_cancel
            self._finish()
            if on_cancel:
                on_cancel()

    def on_cancel(self, run: Callable[[], None]) -> None:
        """Set the function that runs if the connection closes first."""
        self._on_cancel = run

    def release_request(self) -> None:
        """The bytes of the request are not needed any more."""
        self.holds_request = False
        if self.on_release is not None:
            self.on_release()

    def _finish(self) -> None:
        self.done = True
        self._stop_waiting()
        # Break the reference cycle: otherwise these objects would stay in memory until a garbage collection.
        self._try_complete = self._answer = self._failed = self._on_cancel = None

    def _stop_waiting(self) -> None:
        if self._timer:
            self._timer.cancel()
        if self._purgatory:
            self._purgatory.forget(self)


class Purgatory:
    """All parked calls of the broker, by the keys that can complete them."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._by_key: dict[Hashable, dict[Parked, None]] = {}
        self._parked: set[Parked] = set()

    def park(
        self,
        parked: Parked,
        answer: Callable[[Response | None], object],
        failed: Callable[[Exception], Response] | None = None,
    ) -> None:
        """Watch ``parked`` until it is done; ``answer`` gets the response exactly once.

        ``failed`` turns an exception of ``try_complete`` into the response. Without it, ``check`` raises the exception.
        """
        parked._answer = answer
        parked._failed = failed
        if parked.done:
            answer(parked._response)
            return
        parked._purgatory = self
        self._parked.add(parked)
        for key in parked.keys:
            self._by_key.setdefault(key, {})[parked] = None
        if parked.wait_ms is not None:
            parked._timer = self._timers.call_later(parked.wait_ms, lambda: _expire(parked))

    def wake(self, key: Hashable) -> None:
        """Check every call parked on ``key``, whose state has changed."""
        waiting = self._by_key.get(key)
        if waiting:
            for parked in list(waiting):
                parked.check()

    def forget(self, parked: Parked) -> None:
        self._parked.discard(parked)
        for key in parked.keys:
            waiting = self._by_key.get(key)
            if waiting is not None:
                waiting.pop(parked, None)
                if not waiting:
                    del self._by_key[key]

    def parked(self) -> Counter[int]:
        """The number of parked calls by the key of their API."""
        return Counter(parked.api_key for parked in self._parked)

    def watched(self) -> Counter[int]:
        """The number of keys on which calls are parked, by the key of their API."""
        found: Counter[int] = Counter()
        for parked in self._parked:
            found[parked.api_key] += max(1, len(parked.keys))
        return found

    def waiting(self, key: Hashable) -> int:
        """The number of calls that are parked on ``key``."""
        return len(self._by_key.get(key, ()))


def _expire(parked: Parked) -> None:
    if not parked.check(expired=True):
        raise AssertionError("a parked call must answer when its time is over")
