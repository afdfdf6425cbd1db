"""What is closed at the end of a ``with`` block."""

from __future__ import annotations

from typing import Self


class Closing:
    """A context manager whose ``close`` is called at the end of the ``with`` block, however it ends."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what is open."""
        raise NotImplementedError
