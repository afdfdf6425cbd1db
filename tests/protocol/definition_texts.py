"""The words of a definition: the docstring of its module, and the comments above its fields and structs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

PROTOCOL = Path(__file__).resolve().parent.parent.parent / "kafka_tools" / "protocol"


@cache
def sections(stem: str) -> tuple[str, dict[str, dict[str, str]]]:
    """(the text before the sections, section -> entry -> its text) of the docstring of an API's definition."""
    text = import_module(f"kafka_tools.protocol.messages.{stem}").__doc__ or ""
    head, *parts = re.split(r"^(Versions|Errors)\n", text, flags=re.MULTILINE)
    found: dict[str, dict[str, str]] = {}
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        entries = re.findall(r"^    (\S[^:\n]*): ((?:.*)(?:\n {8}.*)*)", body, re.MULTILINE)
        assert len(entries) == len(re.findall(r"^ {4}\S", body, re.MULTILINE)), (
            f"{stem}: a line of {title} is not an entry"
        )
        found[title] = {key: " ".join(words.split()) for key, words in entries}
        assert len(found[title]) == len(entries), f"{stem}: an entry of {title} stands twice"
    return head, found


def errors_told(stem: str) -> set[str]:
    """The error codes whose condition a definition tells."""
    return set(sections(stem)[1].get("Errors", {}))


def modules(folder: str) -> list[str]:
    """The stems of ``messages`` or ``stored``."""
    return sorted(path.stem for path in (PROTOCOL / folder).glob("[a-z]*.py"))


@cache
def fields(folder: str, stem: str) -> Mapping[str, str]:
    """Each field of a module, as "Class.Nested.field" -> the comment above it; empty if there is none."""
    return {name: comment for name, comment, is_field in _commented(folder, stem) if is_field}


@cache
def structs(folder: str, stem: str) -> Mapping[str, str]:
    """Each struct of a module, as "Class.Nested" -> the comment above it; empty if there is none."""
    return {name: comment for name, comment, is_field in _commented(folder, stem) if not is_field}


def _commented(folder: str, stem: str) -> Iterator[tuple[str, str, bool]]:
    """(name, comment, whether it is a field) of all fields and structs."""
    source = (PROTOCOL / folder / f"{stem}.py").read_text(encoding="utf-8")
    lines = source.splitlines()

    def above(line: int) -> str:
        """The comment lines directly above a line, which is counted from 1."""
        first = line - 1
        while first and lines[first - 1].lstrip().startswith("#"):
            first -= 1
        return " ".join(text.lstrip(" #").rstrip() for text in lines[first : line - 1])

    def within(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, str, bool]]:
        for node in body:
            if isinstance(node, ast.ClassDef):
                yield prefix + node.name, above(node.lineno), False
                yield from within(node.body, f"{prefix}{node.name}.")
            elif prefix and isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                yield prefix + node.targets[0].id, above(node.lineno), True

    return within(ast.parse(source).body, "")
