"""The text of ``kafka-log-dirs`` (LogDirsCommand): two lines, and a JSON document in one line, byte for byte.

Brokers, directories and partitions are in the iteration order of Java's hash tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_tools.output.cells import Row
from kafka_tools.output.kafka.java_words import exception_name, hash_order, partition_hash, places
from kafka_tools.texts.java_hashing import string_hash
from kafka_tools.values import TopicPartition

QUERYING = "Querying brokers for log directories information\n"


def received(broker_ids: Sequence[int]) -> str:
    """The line before the document."""
    return f"Received log directory information from brokers {','.join(map(str, _set_order(broker_ids)))}\n"


def unknown_brokers(unknown: Sequence[int], known: Sequence[int]) -> str:
    """The line about brokers that do not exist."""
    return (
        "ERROR: The given brokers do not exist from --broker-list: "
        f"{','.join(map(str, _set_order(unknown)))}. Current existent brokers: "
        f"{','.join(map(str, _set_order(known)))}"
    )


def document(rows: Sequence[Row]) -> str:
    """The line of JSON, from rows of the kind ``log-dirs`` in the order of each broker's response."""
    by_broker: dict[int, list[Row]] = {}
    for row in rows:
        by_broker.setdefault(row["broker"], []).append(row)
    brokers = [{"broker": broker, "logDirs": _directories(by_broker[broker])} for broker in _broker_order([*by_broker])]
    return json.dumps({"brokers": brokers, "version": 1}, ensure_ascii=False, separators=(",", ":")) + "\n"


def _directories(rows: Sequence[Row]) -> list[dict[str, Any]]:
    by_path = {row["log_dir"]: row for row in rows}
    return [
        {
            "partitions": _partitions(row["partitions"]),
            "error": None if row["error"] is None else exception_name(row["error"]),
            "logDir": path,
        }
        for path in hash_order(by_path, string_hash, places(len(by_path)))
        for row in [by_path[path]]
    ]


def _partitions(told: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    by_key = {TopicPartition(each["topic"], each["partition"]): each for each in told}
    return [
        {
            "partition": str(key),
            "size": by_key[key]["size_bytes"],
            "offsetLag": by_key[key]["offset_lag"],
            "isFuture": by_key[key]["is_future"],
        }
        for key in hash_order(by_key, partition_hash)
    ]


def _itself(number: int) -> int:
    return number & 0xFFFFFFFF


def _set_order(ids: Sequence[int]) -> list[int]:
    return hash_order(ids, _itself)


def _broker_order(ids: Sequence[int]) -> list[int]:
    """The order after the set of existing brokers, the client's futures, their copy, and the map of responses."""
    count = len(ids)
    found = hash_order(_set_order(ids), _itself, places(count))
    found = hash_order(found, _itself, places(int(count / 0.75 + 1)))
    return hash_order(found, _itself, places(count))
