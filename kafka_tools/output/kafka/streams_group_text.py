"""The exact texts of Kafka's ``kafka-streams-groups`` (class StreamsGroupCommand).

Its tables begin with their heading, without the empty line of the other tools.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_tools.output.cells import Row
from kafka_tools.output.kafka.group_text import or_missing
from kafka_tools.output.kafka.text import pad
from kafka_tools.values import TopicPartition


def offsets(group: str, rows: Sequence[Row], verbose: bool) -> str:
    """``--describe`` of one group that has members."""
    width, topic_width = max(15, len(group)), max([15, *(len(row["topic"]) for row in rows)])
    if not verbose:
        titles, widths = ["GROUP", "TOPIC", "PARTITION", "OFFSET-LAG"], [width, topic_width, 10, 0]
        keys = ["group", "topic", "partition", "lag"]
    else:
        titles = ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LEADER-EPOCH", "LOG-END-OFFSET", "OFFSET-LAG"]
        widths = [width, topic_width, 10, 15, 15, 15, 15]
        keys = ["group", "topic", "partition", "current_offset", "leader_epoch", "log_end_offset", "lag"]
    return _lines(widths, titles, [[or_missing(row[key]) for key in keys] for row in rows])


def members(rows: Sequence[Row], verbose: bool) -> str:
    """``--describe --members`` of one group; nothing for no members."""
    if not rows:
        return ""

    def width(key: str) -> int:
        return max([15, *(len(row[key]) for row in rows)])

    if not verbose:
        titles = ["GROUP", "MEMBER", "PROCESS", "CLIENT-ID", "ASSIGNMENTS"]
        widths = [width("group"), width("member_id"), width("process_id"), width("client_id"), 0]
        table = [
            [row["group"], row["member_id"], row["process_id"], row["client_id"], _tasks(row["tasks"])] for row in rows
        ]
        return _lines(widths, titles, table)
    titles = [
        "GROUP", "TARGET-ASSIGNMENT-EPOCH", "TOPOLOGY-EPOCH", "MEMBER", "MEMBER-PROTOCOL", "MEMBER-EPOCH", "PROCESS",
        "CLIENT-ID", "ASSIGNMENTS",
    ]  # fmt: skip
    widths = [width("group"), 25, 15, width("member_id"), 15, 15, width("process_id"), width("client_id"), 0]
    table = [
        [
            row["group"],
            str(row["target_assignment_epoch"]),
            str(row["topology_epoch"] or 0),
            row["member_id"],
            row["protocol"],
            str(row["member_epoch"]),
            row["process_id"],
            row["client_id"],
            _tasks(row["tasks"]) + _tasks(row["target_tasks"], "TARGET-"),
        ]
        for row in rows
    ]
    # Kafka leaves out the blank between the epoch of the topology and the member.
    joined = [[*line[:2], f"{line[2]:<15}{line[3]:<{widths[3]}}", *line[4:]] for line in (titles, *table)]
    return _lines([*widths[:2], 0, *widths[4:]], joined[0], joined[1:])


def state(row: Row, verbose: bool) -> str:
    """``--describe --state`` of one group; without the assignor where brokers before 4.4 do not tell it."""
    place = row["coordinator"]
    coordinator = f"{place['host']}:{place['port']} ({place['id']})"
    columns = [
        ("GROUP", row["group"], 15),
        ("COORDINATOR (ID)", coordinator, 25),
        *([] if row["assignor"] is None else [("ASSIGNOR", row["assignor"], 15)]),
        ("STATE", row["state"], 25),
    ]
    if verbose:
        columns += [
            ("GROUP-EPOCH", str(row["group_epoch"]), 15),
            ("TARGET-ASSIGNMENT-EPOCH", str(row["target_assignment_epoch"]), 25),
        ]
    columns.append(("#MEMBERS", str(row["members"]), 0))
    widths = [max(width, len(cell)) if width else 0 for _, cell, width in columns]
    return _lines(widths, [title for title, _, _ in columns], [[cell for _, cell, _ in columns]])


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
    """The table that ``--reset-offsets`` prints, whose columns do not grow."""
    table: list[list[Any]] = [["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"]] if plan else []
    table += [
        [group, key.topic, key.partition, offset] for group, offsets in plan.items() for key, offset in offsets.items()
    ]
    return "".join(f"\n{pad([30, 30, 10, 15], line)}" for line in table) + "\n"


def deleted_groups(deleted: Sequence[str], some_failed: bool, with_topics: Sequence[str]) -> str:
    """The outcome of ``--delete``; ``with_topics``: the groups whose internal topics are gone as well."""
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


def _lines(widths: Sequence[int], titles: Sequence[str], table: Sequence[Sequence[str]]) -> str:
    return "".join(pad(widths, line) + "\n" for line in (titles, *table))
