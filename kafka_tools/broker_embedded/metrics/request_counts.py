"""What requests of each API cost (Kafka's RequestMetrics)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from operator import attrgetter
from typing import Any

from kafka_tools.metrics.moving import Distribution, MovingRates, Periods
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.error_reply import CODES
from kafka_tools.protocol.schema import Response, Struct

TIMED = 8
"""One of so many requests of the fast path is timed: measuring each costs as much as all other counting."""
_VERSIONS = 32
"""More than any API has."""
_MOST_UNSORTED = 1024
"""The number of requests after which their times are added to the distributions."""
TIMES = ("TotalTimeMs", "LocalTimeMs", "RemoteTimeMs", "ThrottleTimeMs", "RequestBytes")


class RequestCounts:
    """The requests of one API.

    The local time is that of serving, the remote time that of waiting (a fetch for records, a join for its group), and
    the total time is their sum. Nothing waits in a queue inside the broker, which reads a request when it serves it.
    """

    __slots__ = ("_errors", "_failed_at_once", "_parts", "_period", "_rates", "_unsorted", "_versions", "at_once")

    def __init__(self, period: int) -> None:
        self._period = period
        self.at_once = [0] * _VERSIONS
        """The number of requests of the fast path, by version."""
        self._failed_at_once = 0
        self._versions: dict[int, int] = {}
        self._errors: dict[int, int] = {}
        self._rates: dict[tuple[bool, int], MovingRates] = {}
        self._parts = tuple(Distribution() for _ in TIMES)
        self._unsorted: list[tuple[float, float, float, int, int]] = []

    def timed(self, request_bytes: int, spent_s: float) -> None:
        """Add the time of a request of the fast path. Only one of ``TIMED`` is measured; ``at_once`` counts all."""
        self._unsorted.append((spent_s, spent_s, 0.0, 0, request_bytes))
        if len(self._unsorted) >= _MOST_UNSORTED:
            self._sort()

    def served(
        self,
        version: int,
        request_bytes: int,
        local_s: float,
        total_s: float,
        throttle_ms: int,
        response: Response | None,
    ) -> None:
        """Count any other request. ``response``: None if the client expects none."""
        self._versions[version] = self._versions.get(version, 0) + 1
        errors = self._errors
        if response is None:
            errors[error_codes.NONE] = errors.get(error_codes.NONE, 0) + 1
        else:
            count_errors(response, errors)
        self._unsorted.append((total_s, local_s, max(0.0, total_s - local_s), throttle_ms, request_bytes))
        if len(self._unsorted) >= _MOST_UNSORTED:
            self._sort()

    def failed_at_once(self, code: int) -> None:
        """A request of the fast path, which is counted in ``at_once`` too, has an error."""
        self._failed_at_once += 1
        self._errors[code] = self._errors.get(code, 0) + 1

    def tick(self, period: int) -> None:
        """Update the rates: a new period has begun."""
        for key, count in self._counters():
            rates = self._rates.get(key)
            if rates is None:
                rates = self._rates[key] = MovingRates(self._period)
            rates.tick(count, period)
        self._period = period

    def _counters(self) -> Iterator[tuple[tuple[bool, int], int]]:
        """((whether an error code or a version, which one), count)."""
        versions, errors = Counter(self._versions), Counter(self._errors)
        at_once = {version: count for version, count in enumerate(self.at_once) if count}
        if at_once:
            versions.update(at_once)
            errors[error_codes.NONE] += sum(at_once.values()) - self._failed_at_once
        for version, count in versions.items():
            yield (False, version), count
        for code, count in errors.items():
            yield (True, code), count

    def meters(self, period: int, elapsed_s: float) -> Iterator[tuple[bool, int, dict[str, object]]]:
        """(whether of an error, the error code or version, attributes)."""
        self.tick(period)
        for (is_error, number), count in self._counters():
            rates = self._rates.get((is_error, number)) or MovingRates(period)
            yield is_error, number, {
                "EventType": "requests", "RateUnit": "SECONDS", **rates.attributes(count, period, elapsed_s)
            }  # fmt: skip

    def times(self) -> Iterator[tuple[str, dict[str, float]]]:
        """(Kafka's name, attributes) of each distribution."""
        self._sort()
        count = sum(self._versions.values()) + sum(self.at_once)
        for name, part in zip(TIMES, self._parts, strict=True):
            yield name, part.attributes() | {"Count": count}

    def _sort(self) -> None:
        if not self._unsorted:
            return
        total_s, local_s, remote_s, throttle_ms, request_bytes = zip(*self._unsorted, strict=True)
        self._unsorted = []
        total, local, remote, throttle, size = self._parts
        total.add([seconds * 1000 for seconds in total_s])
        local.add([seconds * 1000 for seconds in local_s])
        remote.add([seconds * 1000 for seconds in remote_s])
        throttle.add(throttle_ms)
        size.add(request_bytes)


class CountsByApi(dict[int, RequestCounts]):
    """The counters of each API by its key, created on the first request."""

    def __init__(self, periods: Periods) -> None:
        super().__init__()
        self._periods = periods

    def __missing__(self, key: int) -> RequestCounts:
        found = self[key] = RequestCounts(self._periods.now)
        return found

    def tick(self) -> None:
        """A new period has begun."""
        for counts in self.values():
            counts.tick(self._periods.now)


Counting = Callable[[Any, dict[int, int]], None]


def count_errors(item: Response, found: dict[int, int]) -> None:
    """Add the error codes in a response to ``found``, as Kafka's ``errorCounts``; NONE counts too."""
    counting = _counting(type(item))
    if counting is None:
        found[error_codes.NONE] = found.get(error_codes.NONE, 0) + 1
    else:
        counting(item, found)


@cache
def _counting(kind: type[Struct]) -> Counting | None:
    """The function that counts the error codes of a struct; None if it has no field for one."""
    codes = [attrgetter(field.name) for field in kind.FIELDS if field.name in CODES]
    nested = []
    for field in kind.FIELDS:
        inner = _counting(field.item.item) if field.holds_structs else None
        if inner is not None:
            nested.append((attrgetter(field.name), inner))
    if not codes and not nested:
        return None

    def count(item: Any, found: dict[int, int]) -> None:
        for code_of in codes:
            code = code_of(item)
            found[code] = found.get(code, 0) + 1
        for entries_of, inner in nested:
            for entry in entries_of(item) or ():
                inner(entry, found)

    return count
