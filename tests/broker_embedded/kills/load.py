"""What all loads have in common: a thread, a client that lives through kills, and what was acknowledged to it."""

from __future__ import annotations

import logging
import random
import threading
import traceback
from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

At = tuple[str, int]
"""Topic and partition."""
Place = tuple[str, int, int]
"""Topic, partition and offset."""
SILENT = logging.getLogger("kills")
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False
CLIENT_SETTINGS = {
    "reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 100, "retry.backoff.ms": 10, "retry.backoff.max.ms": 100,
    "socket.timeout.ms": 5_000, "topic.metadata.refresh.interval.ms": 5_000, "logger": SILENT,
}  # fmt: skip
"""librdkafka's, so that clients are back soon after a kill."""
END_S = 180.0
"""How long a client may take to end what it has begun, on a machine that does much else."""


class Load(ABC):
    """Clients at work in a thread of their own, until they are told to end."""

    def __init__(self, address: str, seed: str) -> None:
        self.dice = random.Random(seed)
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self._address = address
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)
        self.failure = ""

    def settings(self, **more: Any) -> dict[str, Any]:
        """Of a client of librdkafka; an underscore stands for a dot."""
        named = {key.replace("_", "."): value for key, value in more.items()}
        return {"bootstrap.servers": self._address, "error_cb": lambda _: None, **CLIENT_SETTINGS, **named}

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Let it end what it has begun. AssertionError if anything went wrong in it."""
        self.stopping.set()
        self._thread.join(2 * END_S)
        assert not self._thread.is_alive(), f"{type(self).__name__} does not come to an end"
        assert not self.failure, self.failure

    def check_alive(self) -> None:
        """AssertionError if the thread has failed."""
        assert not self.failure, self.failure

    def _run(self) -> None:
        try:
            self.work()
        except Exception:  # noqa: BLE001 - whoever asks for the load's end raises it
            self.failure = traceback.format_exc()

    @abstractmethod
    def work(self) -> None:
        """Until ``stopping`` is set; then end what was begun."""

    @abstractmethod
    def counts(self) -> str:
        """What was acknowledged, for the report."""


@dataclass
class Seen:
    """What readers got, by place: an offset never gets another record."""

    values: dict[Place, bytes] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def take(self, place: Place, value: bytes) -> None:
        known = self.values.setdefault(place, value)
        if known != value:
            self.problems.append(f"{place} was {known!r} and is {value!r}: an offset was used again")


def in_order(values: dict[Place, bytes]) -> dict[At, list[tuple[int, bytes]]]:
    """(offset, value) of each partition, by offset."""
    found: defaultdict[At, list[tuple[int, bytes]]] = defaultdict(list)
    for (topic, partition, offset), value in sorted(values.items()):
        found[topic, partition].append((offset, value))
    return dict(found)
