"""Named events of connections and requests, as lines of text for ``--trace``.

Messages are written in Kafka's JSON form with secrets and values of secret configs masked (``protocol.as_json``); SASL
tokens and passwords never appear.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_tools.clock import Clock
from kafka_tools.protocol.schema import ApiMessage
from kafka_tools.shown_text import one_line

MAX_BODY_CHARS = 4000


class Trace:
    """Writes one line per event through ``write``; times are seconds since the trace began."""

    def __init__(self, write: Callable[[str], object], clock: Clock) -> None:
        self._write = write
        self._clock = clock
        self._start_s = clock.monotonic_s()

    def event(self, name: str, peer: str, text: str = "") -> None:
        """An event such as ``connection.ready`` at a node."""
        elapsed = self._clock.monotonic_s() - self._start_s
        self._write(one_line(f"{elapsed:9.3f} {name} {peer}{' ' if text else ''}{text}") + "\n")

    def message(self, name: str, peer: str, message: ApiMessage, version: int, correlation_id: int) -> None:
        """A request sent or a response received, with its contents."""
        import json

        from kafka_tools.protocol.as_json import to_json

        document = to_json(message, version, records=False)
        body = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        if len(body) > MAX_BODY_CHARS:
            body = f"{body[:MAX_BODY_CHARS]}... ({len(body)} characters)"
        title = type(message).__name__
        self.event(name, peer, f"{title} v{version} #{correlation_id} {body}")
