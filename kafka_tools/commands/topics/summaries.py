"""``kafka-topics --describe --summary``: how much a topic holds, how long it keeps it, and who reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.admin.calls.offsets import EARLIEST, LATEST, MAX_TIMESTAMP
from kafka_tools.commands import running
from kafka_tools.commands.groups import rows as group_rows
from kafka_tools.errors import UnsupportedVersion
from kafka_tools.output.cells import Row
from kafka_tools.output.rows import ItemError, Rows, by_cause
from kafka_tools.shown_text import counted
from kafka_tools.texts.quantities import bytes_text, span_text
from kafka_tools.values import TopicPartition, moment_text

if TYPE_CHECKING:
    from kafka_tools.admin.calls.topics import TopicKey
    from kafka_tools.admin.client import AdminClient, TopicDescription
    from kafka_tools.admin.outcomes import Outcome

KIND = "topic-summaries"
_OWN = "DYNAMIC_TOPIC_CONFIG"
_RETENTION = ("cleanup.policy", "retention.ms", "retention.bytes")


def show(admin: AdminClient, described: Mapping[TopicKey, Outcome[TopicDescription]], output_format: str | None) -> int:
    """Print the summaries of topics, and return the exit status."""
    errors = [ItemError.of(key, each.error) for key, each in described.items() if each.error is not None]
    result = summarize(admin, [each.value for each in described.values() if each.value is not None], errors)
    if output_format is None:
        running.emit("".join(map(paragraph, running.shown(result.rows))))
    return running.finish(result, output_format, "cannot read")


def summarize(admin: AdminClient, topics: Sequence[TopicDescription], errors: list[ItemError]) -> Rows:
    """A row for each topic. ``errors``: those of the topics that cannot be described."""
    keys = [TopicPartition(topic.name, each.partition) for topic in topics for each in topic.partitions]
    starts, ends = (_offsets(admin, keys, spec, errors) for spec in (EARLIEST, LATEST))
    newest = _newest(admin, keys)
    configs = _configs(admin, topics, errors)
    sizes = _sizes(admin, topics, errors)
    readers = _readers(admin, {topic.name for topic in topics}, errors)
    rows = []
    for topic in sorted(topics, key=lambda each: each.name):
        own = [TopicPartition(topic.name, each.partition) for each in topic.partitions]
        known = [key for key in own if key in starts and key in ends]
        moments = [newest[key] for key in own if newest.get(key, -1) >= 0]
        settings = configs.get(topic.name, {})
        rows.append(
            {
                "topic": topic.name,
                "partition_count": len(own),
                "replication_factor": max((len(each.replicas) for each in topic.partitions), default=0),
                "records": sum(ends[key] - starts[key] for key in known) if len(known) == len(own) else None,
                "size_bytes": sizes.get(topic.name),
                "newest_ms": max(moments, default=None),
                "retention": _retention({name: each.value for name, each in settings.items()}),
                "configs": {
                    name: None if each.is_sensitive else each.value
                    for name, each in settings.items()
                    if each.source == _OWN
                },
                "readers": readers.get(topic.name, []),
            }
        )
    return Rows(KIND, rows, errors)


def _offsets(
    admin: AdminClient, keys: Sequence[TopicPartition], spec: int, errors: list[ItemError]
) -> dict[TopicPartition, int]:
    outcomes = admin.list_offsets(dict.fromkeys(keys, spec)) if keys else None
    if outcomes is None:
        return {}
    failed = [ItemError.of(key, error) for key, error in outcomes.failures().items()]
    errors += [each for each in by_cause(failed, "partitions") if each not in errors]
    return {key: found.offset for key, found in outcomes.succeeded().items()}


def _newest(admin: AdminClient, keys: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """The largest timestamp of each partition in ms. Brokers before 3.0 do not know it."""
    outcomes = admin.list_offsets(dict.fromkeys(keys, MAX_TIMESTAMP)) if keys else None
    return {} if outcomes is None else {key: found.timestamp for key, found in outcomes.succeeded().items()}


def _configs(
    admin: AdminClient, topics: Sequence[TopicDescription], errors: list[ItemError]
) -> dict[str, dict[str, Any]]:
    from kafka_tools.admin.client import ConfigResource

    resources = [ConfigResource("topic", topic.name) for topic in topics]
    outcomes = admin.describe_configs(resources) if resources else {}
    found = {}
    for resource, outcome in outcomes.items():
        if outcome.error is not None:
            errors.append(ItemError.of(f"configs of {resource.name}", outcome.error))
        else:
            found[resource.name] = {entry.name: entry for entry in outcome.get()}
    return found


def _sizes(admin: AdminClient, topics: Sequence[TopicDescription], errors: list[ItemError]) -> dict[str, int]:
    """Topic -> bytes of all its replicas; no value if a broker with replicas does not respond."""
    brokers = sorted({replica for topic in topics for each in topic.partitions for replica in each.replicas})
    outcomes = admin.describe_log_dirs(brokers) if brokers else {}
    sizes = {topic.name: 0 for topic in topics}
    silent = set()
    for broker, outcome in outcomes.items():
        if outcome.error is not None:
            silent.add(broker)
            if not isinstance(outcome.error, UnsupportedVersion):
                errors.append(ItemError.of(f"sizes on broker {broker}", outcome.error))
            continue
        for told in outcome.get().values():
            for key, replica in told.value.replicas.items() if told.value is not None else ():
                if key.topic in sizes:
                    sizes[key.topic] += replica.size_bytes
    unknown = {topic.name for topic in topics for each in topic.partitions if silent.intersection(each.replicas)}
    return {name: size for name, size in sizes.items() if name not in unknown}


def _readers(admin: AdminClient, names: set[str], errors: list[ItemError]) -> dict[str, list[Row]]:
    """Topic -> its consumer groups, with members and lag."""
    listed = group_rows.list_groups(admin, [], [])
    groups, failures = group_rows.describe(admin, [row["group"] for row in listed.rows])
    errors += [each._replace(item=f"groups of {each.item}") for each in listed.errors] + failures
    made = group_rows.offsets(admin, groups, lambda key: key.topic in names)
    found: dict[str, list[Row]] = {}
    for group in groups:
        rows, failed = made[group.group_id]
        errors += failed
        by_topic: dict[str, list[Row]] = {}
        for row in rows:
            if row["topic"] in names:
                by_topic.setdefault(row["topic"], []).append(row)
        for name, own in by_topic.items():
            lags = [max(0, row["lag"]) for row in own if row["lag"] is not None]
            members = {row["consumer_id"] for row in own if row["consumer_id"] is not None}
            lag = sum(lags) if lags else None
            found.setdefault(name, []).append({"group": group.group_id, "lag": lag, "members": len(members)})
    return found


def _retention(configs: Mapping[str, str | None]) -> str | None:
    """How long records are kept, in words. None if the configs are unknown."""
    policy, age, size = (configs.get(name) for name in _RETENTION)
    if policy is None:
        return None
    limits = []
    if "delete" in policy:
        if (age_ms := _limit(age)) is not None:
            limits.append(span_text(age_ms / 1000))
        if (size_bytes := _limit(size)) is not None:
            limits.append(f"{bytes_text(size_bytes)} per partition")
    limit = " or ".join(limits)
    if "compact" in policy:
        return f"the last record of each key{f', at most {limit}' if limit else ''}"
    return limit or "everything"


def _limit(text: str | None) -> int | None:
    """The number of a config; None for -1 (no limit)."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


def paragraph(row: Row) -> str:
    """The summary of a topic in words."""
    replicas = counted(row["replication_factor"], "replica", "replicas")
    facts = [f"{counted(row['partition_count'], 'partition', 'partitions')} with {replicas}"]
    facts.append("number of records unknown" if row["records"] is None else f"{row['records']:,} records")
    facts.append("size unknown" if row["size_bytes"] is None else bytes_text(row["size_bytes"]))
    if row["newest_ms"] is not None:
        facts.append(f"newest {moment_text(row['newest_ms'])}")
    settings = ", ".join(f"{name}={'[hidden]' if value is None else value}" for name, value in row["configs"].items())
    read = ", ".join(_reader(each) for each in row["readers"])
    return (
        f"{row['topic']}: {', '.join(facts)}\n"
        f"  keeps {row['retention'] or 'records for an unknown time'}; "
        f"{f'its own settings: {settings}' if settings else 'no settings of its own'}\n"
        f"  read by {read or 'no group'}\n"
    )


def _reader(each: Row) -> str:
    lag = "lag unknown" if each["lag"] is None else f"lag {each['lag']:,}"
    return f"{each['group']} ({lag}, {counted(each['members'], 'member', 'members')})"
