"""What is closed at the end of a ``with`` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """A context manager whose ``close`` is called at the end of the ``with`` block, however it ends."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Let go of what is open."""
