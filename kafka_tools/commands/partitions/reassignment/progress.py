"""``--verify`` and ``--list``: the progress of reassignments. At their end, throttles are removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_tools.commands import running
from kafka_tools.commands.partitions.reassignment import current, log_dir_moves, throttles
from kafka_tools.commands.partitions.reassignment.ledger import Ledger, ledger_of
from kafka_tools.errors import InputError
from kafka_tools.output.kafka import reassignment_text as kafka_text
from kafka_tools.output.rows import ItemError, Rows

if TYPE_CHECKING:
    from kafka_tools.admin.calls.configs import ConfigResource
    from kafka_tools.admin.calls.log_dirs import ReplicaPlace
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.commands.partitions.reassignment.documents import ReassignmentDocument
    from kafka_tools.errors import KafkaToolsError
    from kafka_tools.output.cells import Row
    from kafka_tools.values import TopicPartition


def verify(admin: AdminClient, text: str, place: str, *, preserve_throttles: bool, say: bool) -> Rows:
    """Print the state of each partition and move of a reassignment file. If all have ended, remove throttles."""
    from kafka_tools.commands.partitions.reassignment.documents import read_reassignment

    document = read_reassignment(text, place)
    under_way = current.reassignments(admin)
    if under_way is None:
        current.check_old_brokers(admin, dict(document.partitions), document.log_dirs)
    rows, failed = partition_rows(admin, document, set(under_way or ()))
    if say:
        running.emit(kafka_text.partition_states(running.shown(rows)))
    moves, move_errors = move_rows(admin, document)
    if say:
        running.emit(kafka_text.move_states(running.shown(moves)))
    finished = {log_dir_moves.COMPLETED, log_dir_moves.NOT_ACTIVE}
    moving = move_errors or any(each["state"] not in finished for each in moves)
    errors = [ItemError.of(partition, error) for partition, error in failed.items()]
    errors += [ItemError.of(log_dir_moves.item_text(key), error) for key, error in move_errors.items()]
    if not (under_way or moving or preserve_throttles):
        left = clear_throttles(admin, document, failed, is_known=under_way is not None, say=say)
        errors += [ItemError.of(f"throttles of {key}", error) for key, error in left.items()]
    return Rows("reassignment-states", [*rows, *moves], errors)


def clear_throttles(
    admin: AdminClient,
    document: ReassignmentDocument,
    failed: Mapping[TopicPartition, KafkaToolsError],
    *,
    is_known: bool,
    say: bool,
) -> dict[ConfigResource, KafkaToolsError]:
    """Remove throttles as ``throttles.clear`` does, unless moves that they limit are planned or in progress.

    ``failed``: partitions of the document with errors. Topics that do not exist have no throttles. ``is_known``:
    whether the brokers list reassignments. If they do not, only recorded throttles are removed.
    """
    ledger = ledger_of(admin)
    if stay(admin, ledger):
        return {}
    if is_known:
        missing = {partition.topic for partition, error in failed.items() if current.is_unknown_topic(error)}
        topics = [partition.topic for partition, _ in document.partitions if partition.topic not in missing]
        broker_ids = {id for _, replicas in document.partitions for id in replicas}
        return throttles.clear(admin, broker_ids, topics, ledger, say=say)
    if ledger.is_empty:
        running.note(f"throttles stay: cannot tell whether reassignments are in progress: {current.TOO_OLD}")
    else:
        throttles.restore_recorded(admin, ledger)
    return {}


def list_running(admin: AdminClient, *, say: bool) -> Rows:
    """The reassignments in progress. If there are none, throttles that --execute left are removed."""
    rows: list[Row] = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "replicas": list(each.replicas),
            "adding_replicas": list(each.adding),
            "removing_replicas": list(each.removing),
        }
        for partition, each in sorted(admin.list_partition_reassignments().items())
    ]
    if say:
        running.emit(kafka_text.listing(running.shown(rows)))
    if not rows and not admin.config.is_controllers:
        remove_left_throttles(admin)
    return Rows("reassignments", rows)


def remove_left_throttles(admin: AdminClient) -> None:
    """Remove the recorded throttles, and print them. Call it only when no reassignment is active."""
    ledger = ledger_of(admin)
    if ledger.is_empty:
        return
    if stay(admin, ledger):
        return
    broker_ids, topics = ledger.broker_ids(), ledger.topics()
    listed = [f"broker {id}" for id in sorted(broker_ids)] + [f"topic {topic}" for topic in sorted(topics)]
    running.note(f"no reassignment is active: removing the throttles that --execute set on {', '.join(listed)}")
    throttles.restore_recorded(admin, ledger)


def stay(admin: AdminClient, ledger: Ledger) -> bool:
    """Whether recorded throttles are still needed although no reassignment between brokers is in progress: another
    command has more batches, or replicas move between log directories. Prints the reason."""
    if ledger.batches_to_come():
        running.note("throttles stay: another --execute of yours on this host is running and will remove them")
        return True
    described = admin.describe_log_dirs(ledger.movers(), timeout_s=current.share_s(admin)) if ledger.movers() else {}
    for broker_id, dirs in described.items():
        if any(replica.is_future for _, _, replica in current.replicas_in(broker_id, dirs.value or {})):
            running.note(f"throttles stay: replicas are moving between the log directories of broker {broker_id}")
            return True
    return False


def move_rows(
    admin: AdminClient, document: ReassignmentDocument
) -> tuple[list[Row], dict[ReplicaPlace, KafkaToolsError]]:
    """A row with the state of each move between log directories, by broker, and the errors."""
    states, errors = log_dir_moves.move_states(admin, document.log_dirs)
    rows = [
        _row(
            place.topic_partition,
            states[place].state,
            broker=place.broker_id,
            current_log_dir=states[place].current,
            target_log_dir=states[place].target,
            future_log_dir=states[place].future,
        )
        for place in sorted(states, key=log_dir_moves.by_broker)
    ]
    return rows, errors


def partition_rows(
    admin: AdminClient, document: ReassignmentDocument, running_now: set[TopicPartition]
) -> tuple[list[Row], dict[TopicPartition, KafkaToolsError]]:
    """A row with the state of each partition, by name, and the errors.

    A partition that does not exist has both: Kafka's tool lists it, and fails.
    """
    # A duplicate partition of the file has one row, by its last entry.
    targets = dict(document.partitions)
    known, errors = current.described(admin, (key.topic for key in targets if key not in running_now))
    rows = []
    failed: dict[TopicPartition, KafkaToolsError] = {}
    for partition in sorted(targets):
        target = list(targets[partition])
        if partition in running_now:
            rows.append(_row(partition, log_dir_moves.IN_PROGRESS, target_replicas=target))
            continue
        error = errors.get(partition.topic)
        if error is not None:
            failed[partition] = error
            if not current.is_unknown_topic(error):
                continue
        elif partition not in known:
            failed[partition] = InputError("no such partition")
        found = list(known.get(partition, ()))
        state = log_dir_moves.COMPLETED if found == target else log_dir_moves.NOT_ACTIVE
        rows.append(_row(partition, state, current_replicas=found, target_replicas=target))
    return rows, failed


def _row(partition: TopicPartition, state: str, **more: object) -> Row:
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "broker": None,
        "state": state,
        "current_replicas": None,
        "target_replicas": None,
        "current_log_dir": None,
        "target_log_dir": None,
        "future_log_dir": None,
        **more,
    }
