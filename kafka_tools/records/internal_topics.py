"""The structs of the keys and values in Kafka's internal topics."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from kafka_tools.protocol.enums import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from kafka_tools.protocol.schema import Stored

_MODULES = {
    CONSUMER_OFFSETS: ("offset_commit", "group_metadata", "consumer_group", "share_group", "streams_group"),
    TRANSACTION_STATE: ("transaction_log",),
    SHARE_GROUP_STATE: ("share_state",),
}


@cache
def structs_of(topic: str) -> tuple[Mapping[int, type[Stored]], Mapping[int, type[Stored]]]:
    """(key structs by type, value structs by the type of their key) of a topic in ``INTERNAL_TOPICS``."""
    modules = [import_module(f"kafka_tools.protocol.stored.{name}") for name in _MODULES[topic]]
    keys = {number: cls for module in modules for number, cls in module.KEYS.items()}
    return keys, {number: cls for module in modules for number, cls in module.VALUES.items()}
