"""Paths and globs of the shell: the nodes of a word, and its completions.

``*``, ``?``, ``{a,b}`` and ``\\`` are Kafka's (``GlobComponent``, ``GlobVisitor``, ``CommandUtils`` of Kafka). A
component that is not a valid glob is a plain name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from kafka_tools.commands.logs.shell.nodes import Node, TreeDirectory

ROOT = "/"
_STAR = ".*"


class FoundNode(NamedTuple):
    """A node and its path."""

    path: tuple[str, ...]
    node: Node

    @property
    def name(self) -> str:
        return self.path[-1] if self.path else ROOT

    @property
    def absolute(self) -> str:
        return ROOT + "/".join(self.path)


def components(path: str, working_directory: str) -> list[str]:
    """The names of a path, absolute, without ``.`` and ``..``."""
    absolute = path if path.startswith("/") else f"{working_directory}/{path}"
    names: list[str] = []
    for name in absolute.split("/"):
        if name == "..":
            del names[-1:]
        elif name and name != ".":
            names.append(name)
    return names


def visit(root: TreeDirectory, path: str, working_directory: str) -> Iterator[FoundNode]:
    """The nodes of a path, those of a glob in the order of their names; may be empty."""
    yield from _visit(root, components(path, working_directory), ())


def _visit(node: Node, names: list[str], path: tuple[str, ...]) -> Iterator[FoundNode]:
    if len(path) == len(names):
        yield FoundNode(path, node)
        return
    if not isinstance(node, TreeDirectory):
        return
    wanted = names[len(path)]
    pattern = glob_pattern(wanted)
    chosen = [wanted] if pattern is None else [name for name in node.names() if pattern.fullmatch(name)]
    for name in chosen:
        child = node.child(name)
        if child is not None:
            yield from _visit(child, names, (*path, name))


@lru_cache(maxsize=64)
def glob_pattern(glob: str) -> re.Pattern[str] | None:
    """The pattern of one component; None for a plain name, and for a glob with an open brace."""
    pattern, is_literal, in_group = "", True, False
    at = 0
    while at < len(glob):
        character = glob[at]
        at += 1
        if character == "\\" and at < len(glob):
            pattern += re.escape(glob[at])
            at += 1
        elif character in "?*":
            pattern, is_literal = pattern + (_STAR if character == "*" else "."), False
        elif character == "{":
            if in_group:
                return None
            pattern, is_literal, in_group = pattern + "(?:(?:", False, True
        elif character in ",}" and in_group:
            pattern, in_group = pattern + (")|(?:" if character == "," else "))"), character == ","
        else:
            pattern += re.escape(character)
    if is_literal or in_group:
        return None
    return re.compile(pattern if "(?:" in pattern else _without_retries(pattern))


def _without_retries(pattern: str) -> str:
    """The same pattern, for which a long name that does not match takes no more than a look at each place.

    What stands between two stars is best where it is found first. (Not so with alternatives of several lengths.)
    """
    first, *middle = pattern.split(_STAR)
    if not middle:
        return first
    *middle, last = middle
    return first + "".join(f"(?>.*?{part})" for part in middle) + _STAR + last


def continuations(root: TreeDirectory, prefix: str, working_directory: str) -> list[str]:
    """The completions of ``prefix``. A directory ends with ``/``."""
    names = components(prefix, working_directory)
    start = "" if prefix.endswith("/") or not names or not prefix else names.pop()
    directory: Node | None = root
    for name in names:
        if not isinstance(directory, TreeDirectory):
            return []
        directory = directory.child(name)
    if not isinstance(directory, TreeDirectory):
        return []
    typed = prefix[: prefix.rfind("/") + 1]
    return [
        f"{typed}{name}{'/' if isinstance(directory.child(name), TreeDirectory) else ''}"
        for name in dict.fromkeys(directory.names())
        if name.startswith(start)
    ]
