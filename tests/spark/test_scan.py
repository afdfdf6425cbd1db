"""Every batch of every golden segment, as Kafka's own dump tool described it; damage and live files as rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the Spark packages are not installed")

from kafka_tools.records.build import build_batch
from kafka_tools.spark.columns.batches import record_batches
from kafka_tools.spark.columns.tables import BATCH_COLUMNS
from kafka_tools.spark.options import parse_options
from kafka_tools.spark.segments import Range, segments
from tests.corpus.golden import case, files
from tests.spark.kafka_says import dumped


def rows_of(range_: Range, **options: str) -> list[dict[str, Any]]:
    parsed = parse_options({"path": range_.log_dir, **options}, BATCH_COLUMNS)
    return [row for batch in record_batches(range_, parsed) for row in batch.to_pylist()]


def whole(path: Path, *, last_segment: bool = True, size: int | None = None) -> Range:
    size = path.stat().st_size if size is None else size
    base = int(path.name.split(".")[0]) if path.name[0].isdigit() else 0
    topic, _, number = path.parent.name.rpartition("-")
    return Range(topic, int(number), str(path.parent.parent), str(path), base, 0, size, size, last_segment)


def batch(base_offset: int, count: int = 3, size: int = 10, **settings: Any) -> bytes:
    records = [(1_700_000_000_000 + base_offset + n, b"key", b"v" * size, ()) for n in range(count)]
    return build_batch(records, base_offset=base_offset, **settings)


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    path = tmp_path / "orders-0" / "00000000000000000000.log"
    path.parent.mkdir()
    return path


def test_kafkas_dump_of_every_golden_segment_agrees() -> None:
    compared = 0
    for path, expected in dumped().items():
        found = [row for row in rows_of(whole(path), countLegacy="true") if row["magic"] is not None]
        if "corrupt-" in str(path):
            found = found[: len(expected)]  # Kafka's tool ends at a length that cannot be, we go on behind it
        assert [row["position"] for row in found] == [each["position"] for each in expected], path
        for row, each in zip(found, expected, strict=True):
            compared += 1
            seen = {
                "position": row["position"],
                "size": row["size_bytes"],
                "magic": row["magic"],
                "codec": row["codec"],
                "valid": row["crc_ok"],
                "last_offset": row["last_offset"],
                "time": -1 if row["max_timestamp_ms"] is None else row["max_timestamp_ms"],
                "records": row["record_count"],
            }
            if each["magic"] == 2:
                seen |= {
                    "base_offset": row["base_offset"],
                    "producer_id": row["producer_id"],
                    "producer_epoch": row["producer_epoch"],
                    "base_sequence": row["base_sequence"],
                    "last_sequence": row["last_sequence"],
                    "leader_epoch": row["leader_epoch"],
                    "transactional": row["is_transactional"],
                    "control": row["is_control"],
                }
            for name, value in each.items():
                if value is not None and each["magic"] <= 2:
                    assert seen[name] == value, (path, name)
    assert compared > 4000


def test_clean_segments_have_no_damage() -> None:
    clean = [path for path in files(".log") if "corrupt-" not in str(path) and "killed" not in str(path)]
    assert len(clean) > 200
    for path in clean:
        assert [row for row in rows_of(whole(path)) if row["damage"]] == [], path


@pytest.mark.parametrize(
    ("name", "kind", "severity", "position"),
    [
        ("flip-record-byte-none43", "crc-mismatch", "error", 3662),
        ("flip-crc-none43", "crc-mismatch", "error", 3662),
        ("flip-record-byte-gz43", "crc-mismatch", "error", 760),
        ("codec-6-none43", "unknown-codec", "error", 3662),
        ("record-count-none43", "bad-count", "error", 3662),
        ("record-count-zstd43", "bad-count", "error", 295),
        ("last-offset-delta-none43", "offset-order", "error", 3662),
        ("offset-back-none43", "offset-order", "error", 3662),
        ("offset-gap-none43", "offset-order", "error", 3662),
        ("swapped-batches-none43", "offset-order", "error", 3662),
        ("magic-3-none43", "unknown-magic", "error", 3662),
        ("magic-255-none43", "unknown-magic", "error", 3662),
        ("negative-length-none43", "bad-length", "error", 3662),
        ("tiny-length-none43", "bad-length", "error", 3662),
        ("huge-length-none43", "bad-length", "error", 3662),
        ("truncated-batch-none43", "torn-tail", "warning", 11296),
        ("truncated-header-none43", "torn-tail", "warning", 11296),
        ("truncated-batch-m1gz", "torn-tail", "warning", 4063),
        ("garbage-tail-none43", "torn-tail", "warning", 14286),
        ("garbage-tail-m0none", "bad-length", "error", 4451),
        ("zero-tail-none43", "zero-tail", "warning", 14286),
        ("zero-tail-short-none43", "zero-tail", "warning", 14286),
        ("zero-tail-m1gz", "zero-tail", "warning", 4905),
    ],
)
def test_each_planted_damage_is_found_in_its_place(name: str, kind: str, severity: str, position: int) -> None:
    log_dir = case(f"corrupt-{name}").cwd
    damaged = [row for each in segments(str(log_dir), ()) for row in rows_of(each) if row["damage"]]
    assert [(row["damage"], row["severity"], row["position"]) for row in damaged] == [(kind, severity, position)]
    assert damaged[0]["detail"] and "\n" not in damaged[0]["detail"]


def test_the_batches_after_a_damaged_stretch_are_read(segment: Path) -> None:
    first, middle, last = batch(0), batch(3), batch(6)
    hurt = middle[:8] + (-5).to_bytes(4, "big", signed=True) + middle[12:]
    segment.write_bytes(first + hurt + last)
    rows = rows_of(whole(segment))
    assert [row["base_offset"] for row in rows] == [0, None, 6]
    assert (rows[1]["position"], rows[1]["size_bytes"]) == (len(first), len(hurt))


def test_a_torn_tail_is_worse_where_another_segment_follows(segment: Path) -> None:
    segment.write_bytes(batch(0) + batch(3)[:-5])
    assert rows_of(whole(segment))[1]["severity"] == "warning"
    assert rows_of(whole(segment, last_segment=False))[1]["severity"] == "error"


def test_a_segment_that_is_gone_is_a_row(segment: Path) -> None:
    rows = rows_of(whole(segment, size=100))
    assert [(row["damage"], row["severity"], row["file"]) for row in rows] == [("vanished", "info", str(segment))]


def test_what_is_written_after_planning_belongs_to_the_next_run(segment: Path) -> None:
    segment.write_bytes(batch(0))
    planned = whole(segment)
    segment.write_bytes(batch(0) + batch(3))
    assert [row["base_offset"] for row in rows_of(planned)] == [0]


def test_a_batch_that_was_half_written_at_planning_is_no_damage(segment: Path) -> None:
    segment.write_bytes(batch(0) + batch(3)[:30])
    planned = whole(segment)
    segment.write_bytes(batch(0) + batch(3))
    rows = rows_of(planned)
    assert [(row["damage"], row["severity"]) for row in rows] == [(None, None), ("growing", "info")]


def test_a_segment_that_shrank_is_a_row(segment: Path) -> None:
    segment.write_bytes(batch(0) + batch(3))
    planned = whole(segment)
    segment.write_bytes(batch(0))
    rows = rows_of(planned)
    assert [(row["damage"], row["severity"]) for row in rows] == [(None, None), ("shrunk", "info")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_segment_that_may_not_be_read_is_a_row(segment: Path) -> None:
    segment.write_bytes(batch(0))
    segment.chmod(0)
    assert [row["damage"] for row in rows_of(whole(segment))] == ["unreadable"]


def test_an_offset_below_the_segments_own_is_damage(segment: Path) -> None:
    path = segment.with_name("00000000000000000100.log")
    path.write_bytes(batch(7))
    assert [row["damage"] for row in rows_of(whole(path))] == ["offset-below-segment"]


def test_only_the_columns_asked_for_are_made_in_that_order(segment: Path) -> None:
    segment.write_bytes(batch(0, codec="zstd") + batch(3))
    rows = rows_of(whole(segment), columns="codec, base_offset")
    assert rows == [{"codec": "zstd", "base_offset": 0}, {"codec": "none", "base_offset": 3}]
    assert list(rows[0]) == ["codec", "base_offset"]


def test_without_the_crc_check_the_column_is_null(segment: Path) -> None:
    segment.write_bytes(batch(0)[:-1] + b"?")
    assert rows_of(whole(segment))[0]["crc_ok"] is False
    row = rows_of(whole(segment), checkCrc="false")[0]
    assert (row["crc_ok"], row["damage"]) == (None, None)


def test_times_that_spark_cannot_show_are_null_beside_the_raw_number(segment: Path) -> None:
    def at(offset: int, time_ms: int) -> bytes:
        return build_batch([(time_ms, None, b"v", ())], base_offset=offset)

    last_shown, first_hidden = 253_402_300_799_999, 253_402_300_800_000
    segment.write_bytes(at(0, -1) + at(1, last_shown) + at(2, first_hidden) + at(3, 2**63 - 1))
    rows = rows_of(whole(segment))
    assert [row["max_timestamp_ms"] for row in rows] == [-1, last_shown, first_hidden, 2**63 - 1]
    assert [row["max_timestamp"] is None for row in rows] == [True, False, True, True]
    assert rows[1]["max_timestamp"].isoformat() == "9999-12-31T23:59:59.999000+00:00"


def test_compressed_batches_of_magic_1_are_opened_for_their_count_only_when_asked(segment: Path) -> None:
    segment.write_bytes(batch(5, count=4, magic=1, codec="gzip"))
    closed, opened = rows_of(whole(segment))[0], rows_of(whole(segment), countLegacy="true")[0]
    assert (closed["base_offset"], closed["last_offset"], closed["record_count"]) == (None, 8, None)
    assert (opened["base_offset"], opened["last_offset"], opened["record_count"]) == (5, 8, 4)


@pytest.mark.parametrize("claimed", ["into the next batch", "over the next batch"])
def test_a_wrong_length_within_the_file_hides_no_batch(segment: Path, claimed: str) -> None:
    parts = [batch(3 * number) for number in range(5)]
    size = len(parts[0])
    wrong = size + 20 if claimed == "into the next batch" else 2 * size + 7
    hurt = parts[1][:8] + (wrong - 12).to_bytes(4, "big") + parts[1][12:]
    segment.write_bytes(parts[0] + hurt + b"".join(parts[2:]))
    rows = rows_of(whole(segment))
    assert [(row["position"], row["damage"], row["size_bytes"]) for row in rows] == [
        (0, None, size),
        (size, "bad-length", size),
        *((n * size, None, size) for n in (2, 3, 4)),
    ]
    assert f"a complete batch begins within it at {2 * size}" in rows[1]["detail"]
