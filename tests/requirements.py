"""What the product has to do, and what shows that it does: the rows of ``docs/requirements.md`` and where each stands.

The page's first two columns are written by hand; ``python -m tests.regen requirements`` writes the third one and the
counts. A requirement is *proven* by the tests whose ``@pytest.mark.req(...)`` names it, *decided* if docs/decisions.md
says what is done in its place, and *open* otherwise; one in ``PARTLY`` is open although tests name it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.broker_embedded.stories import files

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "requirements.md"
DECISIONS = ROOT / "docs" / "decisions.md"

PARTLY: dict[str, str] = {}
"""Open although tests name them: what they do not show, and what it needs."""

ID = r"(?:[A-Z]+-)+[A-Z]?m?\d+[a-z]?"
_ROW = re.compile(rf"\| ({ID}) \| (.*?) \|(?: (.*) \|)?")
_TESTS_LISTED = 3


@cache
def tests_by_requirement() -> dict[str, list[str]]:
    """ID -> the tests that name it, as ``folder/test_file.py: test_name``, and the scripts that do."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if "corpus" in path.parts:
            continue
        source = path.read_text(encoding="utf-8")
        for id, name in _marks(ast.parse(source)) if ".req(" in source else ():
            test = f"{path.relative_to(ROOT / 'tests')}" + (f": {name}" if name else "")
            tests = found.setdefault(id, [])
            if test not in tests:
                tests.append(test)
    for path in files.paths():
        for id in files.requirements(path):
            found.setdefault(id, []).append(str(path.relative_to(ROOT / "tests")))
    return found


def _marks(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(ID, the function it is about) of every ``req(...)`` in a module; no function for a mark of parameters."""
    inside: dict[ast.AST, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside |= {below: node.name for decorator in node.decorator_list for below in ast.walk(decorator)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "req":
            for argument in node.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value, inside.get(node, "")


def decided() -> set[str]:
    """IDs that have a row in docs/decisions.md."""
    return set(re.findall(rf"^\| ({ID}) \|", DECISIONS.read_text(encoding="utf-8"), re.MULTILINE))


def required() -> list[str]:
    """Every ID of the page, in its order."""
    return [match[1] for match in map(_ROW.fullmatch, PAGE.read_text(encoding="utf-8").splitlines()) if match]


@cache
def states() -> dict[str, str]:
    """ID -> the third column."""
    tests, decisions = tests_by_requirement(), decided()
    found = {}
    for id in required():
        if id in PARTLY:
            found[id] = "**open**"
        elif id in tests:
            more = len(tests[id]) - _TESTS_LISTED
            listed = "; ".join(tests[id][:_TESTS_LISTED])
            found[id] = f"{listed}; {more} more" if more > 0 else listed
        else:
            found[id] = "[decided](decisions.md)" if id in decisions else "**open**"
    return found


def page() -> str:
    """The page with its third column and its counts as they are now."""
    text = PAGE.read_text(encoding="utf-8")
    lines = []
    for line in text.splitlines():
        match = _ROW.fullmatch(line)
        lines.append(f"| {match[1]} | {match[2]} | {states()[match[1]]} |" if match else line)
    return re.sub(r"(?<=<!-- counts -->).*(?=<!-- end -->)", counts(), "\n".join(lines) + "\n")


def counts() -> str:
    """How many stand where."""
    own = {id: state for id, state in states().items() if not id.startswith("EASY-")}
    is_open = sum(state == "**open**" for state in own.values())
    is_decided = sum(state.startswith("[decided]") for state in own.values())
    return f"{len(own)} requirements: {len(own) - is_open - is_decided} proven, {is_decided} decided, {is_open} open"
