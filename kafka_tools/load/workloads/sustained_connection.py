"""SustainedConnection: many clients, each used once per period. Source: Trogdor's ``SustainedConnectionWorker``.

A client that fails is closed, and a new one connects in the next period.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import cycle
from random import Random
from threading import Lock
from typing import Any

from kafka_tools.admin.client import AdminClient
from kafka_tools.clients import Consumer, Producer
from kafka_tools.clock import Clock
from kafka_tools.closing import Closing
from kafka_tools.errors import KafkaToolsError
from kafka_tools.load.platform import Platform
from kafka_tools.load.specs.workload_specs import SustainedConnectionSpec
from kafka_tools.load.workloads.task_worker import TaskWorker
from kafka_tools.load.workloads.threads import run_all
from kafka_tools.values import TopicPartition

_CLOSE_S = 5.0
_POLL_S = 0.05


class _Connection(Closing):
    """A client that is kept open. ``use`` connects if there is no client, and sends one request."""

    kind = ""

    def __init__(self, spec: SustainedConnectionSpec, clock: Clock, random: Random) -> None:
        self.spec = spec
        self.clock = clock
        self.random = random
        self.next_s = 0.0
        self.is_open = False

    @abstractmethod
    def use(self) -> None:
        """Raises KafkaToolsError."""


class _MetadataConnection(_Connection):
    kind = "metadata"
    _client: AdminClient | None = None

    def use(self) -> None:
        if self._client is None:
            self._client = AdminClient(self.spec.clients.of("admin"))
        self._client.describe_cluster()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None


class _ProducerConnection(_Connection):
    kind = "producer"
    _client: Producer | None = None
    _partitions: Iterator[int] = iter(())
    _position = 0

    def use(self) -> None:
        spec = self.spec
        if self._client is None:
            self._client = Producer(spec.clients.of("producer"))
            partitions = list(self._client.partitions_for(spec.topic).partitions)
            self.random.shuffle(partitions)
            self._partitions = cycle(partitions)
        key, value = (each.generate(self._position, self.clock) for each in (spec.keys, spec.values))
        self._position += 1
        self._client.send(spec.topic, value, key, partition=next(self._partitions)).result()

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close(_CLOSE_S)


class _ConsumerConnection(_Connection):
    kind = "consumer"
    _client: Consumer | None = None

    def use(self) -> None:
        spec = self.spec
        if self._client is None:
            defaults = {"auto.offset.reset": "latest", "max.poll.records": "1", "max.partition.fetch.bytes": "1024"}
            self._client = Consumer(spec.clients.of("consumer", defaults))
            partitions = sorted(self._client.partitions_for(spec.topic).partitions)
            self._client.assign([TopicPartition(spec.topic, self.random.choice(partitions))])
            self._client.seek_to_end()
        self._client.poll(_POLL_S)

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close(_CLOSE_S)


_KINDS: dict[str, type[_Connection]] = {
    each.kind: each for each in (_ProducerConnection, _ConsumerConnection, _MetadataConnection)
}


class SustainedConnectionWorker(TaskWorker):
    """See the module."""

    def __init__(self, task_id: str, platform: Platform, clock: Clock, spec: SustainedConnectionSpec) -> None:
        super().__init__(task_id, platform, clock)
        self._spec = spec
        self._lock = Lock()
        self._open = dict.fromkeys(_KINDS, 0)
        self._failed = dict.fromkeys(_KINDS, 0)
        self._used = 0
        self._first_error: KafkaToolsError | None = None

    def run(self) -> None:
        spec = self._spec
        connections = [
            _KINDS[kind](spec, self.clock, Random()) for kind, count in spec.connections.items() for _ in range(count)
        ]
        shares = [connections[first :: spec.threads] for first in range(spec.threads)]
        run_all([lambda share=share: self._maintain(share) for share in shares if share], self.stopping)  # type: ignore[misc]
        if not self._used and self._first_error is not None:
            raise self._first_error

    def _maintain(self, connections: list[_Connection]) -> None:
        try:
            while not self.stopping.is_set():
                for connection in connections:
                    if not self.stopping.is_set() and self.clock.monotonic_s() >= connection.next_s:
                        self._use(connection)
                        connection.next_s = self.clock.monotonic_s() + self._spec.refresh_ms / 1000
                next_s = min(connection.next_s for connection in connections)
                self.stopping.wait(max(0.0, next_s - self.clock.monotonic_s()))
        finally:  # the last status says how many were open
            for connection in connections:
                self._close(connection)

    def _use(self, connection: _Connection) -> None:
        try:
            connection.use()
        except KafkaToolsError as error:
            with self._lock:
                self._failed[connection.kind] += 1
                self._first_error = self._first_error or error
                self._open[connection.kind] -= connection.is_open
                connection.is_open = False
            self._close(connection)
            return
        with self._lock:
            self._used += 1
            if not connection.is_open:
                self._open[connection.kind] += 1
                connection.is_open = True

    def _close(self, connection: _Connection) -> None:
        try:
            connection.close()
        except KafkaToolsError as error:
            with self._lock:
                self._first_error = self._first_error or error

    def status(self) -> Any:
        found: dict[str, Any] = {}
        with self._lock:
            for kind in _KINDS:
                name = kind.capitalize()
                found[f"total{name}Connections"] = self._open[kind]
                found[f"total{name}FailedConnections"] = self._failed[kind]
            return found | {"totalRefreshes": self._used, "updatedMs": self.clock.now_ms()}

    def measured(self) -> dict[str, Any]:
        return {"operations": self._used}
