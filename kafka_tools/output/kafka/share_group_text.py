"""The exact texts of Kafka's ``kafka-share-groups`` (class ShareGroupCommand)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter

from kafka_tools.output.cells import Row
from kafka_tools.output.kafka.group_text import TextColumn, assignment, coordinator, partition_count, table

_GROUP = TextColumn("GROUP", "group", grows=True)
_OFFSETS = (
    _GROUP,
    TextColumn("TOPIC", "topic", grows=True),
    TextColumn("PARTITION", "partition", 10),
    TextColumn("LEADER-EPOCH", "leader_epoch", 13, verbose=True),
    TextColumn("START-OFFSET", "start_offset", 13),
    TextColumn("LAG", "lag", 0),
)
_MEMBERS = (
    _GROUP,
    TextColumn("CONSUMER-ID", itemgetter("consumer_id"), grows=True),
    TextColumn("HOST", itemgetter("host"), grows=True),
    TextColumn("CLIENT-ID", itemgetter("client_id"), grows=True),
    TextColumn("#PARTITIONS", partition_count, 12),
    TextColumn("MEMBER-EPOCH", "current_epoch", 13, verbose=True),
    TextColumn("ASSIGNMENT", lambda row: assignment(row["assignment"]), 0),
)
_STATE = (
    _GROUP,
    TextColumn("COORDINATOR (ID)", coordinator, 25, grows=True),
    TextColumn("STATE", "state"),
    TextColumn("GROUP-EPOCH", "group_epoch", 12, verbose=True),
    TextColumn("ASSIGNMENT-EPOCH", "target_assignment_epoch", 17, verbose=True),
    TextColumn("#MEMBERS", "members", 0),
)
_DELETED = (TextColumn("TOPIC", "topic", grows=True), TextColumn("STATUS", "status", 0))


def offsets(group: str, rows: Sequence[Row], verbose: bool) -> str:
    """``--describe`` of one group."""
    return "\n" + (table(_OFFSETS, rows, verbose) if rows else f"Share group '{group}' has no offset information.\n")


def members(rows: Sequence[Row], verbose: bool) -> str:
    """``--describe --members`` of one group; empty without members."""
    return "\n" + table(_MEMBERS, rows, verbose) if rows else ""


def state(rows: Sequence[Row], verbose: bool) -> str:
    """``--describe --state`` of one group, which is one row."""
    return "\n" + table(_STATE, rows, verbose)


def deleted_offsets(topics: Mapping[str, str | None]) -> str:
    """The result of ``--delete-offsets``: topic -> its error, None without error."""
    rows = [
        {"topic": topic, "status": f"Error: {error}" if error else "Successful"}
        for topic, error in sorted(topics.items())
    ]
    return "\n" + table(_DELETED, rows)
