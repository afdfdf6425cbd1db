"""kafka-dump-log beside Kafka's DumpLogSegments: whole processes, output to a file, in turn; outputs compared.

``python -m benchmarks.dump_log``, in the environment where the package is installed. Needs Java and Kafka's jars (see
CONTRIBUTING.md). The logs are those of a real broker (``dump_log_files``), made on the first run and kept: 1,000,000
records of about 100 bytes, plain, lz4 and zstd, and 500,000 commits in __consumer_offsets. Then the peak memory over
generated segments of 2 GiB, plain and compressed, and the start on an empty file.

``--rounds N`` instead of 5, ``--only TEXT`` for the runs whose title contains it, ``--records N`` instead of a million.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.dump_log_files import CODECS, OFFSETS, SEGMENT, grown, logs
from benchmarks.timing import RELEASE, Cost, cost, in_turn, kafka_command, median, script, table

MIB = 1024 * 1024
LARGE_BYTES = 2 * 1024 * MIB
MEMORY_BYTES = 150 * MIB
START_S = 0.15


class Case(NamedTuple):
    """A run of both tools over ``files``. ``ours`` are further options of ours; ``bar`` is the ratio to reach."""

    title: str
    options: list[str]
    files: list[Path]
    bar: float
    ours: tuple[str, ...] = ()
    same_output: bool = True


def cases(files: dict[str, Path]) -> list[Case]:
    """Every run that has a bar."""
    kinds = (("--print-data-log", 4), ("--deep-iteration", 5), ("", 3))
    found = [
        Case(f"{kind or 'batches only'}, {codec}", [kind] if kind else [], [files[codec]], bar)
        for kind, bar in kinds
        for codec in CODECS
    ]
    found.append(Case("--offsets-decoder", ["--offsets-decoder"], [files[OFFSETS]], 4))
    found.append(Case("-o jsonl beside Kafka's text", ["--print-data-log"], [files["none"]], 2, ("-o", "jsonl"), False))
    both = [files[codec] for codec in CODECS[1:]]
    found.append(Case("--jobs 2, two files", ["--deep-iteration"], both, 5, ("--jobs", "2")))
    found.append(Case("--jobs 2, one file, none", ["--print-data-log"], [files["none"]], 4, ("--jobs", "2")))
    return found


def compare(case: Case, rounds: int, folder: Path) -> list[str]:
    """A row of the table; stops if the outputs differ."""
    to_ours, to_kafkas = folder / "ours", folder / "kafkas"
    arguments = [*case.options, "--files", ",".join(map(str, case.files))]
    ours = [script("kafka-dump-log"), *arguments, *case.ours]
    kafkas = kafka_command("org.apache.kafka.tools.DumpLogSegments", *arguments)
    found = in_turn({"ours": lambda: cost(ours, to=to_ours), "kafka": lambda: cost(kafkas, to=to_kafkas)}, rounds)
    if case.same_output and not filecmp.cmp(to_ours, to_kafkas, shallow=False):
        raise SystemExit(f"{case.title}: the outputs differ")
    mine, theirs = median(found["ours"]), median(found["kafka"])
    ratio = theirs.wall_s / mine.wall_s
    row = [
        case.title, _spread(found["ours"]), _spread(found["kafka"]), f"{ratio:.1f}", f"{case.bar:.0f}",
        "" if ratio >= case.bar else "MISSED",
        f"{theirs.cpu_s / mine.cpu_s:.1f}", f"{mine.peak_bytes / MIB:.0f}", f"{theirs.peak_bytes / MIB:.0f}",
    ]  # fmt: skip
    print("  ".join(row), file=sys.stderr, flush=True)
    return row


def _spread(costs: list[Cost]) -> str:
    walls = [each.wall_s for each in costs]
    return f"{median(costs).wall_s:.2f} ({min(walls):.2f}-{max(walls):.2f})"


def large(files: dict[str, Path], only: str) -> list[list[str]]:
    """Peak memory over large segments, every record printed."""
    rows = []
    for codec in ("none", "lz4"):
        title = f"2 GiB {codec}, --print-data-log"
        if only in title:
            log = grown(files[codec], LARGE_BYTES)
            found = cost([script("kafka-dump-log"), "--print-data-log", "--files", str(log)], to=Path(os.devnull))
            missed = "" if found.peak_bytes < MEMORY_BYTES else "MISSED"
            rows.append([title, f"{found.wall_s:.1f}", f"{found.peak_bytes / MIB:.0f}", missed])
            print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    return rows


def start(rounds: int, folder: Path) -> list[str]:
    """The start on an empty log."""
    empty = folder / SEGMENT
    empty.touch()
    ours = [script("kafka-dump-log"), "--files", str(empty)]
    kafkas = kafka_command("org.apache.kafka.tools.DumpLogSegments", "--files", str(empty))
    found = in_turn({"ours": lambda: cost(ours), "kafka": lambda: cost(kafkas)}, rounds)
    mine, theirs = median(found["ours"]), median(found["kafka"])
    missed = "" if mine.wall_s < START_S else "MISSED"
    return ["empty file", f"{mine.wall_s:.3f}", f"{theirs.wall_s:.3f}", f"{theirs.wall_s / mine.wall_s:.1f}", missed]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    files = logs(options.records)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [compare(case, options.rounds, folder) for case in cases(files) if options.only in case.title]
        starts = [start(options.rounds, folder)] if options.only in "empty file" else []
        peaks = large(files, options.only)
    if rows:
        head = ["run", "ours s", f"Kafka {RELEASE} s", "times faster", "bar", "", "less CPU", "MiB", "MiB Kafka"]
        print(table(head, rows), end="\n\n")
    if starts:
        print(table(["start", "ours s", f"Kafka {RELEASE} s", "times faster", ""], starts), end="\n\n")
    if peaks:
        print(table(["memory", "s", f"MiB (bar {MEMORY_BYTES // MIB})", ""], peaks))


if __name__ == "__main__":
    main()
