"""Objects that the end of a ``with`` block closes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """A context manager that calls ``close`` at the end of the ``with`` block, also after an error."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close everything that is open."""
