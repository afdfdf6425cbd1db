"""How the house is built, in numbers that may not grow: what a file must know of others before it can be read."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "kafka_tools"

LARGEST_CIRCLE = 2
"""Files that import each other, in any way and at any depth."""
CIRCLES = 7
"""How many such pairs there are."""

Imports = Mapping[str, frozenset[str]]


@cache
def modules() -> Mapping[str, Path]:
    """Every module of the package by its name."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imported_by(name: str, source: str, *, is_package: bool, known: Mapping[str, object]) -> frozenset[str]:
    """The modules that a module imports: at its top, in functions, and for types alone."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                parts = name.split(".")
                parents = parts[: len(parts) - node.level + is_package]
                module = ".".join([*parents, *([module] if module else [])])
            for alias in node.names:  # a name of the module, or a module of the package
                inner = f"{module}.{alias.name}"
                found.add(inner if inner in known else module)
    return frozenset(found & known.keys()) - {name}


@cache
def imports() -> Imports:
    """What imports what. The tables of lazy names in ``__init__`` are left out: nobody needs them to read a file."""
    found = {}
    for name, path in modules().items():
        source = path.read_text(encoding="utf-8")
        is_package = path.name == "__init__.py"
        if is_package and "lazy_names(" in source:
            found[name] = frozenset[str]()
        else:
            found[name] = imported_by(name, source, is_package=is_package, known=modules())
    return found


def circles(graph: Imports) -> list[list[str]]:
    """The groups of modules each of which leads to each other one, the largest first (Tarjan, without recursion)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    for root in graph:
        if root in number:
            continue
        path: list[tuple[str, Iterator[str]]] = []

        def enter(name: str, path: list[tuple[str, Iterator[str]]] = path) -> None:
            number[name] = lowest[name] = len(number)
            stack.append(name)
            path.append((name, iter(sorted(graph[name]))))

        enter(root)
        while path:
            name, rest = path[-1]
            following = next(rest, None)
            if following is None:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[name])
                if lowest[name] == number[name]:
                    at = stack.index(name)
                    if len(stack) - at > 1:
                        found.append(sorted(stack[at:]))
                    del stack[at:]
            elif following not in number:
                enter(following)
            elif following in stack:
                lowest[name] = min(lowest[name], number[following])
    return sorted(found, key=len, reverse=True)


def test_no_circle_is_larger_than_two() -> None:
    """If two modules need each other, the third thing between them has no name yet."""
    found = circles(imports())
    assert [circle for circle in found if len(circle) > LARGEST_CIRCLE] == []
    assert len(found) <= CIRCLES, found


def test_the_folders_of_the_bundled_broker_stand_on_each_other() -> None:
    """Each may be read after those beneath it: what the cluster decides is beneath what one broker does with it."""
    prefix = f"{PACKAGE}.broker_embedded."
    folders: dict[str, set[str]] = {}
    for name, wanted in imports().items():
        folder, inside, _ = name.removeprefix(prefix).partition(".")
        if not (name.startswith(prefix) and inside):
            continue
        beneath = {each.removeprefix(prefix).partition(".")[:2] for each in wanted if each.startswith(prefix)}
        folders.setdefault(folder, set()).update(other for other, deeper in beneath if deeper and other != folder)
    graph = {folder: frozenset(folders[folder] & folders.keys()) for folder in folders}
    assert circles(graph) == []
    assert graph["cluster"] == frozenset()


def test_circles_are_found_however_modules_import() -> None:
    known = dict.fromkeys(("k", "k.a", "k.b", "k.b.c", "k.d"))
    deferred = "def f():\n    import k.b.c\n"
    for_types = "if TYPE_CHECKING:\n    from ..d import X\n"
    graph = {
        "k": frozenset[str](),
        "k.a": imported_by("k.a", deferred, is_package=False, known=known),
        "k.b": imported_by("k.b", "from . import c", is_package=True, known=known),
        "k.b.c": imported_by("k.b.c", for_types, is_package=False, known=known),
        "k.d": imported_by("k.d", "from k import a, other", is_package=False, known=known),
    }
    assert graph["k.d"] == {"k.a", "k"}
    assert graph["k.b"] == {"k.b.c"}
    assert circles(graph) == [["k.a", "k.b.c", "k.d"]]
