"""The output of Kafka's ReassignPartitionsCommand for rows, line by line."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_tools.output.cells import Row


def listing(rows: Sequence[Row]) -> str:
    """``--list``."""
    if not rows:
        return "No partition reassignments found.\n"
    return "Current partition reassignments:\n" + "".join(_reassignment(row) for row in rows)


def _reassignment(row: Row) -> str:
    text = f"{row['topic']}-{row['partition']}: replicas: {_ids(row['replicas'])}."
    for name in ("adding", "removing"):
        if row[f"{name}_replicas"]:
            text += f" {name}: {_ids(row[f'{name}_replicas'])}."
    return text + "\n"


def partition_states(rows: Sequence[Row]) -> str:
    """``--verify``: the partitions, by name."""
    return "Status of partition reassignment:\n" + "".join(f"{partition_state(row)}\n" for row in rows)


def partition_state(row: Row) -> str:
    """``--verify``: one partition."""
    partition = f"{row['topic']}-{row['partition']}"
    if row["state"] == "in_progress":
        return f"Reassignment of partition {partition} is still in progress."
    if row["state"] == "completed":
        return f"Reassignment of partition {partition} is completed."
    return (
        f"There is no active reassignment of partition {partition}, but replica set is "
        f"{_ids(row['current_replicas'])} rather than {_ids(row['target_replicas'])}."
    )


def move_states(rows: Sequence[Row]) -> str:
    """``--verify``: moves between log directories, by broker; an empty line without moves."""
    return "\n".join(move_state(row) for row in rows) + "\n"


def move_state(row: Row) -> str:
    """``--verify``: one replica's move between log directories."""
    partition, broker = f"{row['topic']}-{row['partition']}", row["broker"]
    state = row["state"]
    if state == "completed":
        return f"Reassignment of replica {partition}-{broker} completed successfully."
    if state == "in_progress":
        return f"Reassignment of replica {partition}-{broker} is still in progress."
    if state == "missing":
        return (
            f"Partition {partition} is not found in any live log dir on broker {broker}. "
            "There is likely an offline log directory on the broker."
        )
    if state == "elsewhere":
        return (
            f"Partition {partition} on broker {broker} is being moved to log dir {row['future_log_dir']} "
            f"instead of {row['target_log_dir']}."
        )
    return (
        f"Partition {partition} on broker {broker} is not being moved from log dir {row['current_log_dir']} "
        f"to {row['target_log_dir']}."
    )


def current_assignment(document: str) -> str:
    """``--execute``: the current assignment, for a rollback."""
    return (
        f"Current partition replica assignment\n\n{document}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback\n"
    )


def proposal(current: str, proposed: str) -> str:
    """``--generate``: both documents."""
    return (
        f"Current partition replica assignment\n{current}\n\n"
        f"Proposed partition reassignment configuration\n{proposed}\n"
    )


def started(partitions: Sequence[str]) -> str:
    """``--execute``: partitions whose reassignment has started."""
    plural = "" if len(partitions) == 1 else "s"
    return f"Successfully started partition reassignment{plural} for {','.join(partitions)}\n"


def cancelled(partitions: Sequence[str]) -> str:
    """``--cancel``: partitions whose reassignment was cancelled."""
    if not partitions:
        return "None of the specified partition reassignments are active.\n"
    plural = "" if len(partitions) == 1 else "s"
    return f"Successfully cancelled partition reassignment{plural} for: {','.join(partitions)}\n"


def move_started(topic: str, partition: int, broker: int, path: str) -> str:
    """``--execute`` and ``--cancel``: a replica that moves to a log directory, with the blank that Kafka prints."""
    return (
        f"Successfully started moving log directory to {path} for replica {topic}-{partition} with broker {broker} \n"
    )


NO_MOVES = "None of the specified partition moves are active."
"""``--cancel`` without moves between log directories. In Kafka, the next text ends the line."""

MUST_VERIFY = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is "
    "removed.\n"
)
CANNOT_EXECUTE = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a "
    "new partition assignment in addition to the existing one. The --additional flag can also be used to change the "
    "throttle by resubmitting the current reassignment."
)


def _ids(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))
