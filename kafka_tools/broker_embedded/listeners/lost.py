"""Breaks the reference cycles of a lost connection, so that they leave no garbage.

A garbage collection ignores the objects that a full collection has examined (``process.ShortCollections``). A cycle of
a long-lived connection would stay in memory forever.
"""

from __future__ import annotations

from typing import Any


class Gone:
    """Replaces a transport that has ended, because the transport references the connection."""

    def is_closing(self) -> bool:
        return True

    def get_extra_info(self, name: str) -> None:
        """Always None."""

    def close(self) -> None:
        """Do nothing: it is closed."""

    abort = pause_reading = resume_reading = close


def unlink(transport: Any) -> None:
    """Break the reference cycle of asyncio's transport of a socket, which references its own method."""
    if hasattr(transport, "_read_ready_cb"):
        transport._read_ready_cb = None
