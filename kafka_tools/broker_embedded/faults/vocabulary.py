"""The faults that a test asks a broker for, in words: ``broker.faults.error("produce", "NOT_LEADER_OR_FOLLOWER")``.

Every word takes the selectors of ``Selector`` (topic, partition, group, transactional_id, principal, client_id) and

- ``times``: how many requests are struck; None for all until ``remove()``, ``clear()`` or the end of a ``with`` block;
- ``skip``: how many are let through before;
- ``served``: whether the request is served all the same, so that only its answer is lost, late or wrong.

They raise ValueError for an API or error that Kafka does not have, and for selectors that the API lacks. A fault holds
from the moment when the word returns. docs/testing.md shows them at work.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kafka_tools.broker_embedded.faults.fault import (
    Answer,
    Delay,
    Disconnect,
    ErrorFault,
    Fault,
    Hold,
    Scripted,
    ShortWrite,
)
from kafka_tools.broker_embedded.faults.held_loading import HeldLoading
from kafka_tools.broker_embedded.faults.recording import MOST, RecordedRequest, Recording, recorded
from kafka_tools.broker_embedded.faults.selectors import ANY, Selector, error_code
from kafka_tools.broker_embedded.faults.striking import Serve, Struck

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.handlers._table import Handler
    from kafka_tools.values import TopicPartition

F = TypeVar("F", bound=Fault)
T = TypeVar("T")


class Doors(Protocol):
    """The listeners of a broker, as far as a node can be down."""

    def close_listeners(self) -> None:
        """Close every connection and refuse new ones."""

    def open_listeners(self) -> None:
        """Take connections again, on the same ports."""


class Faults:
    """The faults of one broker; they outlive its restarts. While there are none, requests do not come here."""

    def __init__(self, on_broker: Callable[[Callable[[], Any]], Any] = lambda function: function()) -> None:
        """``on_broker`` runs a function on the thread that owns the broker's state, and returns what it returns."""
        self._on_broker = on_broker
        self._handlers: dict[int, Handler] = {}
        """The table that requests are served from."""
        self._own: dict[int, Handler] = {}
        """The same as it is without faults."""
        self._doors: Doors | None = None
        self._faults: list[Fault] = []
        self._recordings: list[Recording] = []
        self._is_down = False
        self._held_loadings: list[HeldLoading] = []
        self._load: Callable[[], None] = lambda: None
        """Has the broker read what is not held any longer."""

    # What goes wrong with requests

    def error(
        self,
        api: str,
        error: str | int,
        *,
        message: str | None = None,
        times: int | None = 1,
        skip: int = 0,
        served: bool = False,
        **selectors: Any,
    ) -> ErrorFault:
        """Answer with ``error`` (Kafka's name or number), where the API has its errors.

        With ``topic``, ``partition`` or ``group`` only what they mean is refused; what else the request asks for is
        served. A produce request that wants no answer is answered by the end of its connection, as in Kafka.
        """
        return self._add(ErrorFault(error_code(error), message, Selector(api, **selectors), times, skip, served))

    def delay(
        self, api: str, ms: float, *, times: int | None = None, skip: int = 0, served: bool = False, **selectors: Any
    ) -> Delay:
        """Let requests wait ``ms`` milliseconds of the broker's time before they are served, or answered."""
        return self._add(Delay(ms, Selector(api, **selectors), times, skip, served))

    def hold(
        self, api: str, *, times: int | None = None, skip: int = 0, served: bool = False, **selectors: Any
    ) -> Hold:
        """Let requests wait until ``release()``; ``wait(n)`` blocks until so many are held."""
        hold = self._add(Hold(Selector(api, **selectors), times, skip, served))
        hold.release = lambda count=None: self._on_broker(lambda: self._release(hold, count))
        return hold

    def disconnect(
        self, api: str = ANY, *, times: int | None = 1, skip: int = 0, served: bool = False, **selectors: Any
    ) -> Disconnect:
        """Close the connection where the answer would be."""
        return self._add(Disconnect(Selector(api, **selectors), times, skip, served))

    def short_write(
        self, api: str = ANY, *, bytes: int | None = None, times: int | None = 1, skip: int = 0, **selectors: Any
    ) -> ShortWrite:
        """Serve, send the first ``bytes`` of the answer (the four of its length included; half of it if None), and
        close the connection."""
        return self._add(ShortWrite(bytes, Selector(api, **selectors), times, skip, True))

    def answer(self, api: str, make: Scripted, *, times: int | None = None, skip: int = 0, **selectors: Any) -> Answer:
        """Answer with what ``make(request)`` returns; None stands for the broker's own answer.

        ``make`` gets a ``RecordedRequest`` and runs on the broker's thread: it must not wait.
        """
        return self._add(Answer(make, Selector(api, **selectors), times, skip, False))

    # What a start does

    def hold_loading(self, *, group: str | None = None, transactional_id: str | None = None) -> HeldLoading:
        """Leave coordinators loading from the next start on until ``release()``, as if their logs were very long.

        That of this group or transactional id, with all others in its partition; without any, all of them.
        """
        held = HeldLoading(group, transactional_id)
        held.release = lambda: self._on_broker(lambda: self._end_loading(held))
        self._on_broker(lambda: self._held_loadings.append(held))
        return held

    def is_loading_held(self, at: TopicPartition, partitions: int) -> bool:
        """Whether a coordinator's partition, of so many, is to stay unread: asked by the broker."""
        return any(held.holds(at, partitions) for held in self._held_loadings)

    # What came

    def record(self, api: str = ANY, *, most: int = MOST, **selectors: Any) -> Recording:
        """Record requests from now on, the last ``most`` of them."""
        recording = Recording(Selector(api, **selectors), most)
        recording.stop = lambda: self._on_broker(lambda: self._remove(self._recordings, recording))
        self._on_broker(lambda: self._recordings.append(recording))
        self._on_broker(self._engage)
        return recording

    # The node

    @property
    def is_down(self) -> bool:
        return self._is_down

    def down(self) -> None:
        """Close every connection and refuse new ones until ``up()``; the broker's state and its time go on."""
        self._on_broker(lambda: self._set_down(True))

    def up(self) -> None:
        """Take connections again, on the same ports."""
        self._on_broker(lambda: self._set_down(False))

    # All of them

    def active(self) -> list[Fault]:
        """The faults that are not over, in the order in which they are looked at."""
        return list(self._faults)

    def clear(self) -> None:
        """End every fault and recording, let go what is held, and take connections."""

        def clear() -> None:
            for fault in list(self._faults):
                self._end(fault)
            for held in list(self._held_loadings):
                self._end_loading(held)
            self._recordings.clear()
            self._engage()
            if self._is_down:
                self._set_down(False)

        self._on_broker(clear)

    def attach(self, handlers: dict[int, Handler], load: Callable[[], None], doors: Doors | None = None) -> None:
        """Be the faults of a broker that has started.

        ``handlers``: its dispatcher's table by API key, in which handlers are wrapped while there are faults for them.
        ``load`` has it read what is not held any longer. ``doors``: its listeners, if it has any.
        """
        self._load = load
        self._handlers, self._own, self._doors = handlers, dict(handlers), doors
        for fault in self._faults:
            if isinstance(fault, Hold):
                fault.waiting.clear()  # they were the last run's
        self._engage()
        if self._is_down and doors is not None:
            doors.close_listeners()

    # On the broker's thread

    def serve(self, serve: Serve, call: Any) -> Any:
        """Serve a request under faults, in the place of its handler's own ``serve``."""
        entry: RecordedRequest | None = None
        for recording in self._recordings:
            if recording.selector.names(call):
                entry = entry or recorded(call)
                recording.add(entry)
        struck = Struck(call, serve, self._faults)
        if not struck.is_struck:
            return serve(call)
        for fault in [fault for fault in self._faults if fault.is_over and not isinstance(fault, Hold)]:
            self._end(fault)
        return struck.result()

    def _add(self, fault: F) -> F:
        fault.remove = lambda: self._on_broker(lambda: self._end(fault))

        def add() -> None:
            self._faults.append(fault)
            self._engage()

        self._on_broker(add)
        return fault

    def _end(self, fault: Fault) -> None:
        self._remove(self._faults, fault)
        if isinstance(fault, Hold):
            self._release(fault, None)

    def _end_loading(self, held: HeldLoading) -> None:
        if held in self._held_loadings:
            self._held_loadings.remove(held)
            self._load()

    def _release(self, hold: Hold, count: int | None) -> None:
        if count is None:
            self._remove(self._faults, hold)
        for parked in list(hold.waiting)[:count]:
            parked.check(expired=True)

    def _remove(self, items: list[Any], item: Any) -> None:
        if item in items:
            items.remove(item)
        self._engage()

    def _engage(self) -> None:
        """Wrap the handlers of the APIs that there is something for, and no others."""
        selectors = [fault.selector for fault in self._faults] + [entry.selector for entry in self._recordings]
        for key, own in self._own.items():
            is_meant = any(selector.row is None or selector.row.key == key for selector in selectors)
            struck = own._replace(handle=partial(self.serve, own.handle), at_once=None)
            self._handlers[key] = struck if is_meant else own

    def _set_down(self, is_down: bool) -> None:
        self._is_down = is_down
        if self._doors is not None:
            (self._doors.close_listeners if is_down else self._doors.open_listeners)()
