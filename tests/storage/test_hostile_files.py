"""Every reader of files on disk on damaged ones: findings or one-line errors, whatever the bytes, never anything else.

Every golden file up to 8 KiB is cut at every byte, larger ones at every byte of their first and last batch and of every
batch header (of each entry's start, for files of entries), and 200 seeded bit flips are made in each. By default a
sample of that, drawn anew for every file from the seed; all of it, with its figures, with KAFKA_TOOLS_THOROUGH=1.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import shutil
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_tools.clock import ManualClock
from kafka_tools.errors import LogError
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.build import build_batch
from kafka_tools.storage import checkpoints, indexes, names, snapshots
from kafka_tools.storage.check import check_file, check_log_dir, check_partition, check_segment
from kafka_tools.storage.findings import KINDS, SEVERITIES, Finding
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog
from kafka_tools.storage.segment import Segment
from tests.corpus.golden import golden_root

SEED = 20250321
THOROUGH = bool(os.environ.get("KAFKA_TOOLS_THOROUGH"))
FLIPS = 200 if THOROUGH else 2
CUTS = 1 << 30 if THOROUGH else 2
WHOLE_BYTES = 8 * 1024

TEXT_READERS: dict[str, Callable[[str], object]] = {
    names.LEADER_EPOCHS: snapshots.read_leader_epochs,
    names.PARTITION_METADATA: snapshots.read_partition_metadata,
    names.META_PROPERTIES: checkpoints.read_meta_properties,
    names.QUORUM_STATE: checkpoints.read_quorum_state,
    **dict.fromkeys(names.OFFSET_CHECKPOINTS, checkpoints.read_offset_checkpoint),
}


def originals() -> list[Path]:
    """Every file that a broker wrote, each contents once for each kind of file."""
    found: dict[tuple[str, str], Path] = {}
    for path in sorted(golden_root().glob("*/data/**/*")):
        if path.is_file() and path.stat().st_size:
            found.setdefault((path.suffix or path.name, hashlib.sha256(path.read_bytes()).hexdigest()), path)
    return list(found.values())


def places(path: Path, data: bytes) -> set[int]:
    """Where a file is cut."""
    if len(data) <= WHOLE_BYTES:
        return set(range(len(data)))
    if path.suffix not in (names.LOG, names.CHECKPOINT):
        return set(range(200)) | set(range(len(data) - 200, len(data))) | set(range(0, len(data), 61))
    views = list(batches(data, strict=False))
    if not views:
        return set(range(200))
    chosen = {view.position + byte for view in views for byte in range(62)}
    for view in (views[0], views[-1]):
        chosen |= set(range(view.position, view.position + view.size_bytes))
    return {place for place in chosen if place < len(data)}


def damaged(path: Path, data: bytes) -> Iterator[bytes]:
    rng = random.Random(f"{SEED} {path.relative_to(golden_root())}")
    cuts = sorted(places(path, data))
    for cut in cuts if len(cuts) <= CUTS else rng.sample(cuts, CUTS):
        yield data[:cut]
    for _ in range(FLIPS):
        changed = bytearray(data)
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        yield bytes(changed)


def is_finding(finding: Finding) -> bool:
    return (
        type(finding) is Finding
        and finding.kind in KINDS
        and finding.severity in SEVERITIES
        and "\n" not in str(finding)
        and bool(finding.text)
    )


def read_strictly(path: str, name: str) -> None:
    """Everything else that reads such a file. Raises LogError."""
    suffix = os.path.splitext(name)[1]
    if name in TEXT_READERS:
        TEXT_READERS[name](path)
    elif suffix in (names.LOG, names.CHECKPOINT):
        with Segment(path) as segment:
            for item in segment.batches(strict=True):
                assert isinstance(item, BatchView)
                for _ in item.records():
                    pass
    elif suffix == names.INDEX:
        list(indexes.read_offset_index(path, 0))
    elif suffix == names.TIME_INDEX:
        list(indexes.read_time_index(path, 0))
    elif suffix == names.TXN_INDEX:
        list(indexes.read_txn_index(path))
    elif suffix == names.SNAPSHOT:
        snapshots.read_producer_snapshot(path)


def siblings(path: Path) -> list[Path]:
    """What lies beside a file that it is compared with."""
    name = names.parse_file_name(path.name)
    if name is None or name.state or path.name.count(".") != 1:
        return [other for other in path.parent.iterdir() if other.is_file() and other.stat().st_size < 200_000]
    stem = path.name.split(".")[0]
    return [other for other in path.parent.iterdir() if other.name.startswith(stem) and other.is_file()]


@pytest.mark.timeout(0 if THOROUGH else 300)
def test_no_reader_has_more_to_say_of_damage_than_findings_and_lines(tmp_path: Path) -> None:
    inputs = 0
    kinds: Counter[str] = Counter()
    lines = 0
    slowest = 0.0
    for number, original in enumerate(originals()[:: 1 if THOROUGH else 3]):
        directory = tmp_path / "logs" / (original.parent.name if original.parent.name != "data" else "t-0")
        directory.mkdir(parents=True)
        for sibling in siblings(original):
            shutil.copy(sibling, directory)
        target = directory / original.name
        shutil.copy(original, target)
        for changed in damaged(original, original.read_bytes()):
            inputs += 1
            target.write_bytes(changed)
            os.utime(target, (0, 0))  # of a file that is being written checks take a second look, a while later
            began = time.process_time()
            found = list(check_partition(directory, records=True, most=50))
            if inputs % 7 == 0:
                found += check_file(target, records=True)
            try:
                read_strictly(str(target), target.name)
            except LogError as error:
                lines += 1
                assert "\n" not in str(error) and str(error)
            slowest = max(slowest, time.process_time() - began)
            assert all(map(is_finding, found)), found
            kinds.update(finding.kind for finding in found)
        if number % 10 == 0:
            assert all(map(is_finding, check_log_dir(tmp_path / "logs")))
        shutil.rmtree(tmp_path / "logs")
    print(f"{inputs} inputs, {sum(kinds.values())} findings, {lines} errors, slowest {slowest:.2f} s CPU")
    print(", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    assert inputs > (100_000 if THOROUGH else 1_000)
    assert len(kinds) > 20


@pytest.mark.timeout(0 if THOROUGH else 300)
def test_the_bundled_broker_opens_what_is_damaged_and_leaves_it_sound(tmp_path: Path) -> None:
    """After a crash it always opens; after a regular stop it may refuse, in one line. What it opened has no damage."""
    inputs = refused = 0
    for original in originals()[:: 1 if THOROUGH else 6]:
        name = names.parse_file_name(original.name)
        if (
            "corrupt-" in str(original)
            or original.parent.name.startswith("__cluster")
            or (name is None and original.name != names.LEADER_EPOCHS)
        ):
            continue
        if name is not None and name.suffix == names.CHECKPOINT:
            continue
        for number, changed in enumerate(damaged(original, original.read_bytes())):
            if THOROUGH and number % 40:
                continue
            inputs += 1
            for clean in (False, True):
                directory = tmp_path / "t-0"
                directory.mkdir()
                for sibling in siblings(original):
                    shutil.copy(sibling, directory)
                (directory / original.name).write_bytes(changed)
                try:
                    log = PartitionLog.open(str(directory), LogConfig(), ManualClock(), clean=clean)
                except LogError as error:
                    assert clean and "\n" not in str(error), (original, number)
                    refused += 1
                else:
                    log.close()
                    if not clean:
                        found = [finding for finding in check_partition(directory) if finding.is_damage]
                        # The CRC does not cover the leader epoch.
                        assert {finding.kind for finding in found} <= {"leader-epochs-mismatch"}, (original, found)
                shutil.rmtree(directory)
    print(f"{inputs} inputs, {refused} refused after a regular stop")
    assert inputs > (10_000 if THOROUGH else 200)


# What a file claims costs nothing


def peak_bytes(work: Callable[[], object]) -> int:
    """The most memory that ``work`` held at once."""
    work()  # what is imported and compiled on first use does not count
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def hostile() -> list[tuple[str, bytes]]:
    """(file name, bytes): small files that claim to be large ones."""
    huge = (2**31 - 1).to_bytes(4, "big")
    header = bytes(8) + huge + bytes(4) + b"\x02"
    batch = bytearray(bytes(8) + (49).to_bytes(4, "big") + bytes(4) + b"\x02" + bytes(44))
    counted = bytes(batch[:57]) + huge  # 2147483647 records in no bytes
    wrapper = bytes(8) + (30).to_bytes(4, "big") + bytes(4) + b"\x01\x01" + bytes(8) + b"\xff" * 4 + huge + bytes(8)
    name = f"{0:020d}"
    return [
        (name + ".log", header + bytes(3)),
        (name + ".log", header + bytes(80)),
        (name + ".log", counted),
        (name + ".log", wrapper),
        (name + "-0000000001.checkpoint", header + bytes(80)),
        (name + ".snapshot", b"\x00\x01" + bytes(4) + huge + bytes(10)),
        ("leader-epoch-checkpoint", b"0\n2147483647\n0 0\n"),
        ("replication-offset-checkpoint", b"0\n2147483647\na 0 0\n"),
        ("quorum-state", b"[" * 20),
    ]


@pytest.mark.parametrize(("name", "data"), hostile(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_small_file_that_claims_gigabytes_costs_nothing(name: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)

    def work() -> None:
        assert [finding for finding in check_file(path, records=True) if finding.is_damage]
        with contextlib.suppress(LogError):
            read_strictly(str(path), name)

    assert peak_bytes(work) < 300_000


def test_memory_does_not_grow_with_what_is_wrong(tmp_path: Path) -> None:
    """Half a megabyte of rubbish in every file of a segment: no list of findings, entries or batches is ever held."""
    rng = random.Random(SEED)
    directory = tmp_path / "t-0"
    directory.mkdir()
    for suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot"):
        (directory / f"{0:020d}{suffix}").write_bytes(rng.randbytes(500_000))
    counts: list[int] = []
    assert peak_bytes(lambda: counts.append(sum(1 for _ in check_partition(directory, records=True)))) < 12_000_000
    assert counts[0] == counts[1] > 1000, counts


def test_a_batch_that_unpacks_to_gigabytes_is_a_finding(tmp_path: Path) -> None:
    bomb = bytearray(build_batch([(1, None, bytes(260 << 20), ())], codec="zstd"))
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(bomb)
    assert path.stat().st_size < 100_000
    (finding,) = (finding for finding in check_segment(path, records=True) if finding.is_damage)
    assert (finding.kind, finding.severity) == ("large-records", "warning")
    assert str(256 << 20) in finding.text
