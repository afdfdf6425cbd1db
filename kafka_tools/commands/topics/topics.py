"""``kafka-topics``: list, create, describe, alter and delete topics, as Kafka's TopicCommand does.

Parses and chooses here; what a described topic holds comes from ``rows``, its text from ``output.kafka.text``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.configs.names import topic_setting
from kafka_tools.commands.live_names import topic_names
from kafka_tools.commands.options.command import Command, action_option, one_of, only_with, option, section
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.commands.options.values import key_value
from kafka_tools.errors import InputError, UsageError

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient

filter_option = section("Filters")
_TOPIC_COLUMNS = ("topic", "topic_id", "partition_count", "replication_factor", "configs")
ACTIONS = ("list", "create", "describe", "alter", "delete")
REPORTS = (
    "under_replicated_partitions",
    "under_min_isr_partitions",
    "at_min_isr_partitions",
    "unavailable_partitions",
)
_ALLOWED: dict[str, Sequence[str]] = {
    "topic_id": ("describe",),
    "config": ("create",),
    "partitions": ("create", "alter"),
    "replication_factor": ("create",),
    "replica_assignment": ("create", "alter"),
    "if_exists": ("alter", "delete", "describe"),
    "if_not_exists": ("create",),
    "clone_from": ("create",),
    "exclude_internal": ("list", "describe"),
    "topics_with_overrides": ("describe",),
    "partition_size_limit_per_response": ("describe",),
    "summary": ("describe",),
    **dict.fromkeys(REPORTS, ("describe",)),
}


@click.command(name="kafka-topics", cls=Command)
@action_option("--list", "list", is_flag=True, help="List the topics.")
@action_option("--create", is_flag=True, help="Create a topic.")
@action_option("--describe", is_flag=True, help="Show partitions, replicas and configs of topics.")
@action_option("--alter", is_flag=True, help="Add partitions. Use kafka-configs to change configs.")
@action_option("--delete", is_flag=True, help="Delete topics.")
@option(
    "--topic",
    metavar="NAME",
    shell_complete=topic_names,
    help="Topic name. With --list and --describe, a regular expression that must match the whole name. With "
    "--alter and --delete, a topic name or a comma-separated list of names selects exactly those topics; anything "
    "else is a regular expression.",
)
@option("--topic-id", metavar="UUID", help="Id of the topic to describe.")
@option(
    "--config",
    metavar="KEY=VALUE",
    type=key_value,
    multiple=True,
    shell_complete=topic_setting,
    help="Config of the new topic, for example retention.ms=86400000, or with a unit: retention.ms=7d, "
    "segment.bytes=10MiB.",
)
@option(
    "--clone-from",
    metavar="NAME",
    shell_complete=topic_names,
    help="Topic to copy partitions, replication factor and configs from (with --create). Other options override "
    "its values.",
)
@option("--literal", is_flag=True, help="Treat --topic as a name instead of a regular expression.")
@option(
    "--partitions",
    metavar="N",
    type=click.IntRange(1, 2**31 - 1),
    help="Number of partitions.  [default: the cluster's]",
)
@option(
    "--replication-factor",
    metavar="N",
    type=click.IntRange(1, 32767),
    help="Number of replicas of each partition of the new topic.  [default: the cluster's]",
)
@option(
    "--replica-assignment",
    metavar="ID:ID,...",
    help="Brokers of each partition, with commas between partitions and colons between replicas: 0:1,1:2 is two "
    "partitions.",
)
@filter_option(
    "--under-replicated-partitions",
    is_flag=True,
    help="Only partitions with replicas that are not in sync.",
)
@filter_option(
    "--under-min-isr-partitions",
    is_flag=True,
    help="Only partitions with fewer in-sync replicas than min.insync.replicas.",
)
@filter_option(
    "--at-min-isr-partitions",
    is_flag=True,
    help="Only partitions with exactly min.insync.replicas in-sync replicas.",
)
@filter_option("--unavailable-partitions", is_flag=True, help="Only partitions without a live leader.")
@filter_option("--topics-with-overrides", is_flag=True, help="Only topics that override a default config.")
@filter_option("--exclude-internal", is_flag=True, help="Leave out Kafka's internal topics.")
@option(
    "--summary",
    is_flag=True,
    help="Describe each topic in a few lines: records, size, newest record, retention, its own settings, and the "
    "groups that read it, with their lag.",
)
@option("--if-exists", is_flag=True, help="Do nothing if the topic does not exist.")
@option("--if-not-exists", is_flag=True, help="Do nothing if the topic already exists.")
@option(
    "--partition-size-limit-per-response",
    metavar="N",
    type=click.IntRange(1, 2**31 - 1),
    help="Maximum number of partitions per DescribeTopicPartitions response.  [default: 2000]",
)
@option("--delete-config", metavar="KEY", hidden=True, help="Ignored since Kafka 4.0.")
@connection_options()
@output_options(
    {
        "list": "topic-names",
        "describe": "topics",
        "describe summary": "topic-summaries",
        "create": "changed-topics",
        "alter": "changed-topics",
        "delete": "changed-topics",
    },
    metrics=True,
)
@click.pass_context
def command(context: click.Context, /, connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """Create, list, describe, alter and delete topics."""
    action = one_of(context, *ACTIONS)
    if output_format == "prometheus" and action != "describe":
        raise click.UsageError("-o prometheus can only be used with --describe.", ctx=context)
    if action == "alter" and given["config"]:
        raise click.UsageError(
            ("--config can only be used with --create: use kafka-configs --alter --topic NAME --add-config KEY=VALUE."),
            ctx=context,
        )
    only_with(context, action, _ALLOWED)
    if given["delete_config"]:
        running.note("--delete-config has had no effect since Kafka 4.0: use kafka-configs --alter --delete-config")
    if action in ("create", "alter", "delete") and not given["topic"]:
        raise click.UsageError(f"--{action} needs --topic.", ctx=context)
    if given["literal"] and not given["topic"]:
        raise click.UsageError("--literal needs --topic.", ctx=context)
    connection.check()
    if given["config"]:
        from kafka_tools.commands.options.units import with_numbers

        configs: dict[str, str] = {}
        for name, value in given["config"]:
            if name in configs:
                raise click.UsageError(f"--config: {name} is given twice.", ctx=context)
            configs[name] = value
        given["config"] = with_numbers("topics", configs, "--config", UsageError)
    run = {"list": _list, "create": _create, "describe": _describe, "alter": _alter, "delete": _delete}[action]
    with connection.admin() as admin:
        return run(admin, given, output_format)


def _list(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.output.kafka import text as kafka_text
    from kafka_tools.output.rows import Rows

    names = _select(admin, given)
    if output_format is None:
        running.emit(kafka_text.topic_list(running.shown(names)))
    if not names and not given["topic"]:
        from kafka_tools.commands import rights

        rights.note_if_limited(admin, "topics", "Describe on a topic")
    return running.finish(Rows("topic-names", [{"topic": name} for name in names]), output_format)


def _create(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.admin.client import NewTopic
    from kafka_tools.commands.topics.patterns import collides
    from kafka_tools.errors import AlreadyExists
    from kafka_tools.output.rows import Rows

    name = given["topic"]
    assignment = None
    if given["replica_assignment"]:
        if given["partitions"] or given["replication_factor"]:
            raise UsageError("--replica-assignment defines partitions and replicas: leave out the other options")
        from kafka_tools.commands.topics.assignments import parse_replica_assignment

        assignment = parse_replica_assignment(given["replica_assignment"])
    if collides(name):
        running.note(
            "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could "
            "collide. To avoid issues it is best to use either, but not both."
        )
    topic = NewTopic(
        name, given["partitions"] or -1, given["replication_factor"] or -1, assignment, dict(given["config"])
    )
    if given["clone_from"]:
        from kafka_tools.commands.topics.cloning import like

        topic = like(admin, given["clone_from"], topic)
    with running.about(name):
        error = admin.create_topics([topic])[name].error
        if error is not None and not (isinstance(error, AlreadyExists) and given["if_not_exists"]):
            error.hint = error.hint or _nearest(dict(given["config"]))
            raise error
    if error is None and output_format is None:
        running.emit(f"Created topic {running.shown(name)}.\n")
    result = "created" if error is None else "exists"
    return running.finish(Rows("changed-topics", [{"topic": name, "result": result}]), output_format)


def _nearest(configs: dict[str, str]) -> str | None:
    """A hint with similar configs of topics for unknown names; None if there are none."""
    from kafka_tools.commands.configs.names import unknown_names
    from kafka_tools.texts.near_names import did_you_mean

    return did_you_mean(*unknown_names("topics", configs))


def _alter(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.admin.client import NewPartitions

    total = given["partitions"]
    if not total:
        raise UsageError("--alter needs --partitions; use kafka-configs to change configs")
    assignment = None
    if given["replica_assignment"]:
        from kafka_tools.commands.topics.assignments import parse_replica_assignment

        assignment = parse_replica_assignment(given["replica_assignment"])
    names, missing = _select_to_change(admin, given, "add partitions to")
    described = admin.describe_topics(names) if assignment is not None and names else {}
    changes = {}
    for name in names:
        added = None
        if assignment is not None:
            existing = len(described[name].get().partitions)
            added = assignment[existing:]
        changes[name] = NewPartitions(total, added)
    outcomes = admin.create_partitions(changes) if changes else {}
    return _outcome_of_each(outcomes, missing, "altered", "add partitions to", output_format)


def _delete(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    names, missing = _select_to_change(admin, given, "delete")
    outcomes = admin.delete_topics(names) if names else {}
    return _outcome_of_each(outcomes, missing, "deleted", "delete", output_format)


def _describe(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.topics import rows as topic_rows
    from kafka_tools.commands.topics.patterns import described_at_once, is_plain
    from kafka_tools.output.kafka import text as kafka_text

    if given["topics_with_overrides"] and any(given[report] for report in REPORTS):
        raise UsageError("--topics-with-overrides shows topics: it cannot be combined with the filters of partitions")
    filters = [report for report in REPORTS if given[report]]
    if given["summary"]:
        if filters or given["topics_with_overrides"] or output_format == "prometheus":
            raise UsageError("--summary cannot be combined with filters and -o prometheus")
        return _summarize(admin, given, output_format)
    page_size = given["partition_size_limit_per_response"]
    described = None
    is_one = given["topic"] and (given["literal"] or is_plain(given["topic"]))
    if is_one and not given["topic_id"] and not given["exclude_internal"]:
        described = described_at_once(admin, given["topic"], page_size)
    if described is None:
        keys = _described_keys(admin, given)
        described = admin.describe_topics(keys, page_size=page_size) if keys else {}
    result = topic_rows.describe(admin, described, filters)
    if given["topics_with_overrides"]:
        kept = [row | {"partitions": []} for row in result.rows if row["configs"]]
        result = result._replace(rows=kept, columns=_TOPIC_COLUMNS)
    elif filters:
        result = result._replace(rows=[row for row in result.rows if row["partitions"]])
    for topic in result.rows if output_format is None else ():
        told = running.shown(topic)
        if not filters:
            running.emit(kafka_text.topic_line(told))
        running.emit(kafka_text.partition_lines(told))
    status = running.finish(result, output_format)
    if filters:
        running.tell(topic_rows.counts_text(result.rows, described, filters), output_format)
    return status


def _summarize(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.topics import summaries

    keys = _described_keys(admin, given)
    outcomes = admin.describe_topics(keys, page_size=given["partition_size_limit_per_response"]) if keys else {}
    return summaries.show(admin, outcomes, output_format)


def _described_keys(admin: AdminClient, given: dict[str, Any]) -> list[Any]:
    """The names, or the one topic id, of --describe."""
    from kafka_tools.values import ZERO_UUID, parse_uuid

    if given["if_exists"] and not (given["topic"] or given["topic_id"]):
        raise UsageError("--if-exists needs --topic or --topic-id")
    if given["topic_id"]:
        try:
            topic_id = parse_uuid(given["topic_id"])
        except InputError as error:
            raise UsageError(f"--topic-id: {error}") from error
        if topic_id != ZERO_UUID:
            if given["topic"]:
                running.note("--topic is ignored: --topic-id selects the topic")
            known = {listing.topic_id for listing in admin.list_topics(include_internal=not given["exclude_internal"])}
            if known == {ZERO_UUID}:
                raise InputError("the topics of this cluster have no ids (new in Kafka 2.8)", hint="give --topic NAME")
            if topic_id not in known and not given["if_exists"]:
                with running.about(given["topic_id"]):
                    raise InputError(f"TopicId '{given['topic_id']}' does not exist as expected")
            return [topic_id] if topic_id in known else []
    names = _select(admin, given)
    _require(names, given)
    return names


def _select(admin: AdminClient, given: dict[str, Any]) -> list[str]:
    from kafka_tools.commands.topics.patterns import TopicPattern
    from kafka_tools.protocol.enums import INTERNAL_TOPICS

    if given["literal"]:
        known = {listing.name for listing in admin.list_topics(include_internal=not given["exclude_internal"])}
        return [given["topic"]] if given["topic"] in known else []
    pattern = TopicPattern(given["topic"]) if given["topic"] else None
    names = [listing.name for listing in admin.list_topics(include_internal=not given["exclude_internal"])]
    if given["exclude_internal"]:
        names = [name for name in names if name not in INTERNAL_TOPICS]
    return pattern.select(names) if pattern else sorted(names)


def _select_to_change(admin: AdminClient, given: dict[str, Any], action: str) -> tuple[list[str], list[str]]:
    """The existing topics, and the missing ones of several names unless they may be missing."""
    from kafka_tools.commands.topics.patterns import missing, to_change

    if given["literal"]:
        names = _select(admin, given)
        _require(names, given)
        return names, []
    listed = admin.list_topics()
    try:
        names = to_change(given["topic"], listed, action)
    except UsageError:
        raise
    except InputError as error:
        if not given["if_exists"]:
            error.item = given["topic"]
            raise
        running.note(f"{error}: nothing was done")
        return [], []
    _require(names, given)
    return names, [] if given["if_exists"] else missing(given["topic"], listed)


def _require(names: list[str], given: dict[str, Any]) -> None:
    if given["topic"] and not names and not given["if_exists"]:
        with running.about(given["topic"]):
            raise InputError(f"Topic '{given['topic']}' does not exist as expected")


def _outcome_of_each(outcomes: Any, missing: list[str], result: str, verb: str, output_format: str | None) -> int:
    from kafka_tools.output.rows import ItemError, Rows

    errors = [ItemError.of(name, error) for name, error in outcomes.failures().items()] if outcomes else []
    errors += [ItemError(name, None, f"Topic '{name}' does not exist as expected") for name in missing]
    rows = [{"topic": name, "result": result} for name, outcome in outcomes.items() if outcome.error is None]
    status = running.finish(Rows("changed-topics", rows, errors), output_format, f"cannot {verb}")
    from kafka_tools.shown_text import counted

    running.tell(f"{len(rows)} of {counted(len(rows) + len(errors), 'topic', 'topics')} {result}", output_format)
    return status
