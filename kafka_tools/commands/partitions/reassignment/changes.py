"""``--execute`` and ``--cancel``: start and cancel reassignments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_tools.commands import running
from kafka_tools.commands.partitions.reassignment import current, log_dir_moves, throttles
from kafka_tools.commands.partitions.reassignment.documents import (
    check_executable,
    log_dirs_in_order,
    read_reassignment,
    reassignment_text,
)
from kafka_tools.commands.partitions.reassignment.ledger import ledger_of
from kafka_tools.commands.partitions.reassignment.progress import clear_throttles, remove_left_throttles
from kafka_tools.commands.partitions.reassignment.throttles import NO_THROTTLE, Throttle
from kafka_tools.errors import (
    AuthorizationFailed,
    InputError,
    InvalidRequest,
    KafkaToolsError,
    NotFound,
    UnsupportedVersion,
)
from kafka_tools.output.kafka import reassignment_text as kafka_text

if TYPE_CHECKING:
    from kafka_tools.admin.calls.log_dirs import ReplicaPlace
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.admin.outcomes import Outcomes
    from kafka_tools.commands.partitions.reassignment.documents import Replicas
    from kafka_tools.output.cells import Row
    from kafka_tools.output.rows import Rows
    from kafka_tools.values import TopicPartition


_REFUSALS = (UnsupportedVersion, AuthorizationFailed, InvalidRequest, NotFound)
"""Errors after which nothing is in progress. After others, such as a timeout, it may be."""


class ChangeOrder(NamedTuple):
    """A reassignment file to apply. ``place`` names the file in messages. ``move_timeout_s``: maximum wait until moves
    between log directories start. ``say``: print Kafka's text.

    ``additional``: other reassignments may be in progress.
    """

    text: str
    place: str
    move_timeout_s: float
    say: bool
    throttle: Throttle = NO_THROTTLE
    additional: bool = False
    allow_replication_factor_change: bool = True

    def tell(self, text: str) -> None:
        """Print Kafka's text immediately: the next step may take long, and a kill must not lose the text."""
        import sys

        if self.say:
            running.emit(text)
            sys.stdout.flush()


def execute(admin: AdminClient, asked: ChangeOrder) -> Rows:
    """Start all reassignments of a file together. If the file is invalid, none starts."""
    throttle = asked.throttle
    document = read_reassignment(asked.text, asked.place)
    wanted = check_executable(document, asked.place)
    running_now = current.reassignments(admin)
    if running_now and not asked.additional:
        raise KafkaToolsError(kafka_text.CANNOT_EXECUTE)
    alive = {node.id for node in admin.nodes()}
    unknown = sorted({id for replicas in wanted.values() for id in replicas} - alive)
    if unknown:
        raise InputError(f"Unknown broker id {unknown[0]}", hint="it does not exist or is not running")
    now = current.replicas_of(admin, wanted)
    between_brokers = running_now is not None
    if not between_brokers:
        current.check_old_brokers(admin, wanted, document.log_dirs)
    log_dirs = current.log_dirs_of(admin, now)
    asked.tell(kafka_text.current_assignment(reassignment_text(now, log_dirs)))
    limited = throttle.inter_broker >= 0 or throttle.log_dirs >= 0
    if limited:
        asked.tell(kafka_text.MUST_VERIFY)
        ledger = ledger_of(admin)
        movers = {place.broker_id for place in document.log_dirs}
        try:
            if throttle.inter_broker >= 0 and between_brokers:
                moves = throttles.moves_of(running_now or {}, wanted, now)
                asked.tell(throttles.limit_moves(admin, moves, throttle.inter_broker, ledger))
            if throttle.log_dirs >= 0:
                asked.tell(throttles.limit_log_dirs(admin, movers, throttle.log_dirs, ledger))
        except KafkaToolsError:
            if not running_now:  # nothing has begun
                remove_left_throttles(admin)
            raise
    outcomes: Outcomes[TopicPartition, None] | None = None
    if between_brokers:
        outcomes = admin.alter_partition_reassignments(
            wanted, allow_replication_factor_change=asked.allow_replication_factor_change
        )
    begun = [] if outcomes is None else sorted(outcomes.succeeded())
    if begun:
        asked.tell(kafka_text.started(running.shown([str(partition) for partition in begun])))
    rows = [partition_row(each, "started", wanted[each], now[each], log_dirs) for each in begun]
    failed: dict[Any, KafkaToolsError] = {} if outcomes is None else dict(sorted(outcomes.failures().items()))
    movable = {place: path for place, path in document.log_dirs.items() if place.topic_partition not in failed}
    failed |= _start_moves(admin, asked, movable, rows)
    if limited and not (rows or running_now):
        if all(isinstance(each, _REFUSALS) for each in failed.values()):
            remove_left_throttles(admin)
        else:
            running.note(
                "throttles stay: an unanswered request may have started a move; --verify removes the throttles "
                "once the move is complete"
            )
    return changed(rows, failed)


def cancel(admin: AdminClient, asked: ChangeOrder, *, preserve_throttles: bool) -> Rows:
    """Cancel the in-progress reassignments of a file, and its moves between log directories."""
    document = read_reassignment(asked.text, asked.place)
    partitions = sorted({partition for partition, _ in document.partitions})
    listed = current.reassignments(admin, partitions)
    if listed is None:
        current.check_old_brokers(admin, dict(document.partitions), document.log_dirs)
    active = sorted(partition for partition, each in (listed or {}).items() if each.adding or each.removing)
    outcomes = admin.alter_partition_reassignments(dict.fromkeys(active)) if active else None
    done = sorted(outcomes.succeeded()) if outcomes is not None else []
    if listed is None:
        running.note(f"only moves between log directories are cancelled: {current.TOO_OLD}")
    elif done or outcomes is None:
        asked.tell(kafka_text.cancelled(running.shown([str(partition) for partition in done])))
    rows = [change_row(partition, "cancelled") for partition in done]
    still = {} if outcomes is None else outcomes.failures()
    missing = current.missing(admin, [partition for partition in partitions if partition not in active])
    failed: dict[Any, KafkaToolsError] = dict(sorted({**still, **missing}.items()))
    states, errors = log_dir_moves.move_states(admin, document.log_dirs)
    failed |= errors
    back = {place: str(each.current) for place, each in states.items() if each.future is not None}
    if not back:
        asked.tell(kafka_text.NO_MOVES)
    failed |= _start_moves(admin, asked, back, rows)
    if still and not preserve_throttles:
        running.note(
            "throttles stay: some reassignments could not be cancelled and are in progress; run --cancel "
            "again to remove them"
        )
    elif not preserve_throttles:
        left = clear_throttles(admin, document, missing, is_known=listed is not None, say=asked.say)
        failed |= {f"throttles of {key}": error for key, error in left.items()}
    return changed(rows, failed)


def _start_moves(
    admin: AdminClient, asked: ChangeOrder, wanted: Mapping[ReplicaPlace, str], rows: list[Row]
) -> dict[ReplicaPlace, KafkaToolsError]:
    """Start moves between log directories, and add a row for each. Returns the errors of the others."""

    def started(begun: Mapping[ReplicaPlace, str]) -> None:
        for place, path in begun.items():
            asked.tell(kafka_text.move_started(*running.shown((*place, path))))
            rows.append(change_row(place.topic_partition, "started", broker=place.broker_id, log_dir=path))

    return log_dir_moves.start_moves(admin, wanted, admin.deadline(asked.move_timeout_s), started)


def partition_row(
    partition: TopicPartition, result: str, replicas: Replicas, before: Replicas, log_dirs: Mapping[ReplicaPlace, str]
) -> Row:
    """A row with the result of a partition, its new replicas, and its former ones."""
    return change_row(
        partition,
        result,
        replicas=list(replicas),
        previous_replicas=list(before),
        previous_log_dirs=log_dirs_in_order(partition, before, log_dirs),
    )


def change_row(partition: TopicPartition, result: str, **more: Any) -> Row:
    """A row with the result of a partition, or of its replica on ``broker``."""
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "broker": None,
        "replicas": None,
        "log_dir": None,
        "previous_replicas": None,
        "previous_log_dirs": None,
        **more,
        "result": result,
    }


def changed(rows: list[Row], failed: Mapping[Any, KafkaToolsError]) -> Rows:
    """The rows, and an error for each partition or replica that failed."""
    from kafka_tools.output.rows import ItemError, Rows

    errors = [
        ItemError.of(key if isinstance(key, str) else log_dir_moves.item_text(key), error)
        for key, error in failed.items()
    ]
    return Rows("changed-reassignments", rows, errors)
