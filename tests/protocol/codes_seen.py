"""Which error codes Kafka was seen to answer with, by API: ``codes_seen.txt``, a line for each API.

``python -m tests.against_kafka.compare_answers`` adds what it sees; tests that need no Kafka read the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from kafka_tools.protocol import error_codes

FILE = Path(__file__).with_suffix(".txt")


def seen() -> Mapping[str, set[str]]:
    """API (the stem of its definition) -> names of codes."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return {api: set(names) for api, *names in (line.split() for line in lines)}


def named(answers: Iterable[tuple[str, int]]) -> dict[str, set[str]]:
    """The same of (API, number) pairs, without what says nothing of a request: success, and Kafka's own failures."""
    found: dict[str, set[str]] = {}
    for api, number in answers:
        if number not in (error_codes.NONE, error_codes.UNKNOWN_SERVER_ERROR):
            found.setdefault(api, set()).add(error_codes.error(number).name)
    return found


def add(answers: Iterable[tuple[str, int]]) -> None:
    """Keep codes that were seen, beside those that were seen before."""
    kept = {api: set(names) for api, names in seen().items()}
    for api, names in named(answers).items():
        kept.setdefault(api, set()).update(names)
    lines = [" ".join((api, *sorted(names))) + "\n" for api, names in sorted(kept.items())]
    FILE.write_text("".join(lines), encoding="utf-8")
