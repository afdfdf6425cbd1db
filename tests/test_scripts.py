"""The console scripts: the version without click, every other command line by the name of the script."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_tools import VERSION_LINE
from kafka_tools.commands.registry import COMMANDS, SCRIPTS

PROBE = """
import json, sys
from kafka_tools import scripts
del sys.argv[0]
try:
    scripts.main()
finally:
    print("\\n" + json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def run(script: str, *arguments: str) -> tuple[str, set[str]]:
    """stdout and loaded modules of a script that ends with status 0."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, script, *arguments], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.req("VER-1", "VER-3")
@pytest.mark.parametrize("script", ["kafka-tools", *(f"kafka-{name}" for name in SCRIPTS)])
def test_version_comes_before_everything_else(script: str) -> None:
    for arguments in (["--version"], ["--no-such-option", "--version", "x"]):
        out, modules = run(script, *arguments)
        assert out == VERSION_LINE + "\n"
        assert not modules & {"click", "typing", "kafka_tools.cli", "kafka_tools.commands", "kafka_tools.errors"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_other_command_lines_are_the_commands(name: str) -> None:
    out, modules = run(f"kafka-{name}", "--help")
    assert out.startswith(f"Usage: kafka-{name} ")
    assert {row.path for row in COMMANDS.values()} & modules == {COMMANDS[name].path}
    assert "kafka_tools.cli" not in modules


@pytest.mark.parametrize("called", ["/opt/kafka/bin/kafka-cluster.sh", "bin/kafka-cluster", "kafka-cluster.sh"])
def test_the_name_under_which_it_was_called_is_what_counts(called: str) -> None:
    assert run(called, "--help")[0].startswith("Usage: kafka-cluster ")


def test_a_link_of_another_name_is_the_script_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "kafka-topics").touch()
    for link, target, program in (("t", "kafka-topics", "kafka-topics"), ("kafka-acls", "kafka-topics", "kafka-acls")):
        (tmp_path / link).symlink_to(target)
        assert run(str(tmp_path / link), "--help")[0].startswith(f"Usage: {program} ")


@pytest.mark.parametrize("called", ["kafka-tools", "kt", "topics", "kafka-audit", "kafka-nonsense", ""])
def test_any_other_name_is_kafka_tools(called: str) -> None:
    assert run(called, "--help")[0].startswith("Usage: kafka-tools ")


@pytest.mark.req("VER-2")
def test_only_the_exact_token_asks_for_the_version() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, "kafka-topics", "--version=1"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    assert done.stdout == ""
