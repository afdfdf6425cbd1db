"""The faults that a test adds to a broker: ``broker.faults.error("produce", "NOT_LEADER_OR_FOLLOWER")``.

Every method has the selectors of ``Selector`` (topic, partition, group, transactional_id, principal, client_id) and

- ``times``: the number of requests; None for all until ``remove()``, ``clear()`` or the end of a ``with`` block;
- ``skip``: the number of matching requests to ignore first;
- ``served``: whether the request is served anyway, so that only its answer is lost, late or wrong.

The methods raise ValueError for an unknown API or error, and for selectors that the API does not support. A fault is
active as soon as the method returns. docs/testing.md has examples.
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
    """The listeners of a broker, which close when the node is down."""

    def close_listeners(self) -> None:
        """Close every connection and refuse new ones."""

    def open_listeners(self) -> None:
        """Accept connections again, on the same ports."""


class Faults:
    """The faults of one broker. They survive its restarts. Without faults, requests bypass this class."""

    def __init__(self, on_broker: Callable[[Callable[[], Any]], Any] = lambda function: function()) -> None:
        """``on_broker`` runs a function on the thread that owns the broker's state, and returns its result."""
        self._on_broker = on_broker
        self._handlers: dict[int, Handler] = {}
        """The handlers that the dispatcher uses."""
        self._own: dict[int, Handler] = {}
        """The handlers without faults."""
        self._doors: Doors | None = None
        self._faults: list[Fault] = []
        self._recordings: list[Recording] = []
        self._is_down = False
        self._held_loadings: list[HeldLoading] = []
        self._load: Callable[[], None] = lambda: None
        """Makes the broker load the coordinator partitions that are no longer held."""

    # Faults of requests

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
        """Answer with ``error`` (Kafka's name or number) in the API's error fields.

        With ``topic``, ``partition`` or ``group``, the broker refuses only the selected part and serves the rest of
        the request. For a produce request with acks=0, the broker closes the connection, as Kafka does.
        """
        return self._add(ErrorFault(error_code(error), message, Selector(api, **selectors), times, skip, served))

    def delay(
        self, api: str, ms: float, *, times: int | None = None, skip: int = 0, served: bool = False, **selectors: Any
    ) -> Delay:
        """Delay requests, or their answers, by ``ms`` milliseconds of the broker's time."""
        return self._add(Delay(ms, Selector(api, **selectors), times, skip, served))

    def hold(
        self, api: str, *, times: int | None = None, skip: int = 0, served: bool = False, **selectors: Any
    ) -> Hold:
        """Hold requests until ``release()``; ``wait(n)`` blocks until ``n`` requests are held."""
        hold = self._add(Hold(Selector(api, **selectors), times, skip, served))
        hold.release = lambda count=None: self._on_broker(lambda: self._release(hold, count))
        return hold

    def disconnect(
        self, api: str = ANY, *, times: int | None = 1, skip: int = 0, served: bool = False, **selectors: Any
    ) -> Disconnect:
        """Close the connection instead of sending the answer."""
        return self._add(Disconnect(Selector(api, **selectors), times, skip, served))

    def short_write(
        self, api: str = ANY, *, bytes: int | None = None, times: int | None = 1, skip: int = 0, **selectors: Any
    ) -> ShortWrite:
        """Serve the request, send the first ``bytes`` of the answer including its length prefix (None: half of it), and
        close the connection."""
        return self._add(ShortWrite(bytes, Selector(api, **selectors), times, skip, True))

    def answer(self, api: str, make: Scripted, *, times: int | None = None, skip: int = 0, **selectors: Any) -> Answer:
        """Answer with the result of ``make(request)``, or with the broker's own answer if it is None.

        ``make`` gets a ``RecordedRequest`` and runs on the broker's thread: it must not block.
        """
        return self._add(Answer(make, Selector(api, **selectors), times, skip, False))

    # Faults of a start

    def hold_loading(self, *, group: str | None = None, transactional_id: str | None = None) -> HeldLoading:
        """Keep coordinators loading from the next start until ``release()``, as if their logs were very long.

        Applies to the partition of the group or transactional id; without one, to all coordinator partitions.
        """
        held = HeldLoading(group, transactional_id)
        held.release = lambda: self._on_broker(lambda: self._end_loading(held))
        self._on_broker(lambda: self._held_loadings.append(held))
        return held

    def is_loading_held(self, at: TopicPartition, partitions: int) -> bool:
        """Whether the broker is not to load a coordinator partition of a topic with ``partitions`` partitions."""
        return any(held.holds(at, partitions) for held in self._held_loadings)

    # Recordings

    def record(self, api: str = ANY, *, most: int = MOST, **selectors: Any) -> Recording:
        """Start to record requests, and keep the last ``most``."""
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
        """Close every connection and refuse new ones until ``up()``. The broker itself continues to run."""
        self._on_broker(lambda: self._set_down(True))

    def up(self) -> None:
        """Accept connections again, on the same ports."""
        self._on_broker(lambda: self._set_down(False))

    # All of them

    def active(self) -> list[Fault]:
        """The active faults, in the order in which they are checked."""
        return list(self._faults)

    def clear(self) -> None:
        """End every fault and recording, release held requests and loading, and accept connections."""

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
        """Attach the faults to a started broker.

        ``handlers``: its dispatcher's handlers by API key; they are wrapped while there are faults for them.
        ``load`` loads coordinator partitions that are no longer held. ``doors``: its listeners, if it has any.
        """
        self._load = load
        self._handlers, self._own, self._doors = handlers, dict(handlers), doors
        for fault in self._faults:
            if isinstance(fault, Hold):
                fault.waiting.clear()  # they belong to the previous run
        self._engage()
        if self._is_down and doors is not None:
            doors.close_listeners()

    # On the broker's thread

    def serve(self, serve: Serve, call: Any) -> Any:
        """Serve a request with faults, instead of its handler's ``serve``."""
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
        """Wrap the handlers of APIs with faults or recordings, and restore the others."""
        selectors = [fault.selector for fault in self._faults] + [entry.selector for entry in self._recordings]
        for key, own in self._own.items():
            is_meant = any(selector.row is None or selector.row.key == key for selector in selectors)
            struck = own._replace(handle=partial(self.serve, own.handle), at_once=None)
            self._handlers[key] = struck if is_meant else own

    def _set_down(self, is_down: bool) -> None:
        self._is_down = is_down
        if self._doors is not None:
            (self._doors.close_listeners if is_down else self._doors.open_listeners)()
