"""The exact texts of Kafka's ``kafka-share-groups`` (class ShareGroupCommand)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter

from kafka_tools.output.cells import Row
from kafka_tools.output.kafka.group_text import Column, assignment, coordinator, partition_count, table

_GROUP = Column("GROUP", "group", grows=True)
_OFFSETS = (
    _GROUP,
    Column("TOPIC", "topic", grows=True),
    Column("PARTITION", "partition", 10),
    Column("LEADER-EPOCH", "leader_epoch", 13, verbose=True),
    Column("START-OFFSET", "start_offset", 13),
    Column("LAG", "lag", 0),
)
_MEMBERS = (
    _GROUP,
    Column("CONSUMER-ID", itemgetter("consumer_id"), grows=True),
    Column("HOST", itemgetter("host"), grows=True),
    Column("CLIENT-ID", itemgetter("client_id"), grows=True),
    Column("#PARTITIONS", partition_count, 12),
    Column("MEMBER-EPOCH", "current_epoch", 13, verbose=True),
    Column("ASSIGNMENT", lambda row: assignment(row["assignment"]), 0),
)
_STATE = (
    _GROUP,
    Column("COORDINATOR (ID)", coordinator, 25, grows=True),
    Column("STATE", "state"),
    Column("GROUP-EPOCH", "group_epoch", 12, verbose=True),
    Column("ASSIGNMENT-EPOCH", "target_assignment_epoch", 17, verbose=True),
    Column("#MEMBERS", "members", 0),
)
_DELETED = (Column("TOPIC", "topic", grows=True), Column("STATUS", "status", 0))


def offsets(group: str, rows: Sequence[Row], verbose: bool) -> str:
    """``--describe`` of one group."""
    return "\n" + (table(_OFFSETS, rows, verbose) if rows else f"Share group '{group}' has no offset information.\n")


def members(rows: Sequence[Row], verbose: bool) -> str:
    """``--describe --members`` of one group; nothing for no members."""
    return "\n" + table(_MEMBERS, rows, verbose) if rows else ""


def state(rows: Sequence[Row], verbose: bool) -> str:
    """``--describe --state`` of one group, which is one row."""
    return "\n" + table(_STATE, rows, verbose)


def deleted_offsets(topics: Mapping[str, str | None]) -> str:
    """The outcome of ``--delete-offsets``: topic -> why it failed, None where it did not."""
    rows = [
        {"topic": topic, "status": f"Error: {error}" if error else "Successful"}
        for topic, error in sorted(topics.items())
    ]
    return "\n" + table(_DELETED, rows)
