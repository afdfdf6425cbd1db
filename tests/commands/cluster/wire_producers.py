"""Transactional producers at the other end of a connection, which may leave transactions open, or hanging."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.schema import Request
from kafka_tools.records.build import build_batch
from tests.broker_embedded.transactional_client import Client
from tests.broker_embedded.wire_client import WireClient

UNCHECKED = ("transaction.partition.verification.enable", "false")
"""Brokers take batches of transactions of which no coordinator was told, as all did before 3.6: so they hang."""
_READY_S = 60.0
_PASSING = (
    error_codes.COORDINATOR_NOT_AVAILABLE,
    error_codes.NOT_COORDINATOR,
    error_codes.COORDINATOR_LOAD_IN_PROGRESS,
    error_codes.CONCURRENT_TRANSACTIONS,
    error_codes.NOT_LEADER_OR_FOLLOWER,
    error_codes.UNKNOWN_TOPIC_OR_PARTITION,
)


class WirePeer:
    """A connection, for ``Client``; batches have this moment's time, or ``age_ms`` less."""

    def __init__(self, address: str, age_ms: int = 0) -> None:
        self._wire = WireClient(address)
        self._age_ms = age_ms

    def call(self, request: Request, version: int) -> Any:
        return self._wire.call(request, version)

    def batch(self, *values: bytes, **fields: Any) -> bytes:
        now_ms = int(time.time() * 1000) - self._age_ms
        return build_batch([(now_ms, b"key", value, ()) for value in values], **fields)

    def close(self) -> None:
        self._wire.__exit__(None, None, None)


def begun(peer: WirePeer, name: str, *partitions: int, topic: str, timeout_ms: int = 60_000) -> Client:
    """A producer whose transaction is open on these partitions, and known to its coordinator."""
    client = _ready(peer, name, timeout_ms)
    _until(lambda: max(client.add(*partitions, topic=topic), default=0))
    for number in partitions:
        _until(partial(_produced, client, number, topic))
    return client


def _produced(client: Client, partition: int, topic: str) -> int:
    return int(client.produce(b"open", partition=partition, topic=topic).error_code)


def left_hanging(peer: WirePeer, name: str, partition: int, *, topic: str) -> Client:
    """A producer that wrote to a partition in a transaction of which its coordinator does not know."""
    client = _ready(peer, name, 60_000)
    _until(lambda: client.produce(b"hanging", partition=partition, topic=topic).error_code)
    return client


def _ready(peer: WirePeer, name: str, timeout_ms: int) -> Client:
    find = FindCoordinatorRequest(key=name, key_type=1)
    _until(lambda: peer.call(find, 1).error_code)
    client = Client(peer, name, timeout_ms=timeout_ms)
    _until(client.init)
    return client


def _until(ask: Callable[[], Any]) -> None:
    """Ask again while brokers are not ready, which a new topic or coordinator takes."""
    deadline = time.monotonic() + _READY_S
    while True:
        code = ask()
        if code not in _PASSING:
            assert code == 0, code
            return
        assert time.monotonic() < deadline, "the brokers do not become ready"
        time.sleep(0.02)
