"""How the house is built, in numbers that may not grow: what a file must know of others before it can be read."""

from __future__ import annotations

import ast
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "kafka_tools"

LARGEST_CIRCLE = 2
"""Files that import each other, in any way and at any depth."""
CIRCLES = 6
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


MOST_LINES = 400
LONG_FILES = {
    "broker_embedded/listeners/client_connection.py", "clients/consumer.py",
    "config_definitions/broker.py", "config_definitions/zookeeper/tables.py",
    "net/connection.py", "net/pool.py",
    "protocol/stored/cluster_metadata.py", "storage/findings.py", "storage/log/partition_log.py",
    "storage/log/segment.py",
}  # fmt: skip
"""Files that are longer: tables of Kafka's, and classes that wait for a second noun. The list only becomes shorter."""
MOST_SIBLINGS = 25
CROWDED = {".", "broker_embedded", "broker_embedded/handlers", "protocol/messages"}
"""Folders with more: the package itself, the broker with a folder per owner of state, and lists of Kafka's APIs."""
KAFKA_S_NAMES = ("broker_embedded/handlers", "protocol/messages", "spark/discovered")
"""Folders whose files have names that others gave."""
DEFINITIONS = ("kafka_tools.protocol.messages.", "kafka_tools.protocol.stored.")


def folders() -> Mapping[str, list[Path]]:
    """Folder below the package -> its files and folders of Python."""
    found: dict[str, list[Path]] = {}
    for folder in sorted({path.parent for path in modules().values()}):
        inner = [each for each in folder.iterdir() if each.suffix == ".py" or (each / "__init__.py").is_file()]
        found[folder.relative_to(ROOT / PACKAGE).as_posix()] = sorted(inner)
    return found


AT_THE_TOP = {
    ".ci", ".gitignore", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "benchmarks",
    "completions", "docs", "kafka_tools", "pyproject.toml", "schemas", "tests",
}  # fmt: skip


MADE_BY_RUNS = {"build", "dist", "derby.log", "metastore_db", "spark-warehouse"}


def test_nothing_is_left_lying_at_the_top() -> None:
    """What somebody wrote while trying things out is no part of the product."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    if listed.returncode == 0 and listed.stdout:
        found = {name.partition("/")[0] for name in listed.stdout.splitlines()}
    else:  # a copy of what is committed, with what a run of the tests makes
        names = {path.name for path in ROOT.iterdir() if path.suffix != ".egg-info"}
        found = {name for name in names - MADE_BY_RUNS if not name.startswith(".")}
    assert found <= AT_THE_TOP


def test_files_are_short() -> None:
    long = {
        path.relative_to(ROOT / PACKAGE).as_posix()
        for path in modules().values()
        if len(path.read_text(encoding="utf-8").splitlines()) > MOST_LINES
    }
    assert long <= LONG_FILES, "split what grew by nouns"
    assert long >= LONG_FILES, "what is short now leaves the list"


def test_folders_are_not_crowded() -> None:
    assert {name for name, inner in folders().items() if len(inner) > MOST_SIBLINGS} == CROWDED


def test_a_prefix_shared_by_three_siblings_is_a_folder() -> None:
    for name, inner in folders().items():
        if name in KAFKA_S_NAMES:
            continue
        prefixes = Counter(each.stem.partition("_")[0] for each in inner)
        assert {prefix for prefix, count in prefixes.items() if prefix and count > 2} == set(), name


def test_a_class_has_a_name_of_its_own() -> None:
    """One word, one thing. Structs in the definitions have Kafka's names, which repeat."""
    places: dict[str, list[str]] = {}
    for name, path in modules().items():
        if name.startswith(DEFINITIONS):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(name)
    assert {name for name, found in places.items() if len(found) > 1} == set()


def test_what_a_class_sets_up_is_set_up_in_every_subclass() -> None:
    """``super().__init__`` is called wherever a class of the package in the bases has an ``__init__``."""
    classes = {
        node.name: (node, name)
        for name, path in modules().items()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }

    def sets_up(node: ast.ClassDef) -> ast.FunctionDef | None:
        return next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)

    skipped = []
    for node, name in classes.values():
        own = sets_up(node)
        bases = {ast.unparse(base).partition("[")[0] for base in node.bases} & classes.keys()
        asked = ("super().__init__(", *(f"{base}.__init__(" for base in bases))
        needed = own is not None and any(sets_up(classes[base][0]) for base in bases)
        if own is not None and needed and not any(text in ast.unparse(own) for text in asked):
            skipped.append(f"{name}.{node.name}")
    assert skipped == []


def test_names_are_compared_with_known_ones_in_one_place() -> None:
    """What a misspelt name may have meant: ``near_names`` knows how like is like enough."""
    users = {name for name, path in modules().items() if "difflib" in path.read_text(encoding="utf-8")}
    assert users == {f"{PACKAGE}.texts.near_names"}


REPLACING = ("setattr", "patch", "patch.object")
"""How the functions end with which a test replaces something."""


@cache
def replacements() -> tuple[tuple[Path, ast.Module, list[ast.Call]], ...]:
    """Each file of tests that replaces something: its path, its tree and the calls that do."""
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "setattr" not in source and "patch" not in source:
            continue
        tree = ast.parse(source)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        found.append((path, tree, [each for each in calls if ast.unparse(each.func).endswith(REPLACING)]))
    return tuple(found)


def test_tests_replace_the_network_at_its_seam_alone() -> None:
    """``net.network.using`` is there for a network in memory; nothing else of ``net`` or of sockets is replaced."""
    replaced = []
    for path, _, calls in replacements():
        for node in calls:
            target = ast.unparse(node.args[0]) if node.args else ""
            if target.strip("'").startswith((f"{PACKAGE}.net.", "socket", "selectors")):
                replaced.append(f"{path.relative_to(ROOT)}:{node.lineno}: {target}")
    assert replaced == []


PATCHED_BOUNDS = {
    "commands.logs.dump_log._BAR_FROM_BYTES",
    "commands.logs.dump_log._MIB",
    "commands.partitions.reassignment.current.MOST_NAMED",
    "commands.partitions.reassignment.ledger._LONGEST_TURN_S",
    "dump.walk.FAST_FROM_BYTES",
    "dump.walk.PIECE_BYTES",
    "dump.walk.WINDOW_BYTES",
    "records.chain_columns._FIRST_BYTES",
    "records.chain_columns._MANY",
    "records.columns._STEP_COST",
    "spark.columns.records.WINDOW_BYTES",
    "spark.files.BLOCK_BYTES",
    "spark.measures.records.LIMIT_BYTES",
    "storage.live.STEP_S",
    "storage.log.producer_snapshots.FEW",
    "storage.producer_state._EXPIRED_AT_ONCE",
    "storage.search.FIRST_BYTES",
    "storage.search._CRC_BYTES",
    "storage.search._WINDOW_BYTES",
    "texts.name_patterns.MOST_S",
}


def patched_bounds(tree: ast.Module, calls: list[ast.Call]) -> Iterator[str]:
    """The constants of the package that a test replaces."""
    modules_by_name = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for node in calls:
        texts = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        if node.args and isinstance(node.args[0], ast.Name) and texts:
            texts = [f"{modules_by_name.get(node.args[0].id)}.{texts[0]}"]
        module, _, name = (texts or [""])[0].rpartition(".")
        if name.isupper() and module in modules():
            yield f"{module.removeprefix(PACKAGE + '.')}.{name}"


def test_tests_pass_their_own_bounds_and_patch_none() -> None:
    """As a parameter, or for the bundled broker in ``BrokerLimits``. The list only gets shorter."""
    found = {name for _, tree, calls in replacements() for name in patched_bounds(tree, calls)}
    assert found == PATCHED_BOUNDS


def test_the_connection_options_stand_once() -> None:
    spelled = ("--bootstrap-server", "--bootstrap-controller", "--command-config", "--command-property", "--trace")
    places: dict[str, set[str]] = {each: set() for each in spelled}
    for name, path in modules().items():
        source = path.read_text(encoding="utf-8")
        if not any(each in source for each in spelled):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("option", "_config_file"):
                for argument in node.args:
                    if isinstance(argument, ast.Constant) and argument.value in places:
                        places[argument.value].add(name)
    assert {place for found in places.values() for place in found} == {f"{PACKAGE}.commands.options.connection"}
