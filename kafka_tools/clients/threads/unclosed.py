"""Clients that nobody closed: a warning when the last reference goes, or when the interpreter ends.

Nothing is sent then. A finalizer cannot wait for brokers, and an interpreter that ends must not hang.
"""

from __future__ import annotations

import atexit
import os
import warnings
import weakref
from collections.abc import Callable


class Unclosed:
    """The warning of one client, which has the only strong reference to it.

    ``lost`` says what is lost if the client ends now, None if nothing is. ``end`` ends its thread, and ``release``
    closes its connections. None of them may refer to the client itself.
    """

    def __init__(
        self, name: str, lost: Callable[[], str | None], end: Callable[[], None], release: Callable[[], None]
    ) -> None:
        self.is_closed = False
        """Whether the client was closed, so that there is nothing to warn of."""
        self._process_id = os.getpid()
        self._name = name
        self._lost = lost
        self._end = end
        self._release = release
        _open.add(self)

    def __del__(self) -> None:
        """The client is no longer referenced, so no thread is inside it."""
        if self._is_finished("its last reference was lost"):
            self._release()

    def at_exit(self) -> None:
        """The interpreter ends. Threads may still be inside the client."""
        self._is_finished("the interpreter ended")

    def _is_finished(self, why: str) -> bool:
        """Warn and end the thread, once; not in a forked child, whose client is a copy."""
        if self.is_closed or self._process_id != os.getpid():
            return False
        self.is_closed = True
        self._end()
        lost = self._lost()
        text = f"a {self._name} was not closed before {why}"
        if lost is None:
            warnings.warn(text, ResourceWarning, stacklevel=3)
        else:
            warnings.warn(f"{text}: {lost}", RuntimeWarning, stacklevel=3)
        return True


_open: weakref.WeakSet[Unclosed] = weakref.WeakSet()


def _at_exit() -> None:
    for unclosed in list(_open):
        unclosed.at_exit()


atexit.register(_at_exit)
