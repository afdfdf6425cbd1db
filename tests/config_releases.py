"""``config_definitions/zookeeper/tables.py`` from the releases themselves: ``python -m tests.config_releases``.

Takes the newest patch level of every minor release that could run with ZooKeeper (jars by Maven, as
``tests/against_kafka/jars.py`` has it), lets each print its own definitions (``java/ConfigDefinitions.java``), and
keeps what changed from one to the next.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kafka_tools.config_definitions.values import REPLICA_LIST
from tests.against_kafka.jars import ENVIRONMENT, class_path, java

OUTPUT = Path(__file__).resolve().parent.parent / "kafka_tools" / "config_definitions" / "zookeeper" / "tables.py"
SOURCE = Path(__file__).parent / "against_kafka" / "java" / "ConfigDefinitions.java"
PATCH_LEVELS = (
    *("1.1.1", "2.0.1", "2.1.1", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2"),
    *("3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2"),
)
"""The newest of every minor release, oldest first."""

_VERSION_RULE = "a Kafka version"
_READ_LATE = {"message.format.version": _VERSION_RULE, "message.timestamp.type": "[CreateTime, LogAppendTime]"}
"""Topic configs without a rule in the oldest releases, whose brokers fail on other values when they load the topic."""


class Release(NamedTuple):
    """What one release printed: kind -> name -> row, and its named sets."""

    name: str
    rows: dict[str, dict[str, tuple[Any, ...]]]
    sets: dict[str, set[str]]


def main() -> int:
    """Ask every release, and write the tables."""
    with tempfile.TemporaryDirectory() as folder:
        classes = compiled(Path(folder))
        releases = [parsed(level, dump(level, classes)) for level in PATCH_LEVELS]
    OUTPUT.write_text(render(releases), encoding="utf-8")
    return subprocess.run([sys.executable, "-m", "ruff", "format", "-q", str(OUTPUT)], check=False).returncode


def compiled(folder: Path) -> Path:
    """The folder with the compiled Java side, which runs with any release's jars. Raises Unavailable."""
    command = [java(compiler=True), "-nowarn", "-Xlint:none", "-proc:none", "-d", str(folder), str(SOURCE)]
    subprocess.run(command, check=True, capture_output=True, timeout=300, env=ENVIRONMENT)
    return folder


def java_command(level: str, classes: Path, *arguments: str) -> list[str]:
    """The command that runs the Java side on one release. Raises Unavailable."""
    paths = ":".join(map(str, (classes, *class_path(level))))
    return [java(), "-XX:TieredStopAtLevel=1", "-cp", paths, "ConfigDefinitions", *arguments]


def dump(level: str, classes: Path) -> str:
    """What one release prints of its definitions."""
    command = java_command(level, classes, "dump")
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8", timeout=300, env=ENVIRONMENT)
    return done.stdout


def parsed(level: str, text: str) -> Release:
    """The lines of a dump as rows in the notation of ``config_definitions.Row``."""
    release = Release(level.rpartition(".")[0], {}, {})
    for line in text.splitlines():
        kind, name, *fields = line.split("\t")
        if kind == "set":
            release.sets[name] = set(fields[0].split())
            continue
        type_, default, rule, hidden = fields
        value = default[1:] if default.startswith("=") else None
        row: tuple[Any, ...] = (type_, value, _rule(kind, name, rule))
        release.rows.setdefault(kind, {})[name] = (*row, hidden) if hidden else row
    return release


def _rule(kind: str, name: str, printed: str) -> str:
    """The rule that a validator's class and text stand for."""
    if not printed:
        return _READ_LATE.get(name, "") if kind == "topic" else ""
    validator, _, text = printed.partition(" ")
    if validator.endswith(("ApiVersionValidator$", "MetadataVersionValidator")):
        return _VERSION_RULE
    if validator.endswith(("ThrottledReplicaListValidator$", "ThrottledReplicaListValidator")):
        return REPLICA_LIST
    return text


def render(releases: list[Release]) -> str:
    """The module's text."""
    tables: list[tuple[str, str, Callable[[Release], Mapping[str, Any]]]] = [
        ("TOPIC", "Configs of topics.", lambda each: each.rows["topic"]),
        ("CLIENT", "Quotas of clients, and of users and clients together.", lambda each: each.rows["client"]),
        ("USER", "Quotas and credentials of users.", lambda each: each.rows["user"]),
        ("IP", "Quotas of addresses.", lambda each: each.rows.get("ip", {})),
        ("BROKER", "Configs of brokers that change without a restart.", _dynamic),
    ]
    sets: list[tuple[str, str, Callable[[Release], set[str]]]] = [
        ("STATIC", "Configs of brokers that only server.properties can hold.", _static),
        ("PER_BROKER", "Set for one broker only.", lambda each: each.sets["PerBrokerConfigs"]),
        ("SECURITY", "Set only with a listener prefix.", lambda each: each.sets["DynamicSecurityConfigs"]),
        (
            "LISTENER_MECHANISM",
            "Written ``listener.name.<listener>.<mechanism>.<config>``.",
            lambda each: each.sets.get("ListenerMechanismConfigs", set()),
        ),
        (
            "CLUSTER_LEVEL_LISTENER",
            "Set with a listener prefix, and as the default of all brokers.",
            lambda each: each.sets.get("ClusterLevelListenerConfigs", set()),
        ),
        ("VERSIONS", "Values of message.format.version.", lambda each: each.sets["ApiVersion"]),
    ]
    parts = [_HEAD, f"RELEASES = {tuple(each.name for each in releases)!r}\n"]
    parts += [
        f'{name}: Table = {_changes((each.name, rows(each)) for each in releases)!r}\n"""{meaning}"""\n'
        for name, meaning, rows in tables
    ]
    for name, meaning, names in sets:
        parts.append(f"{name}: Names = {{\n{_set_changes((each.name, names(each)) for each in releases)}}}\n")
        parts.append(f'"""{meaning}"""\n')
    return "\n".join(parts)


def _dynamic(release: Release) -> dict[str, Any]:
    dynamic = release.sets["AllDynamicConfigs"]
    rows = {name: row for name, row in release.rows["server"].items() if name in dynamic}
    throttles = {name: row for name, row in release.rows["broker"].items() if name not in release.rows["server"]}
    return rows | throttles


def _static(release: Release) -> set[str]:
    return set(release.rows["server"]) - release.sets["AllDynamicConfigs"]


def _changes(tables: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Name -> release -> the row from there on, None where the name is gone."""
    found: dict[str, dict[str, Any]] = {}
    before: Mapping[str, Any] = {}
    for release, rows in tables:
        for name in {*rows, *before}:
            if _comparable(rows.get(name)) != _comparable(before.get(name)):
                found.setdefault(name, {})[release] = rows.get(name)
        before = rows
    return {name: found[name] for name in sorted(found)}


def _comparable(row: tuple[Any, ...] | None) -> object:
    """A row without the order of what its default lists, which is sometimes that of a hash map."""
    return row and (row[0], row[1] and sorted(row[1].split(",")), *row[2:])


def _set_changes(sets: Iterable[tuple[str, set[str]]]) -> str:
    """Release -> the names that are new there, those that are gone with a minus."""
    text = ""
    before: set[str] = set()
    for release, names in sets:
        words = sorted(names - before) + sorted(f"-{name}" for name in before - names)
        if words:
            lines = re.findall(r".{1,96}(?: |$)", " ".join(words))
            text += f'    "{release}": (\n' + "".join(f'        "{line}"\n' for line in lines) + "    ),\n"
        before = names
    return text


_HEAD = '''"""Configs that ZooKeeper may hold, by release: from ``python -m tests.config_releases``; do not edit.

A table says from which release on a name has which row (``config_definitions.Row``), None from where it is gone; a set
says which names each release adds, and with a minus which it drops. ``zookeeper_releases`` reads both.
"""

from __future__ import annotations

from kafka_tools.config_definitions import Row

Table = dict[str, dict[str, Row | None]]
Names = dict[str, str]
'''

if __name__ == "__main__":
    sys.exit(main())
