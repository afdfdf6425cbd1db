"""A disk that refuses once: a write, a name or an fsync fails, or only part of a write is done."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

ROOM = ("open", "pwrite", "replace", "mkdir")
KINDS: dict[str, tuple[tuple[str, ...], int]] = {
    "full": (ROOM, errno.ENOSPC),
    "broken": (ROOM, errno.EIO),
    "short": (("pwrite",), 0),
    "unforced": (("fsync", "fdatasync"), errno.EIO),
    "unforced for want of room": (("fsync", "fdatasync"), errno.ENOSPC),
}
"""What fails, and how: 0 is a write of which part is done, and which says so."""


class RefusingDisk:
    """Refuses the ``number``-th call of a kind that changes files; ``struck`` tells whether it has."""

    def __init__(self, kind: str, number: int) -> None:
        self._names, self._code = KINDS[kind]
        self._left = number
        self.struck = False

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """It is in force meanwhile."""
        with pytest.MonkeyPatch.context() as patch:
            for name in self._names:
                patch.setattr(os, name, self._watched(name, getattr(os, name)))
            yield

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if name == "open" and not arguments[1] & os.O_CREAT:
                return real(*arguments, **options)
            self._left -= 1
            if self._left:
                return real(*arguments, **options)
            self.struck = True
            if name == "pwrite":
                fd, data, position = arguments
                written = real(fd, memoryview(data)[: len(data) // 2], position)
                if not self._code:
                    return written
            raise OSError(self._code, os.strerror(self._code))

        return call
