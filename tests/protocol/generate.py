"""Random and edge-case messages of any definition, for these tests and for the comparison with Kafka's classes."""

from __future__ import annotations

import random
import uuid
from typing import Any

from kafka_tools.protocol.fields import Field
from kafka_tools.protocol.schema import Message, Struct

INTEGERS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
TEXTS = ("", "a", "topic-1", "grüße", "日本語", "😀", "x" * 127, "y" * 128, "z" * 300)


def message(cls: type[Message], version: int, seed: int | str) -> Message:
    """A message with every field of ``version`` filled at random; a fourth of the values are edge cases."""
    return _struct(cls, version, random.Random(f"{cls.__name__} {version} {seed}"), 0)


def edge_messages(cls: type[Message], version: int) -> list[Message]:
    """All defaults; smallest values; largest values; nulls wherever this version allows them."""
    found = [cls()]
    for edge in ("low", "high", "null"):
        found.append(_edge(cls, version, edge, 0))
    return found


def _struct(cls: type[Struct], version: int, rng: random.Random, depth: int) -> Any:
    values: dict[str, Any] = {}
    for field in cls.FIELDS:
        if version in field.versions and not (version in field.tagged and rng.random() < 0.3):
            values[field.name] = _value(field, version, rng, depth)
    return cls(**values)


def _value(field: Field, version: int, rng: random.Random, depth: int) -> Any:
    if version in field.nullable and rng.random() < 0.2:
        return None
    if field.kind in INTEGERS:
        low, high = INTEGERS[field.kind]
        return rng.choice((low, high, 0, 1)) if rng.random() < 0.25 else rng.randint(low, high)
    if field.kind == "array":
        count = rng.choice((0, 1, 2, 3)) if depth < 3 else rng.choice((0, 1))
        items = [_value(field.item, version, rng, depth + 1) for _ in range(count)]
        return _distinct(field, items)
    match field.kind:
        case "boolean":
            return rng.random() < 0.5
        case "float64":
            return rng.choice((0.0, 1.5, -2.25, 1e300, rng.random()))
        case "uuid":
            return uuid.UUID(int=rng.getrandbits(128))
        case "string":
            return rng.choice(TEXTS)
        case "bytes" | "records":
            return rng.randbytes(rng.choice((0, 1, 7, 126, 127, 128, 200)))
    return _struct(field.item, version, rng, depth + 1)


def _distinct(field: Field, items: list[Any]) -> list[Any]:
    """Lists whose items have a map key hold each key once: Kafka's classes keep them in a hash set."""
    if field.item.kind != "struct":
        return items
    keys = [f.name for f in field.item.item.FIELDS if f.map_key]
    seen: set[tuple[Any, ...]] = set()
    kept = []
    for item in items:
        key = tuple(getattr(item, name) for name in keys)
        if not keys or key not in seen:
            seen.add(key)
            kept.append(item)
    return kept


def _edge(cls: type[Struct], version: int, edge: str, depth: int) -> Any:
    values: dict[str, Any] = {}
    for field in cls.FIELDS:
        if version in field.versions:
            values[field.name] = _edge_value(field, version, edge, depth)
    return cls(**values)


def _edge_value(field: Field, version: int, edge: str, depth: int) -> Any:
    if edge == "null" and version in field.nullable:
        return None
    if field.kind in INTEGERS:
        return INTEGERS[field.kind][0 if edge == "low" else 1]
    if field.kind == "array":
        return [] if edge == "low" else [_edge_value(field.item, version, edge, depth + 1)]
    match field.kind:
        case "boolean":
            return edge == "high"
        case "float64":
            return -1.7976931348623157e308 if edge == "low" else 1.7976931348623157e308
        case "uuid":
            return uuid.UUID(int=0 if edge == "low" else 2**128 - 1)
        case "string":
            return "" if edge == "low" else "é" * 200
        case "bytes" | "records":
            return b"" if edge == "low" else b"\xff" * 300
    return _edge(field.item, version, edge, depth + 1)
