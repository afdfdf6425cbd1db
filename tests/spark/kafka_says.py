"""What Kafka's own DumpLogSegments said about the golden segments, as plain rows: the judge of the fast reader."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from tests.corpus.golden import Run, cases

_PAIR = re.compile(r"(\w+): (\S+)")


@cache
def dumped() -> dict[Path, list[dict[str, Any]]]:
    """Batches by segment, from the recorded runs of the dump tool of Kafka 4.3.1 that ended well.

    A batch has ``position``, ``size``, ``magic``, ``codec``, ``valid``, ``last_offset``, ``time``, ``records`` and, for
    magic 2, ``base_offset``, producer fields and flags. Records of magic 0 and 1 are counted in the deep runs.
    """
    shallow: dict[Path, list[dict[str, Any]]] = {}
    counted: dict[Path, dict[int, int]] = {}
    for case in cases():
        for run in case.runs:
            if run.tool_version == "4.3.1" and run.exit_code == 0 and _is_plain(run):
                for name, lines in _sections(run):
                    path = (case.cwd / name).resolve()
                    if "--deep-iteration" in run.args:
                        counted[path] = _counts(lines)
                    else:
                        shallow[path] = [_batch(line) for line in lines if _starts_batch(line)]
    for path, batches in shallow.items():
        for batch in batches:
            batch.setdefault("records", counted.get(path, {}).get(batch["position"]))
    return shallow


def _is_plain(run: Run) -> bool:
    rest = [argument for argument in run.args if argument not in ("--files", "--deep-iteration")]
    return "--files" in run.args and len(rest) == 1


def _sections(run: Run) -> list[tuple[str, list[str]]]:
    """(file, lines) for each .log file of the run."""
    found: list[tuple[str, list[str]]] = []
    for line in run.stdout.decode().splitlines():
        if line.startswith("Dumping "):
            found.append((line.removeprefix("Dumping "), []))
        elif found:
            found[-1][1].append(line)
    return [(name, lines) for name, lines in found if name.endswith(".log")]


def _starts_batch(line: str) -> bool:
    return line.startswith(("baseOffset: ", "offset: "))


def _batch(line: str) -> dict[str, Any]:
    pairs = dict(_PAIR.findall(line))
    time = next(
        (int(pairs[name]) for name in ("CreateTime", "LogAppendTime", "NoTimestampType") if name in pairs), None
    )
    batch: dict[str, Any] = {
        "position": int(pairs["position"]),
        "size": int(pairs["size"]),
        "magic": int(pairs["magic"]),
        "codec": pairs["compresscodec"],
        "valid": pairs["isvalid"] == "true",
        "last_offset": int(pairs.get("lastOffset", pairs.get("offset", "0"))),
        "time": time,
    }
    if "baseOffset" in pairs:
        batch |= {
            "base_offset": int(pairs["baseOffset"]),
            "records": int(pairs["count"]),
            "producer_id": int(pairs["producerId"]),
            "producer_epoch": int(pairs["producerEpoch"]),
            "base_sequence": int(pairs["baseSequence"]),
            "last_sequence": int(pairs["lastSequence"]),
            "leader_epoch": int(pairs["partitionLeaderEpoch"]),
            "transactional": pairs["isTransactional"] == "true",
            "control": pairs["isControl"] == "true",
        }
    return batch


def _counts(lines: list[str]) -> dict[int, int]:
    """Records by the position of their batch."""
    counts: dict[int, int] = {}
    position = -1
    for line in lines:
        if _starts_batch(line):
            position = int(dict(_PAIR.findall(line))["position"])
            counts[position] = 0
        elif line.startswith("| offset: "):
            counts[position] += 1
    return counts
