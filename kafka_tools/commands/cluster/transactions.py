"""``kafka-transactions``: transactions and producers, and ending hanging ones (KIP-664; Kafka's TransactionsCommand).

A transaction *hangs* on a partition if its producer left it open there and no coordinator will ever end it. Then
``read_committed`` consumers wait forever. ``find-hanging`` finds these transactions, ``abort`` ends one on its
partition, and ``forceTerminateTransaction`` ends one that a coordinator still knows (KIP-939).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kafka_tools import VERSION_LINE
from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, CommandGroup, option, section
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options

if TYPE_CHECKING:
    from kafka_tools.admin.client import AbortSpec, AdminClient, ProducerState
    from kafka_tools.output.cells import Row
    from kafka_tools.values import TopicPartition

_INT16 = click.IntRange(-(2**15), 2**15 - 1)
_INT32 = click.IntRange(-(2**31), 2**31 - 1)
_INT64 = click.IntRange(-(2**63), 2**63 - 1)
_PARTITION = click.IntRange(0, 2**31 - 1)


def _print_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(VERSION_LINE)
        context.exit()


@click.group(name="kafka-transactions", cls=CommandGroup, aliases={"force-terminate": "forceTerminateTransaction"})
@option("-v", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version.")
def command() -> None:
    """List, describe and end transactions, and find hanging ones."""


@command.command(name="list", cls=Command)
@option(
    "--duration-filter",
    metavar="MS",
    type=_INT64,
    help="Only transactions that have been open for longer than this time; a negative time selects all "
    "(Kafka 3.8 and later).",
)
@option(
    "--transactional-id-pattern",
    metavar="REGEX",
    help="Only transactional ids that match this regular expression as a whole (RE2 syntax, Kafka 4.1 and later).",
)
@connection_options()
@output_options("transactions")
def list_transactions(
    duration_filter: int | None,
    transactional_id_pattern: str | None,
    connection: ConnectionOptions,
    output_format: str | None,
) -> int:
    """List the transactional ids of every coordinator."""
    from kafka_tools.output.kafka import transaction_text
    from kafka_tools.output.rows import ItemError

    longer_than_ms = None if duration_filter is None or duration_filter < 0 else duration_filter
    with connection.admin() as admin:
        outcomes = admin.list_transactions(longer_than_ms=longer_than_ms, pattern=transactional_id_pattern)
        running.refuse_old_brokers(outcomes)
        if not any(outcomes.succeeded().values()) and not outcomes.failures():
            from kafka_tools.commands import rights

            rights.note_if_limited(admin, "transactional ids", "Describe on a transactional id")
    rows: list[Row] = [
        {
            "transactional_id": each.transactional_id,
            "coordinator": node.id,
            "producer_id": each.producer_id,
            "state": each.state,
        }
        for node, found in sorted(outcomes.succeeded().items())
        for each in sorted(found)
    ]
    errors = [ItemError.of(node, error) for node, error in outcomes.failures().items()]
    as_text = transaction_text.listing if rows or not errors else None
    return running.show_rows("transactions", rows, output_format, as_text, errors, "Failed to list transactions of")


@command.command(name="describe", cls=Command)
@option("--transactional-id", metavar="ID", multiple=True, required=True, help="Transactional id.")
@connection_options()
@output_options("transaction-states")
def describe(transactional_id: Sequence[str], connection: ConnectionOptions, output_format: str | None) -> int:
    """Describe the state of transactional ids."""
    from kafka_tools.clock import SystemClock
    from kafka_tools.output.kafka import transaction_text
    from kafka_tools.output.rows import ItemError

    with connection.admin() as admin:
        outcomes = admin.describe_transactions(dict.fromkeys(transactional_id))
    running.refuse_old_brokers(outcomes)
    now_ms = SystemClock().now_ms()
    rows: list[Row] = []
    for name, found in outcomes.succeeded().items():
        partitions: dict[str, list[int]] = {}
        for key in found.partitions:
            partitions.setdefault(key.topic, []).append(key.partition)
        rows.append(
            {
                "transactional_id": name,
                "coordinator": found.coordinator_id,
                "producer_id": found.producer_id,
                "producer_epoch": found.producer_epoch,
                "state": found.state,
                "timeout_ms": found.timeout_ms,
                "start_time_ms": found.start_time_ms,
                "duration_ms": None if found.start_time_ms is None else now_ms - found.start_time_ms,
                "partitions": partitions,
            }
        )
    errors = [ItemError.of(f"`{name}`", error) for name, error in outcomes.failures().items()]
    as_text = transaction_text.descriptions if rows else None
    failed = "Failed to describe transaction state of transactional-id"
    return running.show_rows("transaction-states", rows, output_format, as_text, errors, failed)


@command.command(name="describe-producers", cls=Command)
@option("--topic", metavar="NAME", required=True, help="Topic name.")
@option("--partition", metavar="N", type=_PARTITION, required=True, help="Partition number.")
@option("--broker-id", metavar="ID", type=_PARTITION, help="Broker whose replica to ask.  [default: the leader]")
@connection_options()
@output_options("producers")
def describe_producers(
    topic: str, partition: int, broker_id: int | None, connection: ConnectionOptions, output_format: str | None
) -> int:
    """Describe the active producers of a partition."""
    from kafka_tools.output.kafka import transaction_text
    from kafka_tools.values import TopicPartition

    key = TopicPartition(topic, partition)
    where = "leader" if broker_id is None else f"broker {broker_id}"
    with connection.admin() as admin, running.about(key):
        with running.doing(f"Failed to describe producers for partition {key} on {where}"):
            found = admin.describe_producers([key], broker_id)[key].get()
    rows = [_producer_row(key, each) for each in found]
    return running.show_rows("producers", rows, output_format, transaction_text.producers)


def _producer_row(key: TopicPartition, producer: ProducerState) -> Row:
    return {
        "topic": key.topic,
        "partition": key.partition,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "coordinator_epoch": producer.coordinator_epoch,
        "last_sequence": producer.last_sequence,
        "last_timestamp_ms": producer.last_timestamp,
        "transaction_start_offset": producer.current_transaction_start_offset,
    }


_new_option = section("Brokers from 3.0 on")
_old_option = section("Brokers before 3.0: all of these")


@command.command(name="abort", cls=Command)
@option("--topic", metavar="NAME", required=True, help="Topic name.")
@option("--partition", metavar="N", type=_PARTITION, required=True, help="Partition number.")
@_new_option("--start-offset", metavar="N", type=_INT64, help="First offset of the transaction.")
@_old_option("--producer-id", metavar="ID", type=_INT64, help="Id of the producer.")
@_old_option("--producer-epoch", metavar="N", type=_INT16, help="Epoch of the producer.")
@_old_option(
    "--coordinator-epoch",
    metavar="N",
    type=_INT32,
    help="Epoch of the transaction coordinator; a negative number counts as 0.",
)
@connection_options()
@output_options("aborted-transactions")
@click.pass_context
def abort(context: click.Context, /, connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """Abort a hanging transaction on a partition."""
    from kafka_tools.admin.client import AbortSpec
    from kafka_tools.values import TopicPartition

    def fail(text: str) -> NoReturn:
        raise click.UsageError(text, ctx=context)

    start_offset, producer_id = given["start_offset"], given["producer_id"]
    connection.check()
    if start_offset is None and producer_id is None:
        fail(
            "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) or "
            "with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
        )
    for name in ("producer_epoch", "coordinator_epoch"):
        if start_offset is None and given[name] is None:
            fail(f"Missing required argument --{name.replace('_', '-')}")
    key = TopicPartition(given["topic"], given["partition"])
    with connection.admin() as admin:
        if start_offset is not None:
            spec = _open_at(admin, key, start_offset, producer_id)
        else:
            spec = AbortSpec(producer_id, given["producer_epoch"], max(0, given["coordinator_epoch"]))
        named = (
            f"AbortTransactionSpec(topicPartition={key}, producerId={spec.producer_id}, "
            f"producerEpoch={spec.producer_epoch}, coordinatorEpoch={spec.coordinator_epoch})"
        )
        with running.about(key), running.doing(f"Failed to abort transaction {named}"):
            admin.abort_transactions({key: spec})[key].get()
    row = {**key._asdict(), **spec._asdict(), "result": "aborted"}
    return running.show_rows("aborted-transactions", [row], output_format)


def _open_at(admin: AdminClient, key: TopicPartition, start_offset: int, producer_id: int | None) -> AbortSpec:
    """The abort of the transaction that starts there. The partition's leader returns producer id and epochs."""
    from kafka_tools.admin.client import AbortSpec
    from kafka_tools.errors import InputError

    with running.about(key), running.doing(f"Failed to validate producer state for partition {key}"):
        producers = admin.describe_producers([key])[key].get()
    for each in producers:
        if each.current_transaction_start_offset == start_offset:
            if producer_id not in (None, each.producer_id):
                text = f"the transaction that starts at offset {start_offset} on partition {key} belongs to producer id"
                raise InputError(
                    f"{text} {each.producer_id}, not {producer_id}", hint="leave out --producer-id or --start-offset"
                )
            return AbortSpec(each.producer_id, each.producer_epoch, each.coordinator_epoch or 0)
    raise InputError(f"Could not find any open transactions starting at offset {start_offset} on partition {key}")


@command.command(name="find-hanging", cls=Command)
@option(
    "--broker-id",
    metavar="ID",
    type=_PARTITION,
    help="Only partitions with a replica on this broker; read the state of that replica.  "
    "[default: all partitions, from their leaders]",
)
@option(
    "--max-transaction-timeout",
    metavar="MINUTES",
    type=_INT32,
    default=15,
    help="Only transactions whose last record is older than this. Use the value of the brokers' "
    "transaction.max.timeout.ms.  "
    "[default: 15]",
)
@option("--topic", metavar="NAME", help="Only this topic.")
@option("--partition", metavar="N", type=_PARTITION, help="Only this partition (with --topic).")
@connection_options()
@output_options("hanging-transactions")
@click.pass_context
def find_hanging(
    context: click.Context, /, connection: ConnectionOptions, output_format: str | None, **given: Any
) -> int:
    """Find hanging transactions, which no coordinator will end."""
    from kafka_tools.commands.cluster import hanging_transactions
    from kafka_tools.output.kafka import transaction_text
    from kafka_tools.output.rows import Rows, by_cause
    from kafka_tools.shown_text import counted

    connection.check()
    if given["partition"] is not None and given["topic"] is None and given["broker_id"] is None:
        raise click.UsageError(
            "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search",
            ctx=context,
        )
    if given["partition"] is not None and given["topic"] is None:
        raise click.UsageError("The --partition argument requires --topic to be provided", ctx=context)
    with connection.admin() as admin:
        rows, errors, searched = hanging_transactions.find(
            admin,
            topic=given["topic"],
            partition=given["partition"],
            broker_id=given["broker_id"],
            open_for_ms=given["max_transaction_timeout"] * 60_000,
        )
    if output_format is None and (rows or not errors):
        running.emit(transaction_text.hanging(running.shown(rows)))
    partitions = [each for each in errors if " " not in str(each.item)]  # the others are named with what they are
    complaints = [*by_cause(partitions, "partitions"), *(each for each in errors if each not in partitions)]
    status = running.finish(Rows("hanging-transactions", rows, errors), output_format, "cannot search:", complaints)
    if searched:
        running.tell(f"{len(rows)} hanging in {counted(searched, 'partition', 'partitions')}", output_format)
    return status


@command.command(name="forceTerminateTransaction", cls=Command)
@option(
    "--transactionalId",
    "--transactional-id",
    "transactional_id",
    metavar="ID",
    multiple=True,
    required=True,
    help="Transactional id.",
)
@connection_options()
@output_options("terminated-transactions")
def force_terminate(transactional_id: Sequence[str], connection: ConnectionOptions, output_format: str | None) -> int:
    """End the open transaction of a transactional id, even a prepared one. Also available as force-terminate."""
    from kafka_tools.errors import KafkaToolsError, NotFound, UnsupportedVersion
    from kafka_tools.output.rows import ItemError
    from kafka_tools.protocol import error_codes

    rows: list[Row] = []
    failures: dict[str, KafkaToolsError] = {}
    untold = set()
    wanted = list(dict.fromkeys(transactional_id))
    with connection.admin() as admin:
        # Brokers create an unknown transactional id: a misspelt one would be created, and "ended".
        for name, error in admin.describe_transactions(wanted).failures().items():
            if isinstance(error, UnsupportedVersion):  # brokers before 3.0
                untold.add(name)
            else:
                failures[name] = error
        outcomes = admin.fence_producers([name for name in wanted if name not in failures])
    failures |= outcomes.failures()
    for name, (producer_id, epoch) in outcomes.succeeded().items():
        if name in untold and epoch == 0:
            failures[name] = NotFound(
                error_codes.error(error_codes.TRANSACTIONAL_ID_NOT_FOUND),
                "no transaction was ended; the request created the transactional id, with producer id "
                f"{producer_id}: before Kafka 3.0, brokers cannot list transactional ids",
            )
            continue
        row = {"transactional_id": name, "producer_id": producer_id, "producer_epoch": epoch, "result": "terminated"}
        rows.append(row)
    errors = [ItemError.of(f"`{name}`", failures[name]) for name in wanted if name in failures]
    failed = "Failed to force terminate transactionalId"
    return running.show_rows("terminated-transactions", rows, output_format, None, errors, failed)
