"""The store of the cluster's state: topics, configs, quotas, SCRAM users, blocks of producer ids.

The state is a sequence of Kafka's own metadata records (``metadata/src/main/resources/common/metadata``), with one
atomic batch per change. ``Journal.commit`` first appends a change to the store and then applies it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from kafka_tools.protocol.schema import Stored

LEADER_EPOCH = 1
"""The epoch of every change: the only controller is never elected again."""


class ClusterStore(Protocol):
    """An append-only list of metadata records that survives the process."""

    @property
    def end_offset(self) -> int:
        """The number of records, which is the offset of the next one."""

    def append(self, records: Sequence[Stored]) -> None:
        """Store the records as one atomic change. When this returns, they survive ``kill -9``."""

    def sync(self) -> None:
        """Wait until all appended records survive a power failure. Raises LogError or OSError."""

    def replay(self) -> Iterator[Stored]:
        """Every record appended so far, oldest first."""

    def why_lost(self) -> str | None:
        """The reason why nothing can be stored until the next start; None while the store works."""

    def lose(self, why: str) -> None:
        """Stop storing, and leave the files alone, because they are lost."""

    def close(self, *, clean: bool = True) -> bool:
        """Close the files; without ``clean`` they stay as a killed process leaves them.

        Returns whether they are complete, so that the next start need not check them.
        """
