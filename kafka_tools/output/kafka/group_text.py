"""The exact texts of Kafka's ``kafka-consumer-groups`` (class ConsumerGroupCommand).

Each function gives what the tool prints on stdout for one view; a column grows with its longest value, the last one is
not padded except where Kafka pads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka_tools.output.cells import Row
from kafka_tools.output.kafka.text import pad
from kafka_tools.values import TopicPartition

MISSING = "-"


def listing(groups: Sequence[Row], with_type: bool, with_state: bool) -> str:
    """``--list``: ids alone, or with the columns that were asked for."""
    if not (with_type or with_state):
        return "".join(f"{group['group']}\n" for group in groups)
    width = max((max(15, len(group["group"])) for group in groups), default=15) + 10
    titles = ["GROUP", *(["TYPE"] if with_type else []), *(["STATE"] if with_state else [])]
    keys = ["group", *(["type"] if with_type else []), *(["state"] if with_state else [])]
    widths = [width, *[20] * (len(keys) - 1)]
    table = [titles, *([group[key] for key in keys] for group in groups)]
    return "".join(pad(widths, values) + "\n" for values in table)


def plain_listing(groups: Sequence[Row], with_state: bool) -> str:
    """``--list`` of share groups and of streams groups: ids alone, or with their states."""
    if not with_state:
        return "".join(f"{group['group']}\n" for group in groups)
    table = [["GROUP", "STATE"], *([group["group"], group["state"]] for group in groups)]
    width = max(15, *(len(line[0]) for line in table))
    return "".join(pad([width, 0], line) + "\n" for line in table)


def all_groups(groups: Sequence[Row]) -> str:
    """``kafka-groups --list`` (GroupsCommand); a row has a blank more at its end."""
    table = [[group["group"], group["type"] or "", group["protocol"]] for group in groups]
    width = max([20, *(len(cell) for line in table for cell in line)])
    head = pad([width] * 3, ["GROUP", "TYPE", "PROTOCOL"]) + "\n"
    return head + "".join(pad([width] * 3, line) + " \n" for line in table)


def offsets(rows: Sequence[Row], verbose: bool) -> str:
    """``--describe``: the committed offset and the lag of each partition of one group; nothing for no rows."""
    if not rows:
        return ""
    keys = [
        "group",
        "topic",
        "partition",
        "current_offset",
        "log_end_offset",
        "lag",
        "consumer_id",
        "host",
        "client_id",
    ]
    least = [15, 15, 10, 15, 15, 15, 15, 15, 0]
    grow = (0, 1, 6, 7)
    if verbose:
        keys.insert(3, "leader_epoch")
        least.insert(3, 15)
        grow = (0, 1, 7, 8)
    return block(keys, least, grow, rows) + "\n"


def members(rows: Sequence[Row], verbose: bool) -> str:
    """``--describe --members`` of one group: the heading is printed for a group without members too."""
    keys = ["group", "consumer_id", "host", "client_id", "#partitions"]
    least = [15, 15, 15, 15, 15]
    grow = [0, 1, 2, 3]
    if any(row["group_instance_id"] for row in rows):
        keys.insert(2, "group_instance_id")
        least.insert(2, 17)
        grow = [0, 1, 2, 3, 4]
    # Kafka shows who was upgraded to the KIP-848 protocol only while a group has members of both kinds.
    upgraded = verbose and {True, False} <= {row["upgraded"] for row in rows}
    if verbose:
        grow += [len(keys) + 1, len(keys) + 3]
        keys += ["current_epoch", "current_assignment", "target_epoch", "target_assignment"]
        least += [15, 20, 15, 20]
    if upgraded:
        keys.append("upgraded")
        least.append(0)
    shown = [row | {"#partitions": sum(map(len, row["assignment"].values()))} | _assignments(row) for row in rows]
    text = block(keys, least, grow, shown, ends=" " if not verbose else "")
    return text + "\n"


def states(rows: Sequence[Row], verbose: bool) -> str:
    """``--describe --state`` of one group, which is one row."""
    (row,) = rows
    coordinator = f"{row['coordinator']['host']}:{row['coordinator']['port']}  ({row['coordinator']['id']})"
    shown = row | {"coordinator_(id)": coordinator, "assignment-strategy": row["assignor"] or MISSING}
    keys = ["group", "coordinator_(id)", "assignment-strategy", "state", "#members"]
    least = [15, 25, 20, 20, 0]
    if verbose:
        keys[4:4] = ["group_epoch", "target_assignment_epoch"]
        least[4:4] = [15, 25]
    return block(keys, least, (0, 1), [shown | {"#members": row["members"]}]) + "\n"


def reset_plan(plan: Mapping[str, Mapping[TopicPartition, int]]) -> str:
    """The table that ``--reset-offsets`` prints; an empty plan without groups is an empty line."""
    rows = [
        {"group": group, "topic": partition.topic, "partition": partition.partition, "new-offset": offset}
        for group, partitions in plan.items()
        for partition, offset in partitions.items()
    ]
    if not plan:
        return "\n"
    return block(["group", "topic", "partition", "new-offset"], [15, 15, 10, 0], (0, 1), rows) + "\n"


def deleted_groups(deleted: Sequence[str], some_failed: bool, kind: str = "consumer") -> str:
    """The outcome of ``--delete``, without the groups that failed: those are complaints on stderr. ``kind``: also
    share or streams."""
    names = ", ".join(f"'{group}'" for group in deleted)
    if not some_failed:
        return f"Deletion of requested {kind} groups ({names}) was successful.\n"
    return f"\nThese {kind} groups were deleted successfully: {names}\n" if deleted else ""


def deleted_offsets(group: str, rows: Sequence[Row]) -> str:
    """The outcome of ``--delete-offsets``."""
    failed = any(row["error"] and row["partition"] is not None for row in rows)
    head = "" if failed else f"Request succeeded for deleting offsets from group {group}.\n"
    table = [row | {"status": f"Error: {row['error']}" if row["error"] else "Successful"} for row in rows]
    return head + block(["topic", "partition", "status"], [15, 10, 15], (0,), table) + "\n"


def _assignments(row: Row) -> Row:
    return {
        "current_assignment": _assignment(row["assignment"]),
        "target_assignment": _assignment(row["target_assignment"]),
        "current_epoch": or_missing(row["current_epoch"]),
        "target_epoch": or_missing(row["target_epoch"]),
        "upgraded": or_missing(row["upgraded"]),
    }


def _assignment(topics: Mapping[str, Sequence[int]]) -> str:
    return ";".join(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in topics.items()) or MISSING


def or_missing(value: Any) -> str:
    """A cell: ``-`` for nothing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return MISSING if value is None or value == "" else str(value)


def block(keys: Sequence[str], least: Sequence[int], grow: Iterable[int], rows: Sequence[Row], ends: str = "") -> str:
    """A heading and rows, each after a line break as Kafka prints them; columns of ``grow`` fit their values."""
    titles = [key.replace("_", "-").upper() if key != "coordinator_(id)" else "COORDINATOR (ID)" for key in keys]
    return lines(titles, least, grow, [[or_missing(row[key]) for key in keys] for row in rows], ends)


def lines(
    titles: Sequence[str], least: Sequence[int], grow: Iterable[int], table: Sequence[Sequence[str]], ends: str = ""
) -> str:
    """The same of cells as they are to be shown."""
    widths = list(least)
    for at in grow:
        widths[at] = max([widths[at], *(len(values[at]) for values in table)])
    return "".join(f"\n{pad(widths, values)}{ends}" for values in [titles, *table])
