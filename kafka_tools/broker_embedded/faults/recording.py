"""Records received requests, for tests that check the requests of a client."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from threading import Condition
from typing import Any, NamedTuple

from kafka_tools.broker_embedded.faults.entries import with_values
from kafka_tools.broker_embedded.faults.fault import WAIT_S
from kafka_tools.broker_embedded.faults.selectors import Selector
from kafka_tools.closing import Closing
from kafka_tools.protocol.schema import Request

MOST = 1000
MOST_BYTES = 64 * 1024 * 1024
"""Memory limit of the records in recorded produce requests."""


class RecordedRequest(NamedTuple):
    """One received request. ``at_ms``: the broker's time in milliseconds since the epoch."""

    api: str
    """The stem, such as "offset_commit"."""
    version: int
    client_id: str
    principal: str
    """Such as "User:alice"; for requests of a login, the principal before the login."""
    client_host: str
    connection_id: str
    at_ms: int
    request: Request


def recorded(call: Any) -> RecordedRequest:
    """A call as a record, with a copy of the request's fields, because a handler may change them."""
    request = call.request
    return RecordedRequest(
        call.api.stem,
        call.version,
        call.client_id,
        call.principal,
        call.client_host,
        call.connection_id,
        call.broker.clock.now_ms(),
        with_values(request, {}),
    )


class Recording(Closing):
    """The last ``most`` requests in the order of their arrival. Supports iteration, indexes and ``len``.

    As a context manager, it ends with the block. Recorded requests stay.
    """

    def __init__(self, selector: Selector, most: int) -> None:
        if most < 1:
            raise ValueError(f"invalid most {most}: expected a number of at least 1")
        self.selector = selector
        self.forgotten = 0
        """The number of requests that were removed to make room."""
        self.stop: Callable[[], None] = lambda: None
        """Record no more."""
        self._most = most
        self._requests: deque[tuple[int, RecordedRequest]] = deque()
        self._held_bytes = 0
        self._changed = Condition()

    def close(self) -> None:
        self.stop()

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[RecordedRequest]:
        with self._changed:
            return iter([request for _, request in self._requests])

    def __getitem__(self, index: int) -> RecordedRequest:
        return self._requests[index][1]

    def requests(self, api: str | None = None) -> list[Any]:
        """The decoded requests, those of one API (by its stem) if it is given."""
        return [entry.request for entry in self if api in (None, entry.api)]

    def wait(self, count: int = 1, timeout_s: float = WAIT_S) -> None:
        """Wait until ``count`` requests have arrived since the recording began. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.forgotten + len(self) >= count, timeout_s):
                came = self.forgotten + len(self)
                raise TimeoutError(f"{came} of {count} requests of {self.selector} arrived within {timeout_s:g} s")

    def clear(self) -> None:
        """Remove all recorded requests and restart the count."""
        with self._changed:
            self._requests.clear()
            self.forgotten = self._held_bytes = 0

    def add(self, request: RecordedRequest) -> None:
        size = _records_bytes(request)
        with self._changed:
            self._requests.append((size, request))
            self._held_bytes += size
            while len(self._requests) > self._most or (self._held_bytes > MOST_BYTES and len(self._requests) > 1):
                gone, _ = self._requests.popleft()
                self._held_bytes -= gone
                self.forgotten += 1
            self._changed.notify_all()


def _records_bytes(entry: RecordedRequest) -> int:
    request: Any = entry.request
    if entry.api != "produce":
        return 0
    return sum(len(data.records or b"") for topic in request.topic_data for data in topic.partition_data)
