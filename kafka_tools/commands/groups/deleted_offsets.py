"""The end of ``--delete-offsets`` of consumer groups and of streams groups: partition by partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.commands import running
from kafka_tools.errors import KafkaToolsError
from kafka_tools.output.kafka import group_text
from kafka_tools.output.rows import ItemError, Rows

if TYPE_CHECKING:
    from kafka_tools.admin.outcomes import Outcomes
    from kafka_tools.values import TopicPartition


def finish(
    group: str,
    outcomes: Outcomes[TopicPartition, None],
    missing: Sequence[tuple[str, KafkaToolsError]],
    output_format: str | None,
) -> int:
    """Print what became of each partition, and of the topics that are not there; the exit status."""
    shown: list[dict[str, Any]] = [{"topic": topic, "partition": None, "error": str(error)} for topic, error in missing]
    errors = [ItemError.of(f"topic {topic}", error) for topic, error in missing]
    rows = []
    for key, outcome in sorted(outcomes.items()):
        row = {"topic": key.topic, "partition": key.partition}
        shown.append(row | {"error": None if outcome.error is None else str(outcome.error)})
        if outcome.error:
            errors.append(ItemError.of(key, outcome.error))
        else:
            rows.append({"group": group, **row, "result": "deleted"})
    if output_format is None:
        running.emit(group_text.deleted_offsets(running.shown(group), running.shown(shown)))
    return running.finish(Rows("deleted-offsets", rows, errors), output_format, "could not delete the offset of")
