"""kafka-dump-log beside Kafka's own tool on files damaged at random: the same text, ending at the same place.

The golden files hold damage of every kind that somebody thought of; these hold what nobody thought of.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.commands import running
from kafka_tools.commands.logs.dump_log import PROGRAM, command
from kafka_tools.records.build import build_batch
from kafka_tools.storage import names
from tests.against_kafka.jars import NEWEST
from tests.corpus.golden import golden_root
from tests.dump.test_golden import output

RELEASE = NEWEST
MAIN = "org.apache.kafka.tools.DumpLogSegments"
MOST_BYTES = 60_000
OPTIONS = (
    (),
    ("--deep-iteration",),
    ("--print-data-log",),
    ("--print-data-log", "--skip-record-metadata"),
    ("--max-bytes", "700", "--deep-iteration"),
    ("--verify-index-only",),
)

JavaTool = Callable[..., subprocess.CompletedProcess[str]]


def damaged(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    at = rng.randrange(len(data))
    match rng.randrange(6):
        case 0:
            changed[at] ^= 1 << rng.randrange(8)
        case 1:
            for _ in range(5):
                changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case 2:
            del changed[at:]
        case 3:
            size = min(len(data) - at, rng.randrange(1, 200))
            changed[at : at + size] = bytes(size)
        case 4:
            changed[at:at] = rng.randbytes(rng.randrange(1, 40))
        case _:
            changed += bytes(rng.randrange(1, 100)) if rng.random() < 0.5 else rng.randbytes(rng.randrange(1, 100))
    return bytes(changed)


@pytest.mark.parametrize("seed", range(400 if os.environ.get("KAFKA_TOOLS_THOROUGH") else 100))
def test_damaged_files_are_shown_as_kafka_shows_them(seed: int, java_tool: JavaTool, tmp_path: Path) -> None:
    rng = random.Random(seed)
    originals = [
        path
        for path in sorted(golden_root().glob("*/data/*/*"))
        if path.suffix in (*names.PARTITION_SUFFIXES,) and 0 < path.stat().st_size < MOST_BYTES
        if "corrupt-" not in str(path)
    ]
    original = rng.choice(originals)
    stem = original.name.split(".", 1)[0]
    for sibling in original.parent.iterdir():
        if sibling.name.startswith(stem) and sibling.is_file():
            shutil.copy(sibling, tmp_path)
    path = tmp_path / original.name
    path.write_bytes(damaged(original.read_bytes(), rng))
    # An index is compared with its log: either of them may be shown.
    shown = rng.choice([path, path, tmp_path / f"{stem}.log"])
    arguments = [*rng.choice(OPTIONS), "--files", str(shown if shown.exists() else path)]
    with output() as (stdout, _):
        running.run(command, arguments, PROGRAM)
        ours = stdout.data().decode()
    theirs = java_tool(RELEASE, MAIN, *arguments).stdout  # last: Kafka's tool cuts indexes itself
    assert theirs.startswith("Dumping ")
    assert ours == theirs, (original, arguments)


def _entries(*versions: int) -> bytes:
    return b"".join(struct.pack(">hqqqq", version, 7, 1, 2, 3) for version in versions)


@pytest.mark.parametrize(
    "suffix, data, option, ends",
    [
        (".txnindex", _entries(0, 0), None, False),
        (".txnindex", _entries(0, 1), None, True),
        (".txnindex", _entries(258), None, True),
        (".txnindex", _entries(-1), None, True),
        (".txnindex", _entries(0) + b"\0" * 5, None, False),
        (".index", struct.pack(">ii", 1, 0) + b"\0" * 3, "--index-sanity-check", True),
        (".timeindex", struct.pack(">qi", 1, 1) + b"\0" * 5, "--index-sanity-check", True),
    ],
)
def test_indexes_of_other_versions_and_odd_sizes_end_the_text_where_kafkas_ends(
    suffix: str, data: bytes, option: str | None, ends: bool, java_tool: JavaTool, tmp_path: Path
) -> None:
    (tmp_path / f"{0:020d}.log").write_bytes(build_batch([(1000, b"k", b"v", ()), (1001, b"k", b"v", ())]))
    path = tmp_path / f"{0:020d}{suffix}"
    path.write_bytes(data)
    arguments = [*([option] if option else []), "--files", str(path)]
    with output() as (stdout, _):
        status = running.run(command, arguments, PROGRAM)
        ours = stdout.data().decode()
    theirs = java_tool(RELEASE, MAIN, *arguments)
    assert ours == theirs.stdout
    assert (theirs.returncode != 0) == ends, theirs.stderr
    assert status == (data != _entries(0, 0)), "what Kafka's tool passes over in silence is told here"
