"""``--delete-offsets`` of consumer groups and of streams groups: partition by partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.commands import running
from kafka_tools.commands.groups.holders import Describe, is_blocked, members_of, named, naming_holders
from kafka_tools.errors import KafkaToolsError
from kafka_tools.output.kafka import group_text
from kafka_tools.output.rows import ItemError, Rows

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.values import TopicPartition


def delete(
    admin: AdminClient,
    group: str,
    partitions: Sequence[TopicPartition],
    missing: Sequence[tuple[str, KafkaToolsError]],
    describe: Describe,
    output_format: str | None,
) -> int:
    """Delete the offsets of a group, and print the result of each partition and of missing topics. Returns the exit
    status.

    ``describe`` returns the members of the group, to name those that still consume a partition.
    """
    # Brokers also report success for a partition without an offset.
    committed = admin.list_group_offsets(group, partitions) if partitions else {}
    with running.about(group), running.doing(f"group '{group}'"), naming_holders(describe, group):
        outcomes = admin.delete_group_offsets(group, partitions)
    absent = {key for key, outcome in committed.items() if outcome.error is None and outcome.value is None}
    shown: list[dict[str, Any]] = [{"topic": topic, "partition": None, "error": str(error)} for topic, error in missing]
    errors = [ItemError.of(f"topic {topic}", error) for topic, error in missing]
    rows = []
    held = (
        named(members_of(describe, group)) if any(is_blocked(error) for error in outcomes.failures().values()) else ""
    )
    for key, outcome in sorted(outcomes.items()):
        row = {"topic": key.topic, "partition": key.partition}
        shown.append(row | {"error": None if outcome.error is None else str(outcome.error)})
        if outcome.error:
            found = ItemError.of(key, outcome.error)
            text = f"{found.message}.{held}" if held and is_blocked(outcome.error) else found.message
            errors.append(found._replace(message=text))
        else:
            rows.append({"group": group, **row, "result": "unchanged" if key in absent else "deleted"})
    had_some = {key.topic for key in outcomes if key not in absent}
    for topic in sorted({key.topic for key in absent} - had_some):
        running.note(f"nothing to delete: group '{group}' has no offsets of topic {topic}")
    if output_format is None:
        running.emit(group_text.deleted_offsets(running.shown(group), running.shown(shown)))
    return running.finish(Rows("deleted-offsets", rows, errors), output_format, "cannot delete the offset of")
