"""House rules that a machine can check: style, types, sizes, words, and nothing of a machine in the sources."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "kafka_tools"
SKIPPED_FOLDERS = {".git", ".venv", "__pycache__", "dist", "build", "node_modules"}
TEXT_ENDINGS = {".py", ".md", ".toml", ".json", ".txt", ".java", ".bash", ".zsh", ".fish", ".yml", ".yaml", ".cfg", ""}

MODULE_LINES = 600
"""Most modules have 80 to 400 lines; past this one holds two things: split it by what it is about."""


@cache
def text_files() -> tuple[Path, ...]:
    """Every text file of the checkout, build products and caches left out."""
    return tuple(sorted(_walk(ROOT)))


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_symlink() or path.name in SKIPPED_FOLDERS or path.name.endswith(("_cache", ".egg-info")):
            continue
        if path.is_dir():
            if path.name not in (".hypothesis", "corpus"):
                yield from _walk(path)
        elif path.suffix in TEXT_ENDINGS:
            yield path


def python_files(folder: Path) -> list[Path]:
    return [path for path in text_files() if path.suffix == ".py" and folder in path.parents]


def run(*command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=540
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_ruff_finds_nothing() -> None:
    run("ruff", "check", ".")


def test_code_is_formatted() -> None:
    run("ruff", "format", "--check", ".")


@pytest.mark.timeout(600)
def test_types_are_sound() -> None:
    run("mypy")


def is_table(path: Path) -> bool:
    """Data in Python's clothes: derived files and tables may be as long as what they list."""
    text = path.read_text(encoding="utf-8")
    return "do not edit" in text[:300] or path.parent.name in ("messages", "stored", "config_definitions")


@pytest.mark.parametrize("folder", ["kafka_tools", "benchmarks"])
def test_modules_fit_the_mind(folder: str) -> None:
    sizes = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in python_files(ROOT / folder)
        if not is_table(path)
    }
    assert {name: lines for name, lines in sizes.items() if lines > MODULE_LINES} == {}


def test_no_module_is_called_after_nothing() -> None:
    vague = {"utils", "util", "common", "helpers", "helper", "base", "misc", "stuff"}
    assert [str(path) for path in python_files(PACKAGE) if path.stem in vague or path.parent.name in vague] == []


def test_sources_say_nothing_of_a_machine() -> None:
    mine = re.compile(
        r"/(?:root|work|home/(?!me/)[a-z]+|Users/[A-Za-z]+)/|/tmp/[A-Za-z0-9]{6,}|https?://(?:10|192\.168)\."
    )
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in text_files()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if mine.search(line)
    ]
    assert found == []


def test_nothing_is_left_to_do_later() -> None:
    later = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b|\bNotImplementedError\b|not (?:yet )?implemented", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in text_files()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if later.search(line)
    ]
    assert found == []


def test_time_is_asked_of_the_clock_only() -> None:
    """Everything that waits or stamps takes a Clock, so that tests advance time instead of spending it."""
    forbidden = {"time", "time_ns", "monotonic", "sleep"}
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files(PACKAGE)
        if path.name != "clock.py" and not {"commands", "spark"} & set(path.relative_to(PACKAGE).parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "time"
        and node.attr in forbidden
    ]
    assert found == []


def test_the_library_prints_nothing() -> None:
    """Text belongs to commands and output; a library that prints spoils somebody's pipe."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files(PACKAGE)
        if "commands" not in path.parts and path.name not in ("cli.py", "scripts.py", "__main__.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert found == []
