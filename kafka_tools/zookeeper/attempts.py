"""Connects to a ZooKeeper server. If no server can be reached, the error comes immediately.

kazoo retries forever and does not report the reasons. Kafka's tools wait thirty seconds as well.
"""

from __future__ import annotations

import socket
import threading
from typing import Any

from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.hosts import collect_hosts

from kafka_tools.errors import StoreError

_HINT = "check the address, that it is ZooKeeper's client port, and whether it requires TLS"


class Attempts(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's thread handler. It also stores why connections failed."""

    def __init__(self) -> None:
        super().__init__()
        self._settled = threading.Event()
        self._failures: dict[tuple[str, int], str] = {}

    def create_connection(self, *args: Any, **kwargs: Any) -> Any:
        address = kwargs.get("address") or args[0]
        try:
            return super().create_connection(*args, **kwargs)
        except OSError as error:
            # An address that fails again: kazoo starts over once every address has failed.
            again = address in self._failures
            self._failures[address] = _reason(error)
            if again:
                self._settled.set()
            raise

    def begin(self, client: Any, servers: str, timeout_s: float) -> None:
        """Start the session of ``client``. Raises StoreError if no server accepts it within ``timeout_s``."""
        _check_names(servers)
        client.add_listener(lambda _state: self._settled.set())
        client.start_async()
        self._settled.wait(timeout_s)
        if client.connected:
            return
        if not self._settled.is_set():
            raise StoreError(f"no ZooKeeper server answered at {servers} in {timeout_s:g} s", hint=_HINT)
        reasons = dict.fromkeys(f"{host}:{port}: {reason}" for (host, port), reason in self._failures.items())
        why = "; ".join(reasons) or "the session was refused"
        raise StoreError(f"cannot reach a ZooKeeper server at {servers}: {why}", hint=_HINT)


def _check_names(servers: str) -> None:
    """StoreError if none of the hosts has an address."""
    unknown = []
    hosts, _ = collect_hosts(servers)
    for host, port in hosts:
        try:
            socket.getaddrinfo(host.strip(), port, type=socket.SOCK_STREAM)
            return
        except OSError as error:
            unknown.append(f"{host}: {_reason(error)}")
    raise StoreError(f"cannot reach a ZooKeeper server at {servers}: {'; '.join(unknown)}", hint=_HINT)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
