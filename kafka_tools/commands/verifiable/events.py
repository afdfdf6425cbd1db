"""The lines of verifiable clients: one JSON object each, with the members and the order of Kafka's tools."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping
from typing import Any

from kafka_tools.clock import Clock
from kafka_tools.output.kafka.java_words import exception_name
from kafka_tools.texts.java_numbers import java_double
from kafka_tools.values import TopicPartition

_PACKAGE = "org.apache.kafka.common"
_TIMEOUT = f"{_PACKAGE}.errors.TimeoutException"
_TOO_LARGE = f"{_PACKAGE}.errors.RecordTooLargeException"
_OTHER = f"{_PACKAGE}.KafkaException"


class Events:
    """Prints events. Each line is complete before the next event happens, so a reader never waits for a buffer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def tell(self, event: str, **members: Any) -> None:
        """Print an event with the time and its other members."""
        members = {"timestamp": self._clock.now_ms(), "name": event, **members}
        sys.stdout.write(_json(members) + "\n")
        sys.stdout.flush()


def partition_of(partition: TopicPartition) -> Mapping[str, Any]:
    """A partition as a JSON object."""
    return {"topic": partition.topic, "partition": partition.partition}


def partitions_of(partitions: Collection[TopicPartition]) -> list[Mapping[str, Any]]:
    """Partitions as JSON objects, by topic and number."""
    return [partition_of(each) for each in sorted(partitions)]


def text_of(data: bytes | None) -> str | None:
    """Bytes as Kafka's StringDeserializer reads them."""
    return None if data is None else data.decode("utf-8", "replace")


def exception_of(error: Exception) -> str:
    """The class of Kafka's client for an error, as Java prints it."""
    from kafka_tools.clients.producer import RecordTooLarge
    from kafka_tools.errors import DeadlineExceeded, NetworkError

    code = getattr(error, "code", None)
    if code is not None:
        name = exception_name(code.name)
    elif isinstance(error, RecordTooLarge):
        name = _TOO_LARGE
    else:
        name = _TIMEOUT if isinstance(error, DeadlineExceeded | NetworkError) else _OTHER
    return f"class {name}"


def _json(value: Any) -> str:
    """Compact JSON with numbers as Java prints them. NaN is a text, as Jackson writes it."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_json(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    if isinstance(value, float):
        text = java_double(value)
        return text if text[-1].isdigit() else f'"{text}"'
    return json.dumps(value, ensure_ascii=False)
