"""The exact texts of Kafka's ``kafka-share-groups`` (class ShareGroupCommand)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_tools.output.cells import Row
from kafka_tools.output.kafka.group_text import block, lines, or_missing


def offsets(group: str, rows: Sequence[Row], verbose: bool) -> str:
    """``--describe`` of one group."""
    if not rows:
        return f"\nShare group '{group}' has no offset information.\n"
    keys = ["group", "topic", "partition", "start_offset", "lag"]
    least = [15, 15, 10, 13, 0]
    if verbose:
        keys.insert(3, "leader_epoch")
        least.insert(3, 13)
    return block(keys, least, (0, 1), rows) + "\n"


def members(rows: Sequence[Row], verbose: bool) -> str:
    """``--describe --members`` of one group; nothing for no members."""
    if not rows:
        return ""
    titles = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT"]
    widths = [15, 15, 15, 15, 12, 0]
    if verbose:
        titles.insert(5, "MEMBER-EPOCH")
        widths.insert(5, 13)
    table = []
    for row in rows:
        held = row["assignment"]
        cells = [row["group"], row["consumer_id"], row["host"], row["client_id"], str(sum(map(len, held.values())))]
        shown = ";".join(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in held.items())
        table.append([*cells, *([or_missing(row["current_epoch"])] if verbose else []), shown])
    return lines(titles, widths, range(4), table) + "\n"


def state(rows: Sequence[Row], verbose: bool) -> str:
    """``--describe --state`` of one group, which is one row."""
    (row,) = rows
    place = row["coordinator"]
    titles = ["GROUP", "COORDINATOR (ID)", "STATE", "#MEMBERS"]
    widths = [15, 25, 15, 0]
    cells = [row["group"], f"{place['host']}:{place['port']}  ({place['id']})", row["state"], str(row["members"])]
    if verbose:
        titles[3:3] = ["GROUP-EPOCH", "ASSIGNMENT-EPOCH"]
        widths[3:3] = [12, 17]
        cells[3:3] = [or_missing(row["group_epoch"]), or_missing(row["target_assignment_epoch"])]
    return lines(titles, widths, range(2), [cells]) + "\n"


def deleted_offsets(topics: Mapping[str, str | None]) -> str:
    """The outcome of ``--delete-offsets``: topic -> why it failed, None where it did not."""
    table = [[topic, f"Error: {error}" if error else "Successful"] for topic, error in sorted(topics.items())]
    return lines(["TOPIC", "STATUS"], [15, 0], range(1), table) + "\n"
