"""The console scripts: the version without click, everything else through the command's own main."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from kafka_tools.cli import COMMANDS, SCRIPTS
from kafka_tools.commands.running import version_line

PROBE = """
import json, sys
from kafka_tools import scripts
function = sys.argv.pop(1)
try:
    getattr(scripts, function)()
finally:
    print("\\n" + json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def run(script: str, *arguments: str) -> tuple[str, set[str]]:
    """stdout and loaded modules of a script that ends with status 0."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, script.replace("-", "_"), *arguments], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.req("VER-1", "VER-3")
@pytest.mark.parametrize("script", ["tools", *SCRIPTS])
def test_version_comes_before_everything_else(script: str) -> None:
    for arguments in (["--version"], ["--no-such-option", "--version", "x"]):
        out, modules = run(script, *arguments)
        assert out == version_line() + "\n"
        assert not modules & {"click", "typing", "kafka_tools.cli", "kafka_tools.errors"}


@pytest.mark.parametrize("script", SCRIPTS)
def test_other_command_lines_are_the_commands(script: str) -> None:
    out, modules = run(script, "--help")
    assert out.startswith("Usage: ")
    assert COMMANDS[script][0].split(":")[0] in modules


@pytest.mark.req("VER-2")
def test_only_the_exact_token_asks_for_the_version() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, "topics", "--version=1"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    assert done.stdout == ""
