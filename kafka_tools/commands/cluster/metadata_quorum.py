"""``kafka-metadata-quorum``: the controllers of a KRaft cluster (KIP-595, KIP-853; Kafka's MetadataQuorumCommand)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, CommandGroup, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.errors import BrokerError, InputError, KafkaToolsError, UnsupportedVersion, UsageError

if TYPE_CHECKING:
    from kafka_tools.admin.calls.quorum import QuorumDescription, QuorumEndpoint, QuorumReplica
    from kafka_tools.output.cells import Row


@click.group(name="kafka-metadata-quorum", cls=CommandGroup)
def command() -> None:
    """Show and change the metadata quorum."""


@command.command(name="describe", cls=Command)
@option("--status", is_flag=True, help="Show a summary: leader, high watermark, lag, voters, observers.")
@option("--replication", is_flag=True, help="Show the log end offset and lag of each voter and observer.")
@option("--human-readable", is_flag=True, help="Show elapsed times instead of timestamps (with --replication).")
@connection_options(controllers=True)
@output_options({"status": "quorum-status", "replication": "quorum-replication"})
def describe(
    status: bool, replication: bool, human_readable: bool, connection: ConnectionOptions, output_format: str | None
) -> int:
    """Describe the metadata quorum."""
    from kafka_tools.clock import SystemClock
    from kafka_tools.output.kafka import quorum_text

    if status == replication:
        raise UsageError("Give exactly one of --status, --replication.")
    if human_readable and not replication:
        raise UsageError("--human-readable can only be used with --replication.")
    with connection.admin() as admin:
        quorum = admin.describe_quorum()
        cluster_id = admin.describe_cluster().cluster_id if status else None
    if status:
        return running.show_rows("quorum-status", [_summary(quorum, cluster_id)], output_format, quorum_text.status)
    as_text = partial(quorum_text.replication, now_ms=SystemClock().now_ms() if human_readable else None)
    return running.show_rows("quorum-replication", _replicas(quorum), output_format, as_text)


@command.command(name="add-controller", cls=Command)
@option("--dry-run", is_flag=True, help="Show the change without applying it.")
@connection_options(controllers=True)
@output_options("changed-quorum")
def add_controller(dry_run: bool, connection: ConnectionOptions, output_format: str | None) -> int:
    """Add a controller to the voters.

    Run it on the machine of the controller, with its server.properties as --command-config.
    """
    from kafka_tools.commands.cluster.controller_settings import controller_of

    if not connection.command_config:
        raise UsageError("--command-config is required: the configuration file of the controller to add")
    node_id, directory_id, endpoints = controller_of(connection.command_config)
    if not dry_run:
        with running.about(node_id), connection.admin(is_for_clients=False) as admin:
            admin.add_voter(node_id, directory_id, endpoints)
    return _added(node_id, directory_id, endpoints, output_format, dry_run)


@command.command(name="remove-controller", cls=Command)
@option(
    "-i",
    "--controller-id",
    type=click.IntRange(0, 2**31 - 1),
    required=True,
    metavar="ID",
    help="Id of the controller.",
)
@option("-d", "--controller-directory-id", required=True, metavar="ID", help="Directory id of the controller.")
@option("--dry-run", is_flag=True, help="Show the change without applying it.")
@option("--unregister", is_flag=True, help="Unregister the controller as well (Kafka 4.4 and later).")
@connection_options(controllers=True)
@output_options("changed-quorum")
def remove_controller(
    controller_id: int,
    controller_directory_id: str,
    dry_run: bool,
    unregister: bool,
    connection: ConnectionOptions,
    output_format: str | None,
) -> int:
    """Remove a controller from the voters, before you shut it down permanently."""
    from kafka_tools.output.rows import ItemError
    from kafka_tools.values import parse_uuid, uuid_text

    try:
        directory_id = parse_uuid(controller_directory_id)
    except InputError as error:
        raise UsageError(f"--controller-directory-id: {error}") from error
    connection.check()
    name = f"KRaft controller {controller_id}"
    row: Row = {"node_id": controller_id, "directory_id": uuid_text(directory_id), "endpoints": [], "result": "planned"}
    errors: list[ItemError] = []

    def say(text: str) -> None:
        if output_format is None:
            running.emit(f"{text}\n")

    if dry_run:
        say(f"DRY RUN of removing {name} with directory id {uuid_text(directory_id)}")
        if unregister:
            say(f"DRY RUN of unregistering {name}")
        return running.show_rows("changed-quorum", [row], output_format)
    with running.about(controller_id), connection.admin() as admin:
        try:
            admin.remove_voter(controller_id, directory_id)
        except KafkaToolsError as error:
            if unregister and _has_no_voter(error):
                error.args = (f"Failed to remove KRaft voter {controller_id}: {_advised(str(error), controller_id)}",)
            raise
        row["result"] = "removed"
        say(f"Removed {name} with directory id {uuid_text(directory_id)}")
        if unregister:
            try:
                admin.unregister_controller(controller_id)
            except KafkaToolsError as error:
                failed = ItemError.of(controller_id, error)
                errors.append(failed._replace(message=_advised(failed.message, controller_id)))
            else:
                row["result"] = "unregistered"
                say(f"Unregistered {name}")
    return running.show_rows("changed-quorum", [row], output_format, None, errors, "Failed to unregister controller")


def _has_no_voter(error: KafkaToolsError) -> bool:
    """Whether a removal failed because the cluster has no such voter, or because its voters cannot be removed."""
    from kafka_tools.protocol import error_codes

    missing = (error_codes.UNSUPPORTED_VERSION, error_codes.VOTER_NOT_FOUND)
    return isinstance(error, UnsupportedVersion) or (isinstance(error, BrokerError) and error.code.code in missing)


def _advised(error: str, controller_id: int) -> str:
    return (
        f"{error.rstrip('.')}. To unregister the controller from the cluster, run "
        f"`kafka-cluster unregister-controller --id {controller_id}`."
    )


def _added(
    node_id: int, directory_id: Any, endpoints: list[QuorumEndpoint], output_format: str | None, dry_run: bool
) -> int:
    from kafka_tools.values import format_address, uuid_text

    texts = [f"{each.name}://{format_address(each.host, each.port)}" for each in endpoints]
    directory, result = uuid_text(directory_id), "planned" if dry_run else "added"
    what = f"{'DRY RUN of adding' if dry_run else 'Added'} controller {node_id} with directory id {directory}"
    row = {"node_id": node_id, "directory_id": directory, "endpoints": texts, "result": result}
    text = f"{what} and endpoints: {', '.join(texts)}\n"
    return running.show_rows("changed-quorum", [row], output_format, lambda _: text)


def _leader(quorum: QuorumDescription) -> QuorumReplica:
    for replica in quorum.voters:
        if replica.replica_id == quorum.leader_id:
            return replica
    raise KafkaToolsError(
        f"the leader {quorum.leader_id} is not among the voters", hint="an election may be in progress"
    )


def _summary(quorum: QuorumDescription, cluster_id: str | None) -> Row:
    leader = _leader(quorum)
    slowest = min(quorum.voters, key=lambda replica: replica.log_end_offset)
    lag_ms: int | None = 0
    if slowest is not leader:
        known = leader.last_caught_up_ms is not None and slowest.last_caught_up_ms is not None
        lag_ms = leader.last_caught_up_ms - slowest.last_caught_up_ms if known else None  # type: ignore[operator]
    return {
        "cluster_id": cluster_id,
        "leader_id": quorum.leader_id,
        "leader_epoch": quorum.leader_epoch,
        "high_watermark": quorum.high_watermark,
        "max_follower_lag": leader.log_end_offset - slowest.log_end_offset,
        "max_follower_lag_ms": lag_ms,
        "voters": [_member(quorum, replica) for replica in quorum.voters],
        "observers": [_member(quorum, replica) for replica in quorum.observers],
    }


def _member(quorum: QuorumDescription, replica: QuorumReplica) -> Row:
    from kafka_tools.values import format_address

    known = quorum.nodes.get(replica.replica_id, ())
    endpoints = [f"{each.name}://{format_address(each.host, each.port)}" for each in known]
    return {"id": replica.replica_id, "directory_id": _directory(replica), "endpoints": endpoints}


def _directory(replica: QuorumReplica) -> str | None:
    from kafka_tools.values import ZERO_UUID, uuid_text

    return None if replica.directory_id in (None, ZERO_UUID) else uuid_text(replica.directory_id)


def _replicas(quorum: QuorumDescription) -> list[Row]:
    leader = _leader(quorum)
    listed = [(leader, "Leader")]
    listed += [(replica, "Follower") for replica in quorum.voters if replica is not leader]
    listed += [(replica, "Observer") for replica in quorum.observers]
    return [
        {
            "node_id": replica.replica_id,
            "directory_id": _directory(replica),
            "log_end_offset": replica.log_end_offset,
            "lag": leader.log_end_offset - replica.log_end_offset,
            "last_fetch_ms": replica.last_fetch_ms,
            "last_caught_up_ms": replica.last_caught_up_ms,
            "status": status,
        }
        for replica, status in listed
    ]
