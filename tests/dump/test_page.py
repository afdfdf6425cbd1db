"""The examples on kafka-dump-log's page: each is run, and prints exactly what the page shows.

``python -m tests.dump.test_page`` writes the page's outputs anew.
"""

from __future__ import annotations

import os
import re
import shlex
import struct
import tempfile
from pathlib import Path

import pytest

from kafka_tools.commands import running
from kafka_tools.commands.logs.dump_log import PROGRAM, command
from kafka_tools.protocol.codec import encode, encode_versioned
from kafka_tools.protocol.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from kafka_tools.records.build import build_batch
from tests.dump.test_golden import output
from tests.regen import HELP_BEGINS, HELP_ENDS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands" / "dump-log.md"
NOON_MS = 1_714_564_800_000
"""2024-05-01T12:00:00Z"""
EXAMPLE = re.compile(r"^\$ (kafka-dump-log .*)\n((?:(?!\$ |```).*\n)*)", re.MULTILINE)


def prepare(folder: Path) -> None:
    """The files that the page is about."""
    orders = folder / "orders-0"
    orders.mkdir()
    first = build_batch(
        [
            (NOON_MS, b"order-1", b'{"item":"tea"}', (("source", b"web"),)),
            (NOON_MS + 40, b"order-2", b'{"item":"rice"}', ()),
            (NOON_MS + 90, b"order-1", None, ()),
        ]
    )
    second = build_batch([(NOON_MS + 60_000, b"order-3", b"\xca\xfe", ())], base_offset=3)
    third = build_batch(
        [(NOON_MS + 61_000, b"order-4", b'{"item":"salt"}', ())],
        base_offset=4, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True,
    )  # fmt: skip
    (orders / "00000000000000000000.log").write_bytes(first + second)
    (orders / "00000000000000000000.index").write_bytes(struct.pack(">ii", 3, len(first)))
    (orders / "00000000000000000000.timeindex").write_bytes(
        struct.pack(">qi", NOON_MS + 90, 2) + struct.pack(">qi", NOON_MS + 60_000, 3)
    )
    (orders / "00000000000000000004.log").write_bytes(third)
    (orders / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n", encoding="utf-8")
    damaged = folder / "damaged-0"
    damaged.mkdir()
    (damaged / "00000000000000000000.log").write_bytes(first.replace(b"tea", b"Tea") + bytes(100) + second)
    offsets = folder / "__consumer_offsets-12"
    offsets.mkdir()
    key = b"\x00\x01" + encode(OffsetCommitKey(group="billing", topic="orders", partition=0), 0)
    value = encode_versioned(OffsetCommitValue(offset=4, metadata="", commit_timestamp=NOON_MS), 3)
    (offsets / "00000000000000000000.log").write_bytes(
        build_batch([(NOON_MS, key, value, ()), (NOON_MS + 5, key, None, ())])
    )


def shown(line: str) -> str:
    """What a terminal shows of a run: the output, then what was on stderr."""
    with output() as (stdout, stderr):
        running.run(command, shlex.split(line)[1:], PROGRAM)
        return stdout.data().decode() + stderr.data().decode()


def page_without_help() -> str:
    text = PAGE.read_text(encoding="utf-8")
    return text.partition(HELP_BEGINS)[0] + text.partition(HELP_ENDS)[2]


def test_examples_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    examples = EXAMPLE.findall(page_without_help())
    assert len(examples) > 8
    for line, text in examples:
        assert shown(line) == text, line


def write_page() -> None:
    """Put the real outputs into the page."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        os.chdir(folder)
        text = PAGE.read_text(encoding="utf-8")
        head, begins, rest = text.partition(HELP_BEGINS)
        help_, ends, tail = rest.partition(HELP_ENDS)
        tail = EXAMPLE.sub(lambda found: f"$ {found[1]}\n{shown(found[1])}", tail)
        PAGE.write_text(head + begins + help_ + ends + tail, encoding="utf-8")


if __name__ == "__main__":
    write_page()
