"""The bytes that members of a classic group give each other: subscriptions and assignments (KIP-429, KIP-792)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from kafka_tools.errors import DecodeError
from kafka_tools.protocol.codec import decode_prefix, encode_versioned
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka_tools.values import TopicPartition

S = TypeVar("S", bound=Stored)


def encode_subscription(
    topics: Iterable[str],
    owned: Iterable[TopicPartition],
    generation_id: int,
    rack: str | None,
    user_data: bytes | None = None,
) -> bytes:
    """What a member subscribes to, the partitions that it keeps, and what its assignor adds."""
    subscription = ConsumerProtocolSubscription(
        topics=list(topics),
        user_data=user_data,
        owned_partitions=[
            ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in _by_topic(owned).items()
        ],
        generation_id=generation_id,
        rack_id=rack,
    )
    return encode_versioned(subscription, ConsumerProtocolSubscription.MAX_VERSION)


def decode_subscription(data: bytes | memoryview) -> ConsumerProtocolSubscription:
    """Raises DecodeError."""
    return _decode(ConsumerProtocolSubscription, data)


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """The partitions that the leader gives to a member."""
    assigned = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignment.TopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in _by_topic(partitions).items()
        ]
    )
    return encode_versioned(assigned, ConsumerProtocolAssignment.MAX_VERSION)


def decode_assignment(data: bytes | memoryview) -> list[TopicPartition]:
    """Raises DecodeError. No bytes are no partitions."""
    rows = _decode(ConsumerProtocolAssignment, data).assigned_partitions if data else []
    return [TopicPartition(row.topic, number) for row in rows for number in row.partitions]


def _decode(cls: type[S], data: bytes | memoryview) -> S:
    """A subscription or assignment. One newer than known is read as the newest known: they only append (KIP-429)."""
    raw = bytes(data)
    if len(raw) < 2:
        raise DecodeError(f"{len(raw)} bytes are too short for a version number", position=0, field="version")
    version = int.from_bytes(raw[:2], "big", signed=True)
    if version < 0:
        raise DecodeError(f"version {version} is negative", position=0, field="version")
    message, _ = decode_prefix(cls, min(version, cls.MAX_VERSION), raw, 2)
    return message


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        grouped.setdefault(topic, []).append(number)
    return grouped
