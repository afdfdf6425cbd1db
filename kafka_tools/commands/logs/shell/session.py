"""The commands of the shell, over a tree of nodes: the working directory, and the output of each command."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kafka_tools.commands import running
from kafka_tools.commands.logs.shell.lines import Line, manual, overview
from kafka_tools.commands.logs.shell.nodes import Node, TreeDirectory, TreeFile
from kafka_tools.commands.logs.shell.paths import ROOT, FoundNode, visit

_STEP = "  "
_LEAST_COLUMN = 4


class ShellSession:
    """One session. ``emit`` gets the output of a command, ``complain`` a line about each failure.

    ``width``: columns of the terminal, None without one. ``history``: (number, line) of typed lines.
    """

    def __init__(
        self,
        root: TreeDirectory,
        emit: Callable[[str], object],
        complain: Callable[[str], object],
        *,
        width: Callable[[], int | None] = lambda: None,
        history: Callable[[], Sequence[tuple[int, str]]] = lambda: (),
    ) -> None:
        self.root = root
        self.working_directory = ROOT
        self._emit = emit
        self._complain = complain
        self._width = width
        self._typed = history

    def run(self, line: Line) -> bool:
        """Run a command; False for ``exit``."""
        if line.verb == "exit":
            return False
        getattr(self, f"_{line.verb}")(line.arguments)
        return True

    def visit(self, path: str) -> Iterator[FoundNode]:
        """The nodes of a path, relative to the working directory."""
        return visit(self.root, path, self.working_directory)

    def _ls(self, targets: list[str]) -> None:
        files: list[str] = []
        directories: list[tuple[str, list[str]]] = []
        for _, found in self._found("ls", _or_here(targets), "no such file or directory."):
            if isinstance(found.node, TreeDirectory):
                directories.append((found.name, found.node.names()))
            else:
                files.append(found.name)
        self._entries("", files)
        titled = bool(files) or len(directories) > 1
        first = not files
        for name, children in directories:
            title = f"{'' if first else chr(10)}{running.shown(name)}:" if titled else ""
            first = first and not titled
            self._entries(title, children)

    def _entries(self, title: str, entries: list[str]) -> None:
        if not entries:
            return
        if title:
            self._emit(f"{title}\n")
        entries = [running.shown(entry) for entry in entries]
        widths = column_widths(entries, self._width())
        lines = -(-len(entries) // len(widths))
        for line in range(lines):
            cells = [
                entries[at].ljust(width) if column + 1 < len(widths) else entries[at]
                for column, width in enumerate(widths)
                if (at := line + column * lines) < len(entries)
            ]
            self._emit("".join(cells) + "\n")

    def _found(self, verb: str, targets: list[str], missing: str) -> Iterator[tuple[str, FoundNode]]:
        """Each target and its nodes. Complains about a target without nodes."""
        for target in targets:
            found = list(self.visit(target))
            if not found:
                self._complain(f"{verb}: {target}: {missing}")
            for each in found:
                yield target, each

    def _cat(self, targets: list[str]) -> None:
        for target, found in self._found("cat", targets, "No such file or directory."):
            if isinstance(found.node, TreeFile):
                self._emit(f"{running.shown(found.node.text())}\n")
            else:
                self._complain(f"cat: {target}: Is a directory")

    def _tree(self, targets: list[str]) -> None:
        for _, found in self._found("tree", targets, "No such file or directory."):
            self._show(found.node, 0)

    def _show(self, node: Node, depth: int) -> None:
        if isinstance(node, TreeFile):
            self._emit(f"{_STEP * depth}{running.shown(node.text())}\n")
            return
        for name in node.names():
            self._emit(f"{_STEP * depth}{running.shown(name)}:\n")
            child = node.child(name)
            if child is not None:
                self._show(child, depth + 1)

    def _find(self, paths: list[str]) -> None:
        for path, found in self._found("find", _or_here(paths), "no such file or directory."):
            self._list(path, found.node)

    def _list(self, path: str, node: Node | None) -> None:
        self._emit(f"{running.shown(path)}\n")
        if isinstance(node, TreeDirectory):
            for name in node.names():
                self._list(f"{path}{name}" if path == ROOT else f"{path}/{name}", node.child(name))

    def _cd(self, targets: list[str]) -> None:
        for target, found in self._found("cd", targets or [ROOT], "no such directory."):
            if isinstance(found.node, TreeDirectory):
                self.working_directory = found.absolute
            else:
                self._complain(f"cd: {target}: not a directory.")

    def _pwd(self, _: list[str]) -> None:
        self._emit(f"{running.shown(self.working_directory)}\n")

    def _help(self, _: list[str]) -> None:
        self._emit(overview())

    def _man(self, names: list[str]) -> None:
        self._emit(manual(names[0]))

    def _history(self, counts: list[str]) -> None:
        lines = self._typed()
        count = max(0, int(counts[0])) if counts else len(lines)
        for number, text in lines[max(0, len(lines) - count) :]:
            self._emit(f"{number:>5}  {text}\n")


def _or_here(targets: list[str]) -> list[str]:
    """The targets that are not empty; without any, the working directory."""
    return [target for target in targets if target] or ["."]


def column_widths(entries: Sequence[str], screen: int | None) -> list[int]:
    """The widths of the columns, as many as fit on the screen, none of them empty; one where there is no screen."""
    if screen is not None:
        for columns in range(screen // _LEAST_COLUMN, 1, -1):
            lines = -(-len(entries) // columns)
            widths = [
                max((len(entry) + 2 for entry in entries[at * lines : (at + 1) * lines]), default=0)
                for at in range(columns)
            ]
            if widths[-1] and sum(widths) <= screen:
                return widths
    return [0]
