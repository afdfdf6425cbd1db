"""Where the state of the cluster lives: topics, configs, quotas, SCRAM users, producer-id blocks.

The state is a sequence of Kafka's own metadata records (``metadata/src/main/resources/common/metadata``),
one atomic batch per change. ``Journal.commit`` appends a change here first and then applies it, and a start
replays every change through the same appliers: live state and replayed state agree by construction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from kafka_tools.protocol.schema import Stored

LEADER_EPOCH = 1
"""Epoch of every change: there is one controller, and it is never elected anew."""


class ClusterStore(Protocol):
    """An append-only list of metadata records that survives the process."""

    @property
    def end_offset(self) -> int:
        """The number of records, which is the offset of the next one."""

    def append(self, records: Sequence[Stored]) -> None:
        """Keep the records as one change: all of them or none; returns once they would survive ``kill -9``."""

    def sync(self) -> None:
        """Wait until what was appended would survive a loss of power. Raises LogError or OSError."""

    def replay(self) -> Iterator[Stored]:
        """Every record appended so far, oldest first."""

    def why_lost(self) -> str | None:
        """Why nothing can be kept any more until a start, None while it can."""

    def lose(self, why: str) -> None:
        """Keep nothing more, and touch no files: they are lost."""

    def close(self, *, clean: bool = True) -> bool:
        """Let go of files; without ``clean`` they stay as a killed process leaves them.

        Returns whether they are complete, so that the next start may trust them.
        """
