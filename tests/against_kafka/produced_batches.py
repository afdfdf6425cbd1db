"""Batches as broken producers may send them, made from a seed: what a broker must judge before it keeps them.

A case is one sound batch with one fault, or two, in a number, a length or a byte; CRCs are right unless they are the
fault. Both brokers get the same bytes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from kafka_tools.records.build import encode_message
from kafka_tools.records.chain import HEADER
from kafka_tools.records.compression import compress
from kafka_tools.records.crc32c import crc32c

NOW_MS = 1_750_000_000_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "append-time": {"message.timestamp.type": "LogAppendTime"},
    "compact": {"cleanup.policy": "compact"},
    "recompressed": {"compression.type": "gzip"},
    "uncompressed": {"compression.type": "uncompressed"},
}
"""The topics that batches are sent to, and their configs: each takes another way through a broker's checks."""


@dataclass
class Case:
    """One batch, which topic it is for, and what is wrong with it."""

    name: str
    topic: str
    version: int
    data: bytes


def varint(value: int) -> bytes:
    """A zig-zag varint of any integer that fits 64 bits."""
    value = ((value << 1) ^ (value >> 63)) & 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


@dataclass
class Header:
    name: bytes
    value: bytes | None
    name_size: bytes | None = None
    value_size: bytes | None = None

    def encode(self) -> bytes:
        value = self.value or b""
        size = -1 if self.value is None else len(value)
        return (self.name_size or varint(len(self.name))) + self.name + (self.value_size or varint(size)) + value


@dataclass
class Parts:
    """A record in parts; what is None is right, bytes take the place of a number."""

    offset_delta: int
    timestamp_delta: int = 0
    key: bytes | None = b"key"
    value: bytes | None = b"value"
    headers: list[Header] = field(default_factory=list)
    attributes: int = 0
    size: bytes | None = None
    key_size: bytes | None = None
    value_size: bytes | None = None
    header_count: bytes | None = None
    behind: bytes = b""

    def encode(self) -> bytes:
        def blob(content: bytes | None, size: bytes | None) -> bytes:
            return (size or varint(-1 if content is None else len(content))) + (content or b"")

        body = (
            bytes((self.attributes,))
            + varint(self.timestamp_delta)
            + varint(self.offset_delta)
            + blob(self.key, self.key_size)
            + blob(self.value, self.value_size)
            + (self.header_count or varint(len(self.headers)))
            + b"".join(header.encode() for header in self.headers)
            + self.behind
        )
        return (self.size or varint(len(body))) + body


@dataclass
class Batch:
    """A batch of magic 2 in parts."""

    records: list[Parts]
    codec: int = 0
    attributes: int = 0
    base_offset: int = 0
    last_offset_delta: int | None = None
    base_timestamp: int = NOW_MS
    max_timestamp: int | None = None
    producer: tuple[int, int, int] = (-1, -1, -1)
    count: int | None = None
    leader_epoch: int = -1
    behind: bytes = b""
    change_body: Callable[[bytes], bytes] | None = None
    change_packed: Callable[[bytes], bytes] | None = None

    def encode(self) -> bytes:
        body = b"".join(record.encode() for record in self.records) + self.behind
        if self.change_body is not None:
            body = self.change_body(body)
        packed = compress(self.codec, body) if self.codec else body
        if self.change_packed is not None:
            packed = self.change_packed(packed)
        newest = max((self.base_timestamp + record.timestamp_delta for record in self.records), default=-1)
        header = HEADER.pack(
            self.base_offset,
            HEADER.size - 12 + len(packed),
            self.leader_epoch,
            2,
            0,
            self.codec | self.attributes,
            len(self.records) - 1 if self.last_offset_delta is None else self.last_offset_delta,
            self.base_timestamp,
            max(-(2**63), min(newest, 2**63 - 1)) if self.max_timestamp is None else self.max_timestamp,
            *self.producer,
            len(self.records) if self.count is None else self.count,
        )
        return with_crc(header + packed)


def with_crc(batch: bytes) -> bytes:
    """The batch with the CRC of what it holds."""
    return batch[:17] + crc32c(batch[21:]).to_bytes(4, "big") + batch[21:]


def sound(rng: random.Random, codec: int) -> Batch:
    """A batch without fault."""
    records = []
    for number in range(rng.choice((1, 2, 3, 5, 80))):
        headers = [
            Header(rng.choice((b"name", b"", b"\xff\xfe", b"x" * 70)), rng.choice((None, b"", b"value")))
            for _ in range(rng.choice((0, 0, 0, 1, 3)))
        ]
        records.append(
            Parts(
                number,
                timestamp_delta=rng.choice((0, number, -3, 70, 9000)),
                key=rng.choice((b"k", b"key", b"k" * 200)),
                value=rng.choice((b"", b"v", b"value" * 3, None, b"v" * 700)),
                headers=headers,
            )
        )
    return Batch(records, codec)


ODD_SIZES = (-1, -2, -3, -70, 1, 5, 63, 64, 200, 100_000, 2**31 - 1, -(2**31))
OVERLONG = (
    b"\x86\x00",
    b"\x80\x80\x80\x80\x00",
    b"\xff" * 5,
    b"\xff\xff\xff\xff\x0f",
    b"\x80" * 5 + b"\x01",
    b"\xff" * 10,
)


def _size(rng: random.Random) -> bytes:
    return rng.choice(OVERLONG) if rng.random() < 0.25 else varint(rng.choice(ODD_SIZES))


Fault = Callable[[random.Random, Batch, Parts], None]
FAULTS: dict[str, Fault] = {}


def fault(apply: Fault) -> Fault:
    FAULTS[apply.__name__] = apply
    return apply


@fault
def none(rng: random.Random, batch: Batch, record: Parts) -> None:
    pass


@fault
def record_size(rng: random.Random, batch: Batch, record: Parts) -> None:
    record.size = _size(rng)


@fault
def record_size_nearly_right(rng: random.Random, batch: Batch, record: Parts) -> None:
    whole = record.encode()
    size = next(size for size in range(len(whole)) if varint(size) + whole[-size:] == whole or size == len(whole) - 1)
    record.size = varint(size + rng.choice((-2, -1, 1, 2)))


@fault
def key_size(rng: random.Random, batch: Batch, record: Parts) -> None:
    record.key_size = _size(rng)


@fault
def key_size_shifted_into_value(rng: random.Random, batch: Batch, record: Parts) -> None:
    record.key_size = varint(len(record.key or b"") + rng.choice((-1, 1, 2)))


@fault
def value_size(rng: random.Random, batch: Batch, record: Parts) -> None:
    record.value_size = _size(rng)


@fault
def header_count(rng: random.Random, batch: Batch, record: Parts) -> None:
    record.header_count = _size(rng)


@fault
def header_count_off_by_one(rng: random.Random, batch: Batch, record: Parts) -> None:
    record.headers = [Header(b"a", b"b"), Header(b"c", None)]
    record.header_count = varint(rng.choice((1, 3)))


@fault
def header_name_size(rng: random.Random, batch: Batch, record: Parts) -> None:
    record.headers = [Header(b"a", b"b"), Header(b"c", b"d", name_size=_size(rng))]


@fault
def header_value_size(rng: random.Random, batch: Batch, record: Parts) -> None:
    record.headers = [Header(b"a", b"b", value_size=_size(rng)), Header(b"c", b"d")]


@fault
def many_headers(rng: random.Random, batch: Batch, record: Parts) -> None:
    record.headers = [Header(b"a%d" % number, b"b") for number in range(rng.choice((64, 65, 300)))]


@fault
def bytes_behind_the_record(rng: random.Random, batch: Batch, record: Parts) -> None:
    record.behind = rng.choice((b"\0", b"more"))


@fault
def offset_delta(rng: random.Random, batch: Batch, record: Parts) -> None:
    record.offset_delta = rng.choice((record.offset_delta + 1, record.offset_delta - 1, 0, -1, 7, 2**31 - 1, -(2**31)))


@fault
def offset_delta_beyond_32_bits(rng: random.Random, batch: Batch, record: Parts) -> None:
    record.offset_delta += rng.choice((1 << 32, 1 << 33, 1 << 40))


@fault
def offsets_in_another_order(rng: random.Random, batch: Batch, record: Parts) -> None:
    deltas = [each.offset_delta for each in batch.records]
    rng.shuffle(deltas)
    for each, delta in zip(batch.records, deltas, strict=True):
        each.offset_delta = delta


@fault
def offsets_from_one(rng: random.Random, batch: Batch, record: Parts) -> None:
    for each in batch.records:
        each.offset_delta += 1


@fault
def timestamp_delta(rng: random.Random, batch: Batch, record: Parts) -> None:
    record.timestamp_delta = rng.choice((-1, 4_000_000_000_000, -NOW_MS, -NOW_MS - 1, -NOW_MS - 7, 2**63 - 1, -(2**63)))


@fault
def record_attributes(rng: random.Random, batch: Batch, record: Parts) -> None:
    record.attributes = rng.choice((1, 7, 8, 255))


@fault
def base_offset(rng: random.Random, batch: Batch, record: Parts) -> None:
    batch.base_offset = rng.choice((1, -1, 5, 2**62, -(2**63), 2**63 - 1))


@fault
def last_offset_delta(rng: random.Random, batch: Batch, record: Parts) -> None:
    batch.last_offset_delta = len(batch.records) - 1 + rng.choice((1, -1, 10, -100, 2**30))


@fault
def count(rng: random.Random, batch: Batch, record: Parts) -> None:
    batch.count = rng.choice((0, -1, len(batch.records) + 1, len(batch.records) - 1, 2**31 - 1, -(2**31)))


@fault
def count_and_last_offset(rng: random.Random, batch: Batch, record: Parts) -> None:
    batch.count = len(batch.records) + rng.choice((1, -1, 100, 2**20))
    batch.last_offset_delta = batch.count - 1


@fault
def no_records(rng: random.Random, batch: Batch, record: Parts) -> None:
    batch.records = []
    batch.last_offset_delta = rng.choice((-1, 0, 5))


@fault
def base_timestamp(rng: random.Random, batch: Batch, record: Parts) -> None:
    batch.base_timestamp = rng.choice((-1, 0, -5, NOW_MS + 10**12, 2**63 - 1, -(2**63)))


@fault
def max_timestamp(rng: random.Random, batch: Batch, record: Parts) -> None:
    batch.max_timestamp = rng.choice((-1, 0, NOW_MS - 5, NOW_MS + 10**12, 2**63 - 1, -(2**63)))


@fault
def times_of_the_broker(rng: random.Random, batch: Batch, record: Parts) -> None:
    batch.attributes |= 8


@fault
def control(rng: random.Random, batch: Batch, record: Parts) -> None:
    batch.attributes |= 0x20


@fault
def other_attributes(rng: random.Random, batch: Batch, record: Parts) -> None:
    batch.attributes |= rng.choice((0x40, 0x80, 0x100, 0x4000))


@fault
def unknown_codec(rng: random.Random, batch: Batch, record: Parts) -> None:
    batch.codec, batch.attributes = 0, rng.choice((5, 6, 7))


@fault
def another_codec_than_it_says(rng: random.Random, batch: Batch, record: Parts) -> None:
    said = rng.choice([codec for codec in range(5) if codec != batch.codec])
    if said and batch.codec == 0:
        batch.change_packed, batch.codec = (lambda packed, codec=batch.codec: packed), 0
    batch.attributes ^= said ^ batch.codec


@fault
def producer_without_sequence(rng: random.Random, batch: Batch, record: Parts) -> None:
    batch.producer = rng.choice(((5_000, 0, -1), (5_001, -1, -1), (5_002, 0, -7)))


@fault
def bytes_behind_the_records(rng: random.Random, batch: Batch, record: Parts) -> None:
    batch.behind = rng.choice((b"\0", b"more bytes", record.encode()))


@fault
def garbage_body(rng: random.Random, batch: Batch, record: Parts) -> None:
    batch.change_body = lambda body: rng.randbytes(len(body))


@fault
def zeros_for_a_body(rng: random.Random, batch: Batch, record: Parts) -> None:
    batch.change_body = lambda body: bytes(len(body))


@fault
def body_cut_short(rng: random.Random, batch: Batch, record: Parts) -> None:
    batch.change_body = lambda body: body[: -rng.choice((1, 2, len(body) // 2 + 1))]


@fault
def byte_of_the_body(rng: random.Random, batch: Batch, record: Parts) -> None:
    def change(body: bytes) -> bytes:
        changed = bytearray(body)
        for _ in range(rng.choice((1, 1, 3))):
            changed[rng.randrange(len(changed))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        return bytes(changed)

    batch.change_body = change


@fault
def records_in_another_order(rng: random.Random, batch: Batch, record: Parts) -> None:
    rng.shuffle(batch.records)


@fault
def no_key(rng: random.Random, batch: Batch, record: Parts) -> None:
    record.key = None


def _epilogue(rng: random.Random, data: bytes) -> tuple[str, bytes]:
    """What is done to the finished batch now and then."""
    kind = rng.choice(("crc", "length", "magic", "two", "short", "behind", "header byte"))
    changed = bytearray(data)
    if kind == "crc":
        changed[rng.randrange(17, 21)] ^= 1 << rng.randrange(8)
    elif kind == "length":
        wrong = len(data) - 12 + rng.choice((-1, 1, -100, 100))
        changed[8:12] = rng.choice((wrong, 0, 13, 14, -1, 2**31 - 1)).to_bytes(4, "big", signed=True)
    elif kind == "magic":
        changed[16] = rng.choice((0, 1, 3, 127, 255))
    elif kind == "two":
        changed += data
    elif kind == "short":
        changed = changed[: rng.choice((5, 12, 17, 40, 61, len(data) - 1))]
    elif kind == "behind":
        changed += rng.choice((b"\0", bytes(12), b"x" * 20))
    else:
        changed[rng.choice([*range(8), *range(12, 16), *range(22, 61)])] ^= 1 << rng.randrange(8)
        changed = bytearray(with_crc(bytes(changed)))
    return kind, bytes(changed)


MAY_CLAIM_GIGABYTES = ("record_size", "garbage_body", "byte_of_the_body")
"""Where Kafka takes a compressed batch apart it allocates what a record claims to take, and ends if it has less."""


def cases(seed: int, count: int) -> Iterator[Case]:
    """``count`` cases; the same for the same seed. Every fault comes in every codec before any comes again."""
    rng = random.Random(seed)
    plan: list[tuple[str, int]] = []
    for _ in range(count):
        if not plan:
            plan = [(name, codec) for name in [*FAULTS, "whole"] for codec in range(5)]
            rng.shuffle(plan)
        name, codec = plan.pop()
        batch = sound(rng, codec)
        topic = rng.choice([*TOPICS, "plain"])
        version = rng.choice((3, 7, 8, 9, 12)) if codec != 4 else rng.choice((7, 9, 12, 3))
        if name == "whole":
            name, data = _epilogue(rng, batch.encode())
        else:
            FAULTS[name](rng, batch, rng.choice(batch.records))
            if rng.random() < 0.1:
                extra = rng.choice(sorted(FAULTS))
                if batch.records:
                    FAULTS[extra](rng, batch, rng.choice(batch.records))
                    name += f" and {extra}"
            if any(claim in name for claim in MAY_CLAIM_GIGABYTES) and TOPICS[topic].get("compression.type"):
                topic = "plain"
            data = batch.encode()
        yield Case(f"{name}, {CODECS[codec]}, v{version}", topic, version, data)


OLD_KINDS = (
    "none", "wrapper offset", "inner offsets", "nulls", "times", "no time", "append time", "many",
    "inner crc", "inner magic", "inner compressed", "body", "crc", "key size", "value size", "no inner", "null value",
    "mixed", "short", "cut",
)  # fmt: skip
OLD_SOUND = OLD_KINDS[:8]
"""Kinds of what is right, or at least nothing that a broker minds."""


def old_messages(seed: int, count: int, kinds: Sequence[str] = OLD_KINDS) -> Iterator[Case]:
    """Sets of magic 0 and 1 for Produce v0 to v2, plain and wrapped, with one fault or none.

    Offsets in a wrapper are relative (0, 1, 2: KIP-31), from another number on, or not in order; the wrapper's own is
    that of the last one, or another.
    """
    rng = random.Random(seed)
    for number in range(count):
        kind, magic, codec = kinds[number % len(kinds)], rng.choice((0, 1)), rng.choice((0, 1, 2, 3))
        topic = rng.choice([*TOPICS, "plain"])
        rows = 400 if kind == "many" else rng.choice((1, 2, 5))
        offsets = list(range(rows))
        if kind == "inner offsets":
            start = rng.choice((0, 3, 1000))
            offsets = rng.choice(([rng.choice((0, 3, 7)) for _ in range(rows)], list(range(start, start + rows))))
        times = [NOW_MS + rng.choice((0, 5, 10**10 if kind == "times" else 1)) for _ in range(rows)]
        if kind == "no time":
            times = [rng.choice((-1, -1, NOW_MS)) for _ in range(rows)]
        keys, values = ((b"key", b"", None), (b"value", b"", None)) if kind == "nulls" else ((b"key",), (b"value" * 9,))
        attributes = 8 if kind == "append time" and magic else 0
        inner = [
            encode_message(magic, attributes, offset, time, rng.choice(keys), rng.choice(values))
            for offset, time in zip(offsets, times, strict=True)
        ]
        inner = [_old_fault(rng, kind, magic, message) for message in inner]
        if kind == "no inner":
            inner = []
        if kind == "mixed":
            inner.append(encode_message(1 - magic, 0, rows, NOW_MS, b"key", b"value"))
        data = b"".join(inner)
        if kind == "short" and data:
            data = data[:-3]
        if codec:
            packed: bytes | None = compress(codec, data, old_lz4_checksum=magic == 0)
            if kind == "body":
                packed = rng.randbytes(len(packed or b""))
            if kind == "null value":
                packed = None
            if kind == "cut" and packed:
                packed = packed[: len(packed) // 2]
            own = rng.choice((0, 1, rows + 50, 10**6)) if kind == "wrapper offset" else rows - 1
            data = encode_message(magic, codec | attributes, own, max(times), None, packed)
        if kind == "crc" and data:
            data = data[:12] + bytes((data[12] ^ 1,)) + data[13:]
        yield Case(f"old magic {magic}: {kind}, {CODECS[codec]}", topic, rng.choice((0, 1, 2)), data)


def _old_fault(rng: random.Random, kind: str, magic: int, message: bytes) -> bytes:
    import zlib

    changed = bytearray(message)
    key_at = 18 + 8 * magic
    if kind == "inner crc":
        changed[13] ^= 1
        return bytes(changed)
    if kind == "inner magic":
        changed[16] = rng.choice((1 - magic, 5))
    elif kind == "inner compressed":
        changed[17] |= 1
    elif kind in ("key size", "value size"):
        at = key_at if kind == "key size" else key_at + 7
        changed[at : at + 4] = rng.choice((-1, -2, 1, 4, 200, 2**31 - 1)).to_bytes(4, "big", signed=True)
    changed[12:16] = zlib.crc32(changed[16:]).to_bytes(4, "big")
    return bytes(changed)
