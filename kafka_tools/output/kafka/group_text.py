"""The exact texts of Kafka's ``kafka-consumer-groups`` (class ConsumerGroupCommand).

Each function returns the tool's stdout for one view. A column is as wide as its longest value. The last column is only
padded where Kafka pads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kafka_tools.output.cells import Row
from kafka_tools.output.kafka.text import pad
from kafka_tools.values import TopicPartition

MISSING = "-"


def listing(groups: Sequence[Row], with_type: bool, with_state: bool) -> str:
    """``--list``: only ids, or ids with the requested columns."""
    if not (with_type or with_state):
        return "".join(f"{group['group']}\n" for group in groups)
    width = max((max(15, len(group["group"])) for group in groups), default=15) + 10
    titles = ["GROUP", *(["TYPE"] if with_type else []), *(["STATE"] if with_state else [])]
    keys = ["group", *(["type"] if with_type else []), *(["state"] if with_state else [])]
    widths = [width, *[20] * (len(keys) - 1)]
    lines = [titles, *([group[key] for key in keys] for group in groups)]
    return "".join(pad(widths, values) + "\n" for values in lines)


def plain_listing(groups: Sequence[Row], with_state: bool) -> str:
    """``--list`` of share groups and of streams groups: only ids, or ids with states."""
    if not with_state:
        return "".join(f"{group['group']}\n" for group in groups)
    return table(_LISTED, groups)


def all_groups(groups: Sequence[Row]) -> str:
    """``kafka-groups --list`` (GroupsCommand). Each row has an extra blank at its end."""
    lines = [[group["group"], group["type"] or "", group["protocol"]] for group in groups]
    width = max([20, *(len(cell) for line in lines for cell in line)])
    head = pad([width] * 3, ["GROUP", "TYPE", "PROTOCOL"]) + "\n"
    return head + "".join(pad([width] * 3, line) + " \n" for line in lines)


def offsets(rows: Sequence[Row], verbose: bool) -> str:
    """``--describe``: the committed offset and the lag of each partition of one group; empty without rows."""
    return "\n" + table(_OFFSETS, rows, verbose) if rows else ""


def members(rows: Sequence[Row], verbose: bool) -> str:
    """``--describe --members`` of one group. A group without members has the heading, too."""
    left_out = set() if any(row["group_instance_id"] for row in rows) else {"GROUP-INSTANCE-ID"}
    # Kafka shows which members use the KIP-848 protocol only while a group has members of both kinds.
    if not {True, False} <= {row["upgraded"] for row in rows}:
        left_out.add("UPGRADED")
    columns = [each for each in _MEMBERS if each.title not in left_out]
    return "\n" + table(columns, rows, verbose, ends="" if verbose else " ")


def states(rows: Sequence[Row], verbose: bool) -> str:
    """``--describe --state`` of one group, which is one row."""
    return "\n" + table(_STATES, rows, verbose)


def reset_plan(plan: Mapping[str, Mapping[TopicPartition, int]]) -> str:
    """The table of ``--reset-offsets``. An empty plan without groups is an empty line."""
    return "\n" + table(_PLAN, plan_rows(plan)) if plan else "\n"


def plan_rows(plan: Mapping[str, Mapping[TopicPartition, int]]) -> list[Row]:
    """A row for each partition of a plan."""
    return [
        {"group": group, "topic": partition.topic, "partition": partition.partition, "new_offset": offset}
        for group, partitions in plan.items()
        for partition, offset in partitions.items()
    ]


def deleted_groups(deleted: Sequence[str], some_failed: bool, kind: str = "consumer") -> str:
    """The result of ``--delete``, without the failed groups, which are complaints on stderr. ``kind``: also share or
    streams."""
    names = ", ".join(f"'{group}'" for group in deleted)
    if not some_failed:
        return f"Deletion of requested {kind} groups ({names}) was successful.\n"
    return f"\nThese {kind} groups were deleted successfully: {names}\n" if deleted else ""


def deleted_offsets(group: str, rows: Sequence[Row]) -> str:
    """The result of ``--delete-offsets``."""
    failed = any(row["error"] and row["partition"] is not None for row in rows)
    head = "" if failed else f"Request succeeded for deleting offsets from group {group}.\n"
    return head + "\n" + table(_DELETED, rows)


def assignment(topics: Mapping[str, Sequence[int]]) -> str:
    """A cell: ``orders:0,1;payments:2``."""
    return ";".join(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in topics.items())


def partition_count(row: Row) -> str:
    """A cell: the number of assigned partitions."""
    return str(sum(map(len, row["assignment"].values())))


def coordinator(row: Row, blanks: str = "  ") -> str:
    """A cell: ``host:9092  (1)``."""
    node = row["coordinator"]
    return f"{node['host']}:{node['port']}{blanks}({node['id']})"


def or_missing(value: Any) -> str:
    """A cell: ``-`` for no value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return MISSING if value is None or value == "" else str(value)


class TextColumn(NamedTuple):
    """A column of a table. ``cell``: a key of the row, or a function for the text. ``least``: its width, 0 for none."""

    title: str
    cell: str | Callable[[Row], str]
    least: int = 15
    grows: bool = False
    """Whether the column is as wide as its longest cell."""
    verbose: bool | None = None
    """True: only with ``--verbose``; False: only without it; None: always."""


def table(columns: Iterable[TextColumn], rows: Sequence[Row], verbose: bool = False, ends: str = "") -> str:
    """A heading and rows. Each line ends with ``ends``."""
    shown = [each for each in columns if each.verbose in (None, verbose)]
    cells = [
        [or_missing(row[each.cell]) if isinstance(each.cell, str) else each.cell(row) for each in shown] for row in rows
    ]
    widths = [max([each.least, *(len(line[at]) for line in cells if each.grows)]) for at, each in enumerate(shown)]
    return "".join(f"{pad(widths, line)}{ends}\n" for line in ([each.title for each in shown], *cells))


_GROUP, _TOPIC = TextColumn("GROUP", "group", grows=True), TextColumn("TOPIC", "topic", grows=True)
_LISTED = (_GROUP, TextColumn("STATE", "state", 0))
_OFFSETS = (
    _GROUP,
    _TOPIC,
    TextColumn("PARTITION", "partition", 10),
    TextColumn("LEADER-EPOCH", "leader_epoch", verbose=True),
    TextColumn("CURRENT-OFFSET", "current_offset"),
    TextColumn("LOG-END-OFFSET", "log_end_offset"),
    TextColumn("LAG", "lag"),
    TextColumn("CONSUMER-ID", "consumer_id", grows=True),
    TextColumn("HOST", "host", grows=True),
    TextColumn("CLIENT-ID", "client_id", 0),
)
_MEMBERS = (
    _GROUP,
    TextColumn("CONSUMER-ID", "consumer_id", grows=True),
    TextColumn("GROUP-INSTANCE-ID", "group_instance_id", 17, grows=True),
    TextColumn("HOST", "host", grows=True),
    TextColumn("CLIENT-ID", "client_id", grows=True),
    TextColumn("#PARTITIONS", partition_count),
    TextColumn("CURRENT-EPOCH", "current_epoch", verbose=True),
    TextColumn(
        "CURRENT-ASSIGNMENT", lambda row: assignment(row["assignment"]) or MISSING, 20, grows=True, verbose=True
    ),
    TextColumn("TARGET-EPOCH", "target_epoch", verbose=True),
    TextColumn(
        "TARGET-ASSIGNMENT", lambda row: assignment(row["target_assignment"]) or MISSING, 20, True, verbose=True
    ),
    TextColumn("UPGRADED", "upgraded", 0, verbose=True),
)
_STATES = (
    _GROUP,
    TextColumn("COORDINATOR (ID)", coordinator, 25, grows=True),
    TextColumn("ASSIGNMENT-STRATEGY", "assignor", 20),
    TextColumn("STATE", "state", 20),
    TextColumn("GROUP-EPOCH", "group_epoch", verbose=True),
    TextColumn("TARGET-ASSIGNMENT-EPOCH", "target_assignment_epoch", 25, verbose=True),
    TextColumn("#MEMBERS", "members", 0),
)
_PLAN = (_GROUP, _TOPIC, TextColumn("PARTITION", "partition", 10), TextColumn("NEW-OFFSET", "new_offset", 0))
_DELETED = (
    _TOPIC,
    TextColumn("PARTITION", "partition", 10),
    TextColumn("STATUS", lambda row: f"Error: {row['error']}" if row["error"] else "Successful"),
)
