"""The severity of some kinds of findings depends on the number of affected bytes; few bytes are only INFO."""

from __future__ import annotations

from kafka_tools.storage.findings import INFO, KINDS, WARNING

SMALL_BYTES = 1024 * 1024
"""A finding about fewer bytes than this is no more than an info."""


def by_stake(kind: str, size_bytes: int) -> str:
    """The severity of a kind of finding that concerns ``size_bytes`` of log."""
    severity = KINDS[kind].severity
    return INFO if severity == WARNING and size_bytes < SMALL_BYTES else severity
