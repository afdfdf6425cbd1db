"""Described topics as rows: partitions, settings and reassignments of several calls put together.

The settings are asked for only where they are shown or a filter needs them, so that listing under-replicated
partitions needs no permission to read settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_tools.output.rows import ItemError, Row, Rows
from kafka_tools.values import ZERO_UUID, uuid_text

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient

MIN_ISR = "min.insync.replicas"
NEED_CONFIGS = ("under_min_isr_partitions", "at_min_isr_partitions")


def describe(admin: AdminClient, keys: list[Any], filters: list[str], page_size: int | None) -> Rows:
    """One row per topic, with its partitions that pass one of ``filters`` (all of them without filters).

    ``keys`` are names or topic ids; ``page_size`` bounds the partitions of one response (None: the client's choice).
    """
    errors: list[ItemError] = []
    topics = []
    for key, outcome in (admin.describe_topics(keys, page_size=page_size) if keys else {}).items():
        if outcome.error:
            errors.append(ItemError.of(key, outcome.error))
        else:
            topics.append(outcome.get())
    configs = _configs(admin, topics, errors) if not filters or set(filters) & set(NEED_CONFIGS) else {}
    live = {node.id for node in admin.describe_cluster().nodes} if "unavailable_partitions" in filters else set()
    rows = []
    for topic in sorted(topics, key=lambda each: each.name):
        entries = configs.get(topic.name, {})
        partitions = [_partition_row(each) for each in sorted(topic.partitions, key=lambda each: each.partition)]
        rows.append(
            {
                "topic": topic.name,
                "topic_id": uuid_text(topic.topic_id) if topic.topic_id != ZERO_UUID else None,
                "partition_count": len(partitions),
                "replication_factor": _replication_factor(partitions[0]) if partitions else 0,
                "configs": {entry.name: entry.value for entry in entries.values() if not entry.is_default},
                "partitions": [row for row in partitions if _passes(row, filters, entries.get(MIN_ISR), live)],
            }
        )
    return Rows("topics", rows, errors)


def _configs(admin: AdminClient, topics: list[Any], errors: list[ItemError]) -> dict[str, dict[str, Any]]:
    from kafka_tools.admin.client import ConfigResource

    found = {}
    resources = [ConfigResource("topic", topic.name) for topic in topics]
    for resource, outcome in (admin.describe_configs(resources) if resources else {}).items():
        if outcome.error:
            errors.append(ItemError.of(f"settings of {resource.name}", outcome.error))
        else:
            found[resource.name] = {entry.name: entry for entry in outcome.get()}
    return found


def _partition_row(partition: Any) -> Row:
    return {
        "partition": partition.partition,
        "leader": partition.leader,
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "adding_replicas": [],
        "removing_replicas": [],
        "elr": None if partition.elr is None else list(partition.elr),
        "last_known_elr": None if partition.last_known_elr is None else list(partition.last_known_elr),
    }


def _replication_factor(partition: Row) -> int:
    """Replicas of a partition, without those that a running reassignment adds (TopicCommand.getReplicationFactor)."""
    return len(partition["replicas"]) - len(partition["adding_replicas"])


def _passes(partition: Row, filters: list[str], min_isr: Any, live: set[int]) -> bool:
    in_sync = len(partition["isr"])
    needed = int(min_isr.value) if min_isr is not None else 1
    has_leader = partition["leader"] is not None
    tests = {
        "under_replicated_partitions": _replication_factor(partition) > in_sync,
        "under_min_isr_partitions": not has_leader or in_sync < needed,
        "at_min_isr_partitions": in_sync == needed,
        "unavailable_partitions": not has_leader or partition["leader"] not in live,
    }
    return not filters or any(tests[name] for name in filters)
