"""``kafka-tools clients``: who uses the cluster, in one list.

Members of groups of every type, the producers that the leaders of partitions remember, and open transactions. Brokers
remember an idempotent producer for a day after its last write (``producer.id.expiration.ms``), and no other producers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.live_names import topic_names
from kafka_tools.commands.options.command import Command, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient, ProducerState, TransactionListing
    from kafka_tools.output.cells import Row
    from kafka_tools.output.rows import ItemError
    from kafka_tools.values import TopicPartition

KIND = "clients"
PARTITIONS_AT_ONCE = 500
"""Partitions per request: the response lists all producers of each."""
_NO_VERSIONS = (
    "no API of Kafka returns the versions of clients; the request log of a broker has them, and its metrics "
    "connections by clientSoftwareName (KIP-511). Producers without idempotence are unknown to brokers."
)


@click.command(name="clients", cls=Command)
@option(
    "--topic",
    metavar="NAME",
    multiple=True,
    shell_complete=topic_names,
    help="Only clients that read or write this topic.",
)
@connection_options()
@output_options(KIND)
def command(topic: Sequence[str], connection: ConnectionOptions, output_format: str | None) -> int:
    """List the clients of a cluster: members of groups, producers, transactions."""
    from kafka_tools.output.rows import Rows, by_cause

    connection.check()
    wanted = set(topic)
    with connection.admin() as admin:
        members, errors = _members(admin)
        writers, more = _writers(admin, wanted)
    rows = [row for row in (*members, *writers) if not wanted or wanted.intersection(row["topics"])]
    form = output_format or "table"
    status = running.finish(Rows(KIND, rows, [*errors, *by_cause(more, "partitions")]), form, "cannot read")
    running.tell(_NO_VERSIONS, form)
    return status


def _members(admin: AdminClient) -> tuple[list[Row], list[ItemError]]:
    """A row for each member of a group of any type."""
    from kafka_tools.output.rows import ItemError
    from kafka_tools.protocol.enums import CoordinatorGroupType

    listed = admin.list_groups()
    errors = [ItemError.of(f"groups of {getattr(error, 'node', None) or 'a broker'}", error) for error in listed.errors]
    roles = {each.group_id: each.protocol_type or "consumer" for each in listed}
    kinds: dict[str | None, tuple[Callable[[list[str]], Any], str | None]] = {
        CoordinatorGroupType.SHARE: (admin.describe_share_groups, "share consumer"),
        CoordinatorGroupType.STREAMS: (admin.describe_streams_groups, "streams"),
    }
    names: dict[str | None, list[str]] = {}
    for group in listed:
        names.setdefault(group.type if group.type in kinds else None, []).append(group.group_id)
    rows: list[Row] = []
    for kind, ids in names.items():
        describe, role = kinds.get(kind, (admin.describe_groups, None))
        for id, outcome in describe(ids).items():
            if outcome.error is not None:
                errors.append(ItemError.of(f"group '{id}'", outcome.error))
                continue
            described = outcome.get()
            rows += [_member(each, id, role or roles[id], described.state) for each in described.members]
    return rows, errors


def _member(member: Any, group: str, role: str, state: str | None) -> Row:
    from kafka_tools.values import TopicPartition

    assigned = [each for each in member.assignment if isinstance(each, TopicPartition)]
    return {
        "role": role,
        "client_id": member.client_id,
        "host": member.host,
        "group": group,
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        "transactional_id": None,
        "producer_id": None,
        "partitions": len(assigned),
        "topics": sorted({each.topic for each in assigned}),
        "last_write_ms": None,
        "state": state,
    }


def _writers(admin: AdminClient, wanted: set[str]) -> tuple[list[Row], list[ItemError]]:
    """A row for each producer that leaders remember, and for each open transaction of a producer that wrote nothing."""
    from kafka_tools.errors import UnsupportedVersion
    from kafka_tools.output.rows import ItemError

    partitions, errors = _partitions(admin, wanted)
    found: dict[int, dict[TopicPartition, ProducerState]] = {}
    old: UnsupportedVersion | None = None
    for at in range(0, len(partitions), PARTITIONS_AT_ONCE):
        for key, outcome in admin.describe_producers(partitions[at : at + PARTITIONS_AT_ONCE]).items():
            if isinstance(outcome.error, UnsupportedVersion):
                old = outcome.error
            elif outcome.error is not None:
                errors.append(ItemError.of(key, outcome.error))
            for producer in outcome.value or ():
                found.setdefault(producer.producer_id, {})[key] = producer
    if old is not None:
        running.note(f"producers are left out: {old}", *filter(None, [old.hint]))
    listed: dict[int, TransactionListing] = {}
    for node, each in admin.list_transactions().items():
        if each.error is not None and not isinstance(each.error, UnsupportedVersion):
            errors.append(ItemError.of(f"transactions of {node}", each.error))
        listed |= {listing.producer_id: listing for listing in each.value or ()}
    silent = [id for id, listing in listed.items() if id not in found and not wanted and listing.state == "Ongoing"]
    return [_writer(id, found.get(id, {}), listed.get(id)) for id in sorted([*found, *silent])], errors


def _partitions(admin: AdminClient, wanted: set[str]) -> tuple[list[TopicPartition], list[ItemError]]:
    """The partitions to ask about: of these topics, or of all that are not internal."""
    from kafka_tools.output.rows import ItemError
    from kafka_tools.values import TopicPartition

    names: Iterable[str] = sorted(wanted) or sorted(each.name for each in admin.list_topics(include_internal=False))
    outcomes = admin.describe_topics(list(names))
    errors = [ItemError.of(f"topic {name}", error) for name, error in outcomes.failures().items()]
    return [
        TopicPartition(str(name), each.partition)
        for name, description in outcomes.succeeded().items()
        for each in description.partitions
    ], errors


def _writer(id: int, written: Mapping[TopicPartition, ProducerState], transaction: TransactionListing | None) -> Row:
    is_open = any(each.current_transaction_start_offset is not None for each in written.values())
    state = transaction.state if transaction is not None else "Ongoing" if is_open else None
    return {
        "role": "producer",
        "client_id": None,
        "host": None,
        "group": None,
        "member_id": None,
        "group_instance_id": None,
        "transactional_id": None if transaction is None else transaction.transactional_id,
        "producer_id": id,
        "partitions": len(written),
        "topics": sorted({key.topic for key in written}),
        "last_write_ms": max((each.last_timestamp for each in written.values()), default=None),
        "state": state,
    }
