"""Requests made wrong: single fields of right ones set to what the definition's types allow."""

from __future__ import annotations

import copy
import random
import uuid
from collections.abc import Iterator
from typing import Any

from kafka_tools.protocol.fields import Field
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.schema import Struct
from tests.against_kafka.compare_answers.brokers import Known, resolved
from tests.against_kafka.compare_answers.cases import INVALID_NAMES

LEFT_ALONE = {"timeout_ms", "max_wait_ms", "replica_id", "session_timeout_ms", "rebalance_timeout_ms", "records",
              "acks", "host", "transactional_id", "allow_auto_topic_creation", "replica_state", "cluster_id",
              "key_type", "count"}  # fmt: skip
"""Fields that a change of would let a broker wait, or make something of the size that they say.

CreatePartitions with the largest count ends Kafka for want of memory.
"""
_RANGE = {"int8": 7, "int16": 15, "uint16": 16, "int32": 31, "uint32": 32, "int64": 63}


def made_wrong(request: Struct, version: int, rng: random.Random) -> Struct:
    """A copy in which one field, or two, differ."""
    changed = resolved(request, _Itself())
    for _ in range(rng.choice((1, 1, 1, 2))):
        places = list(_places(changed, version))
        if places:
            holder, field = rng.choice(places)
            known = [] if isinstance(request, DeleteTopicsRequest) else [Known("topic t1")]
            setattr(holder, field.name, _another(field, getattr(holder, field.name), version, rng, known))
    return changed  # type: ignore[no-any-return]


class _Itself(dict[str, Any]):
    """Leaves what stands for a broker's own id as it is."""

    def get(self, key: str, default: Any = None) -> Any:
        return key


def _places(value: Struct, version: int) -> Iterator[tuple[Struct, Field]]:
    for field in value.FIELDS:
        if version not in field.versions or field.name in LEFT_ALONE:
            continue
        yield value, field
        inner = getattr(value, field.name)
        for item in inner if isinstance(inner, list) else [inner]:
            if isinstance(item, Struct):
                yield from _places(item, version)


def _another(field: Field, value: Any, version: int, rng: random.Random, ids: list[Known]) -> Any:
    choices: list[Any] = [None] if version in field.nullable else []
    if field.kind == "boolean":
        choices.append(not value)
    elif field.kind in _RANGE:
        largest = (1 << _RANGE[field.kind]) - 1
        choices += [0, 1, 2, largest]
        if not field.kind.startswith("u"):
            choices += [-1, -2, -largest - 1]
    elif field.kind == "float64":
        choices += [0.0, -1.0, 1.5, 1e300]  # ours refuses what is not a finite number, which Kafka stores
    elif field.kind == "string":
        choices += ["", "unknown", "x" * 300, "nul\0", *INVALID_NAMES]
    elif field.kind == "bytes":
        choices += [b"", b"\0", b"garbage"]
    elif field.kind == "uuid":
        choices += [uuid.UUID(int=0), uuid.UUID(int=1), *ids, uuid.UUID(int=(1 << 128) - 1)]
    elif field.kind == "array":
        choices.append([])
        if value:
            choices += [[*value, copy.deepcopy(value[0])], [*value, *copy.deepcopy(value)]]
        elif field.item.kind == "struct":
            choices.append([field.item.item()])
    return rng.choice(choices) if choices else value
