"""The exchange and the clock of a client that several threads use."""

from __future__ import annotations

from functools import partial

from kafka_tools.clients.threads.lock import ClientLock, SharedClock, SharedSelector
from kafka_tools.clock import Clock, SystemClock
from kafka_tools.net import network
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange


def share(
    lock: ClientLock, config: ClientConfig, exchange: Exchange | None, clock: Clock | None
) -> tuple[Exchange, Clock, bool]:
    """The exchange and clock of a client, and whether their waits release ``lock``.

    They do not if a test gives its own exchange, clock or network: such a client is used by one thread, in virtual
    time, and has no background thread.
    """
    if exchange is not None or clock is not None or type(network.current()) is not network.Network:
        clock = clock or (exchange.clock if exchange is not None else SystemClock())
        return exchange or Exchange(config, clock=clock), clock, False
    shared_clock = SharedClock(lock)
    return Exchange(config, clock=shared_clock, shared=partial(SharedSelector, lock=lock)), shared_clock, True
