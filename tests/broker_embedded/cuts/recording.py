"""The trace of what a broker does to its files: writes, names, and what is forced to the disk, in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class File:
    """A file, whatever it is called; ``data`` is what the kernel has of it."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = bytearray(data)


class Directory:
    """A directory; ``entries`` are its names as the kernel has them."""

    def __init__(self) -> None:
        self.entries: dict[str, File | Directory] = {}


Node = File | Directory


class Written(NamedTuple):
    """Bytes of a file from ``position`` on."""

    file: File
    position: int
    data: bytes


class Resized(NamedTuple):
    """The new size of a file."""

    file: File
    size: int


class Named(NamedTuple):
    """Names of one directory that change together; None for one that is gone."""

    directory: Directory
    changes: dict[str, Node | None]


class Forced(NamedTuple):
    """What was done to a file, or to a directory's names, is on the disk."""

    node: Node


Event = Written | Resized | Named | Forced


class Recorder:
    """Follows everything beneath ``root``, which is on the disk as it is now. Its fsyncs cost nothing.

    What is written around ``os`` (Python's own files) is noticed at the next call that is followed.
    """

    def __init__(self, root: Path) -> None:
        self._path = os.fspath(root)
        self.root = _tree(root)
        self.initial_contents: dict[File, bytes] = {}
        self.initial_entries: dict[Directory, dict[str, Node]] = {}
        self._take_down(self.root)
        self.events: list[Event] = []
        self._nodes: dict[int, Node] = {}
        self._written_around: list[tuple[str, File]] = []

    def _take_down(self, directory: Directory) -> None:
        self.initial_entries[directory] = dict(directory.entries)
        for node in directory.entries.values():
            if isinstance(node, Directory):
                self._take_down(node)
            else:
                self.initial_contents[node] = bytes(node.data)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """What happens meanwhile is recorded."""
        with pytest.MonkeyPatch.context() as patch:
            for name in (
                "open", "pwrite", "ftruncate", "posix_fallocate", "replace", "rename", "remove", "unlink", "mkdir",
                "rmdir", "fsync", "fdatasync",
            ):  # fmt: skip
                patch.setattr(os, name, self._watched(getattr(self, f"_{name}"), getattr(os, name)))
            yield

    def _watched(self, follow: Callable[..., Any], real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self._catch_up()
            return follow(real, *arguments, **options)

        return call

    def _catch_up(self) -> None:
        for path, file in self._written_around:
            if self._node(path) is file:
                self._notice(file, Path(path).read_bytes())
        self._written_around.clear()

    def _place(self, path: Any, dir_fd: int | None = None) -> tuple[Directory, str] | None:
        """The directory and the name of a path, None for one that lies elsewhere."""
        path = os.fspath(path)
        if dir_fd is not None:
            found = self._nodes.get(dir_fd)
            return (found, path) if isinstance(found, Directory) else None
        if not path.startswith(self._path + os.sep):
            return None
        *parents, name = path[len(self._path) + 1 :].split(os.sep)
        directory: Node | None = self.root
        for parent in parents:
            directory = directory.entries.get(parent) if isinstance(directory, Directory) else None
        return (directory, name) if isinstance(directory, Directory) else None

    def _node(self, path: Any, dir_fd: int | None = None) -> Node | None:
        if dir_fd is None and os.fspath(path) == self._path:
            return self.root
        at = self._place(path, dir_fd)
        return None if at is None else at[0].entries.get(at[1])

    def _name(self, directory: Directory, **changes: Node | None) -> None:
        self.events.append(Named(directory, changes))
        for name, node in changes.items():
            if node is None:
                directory.entries.pop(name, None)
            else:
                directory.entries[name] = node

    def _opened(self, fd: int, node: Node | None) -> None:
        if node is None:
            self._nodes.pop(fd, None)
        else:
            self._nodes[fd] = node

    def _notice(self, file: File, data: bytes) -> None:
        """Take what was written around ``os``."""
        if len(data) < len(file.data):
            self._resize(file, len(data))
        if data != file.data:
            first = next(
                (at for at, (old, new) in enumerate(zip(file.data, data, strict=False)) if old != new), len(file.data)
            )
            self._write(file, first, data[first:])

    def _write(self, file: File, position: int, data: bytes) -> None:
        self.events.append(Written(file, position, bytes(data)))
        write_into(file.data, position, data)

    def _resize(self, file: File, size: int) -> None:
        self.events.append(Resized(file, size))
        resize_to(file.data, size)

    # The functions of os

    def _open(self, real: Any, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        fd: int = real(path, flags, mode, dir_fd=dir_fd)
        node = self._node(path, dir_fd)
        at = self._place(path, dir_fd)
        if node is None and at is not None and flags & os.O_CREAT:
            node = File()
            self._name(at[0], **{at[1]: node})
        elif isinstance(node, File) and flags & os.O_TRUNC and node.data:
            self._resize(node, 0)
        self._opened(fd, node)
        if isinstance(node, File) and flags & (os.O_APPEND | os.O_WRONLY) and dir_fd is None:
            self._written_around.append((os.fspath(path), node))
        return fd

    def _pwrite(self, real: Any, fd: int, data: Any, position: int) -> int:
        written: int = real(fd, data, position)
        file = self._nodes.get(fd)
        if isinstance(file, File):
            self._write(file, position, bytes(memoryview(data)[:written]))
        return written

    def _ftruncate(self, real: Any, fd: int, size: int) -> None:
        real(fd, size)
        file = self._nodes.get(fd)
        if isinstance(file, File):
            self._resize(file, size)

    def _posix_fallocate(self, real: Any, fd: int, position: int, size: int) -> None:
        real(fd, position, size)
        file = self._nodes.get(fd)
        if isinstance(file, File) and len(file.data) < position + size:
            self._resize(file, position + size)

    def _replace(self, real: Any, source: Any, target: Any) -> None:
        before, after, node = self._place(source), self._place(target), self._node(source)
        if isinstance(node, File):
            self._notice(node, Path(source).read_bytes())
        real(source, target)
        if before is not None and after is not None and node is not None:
            assert before[0] is after[0], "renamed within a directory"
            self._name(before[0], **{before[1]: None, after[1]: node})

    _rename = _replace

    def _remove(self, real: Any, path: Any, *, dir_fd: int | None = None) -> None:
        at = self._place(path, dir_fd)
        real(path, dir_fd=dir_fd)
        if at is not None:
            self._name(at[0], **{at[1]: None})

    _unlink = _rmdir = _remove

    def _mkdir(self, real: Any, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        at = self._place(path, dir_fd)
        real(path, mode, dir_fd=dir_fd)
        if at is not None:
            self._name(at[0], **{at[1]: Directory()})

    def _fsync(self, real: Any, fd: int) -> None:
        node = self._nodes.get(fd)
        if isinstance(node, File):
            self._notice(node, _content(fd))
        if node is not None:
            self.events.append(Forced(node))

    _fdatasync = _fsync


def _content(fd: int) -> bytes:
    return Path(f"/proc/self/fd/{fd}").read_bytes()


def write_into(content: bytearray, position: int, data: bytes) -> None:
    """What a write makes of a file's bytes."""
    if position > len(content):
        content.extend(bytes(position - len(content)))
    content[position : position + len(data)] = data


def resize_to(content: bytearray, size: int) -> None:
    """What a new size makes of them."""
    if size < len(content):
        del content[size:]
    else:
        content.extend(bytes(size - len(content)))


def _tree(path: Path) -> Directory:
    found = Directory()
    for entry in path.iterdir():
        found.entries[entry.name] = _tree(entry) if entry.is_dir() else File(entry.read_bytes())
    return found
