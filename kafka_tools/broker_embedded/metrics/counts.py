"""All counters of the broker. Owners of state receive this object and count in it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kafka_tools.broker_embedded.metrics.request_counts import CountsByApi
from kafka_tools.broker_embedded.metrics.topic_counts import CountsByTopic
from kafka_tools.clock import Clock
from kafka_tools.metrics.moving import MovingRates, Periods
from kafka_tools.metrics.names import MetricConfig
from kafka_tools.metrics.sampled import Rate

_WINDOWS = MetricConfig()


class EventCount:
    """A counter with its rates, for events that are not as frequent as requests."""

    __slots__ = ("_periods", "_rates", "count")

    def __init__(self, periods: Periods) -> None:
        self.count = 0
        self._periods = periods
        self._rates = MovingRates(periods.now)

    def add(self, amount: int = 1) -> None:
        self._rates.tick(self.count, self._periods.now)
        self.count += amount

    def attributes(self, event: str, elapsed_s: float) -> dict[str, object]:
        """The attributes of a meter's bean."""
        rates = self._rates.attributes(self.count, self._periods.now, elapsed_s)
        return {"EventType": event, "RateUnit": "SECONDS", **rates}


class SampledCounts:
    """Counters whose rates are Kafka's over sliding windows. Subclasses name them in ``__slots__``.

    ``sample`` must be called in each period. Each counter is a plain integer: ``counts.bytes_in += 100``.
    """

    __slots__ = ("_counted", "_rates")

    def __init__(self) -> None:
        self._counted = dict.fromkeys(self.names(), 0)
        self._rates = {name: Rate() for name in self.names()}
        for name in self.names():
            setattr(self, name, 0)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the counters."""
        return tuple(cls.__slots__)

    def sample(self, now_ms: int) -> None:
        """Record what was counted since the last call."""
        for name, before in self._counted.items():
            count = getattr(self, name)
            if count != before:
                self._rates[name].record(_WINDOWS, count - before, now_ms)
                self._counted[name] = count

    def rates(self, now_ms: int) -> dict[str, tuple[int, float]]:
        """Counter -> its count and its rate per second."""
        self.sample(now_ms)
        return {name: (getattr(self, name), self._rates[name].measure(_WINDOWS, now_ms)) for name in self.names()}


class ListenerCounts(SampledCounts):
    """What passes through one listener."""

    __slots__ = ("bytes_in", "bytes_out", "closed", "created", "failed_logins", "logins", "requests", "responses")
    bytes_in: int
    bytes_out: int
    closed: int
    created: int
    failed_logins: int
    logins: int
    requests: int
    responses: int


class GroupCounts(SampledCounts):
    """What the group coordinator did."""

    __slots__ = ("classic_rebalances", "commits", "deletions", "expirations")
    classic_rebalances: int
    commits: int
    deletions: int
    expirations: int


class TelemetryCounts(SampledCounts):
    """What clients that push metrics did."""

    __slots__ = ("unknown_subscriptions",)
    unknown_subscriptions: int


class Counts:
    """The counters of one broker since its start. ``exists`` says whether a topic exists."""

    def __init__(self, clock: Clock, exists: Callable[[str], bool]) -> None:
        self._clock = clock
        self.started_ms = clock.now_ms()
        self.periods = Periods(clock.monotonic_s())
        self.topics = CountsByTopic(self.periods, exists)
        self.requests = CountsByApi(self.periods)
        self.served: Collection[int] = ()
        """The keys of the APIs that the broker serves."""
        self.expired_fetches = EventCount(self.periods)
        self.groups = GroupCounts()
        self.telemetry = TelemetryCounts()
        self.listeners: dict[str, ListenerCounts] = {}

    def look(self, now_s: float) -> None:
        """Begin a new period if one is due at ``now_s`` (monotonic clock)."""
        if now_s >= self.periods.due_s:
            self.periods.look(now_s)
            self.topics.tick()
            self.requests.tick()
            now_ms = int(now_s * 1000)
            self.groups.sample(now_ms)
            self.telemetry.sample(now_ms)
            for listener in self.listeners.values():
                listener.sample(now_ms)

    def elapsed_s(self) -> float:
        """The seconds since the start. Begins a new period if one is due."""
        now_s = self._clock.monotonic_s()
        self.look(now_s)
        return self.periods.elapsed_s(now_s)

    def now_ms(self) -> int:
        """The time of sampled rates: milliseconds of the monotonic clock."""
        return int(self._clock.monotonic_s() * 1000)

    def listener(self, name: str) -> ListenerCounts:
        """The counters of a listener."""
        found = self.listeners.get(name)
        if found is None:
            found = self.listeners[name] = ListenerCounts()
        return found
