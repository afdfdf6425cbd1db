"""``kafka-dump-log -o json|jsonl``: every object of every golden file is what the schema says."""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kafka_tools.commands import _run
from kafka_tools.commands.dump_log import PROGRAM, command
from kafka_tools.output import dump_walk
from tests.commands.test_dump_log_golden import output
from tests.corpus.golden import cases, files

THOROUGH = bool(os.environ.get("KAFKA_TOOLS_THOROUGH"))
CHECKED = 12
"""So many objects of each type are checked in each file; all of them in a thorough run."""
ROOT = Path(__file__).parents[2]
DECODERS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__share_group_state": "--share-group-state-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
    "__remote_log_metadata": "--remote-log-metadata-decoder",
}


@cache
def validators() -> dict[str, Any]:
    """Type of object -> validator: one for each, since trying all of them for each object takes long."""
    schema = json.loads((ROOT / "schemas" / "dump-log.v1.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert [each["$ref"] for each in schema["oneOf"]] == [f"#/$defs/{name}" for name in schema["$defs"]]
    found = {}
    for name, definition in schema["$defs"].items():
        assert definition["properties"]["type"]["const"] == name
        found[name] = jsonschema.Draft202012Validator(definition)
    return found


def run(*arguments: str, form: str = "jsonl") -> tuple[int, str, list[str]]:
    """(status, stdout, lines of stderr)."""
    with output() as (stdout, stderr):
        status = _run.run(command, [*arguments, "-o", form], PROGRAM)
        return status, stdout.data().decode(), stderr.data().decode().splitlines()


def objects(*arguments: str) -> list[dict[str, Any]]:
    """The objects of a run, each checked; what no run may show is asserted here."""
    status, stdout, stderr = run(*arguments)
    assert status in (0, 1), stderr
    assert not any("internal error" in line or "Traceback" in line for line in stderr), stderr
    found = [json.loads(line) for line in stdout.splitlines()]
    seen: Counter[str] = Counter()
    for each in found:
        seen[each["type"]] += 1
        if seen[each["type"]] <= CHECKED or THOROUGH:
            validators()[each["type"]].validate(each)
    damage = any(each["type"] == "finding" and each["severity"] != "info" for each in found)
    assert status == 1 or not damage, stderr
    return found


@cache
def golden_files() -> list[Path]:
    return [
        path
        for suffix in (".log", ".checkpoint", ".index", ".timeindex", ".txnindex", ".snapshot")
        for path in files(suffix)
    ]


def option_for(path: Path) -> list[str]:
    decoder = next((option for topic, option in DECODERS.items() if path.parent.name.startswith(topic)), None)
    return [decoder or "--print-data-log"]


@pytest.mark.parametrize("case", [case.id for case in cases()])
@pytest.mark.parametrize("way", ["scalar", "columns"])
def test_every_golden_file_gives_objects_that_the_schema_describes(
    case: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump_walk, "FAST_FROM_BYTES", 0 if way == "columns" else 1 << 60)
    monkeypatch.setattr(dump_walk, "WINDOW_BYTES", 3000)
    paths = [path for path in golden_files() if path.parts[path.parts.index("data") - 1] == case]
    for path in paths[:: 1 if way == "scalar" else 3]:
        found = objects("--files", str(path), *option_for(path))
        assert found[0]["type"] == "file" and found[0]["size_bytes"] == path.stat().st_size
        if path.suffix == ".log":
            assert found[-1]["type"] == "end"
