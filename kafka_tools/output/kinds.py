"""Every kind of rows that commands print: its columns, the identifier of a row, and its lines.

The kind is the name in the document's ``schema`` member (``kafka-tools/<kind>/v1``) and of its JSON Schema,
``schemas/<kind>.v1.schema.json``. ``tests/output/test_contract.py`` checks every command's output against both. A
released kind never loses a member.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kafka_tools.output.cells import Row
from kafka_tools.values import format_address


def _itself(row: Row) -> list[Row]:
    return [row]


class RowKind(NamedTuple):
    """The presentation of rows of a kind.

    ``table``: the useful columns. ``wide``: all columns, also for CSV and TSV. ``name``: a template for the identifier
    of a line, in the form that another command accepts. ``lines``: splits a row that contains several items into lines.
    """

    table: Sequence[str]
    wide: Sequence[str]
    name: str
    lines: Callable[[Row], list[Row]] = _itself


def _kind(table: str, name: str, *, more: str = "", lines: Callable[[Row], list[Row]] = _itself) -> RowKind:
    """A kind whose wide form has the columns of the table, then those of ``more``."""
    return RowKind(tuple(table.split()), tuple(f"{table} {more}".split()), name, lines)


def _each(member: str) -> Callable[[Row], list[Row]]:
    """A line for each element of a row's list; one line for a row whose list is empty."""

    def lines(row: Row) -> list[Row]:
        rest = {key: value for key, value in row.items() if key != member}
        return [rest | each for each in row[member]] or [rest]

    return lines


def _entity_cells(entity: Mapping[str, str | None]) -> Row:
    """Type -> name of an entity of configs or quotas, as cells."""
    named = {kind: "(default)" if name is None else name for kind, name in entity.items()}
    return {
        "entity": ", ".join(f"{kind} {name}" for kind, name in named.items()),
        "entity_name": "/".join(named.values()),
    }


def _with_address(row: Row) -> list[Row]:
    """The row, with its address in the form of options."""
    return [row | {"address": format_address(row["host"], row["port"])}]


def _partition_or_topic(row: Row) -> list[Row]:
    """The row, with its partition or whole topic as ``item``."""
    number = row["partition"]
    return [row | {"item": row["topic"] if number is None else f"{row['topic']}-{number}"}]


def _user_of_disks(row: Row) -> list[Row]:
    """The row, with the partition, topic, directory or broker that it is about as ``item``."""
    names = [row[name] for name in ("topic", "partition", "broker", "log_dir") if row[name] is not None]
    return [row | {"item": ":".join(map(str, names))}]


def _client(row: Row) -> list[Row]:
    """The row, with the member, transactional id or producer id as ``item``."""
    return [row | {"item": row["member_id"] or row["transactional_id"] or str(row["producer_id"])}]


def _with_documents_as_text(row: Row) -> list[Row]:
    """The row, with a key or value that is a document as JSON text."""
    import json

    shown = {
        name: json.dumps(row[name], ensure_ascii=False, separators=(",", ":"))
        for name in ("key", "value")
        if isinstance(row[name], dict | list)
    }
    return [row | shown]


def _of_an_entity(row: Row) -> list[Row]:
    """The row, with its entity as a text."""
    return [row | _entity_cells(row["entity"])]


def _config_lines(row: Row) -> list[Row]:
    """A line per config, quota or credential of an entity."""
    whose = {"kind": row["kind"], **_entity_cells(row["entity"])}
    entries = [dict(entry) for entry in row.get("configs", ())]
    entries += [{"name": name, "value": value} for name, value in row.get("quotas", {}).items()]
    entries += [
        {"name": each["mechanism"], "value": f"iterations={each['iterations']}"} for each in row.get("credentials", ())
    ]
    return [whose | entry for entry in entries]


_ACL = "resource_type resource_name pattern_type principal host operation permission"
_PARTITION = "{topic}:{partition}"

KINDS: Mapping[str, RowKind] = {
    # kafka-topics
    "topic-names": _kind("topic", "{topic}"),
    "topics": RowKind(
        ("topic", "partition", "leader", "replicas", "isr", "elr", "last_known_elr"),
        (
            "topic", "topic_id", "partition_count", "replication_factor", "configs", "partition", "leader", "replicas",
            "isr", "adding_replicas", "removing_replicas", "elr", "last_known_elr",
        ),
        "{topic}",
        _each("partitions"),
    ),
    "topic-summaries": _kind(
        "topic partition_count replication_factor records size_bytes newest_ms retention configs readers", "{topic}"
    ),
    "changed-topics": _kind("topic result", "{topic}"),
    # kafka-configs, kafka-scram
    "configs": _kind(
        "entity name value source sensitive read_only", "{entity_name}", more="kind type synonyms documentation",
        lines=_config_lines,
    ),
    "config-changes": _kind(
        "entity name operation old new changed", "{entity_name}", more="sensitive old_source new_source",
        lines=_of_an_entity,
    ),
    "effective-quotas": _kind(
        "entity quota value level source", "{entity_name}", more="set_on levels", lines=_of_an_entity
    ),
    "scram": _kind("user mechanism iterations", "{user}"),
    "changed-scram": _kind("user mechanism result", "{user}"),
    # kafka-acls, kafka-delegation-tokens
    "acls": _kind(_ACL, "{resource_name}"),
    "changed-acls": _kind(f"{_ACL} result", "{resource_name}"),
    "acl-decisions": _kind(
        "principal host operation resource_type resource_name allowed reason", "{principal}", more="entry overruled"
    ),
    "delegation-tokens": _kind(
        "token_id owner renewers issued_ms expires_ms", "{token_id}", more="requester max_ms hmac"
    ),
    "changed-delegation-tokens": _kind("result expires_ms", "{expires_ms}"),
    # kafka-consumer-groups, kafka-groups, kafka-share-groups, kafka-streams-groups
    "groups": _kind("group type state", "{group}"),
    "all-groups": _kind("group type protocol state", "{group}"),
    "group-offsets": _kind(
        "group topic partition current_offset log_end_offset lag consumer_id host client_id", _PARTITION,
        more="leader_epoch",
    ),
    "group-lag": _kind(
        "group topic partition consumer_id lag blocked oldest_unread_ms age_ms note", "{group}",
        more="host client_id partitions with_lag current_offset log_end_offset last_stable_offset read_per_s "
        "write_per_s catch_up_ms looked_at_ms",
    ),
    "group-members": _kind(
        "group consumer_id group_instance_id host client_id assignment", "{consumer_id}",
        more="current_epoch target_epoch target_assignment upgraded",
    ),
    "group-states": _kind(
        "group type state assignor coordinator members", "{group}", more="group_epoch target_assignment_epoch"
    ),
    "changed-groups": _kind("group result", "{group}"),
    "reset-offsets": _kind(
        "group topic partition old_offset new_offset skipped repeated result", _PARTITION
    ),
    "skipped-records": _kind(
        "group topic partition offset timestamp_ms new_offset saved_in result", _PARTITION,
        more="key_bytes value_bytes header_count",
    ),
    # kafka-streams-application-reset
    "application-reset": _kind(
        "group action topic partition old_offset new_offset skipped repeated result", "{item}",
        lines=_partition_or_topic,
    ),
    "share-group-offsets": _kind("group topic partition start_offset lag", _PARTITION, more="leader_epoch"),
    "streams-group-members": _kind(
        "group member_id process_id client_id tasks", "{member_id}",
        more="host protocol member_epoch topology_epoch target_assignment_epoch target_tasks",
    ),
    "streams-topologies": _kind(
        "group subtopology node type topics stores successors predecessors", "{node}", more="global_store"
    ),
    "deleted-share-offsets": _kind("group topic result", "{topic}"),
    "removed-members": _kind("group member result", "{member}", more="is_static"),
    "deleted-offsets": _kind("group topic partition result", _PARTITION),
    # kafka-delete-records
    "deleted-records": _kind("topic partition low_watermark result", _PARTITION),
    "planned-deletions": _kind(
        "topic partition log_start_offset before_offset log_end_offset records estimated_bytes", _PARTITION
    ),
    # kafka-get-offsets
    "partition-offsets": _kind("topic partition offset", _PARTITION, more="timestamp leader_epoch"),
    # kafka-leader-election
    "elections": _kind("topic partition election result", _PARTITION),
    # kafka-tools doctor
    "findings": _kind("severity check what evidence", "{check}", more="cause next"),
    # kafka-tools messages
    "messages": _kind(
        "timestamp_ms partition offset key value", "{topic}:{partition}@{offset}",
        more="topic key_encoding value_encoding headers", lines=_with_documents_as_text,
    ),
    "message-counts": _kind("topic start_time_ms end_time_ms messages exact", "{topic}"),
    # kafka-tools produce
    "produced": _kind("topic partition offset timestamp_ms", "{topic}:{partition}@{offset}"),
    # kafka-tools explain
    "explanations": _kind("subject name number meaning", "{name}", more="cause facts details next"),
    # kafka-log-dirs
    "log-dirs": _kind(
        "broker log_dir topic partition size_bytes offset_lag is_future error", "{broker}:{log_dir}",
        more="total_bytes usable_bytes cordoned", lines=_each("partitions"),
    ),
    "disk-usage": _kind(
        "topic partition broker log_dir replicas size_bytes share_percent used_percent", "{item}",
        more="total_bytes usable_bytes growth_bytes_per_s full_in_ms", lines=_user_of_disks,
    ),
    # kafka-replica-verification
    "replica-verification": _kind(
        "topic partition replicas start_offset verified_offset batches result", _PARTITION,
        more="difference_count differences",
    ),
    # kafka-reassign-partitions
    "proposed-reassignments": _kind(
        "topic partition current_replicas replicas", _PARTITION,
        more="current_log_dirs log_dirs adding_replicas removing_replicas size_bytes",
    ),
    "changed-reassignments": _kind(
        "topic partition broker replicas log_dir result", _PARTITION, more="previous_replicas previous_log_dirs"
    ),
    "reassignment-states": _kind(
        "topic partition broker state", _PARTITION,
        more="current_replicas target_replicas current_log_dir target_log_dir future_log_dir",
    ),
    "reassignments": _kind("topic partition replicas adding_replicas removing_replicas", _PARTITION),
    # kafka-broker-api-versions, kafka-cluster
    "broker-api-versions": _kind(
        "id key name min_version max_version usable", "{id}", more="host port rack fenced", lines=_each("apis")
    ),
    "cluster-id": _kind("cluster_id", "{cluster_id}"),
    "endpoints": _kind("id host port rack state endpoint_type", "{address}", lines=_with_address),
    "unregistered-brokers": _kind("id result", "{id}"),
    "unregistered-controllers": _kind("id result", "{id}"),
    # kafka-features
    "features": _kind(
        "feature supported_min supported_max finalized", "{feature}",
        more="supported_min_level supported_max_level finalized_level epoch",
    ),
    "changed-features": _kind("feature level result", "{feature}={level}"),
    "feature-levels": _kind("feature level", "{feature}={level}"),
    "feature-dependencies": _kind("feature level requires", "{feature}={level}"),
    # kafka-metadata-quorum
    "quorum-status": _kind(
        "cluster_id leader_id leader_epoch high_watermark max_follower_lag max_follower_lag_ms", "{cluster_id}",
        more="voters observers",
    ),
    "quorum-replication": _kind(
        "node_id directory_id log_end_offset lag status", "{node_id}", more="last_fetch_ms last_caught_up_ms"
    ),
    "changed-quorum": _kind("node_id directory_id result", "{node_id}", more="endpoints"),
    # kafka-transactions
    "transactions": _kind("transactional_id coordinator producer_id state", "{transactional_id}"),
    "transaction-states": _kind(
        "transactional_id coordinator producer_id producer_epoch state start_time_ms duration_ms partitions",
        "{transactional_id}", more="timeout_ms",
    ),
    "producers": _kind(
        "producer_id producer_epoch coordinator_epoch last_sequence last_timestamp_ms transaction_start_offset",
        "{producer_id}", more="topic partition",
    ),
    "aborted-transactions": _kind(
        "topic partition producer_id producer_epoch coordinator_epoch result", _PARTITION
    ),
    "hanging-transactions": _kind(
        "topic partition producer_id producer_epoch coordinator_epoch start_offset last_timestamp_ms duration_ms",
        _PARTITION,
    ),
    "terminated-transactions": _kind("transactional_id producer_id producer_epoch result", "{transactional_id}"),
    # kafka-producer-perf-test, kafka-consumer-perf-test, kafka-e2e-latency
    "producer-performance": _kind(
        "phase records records_per_s mb_per_s avg_latency_ms max_latency_ms p50_ms p95_ms p99_ms p999_ms", "{phase}",
        more="elapsed_ms latency_from",
    ),
    "consumer-performance": _kind(
        "phase mb mb_per_s records records_per_s rebalance_time_ms fetch_time_ms fetch_mb_per_s fetch_records_per_s",
        "{phase}", more="start_time_ms end_time_ms complete",
    ),
    "share-consumer-performance": _kind(
        "phase member mb mb_per_s records records_per_s fetch_time_ms", "{phase}",
        more="client_id start_time_ms end_time_ms complete",
    ),
    "end-to-end-latency": _kind(
        "topic records avg_latency_ms max_latency_ms p50_ms p99_ms p999_ms", "{topic}", more="acks record_size_bytes"
    ),
    # kafka-tools clients
    "clients": _kind(
        "role client_id host group transactional_id producer_id partitions last_write_ms state", "{item}",
        more="member_id group_instance_id topics", lines=_client,
    ),
    # kafka-tools purge
    "purged": _kind("kind name details result", "{name}"),
    # kafka-client-metrics
    "client-metrics-names": _kind("name", "{name}"),
    "client-metrics": _kind("name configs", "{name}"),
    "changed-client-metrics": _kind("name result", "{name}"),
}  # fmt: skip
"""Kind -> its presentation."""
