"""kafka-dump-log beside Kafka 4.3.1's DumpLogSegments: whole processes, output to a file, in turn; outputs compared.

``python -m benchmarks.dump_log [--records N] [--rounds N]``, in the environment where the package is installed. Needs
Java and Kafka's jars (see CONTRIBUTING.md). The logs are written by our own builder, whose batches the tests compare
with a broker's to the byte: 16 KiB batches of records of about 100 bytes.
"""

from __future__ import annotations

import argparse
import filecmp
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.timing import RELEASE, Cost, kafka_command, medians, script, table
from kafka_tools.protocol.codec import encode_versioned
from kafka_tools.protocol.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from kafka_tools.records.build import Row, build_batch

START_MS = 1_700_000_000_000
BATCH_RECORDS = 140
OFFSETS_BATCH_RECORDS = 12
TIMEOUT_S = 600
CODECS = ("none", "lz4", "zstd")


def ordinary(rng: random.Random) -> Iterator[Row]:
    """Records of about 100 bytes that compress as text does."""
    words = [bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 9))) for _ in range(500)]
    values = [b" ".join(rng.choices(words, k=14))[:88] for _ in range(20_000)]
    now = START_MS
    while True:
        now += rng.randint(0, 3)
        yield now, b"key-%08d" % rng.randrange(10**8), rng.choice(values), ()


def offset_commits(rng: random.Random) -> Iterator[Row]:
    """Records of ``__consumer_offsets``: 200 groups over 20 topics of 12 partitions."""
    for now in range(START_MS, START_MS + 10**9):
        key = OffsetCommitKey(
            group=f"group-{rng.randrange(200)}", topic=f"topic-{rng.randrange(20)}", partition=rng.randrange(12)
        )
        value = OffsetCommitValue(offset=rng.randrange(10**9), leader_epoch=rng.randrange(5), commit_timestamp=now)
        yield now, encode_versioned(key, 0), encode_versioned(value, 3), ()


def write_log(folder: Path, rows: Iterator[Row], count: int, batch_records: int, codec: str = "none") -> Path:
    """A segment of ``count`` records in a new folder."""
    folder.mkdir()
    path = folder / "00000000000000000000.log"
    with path.open("wb") as file:
        for base in range(0, count, batch_records):
            batch = [next(rows) for _ in range(min(batch_records, count - base))]
            file.write(build_batch(batch, base_offset=base, codec=codec, leader_epoch=0))
    return path


def contestant(command: list[str], to: Path) -> Callable[[], Cost]:
    """Runs ``command`` with its output in a file."""

    def measure() -> Cost:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with to.open("wb") as file:
            start = time.perf_counter()
            done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
            elapsed = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(f"{' '.join(command[-4:])} ended with {done.returncode}: {done.stderr.decode()[:2000]}")
        return Cost(elapsed, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)

    return measure


def main() -> None:
    """Print a table of all runs; stops if an output differs from Kafka's."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        ours, theirs = root / "ours.txt", root / "kafka.txt"
        cases = []
        for codec in CODECS:
            log = write_log(root / codec, ordinary(random.Random(1)), options.records, BATCH_RECORDS, codec)
            cases += [(f"{kind or 'batches only'}, {codec}", [kind] if kind else [], log)
                      for kind in ("--print-data-log", "--deep-iteration", "")]  # fmt: skip
        log = write_log(root / "offsets", offset_commits(random.Random(2)), options.records // 2, OFFSETS_BATCH_RECORDS)
        cases.append(("--offsets-decoder", ["--offsets-decoder"], log))
        for title, arguments, log in cases:
            costs = medians(
                {
                    "ours": contestant([script("kafka-dump-log"), *arguments, "--files", str(log)], ours),
                    "kafka": contestant(
                        kafka_command("org.apache.kafka.tools.DumpLogSegments", *arguments, "--files", str(log)), theirs
                    ),
                },
                options.rounds,
            )
            if not filecmp.cmp(ours, theirs, shallow=False):
                raise SystemExit(f"{title}: the outputs differ")
            us, them = costs["ours"], costs["kafka"]
            rows.append(
                (
                    title,
                    f"{us.wall_s:.2f}",
                    f"{them.wall_s:.2f}",
                    f"{them.wall_s / us.wall_s:.1f}",
                    f"{them.cpu_s / us.cpu_s:.1f}",
                )
            )
            print(f"{title}: {rows[-1][3]}", file=sys.stderr, flush=True)
    print(table(("run", "ours s", f"Kafka {RELEASE} s", "times faster", "times less CPU"), rows))


if __name__ == "__main__":
    main()
