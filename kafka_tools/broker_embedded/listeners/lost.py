"""What stands for a lost connection, so that nothing of it is left for a collection of garbage.

What a full collection has seen alive is not looked at again (``process.ShortCollections``): a circle of a connection
that had lived that long would stay for ever.
"""

from __future__ import annotations

from typing import Any


class Gone:
    """In the place of a transport that has ended, which knows the connection."""

    def is_closing(self) -> bool:
        return True

    def get_extra_info(self, name: str) -> None:
        """Nothing is known of it any more."""

    def close(self) -> None:
        """It is closed."""

    abort = pause_reading = resume_reading = close


def unlink(transport: Any) -> None:
    """Break the circle in which asyncio's transport of a socket ends: it holds a method of its own."""
    if hasattr(transport, "_read_ready_cb"):
        transport._read_ready_cb = None
