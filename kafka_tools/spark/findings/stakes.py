"""How bad a kind of finding is depends on how much is at stake: what concerns few bytes is only worth knowing."""

from __future__ import annotations

from kafka_tools.storage.findings import INFO, KINDS, WARNING

SMALL_BYTES = 1024 * 1024
"""What concerns less than this is worth knowing and no more: three screens of log pin no disk."""


def by_stake(kind: str, size_bytes: int) -> str:
    """The severity of a kind of finding that concerns ``size_bytes`` of log."""
    severity = KINDS[kind].severity
    return INFO if severity == WARNING and size_bytes < SMALL_BYTES else severity
