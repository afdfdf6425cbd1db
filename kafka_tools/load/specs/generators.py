"""Generators of throughput, flushes and transactions: Trogdor's ``ThroughputGenerator``, ``FlushGenerator`` and
``TransactionGenerator``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from kafka_tools.load.pace import Windows, gaussian_sizes
from kafka_tools.load.specs.members import JsonMembers

_INT = 2**31 - 1
_DEFAULT_WINDOW_MS = 100


@dataclass(frozen=True)
class Rates:
    """Messages per window, constant or normally distributed. An average of 0 is no limit."""

    average: int = 0
    window_ms: int = _DEFAULT_WINDOW_MS
    deviation: float = 0.0
    kept_for: int = 1
    """Windows until the number changes."""

    def windows(self, start_s: float, random: Random) -> Windows:
        """The send times from ``start_s`` on."""
        size: Callable[[], int] = lambda: self.average  # noqa: E731
        if self.deviation:
            size = gaussian_sizes(self.average, self.deviation, self.kept_for, random)
        return Windows(size, self.window_ms / 1000, start_s)


def read_rates(members: JsonMembers, name: str) -> Rates:
    """The member ``name``; no limit if it is missing."""
    inner = members.inner(name)
    if inner is None:
        return Rates()
    kind = inner.kind({"constant": None, "gaussian": None}, "a throughput generator")
    window_ms = inner.whole("windowSizeMs", high=_INT) or _DEFAULT_WINDOW_MS
    if kind == "constant":
        found = Rates(inner.whole("messagesPerWindow", low=-1, high=_INT), window_ms)
    else:
        found = Rates(
            inner.whole("messagesPerWindowAverage", low=1, high=_INT),
            window_ms,
            inner.number("messagesPerWindowDeviation"),
            max(1, inner.whole("windowsUntilRateChange", high=_INT)),
        )
    inner.end()
    return found


@dataclass(frozen=True)
class Flushes:
    """Messages between two flushes, constant or normally distributed."""

    average: int
    deviation: float = 0.0

    def sizes(self, random: Random) -> Callable[[], int]:
        """Returns the number of messages until the next flush."""
        if self.deviation:
            return gaussian_sizes(self.average, self.deviation, 1, random)
        return lambda: self.average


def read_flushes(members: JsonMembers, name: str) -> Flushes | None:
    """The member ``name``; None if it is missing."""
    inner = members.inner(name)
    if inner is None:
        return None
    if inner.kind({"constant": None, "gaussian": None}, "a flush generator") == "constant":
        found = Flushes(max(1, inner.whole("messagesPerFlush", 1, high=_INT)))
    else:
        average = inner.whole("messagesPerFlushAverage", 1, low=1, high=_INT)
        found = Flushes(average, inner.number("messagesPerFlushDeviation"))
    inner.end()
    return found


@dataclass(frozen=True)
class Transactions:
    """When a transaction is committed: after a number of messages, or after a time."""

    messages: int | None = None
    interval_ms: int | None = None


def read_transactions(members: JsonMembers, name: str) -> Transactions | None:
    """The member ``name``; None if it is missing."""
    inner = members.inner(name)
    if inner is None:
        return None
    if inner.kind({"uniform": None, "interval": None}, "a transaction generator") == "uniform":
        found = Transactions(messages=inner.whole("messagesPerTransaction", 1, low=1, high=_INT))
    else:
        found = Transactions(interval_ms=inner.whole("transactionIntervalMs", 1, low=1, high=_INT))
    inner.end()
    return found
