"""Described topics as rows: combines the partitions, settings and reassignments of several calls.

Settings are requested only if they are shown or a filter needs them. So a list of under-replicated partitions needs
no permission to read settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.errors import KafkaToolsError, UnsupportedVersion
from kafka_tools.output.cells import Row
from kafka_tools.output.rows import ItemError, Rows
from kafka_tools.shown_text import counted
from kafka_tools.values import ZERO_UUID, TopicPartition, uuid_text

if TYPE_CHECKING:
    from kafka_tools.admin.calls.topics import TopicKey
    from kafka_tools.admin.client import AdminClient, PartitionDescription, Reassignment, TopicDescription
    from kafka_tools.admin.outcomes import Outcome

MIN_ISR = "min.insync.replicas"
FILTERED = {
    "under_replicated_partitions": "under-replicated",
    "under_min_isr_partitions": "under min.insync.replicas",
    "at_min_isr_partitions": "at min.insync.replicas",
    "unavailable_partitions": "without a live leader",
}
"""Filter -> the partitions that pass it, in words."""
NEED_CONFIGS = ("under_min_isr_partitions", "at_min_isr_partitions")
REASSIGNMENTS_SHARE = 0.5
"""Maximum part of the remaining time to wait for the controller, the only source of reassignments. Topics are described
without it."""


def describe(
    admin: AdminClient, described: Mapping[TopicKey, Outcome[TopicDescription]], filters: Sequence[str]
) -> Rows:
    """One row per described topic, with its partitions that pass one of ``filters`` (all of them without filters)."""
    errors: list[ItemError] = []
    topics: list[TopicDescription] = []
    for key, outcome in described.items():
        if outcome.error:
            errors.append(ItemError.of(key, outcome.error))
        else:
            topics.append(outcome.get())
    needed = bool(set(filters) & set(NEED_CONFIGS))
    configs = _configs(admin, topics, errors, include_defaults=needed) if needed or not filters else {}
    live = {node.id for node in admin.describe_cluster().nodes} if "unavailable_partitions" in filters else set()
    moving = _reassignments(admin, topics, errors)
    rows = []
    for topic in sorted(topics, key=lambda each: each.name):
        entries = configs.get(topic.name, {})
        partitions = [
            (each, moving.get(TopicPartition(topic.name, each.partition)) if moving else None)
            for each in topic.partitions
        ]
        shown = partitions
        if filters:
            shown = [each for each in partitions if _passes(*each, filters, entries.get(MIN_ISR), live)]
        rows.append(
            {
                "topic": topic.name,
                "topic_id": uuid_text(topic.topic_id) if topic.topic_id != ZERO_UUID else None,
                "partition_count": len(partitions),
                "replication_factor": _replication_factor(*partitions[0]) if partitions else 0,
                "configs": {entry.name: entry.value for entry in entries.values() if not entry.is_default},
                "partitions": [_partition_row(*each) for each in shown],
            }
        )
    return Rows("topics", rows, errors)


def counts_text(
    rows: Sequence[Row], described: Mapping[TopicKey, Outcome[TopicDescription]], filters: Sequence[str]
) -> str:
    """How many partitions pass the filters, because an empty list may look as if nothing was looked at."""
    total = sum(len(outcome.value.partitions) for outcome in described.values() if outcome.value is not None)
    passing = sum(len(row["partitions"]) for row in rows)
    words = " or ".join(FILTERED[report] for report in filters)
    return f"{passing} of {counted(total, 'partition', 'partitions')} {words}"


def _configs(
    admin: AdminClient, topics: list[Any], errors: list[ItemError], *, include_defaults: bool
) -> dict[str, dict[str, Any]]:
    from kafka_tools.admin.client import ConfigResource

    found = {}
    resources = [ConfigResource("topic", topic.name) for topic in topics]
    described = admin.describe_configs(resources, include_defaults=include_defaults) if resources else {}
    for resource, outcome in described.items():
        if outcome.error:
            errors.append(ItemError.of(f"configs of {resource.name}", outcome.error))
        else:
            found[resource.name] = {entry.name: entry for entry in outcome.get()}
    return found


def _reassignments(
    admin: AdminClient, topics: Sequence[TopicDescription], errors: list[ItemError]
) -> dict[TopicPartition, Reassignment]:
    """The reassignments that are running, none where they cannot be known (TopicCommand.listAllReassignments).

    A replica that is on its way is not in sync, and with the last that gets there the reassignment ends: where all are
    in sync nobody is asked, so that a healthy cluster pays nothing. Otherwise all are asked for, one small question
    however many partitions are described. Brokers before 2.4 have no API for them.
    """
    if not any({*each.replicas} - {*each.isr} for topic in topics for each in topic.partitions):
        return {}
    from kafka_tools.commands import running
    from kafka_tools.errors import AuthorizationFailed

    try:
        return admin.list_partition_reassignments(timeout_s=admin.deadline().left_s() * REASSIGNMENTS_SHARE)
    except UnsupportedVersion:
        return {}
    except AuthorizationFailed:
        running.note(
            "warning: reassignments in progress are not shown, because that needs Describe on the cluster; the "
            "replicas that they add count as missing"
        )
        return {}
    except KafkaToolsError as error:
        errors.append(ItemError.of("reassignments in progress", error))
        return {}


def _partition_row(partition: PartitionDescription, moving: Reassignment | None) -> Row:
    return {
        "partition": partition.partition,
        "leader": partition.leader,
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "adding_replicas": list(moving.adding) if moving else [],
        "removing_replicas": list(moving.removing) if moving else [],
        "elr": None if partition.elr is None else list(partition.elr),
        "last_known_elr": None if partition.last_known_elr is None else list(partition.last_known_elr),
    }


def _replication_factor(partition: PartitionDescription, moving: Reassignment | None) -> int:
    """Replicas of a partition, without those that a running reassignment adds (TopicCommand.getReplicationFactor).

    A reassignment may have ended after the partition was described, or before: then it does not count.
    """
    if moving is None or not {*moving.adding, *moving.removing} & {*partition.replicas}:
        return len(partition.replicas)
    return len(moving.replicas) - len(moving.adding)


def _passes(
    partition: PartitionDescription, moving: Reassignment | None, filters: Sequence[str], min_isr: Any, live: set[int]
) -> bool:
    in_sync = len(partition.isr)
    needed = int(min_isr.value) if min_isr is not None else 1
    tests = {
        "under_replicated_partitions": _replication_factor(partition, moving) > in_sync,
        "under_min_isr_partitions": partition.leader is None or in_sync < needed,
        "at_min_isr_partitions": in_sync == needed,
        "unavailable_partitions": partition.leader is None or partition.leader not in live,
    }
    return any(tests[name] for name in filters)
