"""What a command imports: nothing heavy for ``--help``, and for a run only what that run needs.

Each command runs in a fresh interpreter that then tells which modules it has. No time is asserted (machines are
shared): the number of modules is what a start costs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_tools.cli import COMMANDS
from kafka_tools.scripts import OBJECTS_BETWEEN_COLLECTIONS

HEAVY = (
    "asyncio",
    "concurrent.futures",
    "encodings.idna",
    "importlib.metadata",
    "jsonschema",
    "kazoo",
    "logging",
    "numpy",
    "pyarrow",
    "pyspark",
    "rich",
    "ssl",
    "yaml",
)
HELP_CEILING = 140 if sys.version_info < (3, 14) else 150
"""Modules of ``--help``: about 55 of the interpreter, 60 of click and what it needs, the rest ours. In Python 3.14 the
standard library's are more: ``annotationlib``, and ``compression.zstd`` behind ``shutil``."""
RUN_CEILING = 230
"""Modules of a command that talks to a broker: 122, sockets and selectors, json, the protocol of what it calls."""

PROBE = """
import contextlib, io, json, sys
from kafka_tools import cli
from kafka_tools.commands import running
name, *arguments = sys.argv[1:]
with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")):
    status = running.run(cli.root if name == "root" else cli.load(name), arguments, "kafka")
print(json.dumps([status, sorted(sys.modules)]))
"""


def modules_after(name: str, *arguments: str) -> list[str]:
    """The modules of a fresh interpreter after it ran this command with status 0."""
    ended = subprocess.run(
        [sys.executable, "-c", PROBE, name, *arguments], capture_output=True, encoding="utf-8", timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    status, modules = json.loads(ended.stdout)
    assert status == 0, ended.stderr
    found: list[str] = modules
    return found


def test_a_command_collects_seldom_and_not_once_more_at_its_end() -> None:
    """Collections while modules are loaded and when the interpreter ends were a tenth of the CPU time of a help."""
    code = (
        "import atexit, gc, sys\n"
        "from kafka_tools import scripts\n"
        "sys.argv = ['kafka-topics', '--help']\n"
        "atexit.register(lambda: print(gc.get_threshold()[0], gc.get_freeze_count() > 0))\n"
        "scripts.main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=60)
    assert ended.stdout.splitlines()[-1] == f"{OBJECTS_BETWEEN_COLLECTIONS} True", ended.stderr


def heavy(modules: list[str], allowed: tuple[str, ...] = ()) -> list[str]:
    return [name for name in HEAVY if name in modules and name not in allowed]


@pytest.mark.parametrize("name", ["root", *COMMANDS])
def test_help_imports_nothing_heavy_and_none_of_the_library(name: str) -> None:
    modules = modules_after(name, "--help")
    assert heavy(modules) == []
    assert len(modules) <= HELP_CEILING
    ours = [module for module in modules if module.startswith("kafka_tools.")]
    allowed = ("kafka_tools._lazy", "kafka_tools.cli", "kafka_tools.commands", "kafka_tools.errors")
    words = ("kafka_tools.protocol", "kafka_tools.protocol.enums", "kafka_tools.protocol.feature_levels")
    # what options may be set to, in plain constants
    assert [module for module in ours if not module.startswith(allowed) and module not in words] == []


def test_root_help_and_completion_import_no_command() -> None:
    modules = modules_after("root", "--help")
    commands = {row.path for row in COMMANDS.values()}
    assert commands.isdisjoint(modules)
    line = {"COMP_WORDS": "kafka-tools to", "_KAFKA_TOOLS_COMPLETE": "bash_complete"}
    code = (
        "import sys, atexit\n"
        "from kafka_tools import cli\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "cli.main()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=60, env={**os.environ, **line}
    )
    assert ended.stdout.split() == [f"plain,{name}" for name in COMMANDS if name.startswith("to")]
    assert commands.isdisjoint(ended.stderr.split())


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    """The address of a bundled broker in this process."""
    from kafka_tools.broker_embedded import EmbeddedBroker

    with EmbeddedBroker() as broker:
        yield broker.bootstrap_servers


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("topics", ("--list",)),
        ("topics", ("--describe",)),
        *(("topics", ("--list", "-o", form)) for form in ("table", "json", "jsonl", "csv", "tsv", "name")),
        ("topics", ("--describe", "-o", "wide")),
        ("configs", ("--describe", "--entity-type", "brokers")),
        ("configs", ("--describe", "--entity-type", "users")),
        ("consumer-groups", ("--list",)),
        ("broker-api-versions", ()),
        ("cluster", ("cluster-id",)),
    ],
)
def test_a_run_imports_only_what_it_needs(servers: str, name: str, arguments: tuple[str, ...]) -> None:
    modules = modules_after(name, *arguments, "--bootstrap-server", servers)
    assert heavy(modules) == []
    assert len(modules) <= RUN_CEILING
    elsewhere = ("kafka_tools.broker_embedded", "kafka_tools.storage", "kafka_tools.records")
    assert [module for module in modules if module.startswith(elsewhere)] == []


@pytest.mark.parametrize("options", [(), ("--print-data-log",), ("--print-data-log", "-o", "jsonl"), ("--summary",)])
def test_a_dump_of_a_small_log_is_light(options: tuple[str, ...], tmp_path: Path) -> None:
    """numpy alone takes 100 ms: it is for logs that are long enough to make up for it."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"")
    modules = modules_after("dump-log", *options, "--files", str(path))
    assert heavy(modules) == []
    assert len(modules) <= RUN_CEILING
    elsewhere = ("kafka_tools.broker_embedded", "kafka_tools.net", "kafka_tools.admin", "kafka_tools.clients")
    assert [module for module in modules if module.startswith(elsewhere)] == []


def test_a_document_is_read_without_jsonschema(servers: str, tmp_path: Path) -> None:
    path = tmp_path / "offsets.json"
    path.write_text('{"partitions": []}', encoding="utf-8")
    modules = modules_after("delete-records", "--offset-json-file", str(path), "--bootstrap-server", servers)
    assert heavy(modules) == []


def test_yaml_is_imported_only_for_yaml(servers: str) -> None:
    modules = modules_after("topics", "--list", "-o", "yaml", "--bootstrap-server", servers)
    assert heavy(modules, allowed=("yaml",)) == []
