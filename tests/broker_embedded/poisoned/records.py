"""Records that a client with the rights may write to an internal topic, and that no broker would: made from a seed.

Every struct that a start reads, with fields of small pools, so that records meet, and of extremes; then cut or
lengthened, in versions that nobody knows, under the key of another kind, without value.
"""

from __future__ import annotations

import random
import uuid
from typing import Any

from kafka_tools.broker_embedded.coordinators import group_store
from kafka_tools.errors import EncodeError, UnsupportedVersion
from kafka_tools.protocol.codec import encode, encode_versioned
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, TRANSACTION_STATE
from kafka_tools.protocol.fields import Field
from kafka_tools.protocol.schema import Stored, Struct
from kafka_tools.protocol.stored import transaction_log
from tests.protocol.generate import INTEGERS

Raw = tuple[bytes | None, bytes | None]
"""Key and value of a record."""

KINDS = {
    CONSUMER_OFFSETS: (group_store.KEYS, group_store.VALUES),
    TRANSACTION_STATE: (transaction_log.KEYS, transaction_log.VALUES),
}
UNKNOWN_TYPES = (-1, 9, 99)
_SUBSCRIPTION = b"\0\1\0\0\0\1\0\1t\xff\xff\xff\xff\0\0\0\0"
_TEXTS = {
    "group": ("own", "own", "other-own", ""),
    "member": ("m1", "m1", "m2", "m3", ""),
    "leader": ("m1", "m2", "nobody", ""),
    "instance": ("i1", "i1", "i2", ""),
    "transactional": ("own-tx", "own-tx", "other-own-tx", ""),
    "topic": ("t", "gone", "", "x" * 300),
    "expression": ("t.*", "(", ""),
    "regex": ("t.*", "(", ""),
    "assignor": ("range", "uniform", "none", ""),
    "protocol": ("consumer", "range", ""),
}
"""By a part of the field's name."""
_PLAIN = ("range", "x", "", "line\nend", "\u202e")


class Poison:
    """``batch`` is the next records for an internal topic. ``topic_ids``: those of topics that exist."""

    def __init__(self, seed: int | str, topic_ids: list[uuid.UUID]) -> None:
        self._rng = random.Random(f"poison {seed}")
        self._topic_ids = [*topic_ids, uuid.UUID(int=0), uuid.UUID(int=7)]

    def batch(self, topic: str, most: int = 6) -> list[Raw]:
        """Some records, one after the other."""
        return [self._record(topic) for _ in range(self._rng.randint(1, most))]

    def transactional(self) -> bool:
        """Whether the next batch is part of a transaction."""
        return self._rng.random() < 0.1

    def topic(self) -> str:
        """Where the next batch goes."""
        return self._rng.choice((CONSUMER_OFFSETS, CONSUMER_OFFSETS, TRANSACTION_STATE))

    def _record(self, topic: str) -> Raw:
        rng = self._rng
        keys, values = KINDS[topic]
        kind = rng.choice(sorted(keys))
        key = kind.to_bytes(2, "big") + encode(self._struct(keys[kind], 0), 0)
        value = self._value(values[kind])
        match rng.randrange(16):
            case 0:
                value = None
            case 1:
                value = value[: rng.randrange(len(value))]
            case 2:
                value += b"\0" * rng.randint(1, 3)
            case 3:
                value = rng.choice((-1, 5, 99, 2**15 - 1)).to_bytes(2, "big", signed=True) + value[2:]
            case 4:
                value = self._value(values[rng.choice(sorted(values))])
            case 5:
                key = key[: rng.randrange(len(key))]
            case 6:
                key = rng.choice(UNKNOWN_TYPES).to_bytes(2, "big", signed=True) + key[2:]
            case 7:
                at = rng.randrange(len(value))
                value = value[:at] + rng.randbytes(1) + value[at + 1 :]
        return key, value

    def _value(self, cls: type[Stored]) -> bytes:
        while True:
            version = self._rng.choice(range(cls.MIN_VERSION, cls.MAX_VERSION + 1))
            try:
                return encode_versioned(self._struct(cls, version), version)
            except (EncodeError, UnsupportedVersion):  # a field that this version does not have
                continue

    def _struct(self, cls: type[Struct], version: int) -> Any:
        return cls(
            **{
                field.name: self._field(field, version, field.name)
                for field in cls.FIELDS
                if version in field.versions and not (version in field.tagged and self._rng.random() < 0.3)
            }
        )

    def _field(self, field: Field, version: int, name: str) -> Any:
        rng = self._rng
        if version in field.nullable and rng.random() < 0.3:
            return None
        if field.kind in INTEGERS:
            low, high = INTEGERS[field.kind]
            return rng.choice((low, high, -2, -1, 0, 1, 2, 3, 5, 1000, high - 1))
        match field.kind:
            case "array":
                return [self._field(field.item, version, name) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
            case "uuid":
                return rng.choice(self._topic_ids)
            case "string":
                pool = next((texts for part, texts in _TEXTS.items() if part in name), _PLAIN)
                return rng.choice((*pool, *pool, *pool, *_PLAIN))
            case "bytes":
                return rng.choice((_SUBSCRIPTION, _SUBSCRIPTION, b"", b"\0", b"\xff\xff", b"\0\3garbage"))
            case "struct":
                return self._struct(field.item, version)
        raise AssertionError(field.kind)
