"""The exact texts of Kafka's ``kafka-streams-groups`` (class StreamsGroupCommand).

Its tables start with their heading, without the empty line of the other tools.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from operator import itemgetter

from kafka_tools.output.cells import Row
from kafka_tools.output.kafka.group_text import TextColumn, coordinator, plan_rows, table
from kafka_tools.values import TopicPartition

_MEMBERS = (
    TextColumn("GROUP", itemgetter("group"), grows=True),
    TextColumn("TARGET-ASSIGNMENT-EPOCH", "target_assignment_epoch", 25, verbose=True),
    # Kafka leaves out the blank between the epoch of the topology and the member.
    TextColumn(
        f"{'TOPOLOGY-EPOCH':<15}MEMBER",
        lambda row: f"{row['topology_epoch'] or 0:<15}{row['member_id']}",
        30,
        grows=True,
        verbose=True,
    ),
    TextColumn("MEMBER", itemgetter("member_id"), grows=True, verbose=False),
    TextColumn("MEMBER-PROTOCOL", "protocol", verbose=True),
    TextColumn("MEMBER-EPOCH", "member_epoch", verbose=True),
    TextColumn("PROCESS", itemgetter("process_id"), grows=True),
    TextColumn("CLIENT-ID", itemgetter("client_id"), grows=True),
    TextColumn("ASSIGNMENTS", lambda row: _tasks(row["tasks"]), 0, verbose=False),
    TextColumn(
        "ASSIGNMENTS", lambda row: _tasks(row["tasks"]) + _tasks(row["target_tasks"], "TARGET-"), 0, verbose=True
    ),
)
_STATE = (
    TextColumn("GROUP", itemgetter("group"), grows=True),
    TextColumn("COORDINATOR (ID)", lambda row: coordinator(row, " "), 25, grows=True),
    TextColumn("ASSIGNOR", itemgetter("assignor"), grows=True),
    TextColumn("STATE", "state", 25, grows=True),
    TextColumn("GROUP-EPOCH", "group_epoch", grows=True, verbose=True),
    TextColumn("TARGET-ASSIGNMENT-EPOCH", "target_assignment_epoch", 25, grows=True, verbose=True),
    TextColumn("#MEMBERS", "members", 0),
)
_PLAN = (
    TextColumn("GROUP", "group", 30),
    TextColumn("TOPIC", "topic", 30),
    TextColumn("PARTITION", "partition", 10),
    TextColumn("NEW-OFFSET", "new_offset"),
)


def offsets(group: str, rows: Sequence[Row], verbose: bool) -> str:
    """``--describe`` of one group that has members."""
    columns = (
        TextColumn("GROUP", "group", max(15, len(group))),
        TextColumn("TOPIC", "topic", grows=True),
        TextColumn("PARTITION", "partition", 10),
        TextColumn("CURRENT-OFFSET", "current_offset", verbose=True),
        TextColumn("LEADER-EPOCH", "leader_epoch", verbose=True),
        TextColumn("LOG-END-OFFSET", "log_end_offset", verbose=True),
        TextColumn("OFFSET-LAG", "lag", 15 if verbose else 0),
    )
    return table(columns, rows, verbose)


def members(rows: Sequence[Row], verbose: bool) -> str:
    """``--describe --members`` of one group; empty without members."""
    return table(_MEMBERS, rows, verbose) if rows else ""


def state(row: Row, verbose: bool) -> str:
    """``--describe --state`` of one group. Brokers before 4.4 do not report the assignor, so it is left out."""
    columns = [each for each in _STATE if each.title != "ASSIGNOR" or row["assignor"] is not None]
    return table(columns, [row], verbose)


def topology(rows: Sequence[Row]) -> str:
    """``--describe --topology`` of one group (class TopologyDescriptionFormatter)."""
    text = "Topologies:\n"
    for (part, is_global), nodes in itertools.groupby(rows, lambda row: (row["subtopology"], row["global_store"])):
        text += f"   Sub-topology: {part}{' for global store (will not generate tasks)' if is_global else ''}\n"
        text += "".join(f"    {_node(node)}\n" for node in nodes) + "\n"
    return text + "\n"


def _node(row: Row) -> str:
    after, before = (", ".join(row[key]) or "none" for key in ("successors", "predecessors"))
    title, name = row["type"].capitalize(), row["node"]
    if row["type"] == "source":
        return f"{title}: {name} (topics: [{', '.join(row['topics'])}])\n      --> {after}"
    if row["type"] == "sink":
        return f"{title}: {name} (topic: {', '.join(row['topics']) or 'null'})\n      <-- {before}"
    return f"{title}: {name} (stores: [{', '.join(row['stores'])}])\n      --> {after}\n      <-- {before}"


def reset_plan(plan: Mapping[str, Mapping[TopicPartition, int]]) -> str:
    """The table of ``--reset-offsets``, whose columns have a fixed width."""
    return "\n" + table(_PLAN, plan_rows(plan)) if plan else "\n"


def deleted_groups(deleted: Sequence[str], some_failed: bool, with_topics: Sequence[str]) -> str:
    """The result of ``--delete``. ``with_topics``: the groups whose internal topics were deleted as well."""
    names = ", ".join(f"'{group}'" for group in deleted)
    if not some_failed:
        text = f"Deletion of requested streams groups ({names}) was successful.\n"
    else:
        text = f"\nThese streams groups were deleted successfully: {names}.\n" if deleted else ""
    if with_topics:
        listed = ", ".join(f"'{group}'" for group in with_topics)
        text += f"Deletion of associated internal topics of the streams groups ({listed}) was successful.\n"
    return text


def _tasks(tasks: Mapping[str, Mapping[str, Sequence[int]]], prefix: str = "") -> str:
    text = ""
    for kind in ("active", "standby", "warmup"):
        if kind in tasks:
            text += f"{prefix}{kind.upper()}: "
            text += "".join(f"{part}:[{','.join(map(str, numbers))}]; " for part, numbers in tasks[kind].items())
    return text
