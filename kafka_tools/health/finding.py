"""One thing that a check found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

ERROR, WARNING, INFO = SEVERITIES = "error", "warning", "info"
_NAMED = 5


class Diagnosis(NamedTuple):
    """``what``: one sentence. ``evidence``: the items and numbers behind it. ``cause``: the likely cause, empty if the
    evidence says it. ``next``: the command that shows more or mends it; ``$B`` stands for the cluster's address.
    """

    check: str
    severity: str
    what: str
    evidence: str = ""
    cause: str = ""
    next: str = ""


def named(items: Collection[object], most: int = _NAMED) -> str:
    """The first items, and how many more there are."""
    listed: Sequence[str] = [str(item) for item in items]
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 broker``, ``2 brokers``."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def of(part: int, whole: int, what: str) -> str:
    """``3 of 148 partitions``."""
    return f"{part} of {counted(whole, what)}"
