"""Records as columns: every value against the plain reader of batches, on golden segments and on random logs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import xxhash

pytest.importorskip("pyarrow", reason="the Spark packages are not installed")

from kafka_tools.errors import CorruptBatch
from kafka_tools.protocol.enums import CODECS
from kafka_tools.records.batches import BatchView
from kafka_tools.records.build import build_batch
from kafka_tools.spark.columns.records import record_batches
from kafka_tools.spark.columns.tables import CONTENT_COLUMNS, RECORD_COLUMNS, spark_time
from kafka_tools.spark.cutting import cut
from kafka_tools.spark.options import RECORD_OPTIONS, parse_options
from kafka_tools.spark.segments import Range, segments
from kafka_tools.spark.xxh64 import SEED
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.segment import Segment
from tests.corpus.golden import case, files


def whole(path: Path, *, last_segment: bool = True) -> Range:
    size = path.stat().st_size
    topic, _, number = path.parent.name.rpartition("-")
    base = int(path.name.split(".")[0]) if path.name[0].isdigit() else 0
    log_dir = str(path.parent.parent)
    return Range(topic, int(number), log_dir, str(path), base, 0, size, size, last_segment)


def rows_of(range_: Range, **options: str) -> list[dict[str, Any]]:
    given = {"path": range_.log_dir, "content": "true", **options}
    parsed = parse_options(given, RECORD_COLUMNS, RECORD_OPTIONS, CONTENT_COLUMNS)
    return [row for batch in record_batches(range_, parsed) for row in batch.to_pylist()]


def slowly(path: Path) -> Iterator[dict[str, Any]]:
    """The same columns, one record at a time, from the readers that kafka-dump-log stands on."""
    with Segment(path) as segment:
        for view in segment.batches():
            assert not isinstance(view, Finding)
            for record in view.records():
                yield {
                    "position": view.file_position,
                    "offset": record.offset,
                    "timestamp_ms": record.timestamp,
                    "timestamp_us": spark_time(record.timestamp),
                    "timestamp_type": (None, "CreateTime", "LogAppendTime")[view.timestamp_type + 1],
                    "key_bytes": None if record.key is None else len(record.key),
                    "key_hash": hashed(record.key),
                    "value_bytes": None if record.value is None else len(record.value),
                    "value_hash": hashed(record.value),
                    "header_count": len(record.headers),
                    "headers_bytes": headers_bytes(record.headers),
                    "magic": view.magic,
                    "codec": CODECS[view.codec],
                    "leader_epoch": v2_only(view, view.partition_leader_epoch),
                    "producer_id": v2_only(view, view.producer_id),
                    "producer_epoch": v2_only(view, view.producer_epoch),
                    "sequence": v2_only(view, record.sequence),
                    "is_transactional": view.is_transactional,
                    "is_control": view.is_control,
                    "key": record.key,
                    "value": record.value,
                    "headers": [{"name": name, "value": value} for name, value in record.headers],
                    "damage": None,
                }


def hashed(data: bytes | None) -> int | None:
    if data is None:
        return None
    value = xxhash.xxh64_intdigest(data, SEED)
    return value - 2**64 if value >= 2**63 else value


def headers_bytes(headers: Any) -> int:
    def number(value: int) -> bytes:
        out, left = bytearray(), (value << 1) ^ (value >> 31)
        while left >= 0x80:
            out.append(left & 0x7F | 0x80)
            left >>= 7
        return bytes((*out, left))

    total = 0
    for name, value in headers:
        total += len(number(len(name.encode()))) + len(name.encode())
        total += len(number(-1 if value is None else len(value))) + len(value or b"")
    return total


def v2_only(view: BatchView, value: int) -> int | None:
    return value if view.magic >= 2 else None


def assert_same(found: list[dict[str, Any]], path: Path) -> int:
    expected = list(slowly(path))
    assert len(found) == len(expected), path
    for row, each in zip(found, expected, strict=True):
        moment = row.pop("timestamp")
        row["timestamp_us"] = None if moment is None else round(moment.timestamp() * 1000) * 1000
        assert {name: row[name] for name in each} == each, (path, each["offset"])
    return len(found)


@pytest.mark.req("SPARK-1")
def test_golden_segments_are_what_the_plain_reader_reads() -> None:
    compared = 0
    for path in files(".log"):
        if "corrupt-" not in str(path) and "killed" not in str(path) and path.stat().st_size < 2_000_000:
            compared += assert_same(rows_of(whole(path)), path)
    assert compared > 10_000


@pytest.mark.parametrize("seed", range(6))
def test_random_logs_are_what_the_plain_reader_reads(tmp_path: Path, seed: int) -> None:
    path = random_log(tmp_path, seed)
    found = rows_of(whole(path))
    assert assert_same([dict(row) for row in found], path) > 100
    parts = [row for part in cut(whole(path), 2048) for row in rows_of(part)]
    assert parts == found


def random_log(folder: Path, seed: int) -> Path:
    pick = random.Random(seed)
    path = folder / "orders-0" / f"{0:020d}.log"
    path.parent.mkdir(exist_ok=True)
    data, offset = bytearray(), 0
    for _ in range(60):
        records = []
        for _ in range(pick.choice((1, 3, 40))):
            headers = [("name", None), ("Ünï", b"v" * pick.randrange(200))][: pick.choice((0, 0, 1, 2))]
            key = pick.choice((None, b"", pick.randbytes(pick.randrange(40))))
            value = pick.choice((None, b"", pick.randbytes(pick.randrange(300))))
            records.append((pick.choice((0, 1_700_000_000_000, 2**60)) + pick.randrange(1000), key, value, headers))
        magic = 2 if seed else pick.choice((0, 1))
        if magic < 2:
            records = [(time, key, value, ()) for time, key, value, _ in records]
        data += build_batch(
            records,
            base_offset=offset,
            magic=magic,
            codec=pick.choice(("none", "gzip", "snappy", "lz4", "zstd")[: 5 if magic == 2 else 3]),
            timestamp_type=pick.choice((0, 1)) if magic == 2 else 0,
            producer_id=pick.choice((-1, 7)) if magic == 2 else -1,
            base_sequence=pick.choice((0, 2**31 - 3)) if magic == 2 else -1,
            transactional=magic == 2 and pick.random() < 0.3,
        )
        offset += len(records) + (pick.randrange(3) if magic == 2 else 0)
    path.write_bytes(data)
    return path


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    path = tmp_path / "orders-0" / f"{0:020d}.log"
    path.parent.mkdir()
    return path


def batch(base_offset: int, count: int = 3, **settings: Any) -> bytes:
    records = [(1_700_000_000_000 + base_offset + n, b"key", b"value", ()) for n in range(count)]
    return build_batch(records, base_offset=base_offset, **settings)


def test_a_damaged_batch_is_a_row_among_the_records(segment: Path) -> None:
    hurt = bytearray(batch(3))
    hurt[-3] ^= 1
    segment.write_bytes(batch(0) + hurt + batch(6) + batch(2, count=1) + batch(9))
    rows = rows_of(whole(segment), columns="offset,damage,position,value_bytes")
    size = len(batch(0))
    assert [(row["offset"], row["damage"]) for row in rows] == [
        *((n, None) for n in range(3)),
        (3, "crc-mismatch"),
        *((n, None) for n in range(6, 9)),
        (2, "offset-order"),
        (2, None),  # out of order, but its records can be read
        *((n, None) for n in range(9, 12)),
    ]
    assert rows[3]["position"] == size and rows[3]["value_bytes"] is None


def test_records_before_the_damage_within_a_batch_are_told(segment: Path) -> None:
    from kafka_tools.records.crc32c import crc32c

    hurt = bytearray(batch(0, count=5))
    at = hurt.rindex(b"value")
    hurt[at - 1] = 0x7F  # the last value claims more bytes than there are
    hurt[17:21] = crc32c(hurt[21:]).to_bytes(4, "big")
    segment.write_bytes(bytes(hurt) + batch(5))
    rows = rows_of(whole(segment), columns="offset,damage,detail")
    assert [(row["offset"], row["damage"]) for row in rows] == [
        *((n, None) for n in range(4)),
        (0, "unreadable-records"),
        *((n, None) for n in range(5, 8)),
    ]
    with pytest.raises(CorruptBatch):
        list(BatchView(bytes(hurt), 0).records())


def test_a_codec_that_cannot_be_read_here_is_damage_of_its_batches(
    segment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafka_tools.errors import UnsupportedCodec

    def missing(*arguments: object, **settings: object) -> bytes:
        raise UnsupportedCodec("zstd is not available")

    segment.write_bytes(batch(0) + batch(3, codec="zstd") + batch(6))
    monkeypatch.setattr("kafka_tools.records.batches.decompress", missing)
    monkeypatch.setattr("kafka_tools.records.columns.decompress_into", missing)
    rows = rows_of(whole(segment), columns="offset,damage,detail")
    assert [(row["offset"], row["damage"]) for row in rows] == [
        *((n, None) for n in range(3)),
        (3, "unreadable-records"),
        *((n, None) for n in range(6, 9)),
    ]
    assert rows[3]["detail"] == "zstd is not available"


def test_golden_damage_is_told_and_the_rest_is_read() -> None:
    for name, kind in (("flip-record-byte-none43", "crc-mismatch"), ("negative-length-none43", "bad-length")):
        log_dir = case(f"corrupt-{name}").cwd
        rows = [row for each in segments(str(log_dir), ()) for row in rows_of(each)]
        assert [(row["damage"], row["position"]) for row in rows if row["damage"]] == [(kind, 3662)]
        assert len(rows) > 50


def test_a_segment_that_vanished_is_a_row(segment: Path) -> None:
    segment.write_bytes(batch(0))
    range_ = whole(segment)
    segment.unlink()
    assert [(row["damage"], row["severity"]) for row in rows_of(range_)] == [("vanished", "info")]


def test_times_beyond_sparks_range_are_null_beside_the_raw_number(segment: Path) -> None:
    segment.write_bytes(build_batch([(time, None, None, ()) for time in (2**62, -(2**62), 0)]))
    rows = rows_of(whole(segment), columns="timestamp,timestamp_ms")
    assert [row["timestamp_ms"] for row in rows] == [2**62, -(2**62), 0]
    assert [row["timestamp"] is None for row in rows] == [True, True, False]


@pytest.mark.parametrize("columns", ["offset", "offset,value"])
def test_offsets_and_times_choose_records(segment: Path, columns: str) -> None:
    segment.write_bytes(b"".join(batch(n, count=10, codec="gzip") for n in range(0, 100, 10)))

    def offsets(**options: str) -> list[int]:
        return [row["offset"] for row in rows_of(whole(segment), columns=columns, **options)]

    start = 1_700_000_000_000
    assert offsets(minOffset="15", maxOffset="33") == list(range(15, 34))
    # In a batch of base offset 10 the times are those of its offsets.
    assert offsets(since=str(start + 15), until=str(start + 25)) == list(range(15, 25))
    assert offsets(minOffset="95", since=str(start + 97)) == [97, 98, 99]
    assert offsets(minOffset="200") == []


def test_large_contents_make_small_arrow_batches(segment: Path) -> None:
    records = [(1, None, bytes(3_000_000), ()) for _ in range(25)]
    segment.write_bytes(build_batch(records))
    options = {"path": "/x", "columns": "offset,value"}
    parsed = parse_options(options, RECORD_COLUMNS, RECORD_OPTIONS, CONTENT_COLUMNS)
    counts = [part.num_rows for part in record_batches(whole(segment), parsed)]
    assert sum(counts) == 25 and max(counts) <= 12


def test_internal_topics_are_decoded_into_columns() -> None:
    types: dict[str, set[str]] = {}
    committed = {}
    states = set()
    for path in files(".log"):
        topic = path.parent.name.rpartition("-")[0]
        if topic.startswith("__") and "corrupt-" not in str(path):
            for row in rows_of(whole(path)):
                types.setdefault(topic, set()).add(row["record_type"])
                if row["committed_offset"] is not None:
                    committed[row["group_id"], row["committed_topic"], row["committed_partition"]] = row["decoded"]
                    assert row["commit_timestamp_ms"] > 1_500_000_000_000
                if row["transaction_state"]:
                    states.add(row["transaction_state"])
                    assert row["transactional_id"] and row["transaction_producer_id"] >= 0
    assert "OffsetCommit" in types["__consumer_offsets"]
    assert {"TOPIC_RECORD", "PARTITION_RECORD", "LEADER_CHANGE"} <= types["__cluster_metadata"]
    assert types["__transaction_state"] >= {"TransactionLog"} and "CompleteCommit" in states
    assert committed


def test_transaction_markers_are_decoded_into_columns() -> None:
    markers = []
    for path in files(".log"):
        if "corrupt-" not in str(path) and "txn" in str(path):
            markers += [row for row in rows_of(whole(path)) if row["is_control"]]
    assert {row["record_type"] for row in markers} >= {"COMMIT", "ABORT"}
    assert all(row["coordinator_epoch"] is not None for row in markers if row["record_type"] in ("COMMIT", "ABORT"))


def test_secrets_of_the_cluster_are_masked() -> None:
    from kafka_tools.protocol.codec import encode
    from kafka_tools.protocol.stored.cluster_metadata import UserScramCredentialRecord
    from kafka_tools.spark.columns.internal_topics import decoder

    credential = UserScramCredentialRecord(name="alice", mechanism=1, salt=b"salt", stored_key=b"secret-key")
    decode = decoder("__cluster_metadata")
    assert decode is not None
    values = decode(None, b"\x01\x0b\x00" + encode(credential, 0))
    assert values["record_type"] == "USER_SCRAM_CREDENTIAL_RECORD"
    assert "alice" in values["decoded"] and "c2VjcmV0LWtleQ==" not in values["decoded"]


def test_rubbish_in_internal_topics_stays_null() -> None:
    from kafka_tools.spark.columns.internal_topics import COLUMNS, control_record, decoder

    pick = random.Random(5)
    for topic in ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"):
        decode = decoder(topic)
        assert decode is not None
        for _ in range(300):
            key = pick.choice((None, b"\x00\x01" + pick.randbytes(8), pick.randbytes(pick.randrange(12))))
            value = pick.choice((None, b"\x01" + pick.randbytes(9), pick.randbytes(pick.randrange(12))))
            assert set(decode(key, value)) <= set(COLUMNS)
            assert set(control_record(key, value)) <= set(COLUMNS)
