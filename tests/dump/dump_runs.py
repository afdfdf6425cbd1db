"""Runs of kafka-dump-log in this process, and logs to run it on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from kafka_tools.commands import running
from kafka_tools.commands.logs.dump_log import PROGRAM, command
from kafka_tools.records.build import build_batch
from tests.dump.test_golden import output

SCRIPT = "import sys; sys.argv[0] = 'kafka-dump-log'; from kafka_tools.scripts import main; main()"
MAIN = (sys.executable, "-c", SCRIPT)


def run(*arguments: str) -> tuple[int, str, list[str]]:
    """(status, stdout, lines of stderr)."""
    with output() as (stdout, stderr):
        status = running.run(command, list(arguments), PROGRAM)
        return status, stdout.data().decode(), stderr.data().decode().splitlines()


def objects(*arguments: str, of: str = "record") -> list[dict[str, Any]]:
    status, stdout, stderr = run(*arguments, "-o", "jsonl")
    assert status in (0, 1), stderr
    return [each for each in map(json.loads, stdout.splitlines()) if each["type"] == of]


def batch(first: int, count: int = 5, codec: str = "none", **given: Any) -> bytes:
    """A batch of ``count`` records from offset ``first`` on; a record's time is 1000 times its offset."""
    records = [(1000 * each, b"key-%d" % each, b"value-%d" % each, ()) for each in range(first, first + count)]
    return build_batch(records, base_offset=first, codec=codec, **given)


def log_of(folder: Path, data: bytes, base_offset: int = 0) -> Path:
    path = folder / f"{base_offset:020d}.log"
    path.write_bytes(data)
    return path
