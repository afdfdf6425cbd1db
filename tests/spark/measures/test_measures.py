"""The audit's numbers against a slow count, record by record; estimates against the truth and their stated error."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy")
pytest.importorskip("pyarrow", reason="the Spark packages are not installed")
pytest.importorskip("pyspark", reason="the Spark packages are not installed")

import numpy as np

from kafka_tools.records.batches import batches
from kafka_tools.records.build import build_batch
from kafka_tools.records.chain_columns import HEADER
from kafka_tools.records.control import build_marker
from kafka_tools.spark.findings.compaction import reclaimable_bytes
from kafka_tools.spark.headers import Headers
from kafka_tools.spark.measures import records
from kafka_tools.spark.measures.batches import Digests
from kafka_tools.spark.measures.producers import FOLLOWED
from kafka_tools.spark.measures.sketches import Histogram, HotKeys, KeySample
from kafka_tools.spark.measures.times import HOUR_MS, Spans
from kafka_tools.spark.report.document import document
from tests.corpus.golden import golden_root
from tests.spark.one_process import audit_here
from tests.spark.planted import DAY_MS, NOW_MS, write

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def slow(folder: Path) -> dict[str, Any]:
    """What the documents say of a partition, computed in the plainest way."""
    counts: Counter[str] = Counter()
    sizes: dict[str, list[int]] = {name: [] for name in ("key", "value", "header", "record", "batch")}
    hours: Counter[int] = Counter()
    days: Counter[int] = Counter()
    newest: dict[bytes, tuple[int, int]] = {}
    stored: Counter[str] = Counter()
    plain: Counter[str] = Counter()
    for path in sorted(folder.glob("*.log")):
        data = path.read_bytes()
        for view in batches(data):
            codec = CODECS[view.codec]
            sizes["batch"].append(view.size_bytes)
            counts["batches"] += 1
            counts["records"] += view.record_count
            if view.max_timestamp != -1:
                hours[view.max_timestamp // HOUR_MS] += view.size_bytes
                days[view.max_timestamp // DAY_MS] += view.size_bytes
            if view.is_control:
                continue
            stored[codec] += view.size_bytes
            plain[codec] += 61 + len(view.body())
            for record in view.records():
                headers = 0
                for name, value in record.headers:
                    headers += len(name.encode()) + len(value or b"") + varint(len(name.encode())) + varint(
                        -1 if value is None else len(value)
                    )  # fmt: skip
                headers += varint(len(record.headers)) if record.headers else 0
                sizes["header"].append(headers)
                sizes["record"].append(len(record.key or b"") + len(record.value or b"") + headers)
                counts["null_keys"] += record.key is None
                counts["tombstones"] += record.key is not None and record.value is None
                if record.key is not None:
                    sizes["key"].append(len(record.key))
                    newest[record.key] = record.offset, sizes["record"][-1]
                if record.value is not None:
                    sizes["value"].append(len(record.value))
    kept = sum(size for _, size in newest.values())
    share = max(0.0, 1 - min(kept, sum(sizes["record"])) / max(1, sum(sizes["record"])))
    return {
        "counts": counts, "sizes": sizes, "hours": hours, "days": days, "keys": len(newest), "stored": stored,
        "plain": plain, "reclaimable": round(share * sum(stored.values())),
    }  # fmt: skip


def varint(number: int) -> int:
    """How many bytes a zig-zag varint takes."""
    raw = (number << 1) ^ (number >> 63)
    return max(1, -(-raw.bit_length() // 7))


def random_log(folder: Path, seed: int) -> None:
    """Several segments of batches of every codec, with what records may have: nulls, headers, odd sizes, old times."""
    rng = random.Random(seed)
    offset = 0
    for _ in range(rng.randint(1, 4)):
        found, base = [], offset
        for _ in range(rng.randint(1, 12)):
            rows = []
            for _ in range(rng.choice((1, 3, 40))):
                key = rng.choice((None, b"", b"k%d" % rng.randrange(60), rng.randbytes(rng.choice((7, 8, 33, 1500)))))
                value = rng.choice(
                    (None, b"", b"v" * rng.randrange(300), rng.randbytes(rng.choice((15, 16, 17, 4000))))
                )
                headers = tuple(
                    (rng.choice(("id", "ключ", "")), rng.choice((None, b"", b"x" * 90)))
                    for _ in range(rng.randrange(3))
                )
                rows.append((NOW_MS - rng.randrange(30 * DAY_MS), key, value, headers))
            found.append(build_batch(rows, base_offset=offset, codec=rng.choice(CODECS)))
            offset += len(rows)
        write(folder.parent, folder.name, found, base)


def percentile_fits(values: list[int], percent: int, said: int | None) -> bool:
    if not values:
        return said is None
    truth = sorted(values)[max(1, -(-len(values) * percent // 100)) - 1]
    return said is not None and abs(said - truth) <= Histogram.ERROR * truth


def check(log_dir: Path, folder: Path, range_bytes: int) -> None:
    expected = slow(folder)
    result = audit_here(log_dir, now_ms=NOW_MS, range_bytes=range_bytes)
    data = document(result)["data"]
    (topic,) = data["topics"]
    content = topic["content"]
    counts = expected["counts"]
    assert (topic["batches"], topic["records"]) == (counts["batches"], counts["records"])
    assert (content["null_keys"], content["tombstones"]) == (counts["null_keys"], counts["tombstones"])
    for name in ("key", "value", "header", "record"):
        said, values = content[f"{name}_bytes"], expected["sizes"][name]
        assert (said["count"], said["total_bytes"]) == (len(values), sum(values)), name
        assert (said["min_bytes"], said["max_bytes"]) == (min(values, default=None), max(values, default=None)), name
        for percent in (50, 90, 99):
            assert percentile_fits(values, percent, said[f"p{percent}_bytes"]), (name, percent)
    assert topic["batch_bytes"]["total_bytes"] == sum(expected["sizes"]["batch"])
    for name, span_ms in (("hours", HOUR_MS), ("days", DAY_MS)):
        found = {row["start_ms"] // span_ms: row["size_bytes"] for row in topic[name]["spans"]}
        assert all(expected[name][number] == size for number, size in found.items())
        assert sum(found.values()) + topic[name]["older_bytes"] == sum(expected[name].values())
    assert (content["distinct_keys"], content["keys_exact"]) == (expected["keys"], True)
    compression = {row["codec"]: (row["stored_bytes"], row["plain_bytes"]) for row in content["compression"]}
    assert compression == {codec: (expected["stored"][codec], expected["plain"][codec]) for codec in expected["plain"]}
    (row,) = result.partitions
    assert row.facts is not None
    assert reclaimable_bytes(row.facts) == (expected["reclaimable"] if counts["records"] else None)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("range_bytes", [1024, 1 << 26])
def test_random_logs_are_measured_as_a_slow_count_does(tmp_path: Path, seed: int, range_bytes: int) -> None:
    random_log(tmp_path / "t-0", seed)
    check(tmp_path, tmp_path / "t-0", range_bytes)


def test_batches_for_the_scalar_loop_are_found_among_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have more headers than the columns take; what lies between them is not read again and again."""
    many = tuple((f"h{n}", b"x") for n in range(70))
    made = [build_batch([(NOW_MS, b"k%d" % n, b"v", many if n % 40 == 7 else ())], base_offset=n) for n in range(300)]
    write(tmp_path, "orders-0", made)
    calls: list[int] = []
    decode = records.decode_headers

    def counted(buffer: bytes, chosen: Any, codec: int, arena: memoryview) -> Any:
        calls.append(len(chosen.position))
        return decode(buffer, chosen, codec, arena)

    monkeypatch.setattr(records, "decode_headers", counted)
    check(tmp_path, tmp_path / "orders-0", 1 << 20)
    assert sum(calls) < 300 * 10


@pytest.mark.parametrize("name", ["m2-none-43", "m2-zstd-39", "m2-gzip-22", "m2-snappy-11", "idem-43", "numbers-43"])
def test_golden_logs_are_measured_as_a_slow_count_does(name: str) -> None:
    log_dir = golden_root() / name / "data"
    (folder,) = (path for path in log_dir.iterdir() if path.is_dir())
    check(log_dir, folder, 4096)


@pytest.mark.parametrize("largest", [10, 100, 70_000, 2**31 - 1])
def test_percentiles_are_within_their_error(largest: int) -> None:
    rng = np.random.default_rng(largest)
    values = rng.integers(0, largest, 5000)
    parts = [Histogram() for _ in range(3)]
    for part, some in zip(parts, np.array_split(values, 3), strict=True):
        part.add_all(some)
    for part in parts[1:]:
        parts[0].add(part)
    assert (parts[0].count, parts[0].total) == (5000, int(values.sum()))
    for percent in (1, 25, 50, 90, 99, 100):
        assert percentile_fits(values.tolist(), percent, parts[0].percentile(percent))


def sample_of(hashes: Any, offsets: Any, sizes: Any) -> KeySample:
    sample = KeySample()
    sample.add_all(hashes, offsets, sizes, np.zeros(len(hashes), bool))
    return sample


def test_a_key_sample_is_the_same_in_whatever_order_it_is_added() -> None:
    rng = np.random.default_rng(5)
    hashes = rng.integers(0, 2**64, 20_000, dtype=np.uint64)[rng.integers(0, 20_000, 60_000)]
    offsets, sizes = np.arange(60_000), rng.integers(1, 200, 60_000)
    parts = np.array_split(np.arange(60_000), 5)
    totals = []
    for order in itertools.islice(itertools.permutations(parts), 0, 120, 23):
        whole = KeySample()
        for part in order:
            whole.add(sample_of(hashes[part], offsets[part], sizes[part]))
        totals.append((whole.distinct, whole.kept_bytes, whole.level))
    assert len(set(totals)) == 1
    newest: dict[int, int] = {}
    for value, size in zip(hashes.tolist(), sizes.tolist(), strict=True):
        newest[value] = size
    distinct, kept, level = totals[0]
    assert level > 0
    assert abs(distinct - len(newest)) < 3 * KeySample.ERROR * len(newest)
    assert abs(kept - sum(newest.values())) < 4 * KeySample.ERROR * sum(newest.values())


def test_hot_keys_are_never_counted_too_high_nor_missed_beyond_the_bound() -> None:
    rng = np.random.default_rng(6)
    hashes = rng.integers(0, 2**64, 40_000, dtype=np.uint64)
    hashes[rng.random(40_000) < 0.3] = 7
    hashes[rng.random(40_000) < 0.05] = 9
    truth = Counter(hashes.tolist())
    whole = HotKeys()
    for part in np.array_split(np.arange(40_000), 20):
        some = HotKeys()
        some.add_all(hashes[part], part, np.ones(len(part), np.int64), "f")
        whole.add(some)
    top = list(whole.top())
    assert [key.hash for key in top[:2]] == [7, 9]
    for key in top:
        assert truth[key.hash] - whole.missed <= key.records <= truth[key.hash]
    assert hashes[top[0].offset] == 7


def test_spans_keep_the_newest_in_any_order() -> None:
    rng = np.random.default_rng(7)
    times, sizes = rng.integers(0, 900 * HOUR_MS, 3000), rng.integers(1, 9, 3000)
    answers = []
    for parts in (1, 4, 9):
        whole = Spans(HOUR_MS, 100)
        for part in (
            rng.permutation(np.array_split(np.arange(3000), parts))
            if parts == 1
            else np.array_split(np.arange(3000), parts)
        ):
            some = Spans(HOUR_MS, 100)
            some.add_all(times[part], np.ones(len(part), np.int64), sizes[part])
            whole.add(some)
        answers.append((whole.rows(), whole.older))
    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0][0]) == 100
    assert sum(row[2] for row in answers[0][0]) + answers[0][1][1] == int(sizes.sum())


def test_digests_widen_without_losing_a_difference() -> None:
    one, two = Digests(), Digests()
    for digests, odd in ((one, None), (two, 77_777)):
        for start in range(0, 100_000, 5000):
            fields = np.zeros(5000, HEADER)
            fields["base_offset"] = np.arange(start, start + 5000)
            fields["crc"] = fields["base_offset"] % 97
            if odd is not None and start <= odd < start + 5000:
                fields["crc"][odd - start] += 1
            digests.add_all(Headers(fields["base_offset"], fields, None))
    assert len(one.stretches) <= Digests.CAPACITY
    found = one.first_difference(two, 0, 100_000)
    assert found is not None
    assert found[0] <= 77_777 < found[1]
    assert one.first_difference(two, 0, 70_000) is None


def producer_log(folder: Path, seed: int) -> dict[str, Any]:
    """Producers that write in turn, with transactions, gaps and repetitions; what a slow count says of them."""
    rng = random.Random(seed)
    state = {number: {"epoch": 0, "next": rng.choice((0, 2**31 - 3)), "open": None} for number in range(4)}
    told: dict[str, Any] = {"records": Counter(), "anomalies": [], "markers": Counter()}
    offset = 0
    started: set[int] = set()
    for _ in range(3):
        found, base = [], offset
        for _ in range(25):
            number = rng.randrange(4)
            producer = state[number]
            transactional = number >= 2
            if transactional and producer["open"] is not None and rng.random() < 0.3:
                marker = build_marker(
                    number, producer["epoch"], committed=True, coordinator_epoch=0, timestamp=NOW_MS, base_offset=offset
                )
                found.append(marker)
                producer["open"] = None
                told["markers"][number] += 1
                offset += 1
                continue
            first = producer["next"]
            if number in started and rng.random() < 0.15:
                ahead = rng.choice((1, 5, -1))
                first = (first + ahead) % 2**31
                if ahead > 0 or first:
                    told["anomalies"].append((offset, number, "gap" if ahead > 0 else "duplicate"))
            elif rng.random() < 0.1:
                producer["epoch"] += 1
                first = 0
            count = rng.randint(1, 3)
            rows = [(NOW_MS, b"k", b"v", ())] * count
            found.append(
                build_batch(
                    rows,
                    base_offset=offset,
                    producer_id=number,
                    producer_epoch=producer["epoch"],
                    base_sequence=first,
                    transactional=transactional,
                )
            )
            started.add(number)
            if transactional and producer["open"] is None:
                producer["open"] = offset
            producer["next"] = (first + count) % 2**31
            told["records"][number] += count
            offset += count
        write(folder.parent, folder.name, found, base)
    told["open"] = {number: producer["open"] for number, producer in state.items() if producer["open"] is not None}
    return told


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("range_bytes", [1024, 1 << 26])
def test_producers_are_followed_as_a_slow_count_does(tmp_path: Path, seed: int, range_bytes: int) -> None:
    told = producer_log(tmp_path / "t-0", seed)
    (row,) = audit_here(tmp_path, now_ms=NOW_MS, range_bytes=range_bytes).partitions
    assert row.facts is not None
    producers = row.facts.producers
    assert {each.producer_id: each.records for each in producers.top} == told["records"]
    assert {each.producer_id: each.markers for each in producers.top if each.markers} == told["markers"]
    assert {each.producer_id: each.opening.offset for each in producers.open if each.opening} == told["open"]
    assert [(each.offset, each.producer_id, each.way) for each in producers.anomalies] == told["anomalies"]
    assert producers.anomaly_count == len(told["anomalies"])


def test_more_producers_than_are_followed_are_told(tmp_path: Path) -> None:
    found = [
        build_batch([(NOW_MS, None, b"v", ())], base_offset=n, producer_id=n, producer_epoch=0, base_sequence=0)
        for n in range(FOLLOWED + 7)
    ]
    write(tmp_path, "t-0", found)
    (finding,) = (each for each in audit_here(tmp_path, now_ms=NOW_MS).findings if each.kind == "unfollowed")
    assert finding.text.startswith("7 producers were not tracked")


def test_the_same_directory_given_twice_counts_once(tmp_path: Path) -> None:
    write(tmp_path, "t-0", [build_batch([(NOW_MS, None, b"v", ())])])
    result = audit_here(tmp_path, Path(f"{tmp_path}/"), now_ms=NOW_MS)
    assert len(result.log_dirs) == len(result.partitions) == 1


def test_groups_and_transactional_ids_are_those_of_the_internal_topics() -> None:
    result = audit_here(golden_root() / "logdir-clean-43" / "data")
    data = document(result)["data"]
    assert all(row.facts.internal.unknown == 0 for row in result.partitions if row.facts)
    groups = {row["group"]: row for row in data["groups"]}
    assert groups["shop-simple"]["commits"] == 13
    assert groups["shop-simple"]["tombstones"] == 1
    assert {"pay-a", None} <= {row["transactional_id"] for row in data["producers"]}
