"""Generators of keys and values: a position → bytes, always the same for the same position.

The JSON forms are those of Trogdor's ``PayloadGenerator``. Random bytes differ from those of Trogdor, which uses Java's
generator.
"""

from __future__ import annotations

import base64
import binascii
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from kafka_tools.clock import Clock
from kafka_tools.errors import InputError
from kafka_tools.load.specs.members import JsonMembers

LARGEST_PAYLOAD_BYTES = 100 * 1024 * 1024
TIMESTAMP_BYTES = 8


class Payloads(ABC):
    """A generator."""

    @abstractmethod
    def generate(self, position: int, clock: Clock) -> bytes | None:
        """The payload at ``position``; None for a null payload. The clock is for payloads that contain the time."""


@dataclass(frozen=True)
class NullPayloads(Payloads):
    """No payload: the key or value is null."""

    def generate(self, position: int, clock: Clock) -> bytes | None:
        return None


@dataclass(frozen=True)
class SequentialPayloads(Payloads):
    """The position as a little-endian number, cut or filled with zeros to ``size_bytes``."""

    size_bytes: int
    start_offset: int = 0

    def generate(self, position: int, clock: Clock) -> bytes | None:
        number = (position + self.start_offset) & (2**64 - 1)
        return number.to_bytes(8, "little")[: self.size_bytes].ljust(self.size_bytes, b"\0")


@dataclass(frozen=True)
class ConstantPayloads(Payloads):
    """The same bytes each time."""

    payload: bytes

    def generate(self, position: int, clock: Clock) -> bytes | None:
        return self.payload


@dataclass(frozen=True)
class UniformRandomPayloads(Payloads):
    """Random bytes that depend on seed and position. The last ``padding_bytes`` are the same each time."""

    size_bytes: int
    seed: int = 0
    padding_bytes: int = 0

    def generate(self, position: int, clock: Clock) -> bytes | None:
        random_bytes = Random(self.seed + position).randbytes(self.size_bytes - self.padding_bytes)
        return random_bytes + Random(self.seed).randbytes(self.padding_bytes) if self.padding_bytes else random_bytes


@dataclass(frozen=True)
class TimestampPayloads(Payloads):
    """The time of generation in milliseconds (8 bytes, little-endian), then zeros or random bytes."""

    size_bytes: int
    seed: int | None = None

    def generate(self, position: int, clock: Clock) -> bytes | None:
        rest = self.size_bytes - TIMESTAMP_BYTES
        filling = bytes(rest) if self.seed is None else Random(self.seed + position).randbytes(rest)
        return clock.now_ms().to_bytes(TIMESTAMP_BYTES, "little") + filling


@dataclass(frozen=True)
class RandomComponentPayloads(Payloads):
    """One of several generators for each position, by their percentages."""

    seed: int
    components: tuple[tuple[int, Payloads], ...]

    def generate(self, position: int, clock: Clock) -> bytes | None:
        drawn = Random(self.seed + position).randrange(100)
        for percent, payloads in self.components:
            drawn -= percent
            if drawn < 0:
                return payloads.generate(position, clock)
        raise ValueError("the percentages do not add up to 100")


def _size(members: JsonMembers, *, low: int = 0) -> int:
    return members.whole("size", low, low=low, high=LARGEST_PAYLOAD_BYTES)


def _sequential(members: JsonMembers) -> Payloads:
    size = _size(members)
    old, new = members.whole("startOffset", 0), members.whole("offset", 0)
    return SequentialPayloads(size, new or old)


def _constant(members: JsonMembers) -> Payloads:
    size, given = _size(members), members.text("value")
    try:
        value = base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        raise members.refuse("value", "base64") from None
    if not value:
        return ConstantPayloads(bytes(size))
    return ConstantPayloads((value * (size // len(value) + 1))[:size])


def _uniform_random(members: JsonMembers) -> Payloads:
    size, seed, padding = _size(members), members.whole("seed", low=-(2**63)), members.whole("padding")
    if padding > size:
        raise members.refuse("padding", f"at most the size, {size}")
    return UniformRandomPayloads(size, seed, padding)


def _timestamp_random(members: JsonMembers) -> Payloads:
    return TimestampPayloads(_size(members, low=TIMESTAMP_BYTES), members.whole("seed", low=-(2**63)))


def _random_component(members: JsonMembers) -> Payloads:
    seed, given = members.whole("seed", low=-(2**63)), members.raw("components")
    if not isinstance(given, list) or not 1 <= len(given) <= 100:
        raise members.refuse("components", "a list of 1 to 100 objects with percent and component")
    components = []
    for number, each in enumerate(given):
        inner = JsonMembers(each, f"{members.place}: components[{number}]")
        percent, payloads = inner.whole("percent", low=1, high=100), read_payloads(inner, "component")
        inner.end()
        if payloads is None:
            raise InputError(f"{inner.place}: component is missing")
        components.append((percent, payloads))
    if sum(percent for percent, _ in components) != 100:
        raise InputError(f"{members.place}: invalid components: the percentages must add up to 100")
    return RandomComponentPayloads(seed, tuple(components))


_TYPES: dict[str, Callable[[JsonMembers], Payloads]] = {
    "sequential": _sequential,
    "constant": _constant,
    "uniformRandom": _uniform_random,
    "null": lambda members: NullPayloads(),
    "randomComponent": _random_component,
    "timestampConstant": lambda members: TimestampPayloads(_size(members, low=TIMESTAMP_BYTES)),
    "timestampRandom": _timestamp_random,
}


def read_payloads(members: JsonMembers, name: str) -> Payloads | None:
    """The generator in the member ``name``; None if it is missing. Raises InputError."""
    inner = members.inner(name)
    if inner is None:
        return None
    payloads = _TYPES[inner.kind(_TYPES, "a generator")](inner)
    inner.end()
    return payloads
