"""What is mechanical about following a release: the tables of the product that are Kafka's own, made from its facts.

A table is an assignment to a name in a module; the rest of the module is a person's. ``TABLES`` lists them all. Most
are those of the release that the product follows: an older release does not change them.
"""

from __future__ import annotations

import ast
import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import kafka_tools
from kafka_tools.protocol import error_codes, feature_levels, releases
from tests.releases.facts import Facts

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "kafka_tools"
CONFIGS = PACKAGE / "config_definitions"
SCHEMAS = ROOT / "tests" / "corpus" / "wire-schemas"

Change = tuple[Path, bytes]
"""A file that is not what a release says, and what is to stand there."""

CHECKED_ELSEWHERE = {
    # Kafka judges these when it reads them, not by their definition.
    "offsets.topic.compression.codec": "[0,...,4]",
    "share.coordinator.state.topic.compression.codec": "[0,...,4]",
    # An empty list says that the other one of the two is used.
    "controller.quorum.bootstrap.servers": "",
    "controller.quorum.voters": "",
}
"""Config -> what is valid, where that is not what Kafka's definition says of itself."""


def is_newest(facts: Facts) -> bool:
    """Whether no release followed so far is newer."""
    return number(facts.release) >= number(kafka_tools.KAFKA_RELEASE)


def number(release: str) -> tuple[int, ...]:
    """What releases are ordered by."""
    return tuple(map(int, release.split(".")))


def write(facts: Facts) -> Iterator[str]:
    """Write what this release changes. Yields a line for each table, with what was done about it."""
    for table in TABLES:
        if not (table.of_each_release or is_newest(facts)):
            yield f"not compared: {table.what} (only with {kafka_tools.KAFKA_RELEASE})"
            continue
        found = list(table.changes(facts))
        for path, content in found:
            path.write_bytes(content)
            yield f"written: {path.relative_to(ROOT)} ({table.what})"
        if not found:
            yield f"compared, nothing to write: {table.what}"


def changes(facts: Facts) -> Iterator[Change]:
    """What this release changes."""
    for table in TABLES:
        if table.of_each_release or is_newest(facts):
            yield from table.changes(facts)


def _schemas(facts: Facts) -> Iterator[Change]:
    """``tests/corpus/wire-schemas``: what the definitions of messages are compared with."""
    path = SCHEMAS / f"kafka-{facts.release}.json.gz"
    if path.exists():
        with gzip.open(path, "rt", encoding="utf-8") as file:
            if _comparable(json.load(file)) == _comparable(facts.schemas):
                return
    yield path, gzip.compress(json.dumps(facts.schemas, sort_keys=True).encode(), mtime=0)


def _comparable(schemas: Any) -> Any:
    """Without the nullability of records, which the classes of some releases do not tell."""
    return json.loads(re.sub(r'"(COMPACT_)?(NULLABLE_)?RECORDS\??"', r'"\1RECORDS"', json.dumps(schemas)))


def _api_versions(facts: Facts) -> Iterator[Change]:
    """``protocol/releases.py``: what the release's brokers advertise that the release before did not."""
    side = "ZK_BROKER" if number(facts.release) < (4,) else "BROKER"
    now = {
        api["key"]: api["newest"] - (1 if api["newest_is_unstable"] else 0)
        for api in facts.apis
        if side in api["listeners"]
    }
    now = {key: newest for key, newest in now.items() if newest >= 0}
    known = list(releases.releases())
    if facts.minor in known:
        if {key: newest for key, (_, newest) in releases.max_versions(facts.minor).items()} == now:
            return
    elif number(facts.minor) < number(known[-1]):
        return
    earlier = [name for name in known if number(name) < number(facts.minor)]
    before = {key: newest for key, (_, newest) in releases.max_versions(earlier[-1]).items()}
    changes = [f"{key}:{newest}" for key, newest in sorted(now.items()) if before.get(key) != newest]
    changes += [f"-{key}" for key in sorted(set(before) - set(now))]
    row = f'    "{facts.minor}": "{" ".join(changes)}",\n'
    path = PACKAGE / "protocol" / "releases.py"
    source = path.read_text(encoding="utf-8")
    if facts.minor in known:
        source = re.sub(
            rf'^    "{re.escape(facts.minor)}": (?:".*"|\((?:.|\n)*?\)),\n', row, source, flags=re.MULTILINE
        )
    else:
        source = re.sub(
            rf'(?<=\n)(    "{re.escape(known[-1])}": (?:".*"|\((?:.|\n)*?\)),\n)', rf"\1{row}", source, count=1
        )
    yield path, source.encode()


def _release(facts: Facts) -> Iterator[Change]:
    """The one place that names the newest release, and the one before it."""
    if facts.release == kafka_tools.KAFKA_RELEASE:
        return
    yield from _assign(PACKAGE / "__init__.py", {"KAFKA_RELEASE": facts.release})


def _errors(facts: Facts) -> Iterator[Change]:
    """``protocol/error_codes.py``: new codes, with Kafka's sentence until a person has written one, and new flags."""
    path = PACKAGE / "protocol" / "error_codes.py"
    source = before = path.read_text(encoding="utf-8")
    known = {row.code for row in error_codes.all_codes()}
    rows = ""
    for code, name, retriable, refreshes, sentence in facts.errors:
        flags = ", _RETRIABLE" * retriable + ", _REFRESH" * refreshes
        if code not in known:
            rows += f"{name} = _code(\n    {code}, {json.dumps(sentence)}{flags}\n)\n"
        else:
            row = rf'^\w+( = _code\(\s*{code}(?:,?\s+"(?:[^"\\]|\\.)*")+)(?:, _RETRIABLE)?(?:, _REFRESH)?'
            source = re.sub(row, rf"{name}\1{flags}", source, flags=re.MULTILINE)
    source = source.replace("\nNOT_LEADER_FOR_PARTITION =", f"{rows}\nNOT_LEADER_FOR_PARTITION =")
    if source != before:
        yield path, source.encode()


def _configs(facts: Facts) -> Iterator[Change]:
    """``config_definitions/``: names, types, defaults, valid values, and what is dynamic."""
    for kind in ("topic", "broker", "group", "client_metrics"):
        tables: dict[str, Any] = {"TABLE": _rows(facts.configs[kind])}
        if kind == "topic":
            tables["BROKER_NAME"] = facts.dynamic["topic_config_synonyms"]
        yield from _assign(CONFIGS / f"{kind}.py", tables)
    sets = facts.dynamic
    yield from _assign(
        CONFIGS / "dynamic.py",
        {
            "PER_BROKER": frozenset(sets["per_broker_configs"]),
            "CLUSTER_WIDE": frozenset(sets["all_dynamic_configs"]) - frozenset(sets["per_broker_configs"]),
            "SECURITY": frozenset(sets["dynamic_security_configs"]),
            "CLUSTER_LEVEL_LISTENER": frozenset(sets["cluster_level_listener_configs"]),
            "LISTENER_MECHANISM": frozenset(sets["listener_mechanism_configs"]),
            "THROTTLES": _rows(facts.configs["throttles"]),
        },
    )


def _rows(configs: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    found = {}
    for name, row in sorted(configs.items()):
        valid = CHECKED_ELSEWHERE.get(name, row["valid"])
        found[name] = (row["type"], row["default"], valid, *(("internal",) if row["internal"] else ()))
    return found


def _features(facts: Facts) -> Iterator[Change]:
    """``protocol/feature_levels.py``. Levels that only older releases had stay: old clusters still work at them."""
    said = facts.features
    features = said["features"]
    named = feature_levels.METADATA_VERSIONS | {int(level): name for level, name in said["metadata_versions"].items()}
    levels = {name: {level: since for level, since, _ in row["levels"] if level} for name, row in features.items()}
    needed = {
        name: {level: needs for level, _, needs in row["levels"] if needs}
        for name, row in features.items()
        if any(needs for *_, needs in row["levels"])
    }
    yield from _assign(
        PACKAGE / "protocol" / "feature_levels.py",
        {
            "METADATA_VERSIONS": dict(sorted(named.items())),
            "OLDEST": said["minimum_version"],
            "LATEST_PRODUCTION": said["latest_production"],
            "CHANGES_RECORDS": frozenset(said["metadata_changes"]),
            "FEATURES": levels,
            "PRODUCTION": {name: row["latest_production"] for name, row in features.items()},
            "REQUIRES": needed,
        },
    )


def _assign(path: Path, values: Mapping[str, Any]) -> Iterator[Change]:
    """Give names of a module other values, in Ruff's format; nothing is written where they have them."""
    source = before = path.read_text(encoding="utf-8")
    for name, value in values.items():
        node = next(node for node in ast.parse(source).body if name in _targets(node))
        if ast.literal_eval(_without_calls(node.value)) == value:
            continue
        lines = source.splitlines(keepends=True)
        line = lines[node.value.lineno - 1]
        head = line.encode()[: node.value.col_offset].decode()
        tail = lines[node.value.end_lineno - 1].encode()[node.value.end_col_offset :].decode()
        lines[node.value.lineno - 1 : node.value.end_lineno] = [f"{head}{_source(value)}{tail}"]
        source = "".join(lines)
    if source != before:
        command = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", str(path), "-"]
        yield path, subprocess.run(command, input=source.encode(), capture_output=True, check=True, cwd=ROOT).stdout


def _source(value: Any) -> str:
    """A literal with a comma behind the last element, so that Ruff gives each a line."""
    if isinstance(value, dict):
        return "{" + "".join(f"{key!r}: {each!r}, " for key, each in value.items()) + "}"
    if isinstance(value, frozenset):
        each_a_line = "," if all(isinstance(each, str) for each in value) else ""
        return f"frozenset(({', '.join(map(repr, sorted(value)))}{each_a_line}))"
    return repr(value)


def _targets(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {each.id for each in targets if isinstance(each, ast.Name)}


def _without_calls(node: Any) -> ast.expr:
    """``frozenset((...))`` as a set."""
    if isinstance(node, ast.Call):
        return ast.Set(elts=node.args[0].elts)  # type: ignore[attr-defined]
    assert isinstance(node, ast.expr)
    return node


class Table(NamedTuple):
    """Something of Kafka's that the repository repeats."""

    what: str
    changes: Callable[[Facts], Iterator[Change]]
    of_each_release: bool = False
    """Whether each release has its own; the others are only those of the release that the product follows."""


TABLES = (
    Table(
        "message layouts, with which tests/protocol/test_definitions.py compares ours", _schemas, of_each_release=True
    ),
    Table("the API versions that the release's brokers advertise", _api_versions, of_each_release=True),
    Table("the number of the release", _release),
    Table("error codes and their flags", _errors),
    Table("configs and which of them are dynamic", _configs),
    Table("feature levels", _features),
)
