"""The last values that clients pushed, in bounded memory.

Values are kept for an hour after a client's last push, also after it has disconnected. If the limits are reached, the
client with the oldest push is forgotten first.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections import OrderedDict
from typing import NamedTuple

from kafka_tools.clock import Clock
from kafka_tools.errors import ConfigError
from kafka_tools.metrics.otlp import DELTA, Point, decode
from kafka_tools.records.compression import decompress

log = logging.getLogger(__name__)

KEPT_S = 3600
MOST_BYTES = 2 * 1024 * 1024
"""The maximum decompressed size of one push, unless ``telemetry.max.bytes`` is larger."""
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_]")

Key = tuple[str, tuple[tuple[str, str], ...]]
"""A metric's name and labels, as Prometheus spells them: two metrics never become the same sample."""


class PushedBounds(NamedTuple):
    """How much is kept: clients, values of one client, values of all clients."""

    clients: int = 1000
    of_a_client: int = 2000
    values: int = 20_000


class PushedClient:
    """What one client pushed. ``values`` has a point for each metric; deltas are added up."""

    def __init__(self, client_id: str) -> None:
        self.client_id = client_id
        self.values: dict[Key, Point] = {}
        self.pushes = 0
        self.undecoded = 0
        """Pushes that the broker did not decode, because opentelemetry-proto is not installed."""
        self.left_out = 0
        """Values that were not kept because of the limits or their type."""
        self.pushed_s = 0.0


class PushedMetrics:
    """Client instance id -> what the client pushed."""

    def __init__(self, clock: Clock, bounds: PushedBounds = PushedBounds()) -> None:  # noqa: B008 - frozen
        self._clock = clock
        self._bounds = bounds
        self._clients: OrderedDict[uuid.UUID, PushedClient] = OrderedDict()
        self._count = 0
        self._has_warned = False

    def clients(self) -> dict[uuid.UUID, PushedClient]:
        """The clients that pushed during the last hour, oldest push first."""
        until_s = self._clock.monotonic_s() - KEPT_S
        while self._clients and next(iter(self._clients.values())).pushed_s < until_s:
            self._forget_oldest()
        return dict(self._clients)

    def add(self, id: uuid.UUID, client_id: str, codec: int, data: bytes, most_bytes: int) -> None:
        """Keep a push. Raises CorruptBatch or InvalidMetrics for bytes that are not compressed OTLP metrics."""
        plain = decompress(codec, data, limit_bytes=max(most_bytes, MOST_BYTES))
        points: list[Point] | None = None
        left_out = 0
        try:
            points, left_out = decode(plain, self._bounds.of_a_client)
        except ConfigError as error:
            if not self._has_warned:
                log.warning("the metrics that clients push are only counted: %s (%s)", error, error.hint)
                self._has_warned = True
        client = self._clients.get(id)
        if client is None:
            client = self._clients[id] = PushedClient(client_id[:200])
        self._clients.move_to_end(id)
        client.pushed_s = self._clock.monotonic_s()
        client.pushes += 1
        client.undecoded += points is None
        client.left_out += left_out
        self._count -= len(client.values)
        for point in points or ():
            _keep(client, point, self._bounds.of_a_client)
        self._count += len(client.values)
        while len(self._clients) > self._bounds.clients or self._count > self._bounds.values:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        self._count -= len(self._clients.popitem(last=False)[1].values)


def _keep(client: PushedClient, point: Point, most: int) -> None:
    labels = {_label(name): value for name, value in point.labels}
    key = _NOT_IN_NAMES.sub("_", point.name.lower()), tuple(sorted(labels.items()))
    before = client.values.get(key)
    if before is None and len(client.values) >= most:
        client.left_out += 1
        return
    if point.kind == DELTA and before is not None:
        point = point._replace(value=before.value + point.value)
    client.values[key] = point


def _label(name: str) -> str:
    """A label's name that Prometheus accepts, and that is none of a bean's own."""
    clean = _NOT_IN_NAMES.sub("_", name.lower()).lstrip("_")
    return f"label_{clean}" if clean in ("", "name", "type", "client_instance_id") or clean[0].isdigit() else clean
