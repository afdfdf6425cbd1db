"""Limits of the number and rate of connections (KIP-402, KIP-612), as in Kafka's ``ConnectionQuotas``.

- ``max.connections.per.ip`` and its overrides: a connection over the limit is closed immediately.
- ``max.connections``, of the broker and of a listener: a connection over the limit waits, unread, until another one
  ends. With several listeners, the inter-broker listener does not wait for the broker's limit: instead, the broker
  closes the connection of another listener that was idle longest.
- ``max.connection.creation.rate``, of the broker and of a listener: an early connection waits, and so do the
  connections behind it (``admission``).
- the quota ``connection_creation_rate`` of an address: an early connection is closed after the delay, and does not
  count in the other rates.

This module contains counts and delays only; the listener has the sockets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.quotas.limits import same_address
from kafka_tools.broker_embedded.quotas.rates import LimitedRate, Measures
from kafka_tools.config_definitions.quota_entities import IP

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.quotas.limits import Quotas
    from kafka_tools.clock import Clock


class ConnectionLimits:
    """The counts of one broker. Per connection, call ``arrival_delay_ms``, then ``opened``, then ``closed``."""

    def __init__(self, quotas: Quotas, configs: ConfigStore, clock: Clock, listeners: Mapping[str, str]) -> None:
        """``listeners``: security protocol by listener name."""
        self._quotas = quotas
        self._configs = configs
        self._clock = clock
        self._open: Counter[str] = Counter()
        self._open_by_ip: Counter[str] = Counter()
        self._rates = Measures[tuple[str, str], LimitedRate]()
        self._protected = _inter_broker_listener(configs, listeners) if len(listeners) > 1 else None

    def arrival_delay_ms(self, listener: str) -> int:
        """Count a new connection; returns how long it must wait because of the broker's and the listener's rates."""
        return max(self._too_fast_ms(owner, limit) for owner, limit in self._rates_of(listener))

    def _rates_of(self, listener: str) -> list[tuple[tuple[str, str], int]]:
        """Rates that count a new connection: the listener's, and the broker's except for the inter-broker listener."""
        rates = [(("", listener), self._listener_limit(listener, "max.connection.creation.rate"))]
        if listener != self._protected:
            rates.append((("", ""), self._limit("max.connection.creation.rate")))
        return rates

    def has_room(self, listener: str) -> bool:
        """Whether the limits of the broker and of the listener allow another connection."""
        if self._open[listener] >= self._listener_limit(listener, "max.connections"):
            return False
        return listener == self._protected or self._open.total() < self._limit("max.connections")

    def refusal_ms(self, listener: str, ip: str) -> int | None:
        """None if this address may connect, else the delay in ms after which to close its connection."""
        limit = self._quotas.limit_of_ip(ip)
        if limit is not None:
            delay_ms = self._too_fast_ms((IP, ip), limit)
            if delay_ms:  # a refused connection counts in no rate
                now_ms = self._now_ms()
                for owner in ((IP, ip), *(owner for owner, _ in self._rates_of(listener))):
                    rate = self._rates.get(owner)
                    if rate is not None:
                        rate.record(-1, now_ms)
                return delay_ms
        return 0 if self._open_by_ip[ip] >= self._most_of(ip) else None

    def opened(self, listener: str, ip: str) -> None:
        self._open[listener] += 1
        self._open_by_ip[ip] += 1

    def closed(self, listener: str, ip: str) -> None:
        self._open[listener] -= 1
        self._open_by_ip[ip] -= 1
        if not self._open_by_ip[ip]:
            del self._open_by_ip[ip]

    def spared_listener(self) -> str | None:
        """The listener whose connections stay open when the broker has too many; None if it has not too many."""
        return self._protected if self._open.total() > self._limit("max.connections") else None

    def _limit(self, name: str) -> int:
        return self._configs.broker.integer(name)

    def _listener_limit(self, listener: str, name: str) -> int:
        return self._configs.broker.integer(f"listener.name.{listener.lower()}.{name}")

    def _most_of(self, ip: str) -> int:
        overrides = self._configs.broker.get("max.connections.per.ip.overrides")
        for entry in str(overrides or "").split(","):
            host, _, number = entry.strip().rpartition(":")
            if host and same_address(host.strip()) == same_address(ip):
                return int(number)
        return self._limit("max.connections.per.ip")

    def _too_fast_ms(self, owner: tuple[str, str], limit: float) -> int:
        """Count a connection of ``owner``; returns the ms, at most a window, until the rate is within the limit."""
        configs, now_ms = self._configs.broker, self._now_ms()
        window_s = configs.integer("quota.window.size.seconds")
        rate = self._rates.of(owner, now_ms, lambda: LimitedRate(configs.integer("quota.window.num"), window_s))
        rate.record(1, now_ms)
        return min(window_s * 1000, rate.over_ms(limit, now_ms))

    def _now_ms(self) -> int:
        return int(self._clock.monotonic_s() * 1000)


def _inter_broker_listener(configs: ConfigStore, listeners: Mapping[str, str]) -> str | None:
    """The listener that brokers use: by its name, else the first of ``security.inter.broker.protocol``."""
    name = configs.broker.get("inter.broker.listener.name")
    if name:
        return str(name)
    wanted = configs.broker.get("security.inter.broker.protocol")
    return next((listener for listener, protocol in listeners.items() if protocol == wanted), None)
