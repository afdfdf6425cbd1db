"""Our batches and Kafka's, each read by the other; and batches converted down by both.

Kafka 3.9.2's classes: the last ones that still write magic 0 and 1, and convert down to them.
"""

from __future__ import annotations

import base64
import random
import struct
import subprocess
from collections.abc import Callable, Sequence

import pytest

from kafka_tools.protocol.enums import CODECS
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.build import Row, build_batch
from kafka_tools.records.control import build_marker
from kafka_tools.records.convert import down_convert, up_convert
from kafka_tools.records.record import Record
from tests.against_kafka.jars import ENVIRONMENT
from tests.against_kafka.java_programs import compiled

pytestmark = pytest.mark.xdist_group("record classes")

RELEASE = "3.9.2"
T = 1_700_000_000_000
# With values long enough to be compressed, nulls, empty ones, header names that occur twice.
ROWS: list[Row] = [
    (T, b"key", b"value " * 40, ()),
    (T + 70_000_000, None, None, ()),
    (T - 5, b"", b"", ()),
    (T + 3, "\u00fcmlaut".encode(), bytes(range(256)), ()),
]
WITH_HEADERS: list[Row] = [*ROWS, (T, b"h", b"v", (("a", b"1"), ("a", None), ("", b""), ("\u00fc", b"2")))]
CASES = [(magic, codec) for magic in (0, 1, 2) for codec in CODECS if magic == 2 or codec != "zstd"]

Answer = tuple[bool, bytes]
Ask = Callable[[Sequence[bytes]], list[Answer]]


@pytest.fixture(scope="module")
def ask() -> Ask:
    """``ask(questions)``: the answers of Kafka's classes, (whether it went well, result or exception)."""
    command = compiled("KafkaRecords", RELEASE)

    def answers(questions: Sequence[bytes]) -> list[Answer]:
        ran = subprocess.run(command, input=b"".join(questions), capture_output=True, timeout=300, env=ENVIRONMENT)
        assert ran.returncode == 0, ran.stderr.decode()
        found, position = [], 0
        while position < len(ran.stdout):
            status, size = struct.unpack_from(">bi", ran.stdout, position)
            found.append((not status, ran.stdout[position + 5 : position + 5 + size]))
            position += 5 + size
        assert len(found) == len(questions)
        return found

    return answers


def packed(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def reading(data: bytes) -> bytes:
    return b"R" + packed(data)


def down(data: bytes, magic: int, first_offset: int) -> bytes:
    return b"D" + struct.pack(">bq", magic, first_offset) + packed(data)


def building(magic: int, codec: str, rows: list[Row], *, append_time_ms: int | None = None, offset: int = 0) -> bytes:
    head = struct.pack(
        ">bbbqqqhibi", magic, CODECS.index(codec), append_time_ms is not None, offset, append_time_ms or -1,
        -1, -1, -1, 0, len(rows),
    )  # fmt: skip
    parts = [b"B", head]
    for timestamp, key, value, headers in rows:
        parts += [struct.pack(">q", timestamp), packed(key), packed(value), struct.pack(">i", len(headers))]
        for name, content in headers:
            parts += [packed(name.encode() if isinstance(name, str) else name), packed(content)]
    return b"".join(parts)


def said(data: bytes) -> str:
    """What Kafka's side would print of a buffer, by our reader."""
    lines = []
    for view in batches(data):
        lines.append(batch_line(view))
        lines += [record_line(record) for record in view.records()]
    return "".join(line + "\n" for line in lines)


def batch_line(view: BatchView) -> str:
    return (
        f"{'valid' if view.crc_ok() else 'invalid'} magic={view.magic} codec={view.codec} base={view.base_offset} "
        f"last={view.last_offset} type={view.timestamp_type} max={view.max_timestamp} "
        f"producer={view.producer_id},{view.producer_epoch},{view.base_sequence},{view.last_sequence} "
        f"transactional={view.is_transactional:d} control={view.is_control:d} "
        f"horizon={-1 if view.delete_horizon_ms is None else view.delete_horizon_ms}"
    )


def record_line(record: Record) -> str:
    parts = [str(record.offset), str(record.timestamp), str(record.sequence), part(record.key), part(record.value)]
    parts += [f"{part(name.encode())}={part(content)}" for name, content in record.headers]
    return " ".join(parts)


def part(data: bytes | None) -> str:
    return "null" if data is None else f"'{base64.b64encode(data).decode()}'"


@pytest.mark.req("REC-1")
def test_kafka_reads_what_we_build(ask: Ask) -> None:
    built = []
    for magic, codec in CASES:
        rows = WITH_HEADERS if magic == 2 else ROWS
        built.append(build_batch(rows, codec=codec, magic=magic, base_offset=1000))
        if magic:
            built.append(
                build_batch(rows, codec=codec, magic=magic, base_offset=7, timestamp_type=1, append_time_ms=T + 99)
            )
        if magic == 2:
            built.append(
                build_batch(rows, codec=codec, producer_id=9, producer_epoch=3, base_sequence=2**31 - 2,
                            transactional=True, base_offset=2**40, leader_epoch=4)
            )  # fmt: skip
            built.append(build_batch(rows, codec=codec, offsets=[5, 6, 8, 9, 20], base_offset=5, last_offset=30))
            built.append(build_batch(rows, codec=codec, delete_horizon_ms=T + 123))
    for data, (went_well, text) in zip(built, ask([reading(data) for data in built]), strict=True):
        assert went_well, text.decode()
        assert text.decode() == said(data)


@pytest.mark.req("REC-1")
def test_we_read_what_kafka_builds_and_build_the_same_bytes(ask: Ask) -> None:
    questions, ours = [], []
    for magic, codec in CASES:
        rows = WITH_HEADERS if magic == 2 else ROWS
        for append_time_ms in (None, T + 99) if magic else (None,):
            questions.append(building(magic, codec, rows, append_time_ms=append_time_ms, offset=40))
            ours.append(
                build_batch(rows, codec=codec, magic=magic, base_offset=40, append_time_ms=append_time_ms,
                            timestamp_type=0 if append_time_ms is None else 1)
            )  # fmt: skip
    built = ask(questions)
    again = ask([reading(data) for _, data in built])
    for (_, theirs), mine, (went_well, text) in zip(built, ours, again, strict=True):
        assert went_well, text.decode()
        assert text.decode() == said(theirs) == said(mine)
        if not next(batches(mine)).is_compressed:
            assert mine == theirs


@pytest.mark.req("DC-9", "DC-10", "DC-11", "DC-12", "DC-13", "DC-14")
def test_batches_are_converted_down_as_kafka_does(ask: Ask) -> None:
    rng = random.Random(1)
    questions: list[bytes] = []
    ours: list[bytes] = []
    stats: list[str] = []
    for target in (0, 1, 2):
        for _ in range(40):
            data, offset = b"", rng.randrange(100)
            for _ in range(rng.randrange(1, 5)):
                magic = rng.choice((0, 1, 2, 2))
                codec = rng.choice(CODECS[:4])
                rows = rng.sample(WITH_HEADERS if magic == 2 else ROWS, rng.randrange(1, 4))
                if magic == 2 and rng.random() < 0.2:
                    data += build_marker(5, 0, committed=True, coordinator_epoch=1, timestamp=T, base_offset=offset)
                    offset += 1
                append_time = magic > 0 and rng.random() < 0.3
                data += build_batch(
                    rows, codec=codec, magic=magic, base_offset=offset, timestamp_type=int(append_time),
                    append_time_ms=T + 5 if append_time else None,
                )  # fmt: skip
                offset += len(rows)
            first_offset = rng.randrange(offset + 1)
            questions += [down(data, target, first_offset), b"S"]
            converted = down_convert(batches(data), target, first_offset=first_offset)
            ours.append(converted.data)
            stats.append(f"{converted.stats.temporary_memory_bytes} {converted.stats.records_converted}")
    found = ask(questions)
    for mine, numbers, theirs, their_numbers in zip(ours, stats, found[::2], found[1::2], strict=True):
        assert theirs[0], theirs[1].decode()
        assert said(mine) == said(theirs[1])
        assert numbers == their_numbers[1].decode()
        if not any(view.is_compressed for view in batches(mine)):
            assert mine == theirs[1]


def test_kafka_reads_what_we_convert_up(ask: Ask) -> None:
    converted = [
        up_convert(batches(build_batch(ROWS, codec=codec, magic=magic)), base_offset=50, append_time_ms=append_time_ms)
        for magic, codec in CASES if magic < 2 for append_time_ms in (None, T)
    ]  # fmt: skip
    for data, (went_well, text) in zip(converted, ask([reading(data) for data in converted]), strict=True):
        assert went_well and text.decode() == said(data)
        records = [record for view in batches(data) for record in view.records()]
        assert [(r.offset, r.key, r.value) for r in records] == [(50 + n, row[1], row[2]) for n, row in enumerate(ROWS)]


def test_transaction_markers_are_kafkas_byte_for_byte(ask: Ask) -> None:
    questions, ours = [], []
    for committed in (True, False):
        questions.append(b"M" + struct.pack(">qhbiqqi", 77, 5, committed, 3, T, 1234, 6))
        ours.append(
            build_marker(77, 5, committed=committed, coordinator_epoch=3, timestamp=T, base_offset=1234, leader_epoch=6)
        )
    assert [answer[1] for answer in ask(questions)] == ours
