"""``--watch``: follow reassignments until they have ended, print their results, and remove their throttles."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafka_tools.admin.calls.log_dirs import ReplicaPlace
from kafka_tools.commands import running
from kafka_tools.commands.partitions.reassignment import current, log_dir_moves, progress
from kafka_tools.commands.partitions.reassignment.documents import ReassignmentDocument, read_reassignment
from kafka_tools.commands.partitions.reassignment.following import ReassignmentFollower, follow, patiently
from kafka_tools.commands.partitions.reassignment.ledger import ledger_of
from kafka_tools.commands.partitions.reassignment.log_dir_moves import item_text
from kafka_tools.errors import KafkaToolsError, NetworkError, UnsupportedVersion
from kafka_tools.output.kafka import reassignment_text as kafka_text
from kafka_tools.output.progress import StatusLine
from kafka_tools.output.rows import ItemError, Rows
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.output.cells import Row

SETTLE_S = 5.0
"""Maximum time in seconds until brokers learn of the end of a reassignment."""
_PAUSE_S = 0.2


def watch(admin: AdminClient, text: str | None, place: str, *, say: bool) -> Rows:
    """Follow all reassignments, or those of a reassignment file (``text``; ``place`` names it), until they have ended.

    Then remove the recorded throttles. A partition or replica in the wrong place is an error.
    """
    document = None if text is None else read_reassignment(text, place)
    follower = (
        ReassignmentFollower(admin)
        if document is None
        else ReassignmentFollower(admin, dict(document.partitions), document.log_dirs)
    )
    line = status_line(admin, say=say)
    with going_on(line, "--watch follows it again"):
        try:
            follow(admin, follower, line)
        except UnsupportedVersion:
            if document is None:
                raise
            current.check_old_brokers(admin, dict(document.partitions), document.log_dirs)
            follow(admin, ReassignmentFollower(admin, (), document.log_dirs, only_log_dirs=True), line)
        if document is None:
            document = ReassignmentDocument(list(follower.targets.items()), follower.paths)
        followed = document
        clock = admin.deadline().clock
        rows, failed = patiently(clock, lambda: how_it_ended(admin, followed))
        if say:
            completed = sum(row["state"] == log_dir_moves.COMPLETED for row in rows)
            plural = "" if len(rows) == 1 else "s"
            running.emit(
                f"Completed: {completed} of {len(rows)} reassignment{plural}.\n" if rows else kafka_text.listing([])
            )
            sys.stdout.flush()
        patiently(clock, lambda: remove_throttles(admin))
    return Rows("reassignment-states", rows, [ItemError.of(item_text(key), error) for key, error in failed.items()])


def how_it_ended(
    admin: AdminClient, document: ReassignmentDocument
) -> tuple[list[Row], dict[TopicPartition | ReplicaPlace, KafkaToolsError]]:
    """A row for each completed partition and move of a document, and an error for each in another place.

    Brokers that do not know of the end yet, or do not respond, are asked again.
    """
    settling = admin.deadline(SETTLE_S)
    while True:
        rows, failed = progress.partition_rows(admin, document, set())
        moves, move_errors = progress.move_rows(admin, document)
        astray = [row for row in (*rows, *moves) if row["state"] != log_dir_moves.COMPLETED]
        unanswered = [error for error in (*failed.values(), *move_errors.values()) if isinstance(error, NetworkError)]
        if not (astray or unanswered) or settling.expired:
            break
        settling.clock.sleep(_PAUSE_S)
    errors: dict[TopicPartition | ReplicaPlace, KafkaToolsError] = dict(failed.items())
    for row in astray:
        partition = TopicPartition(row["topic"], row["partition"])
        if row["broker"] is None and partition in errors:
            continue  # it does not exist any more
        if row["broker"] is None:
            errors[partition] = KafkaToolsError(kafka_text.partition_state(row))
        else:
            errors[ReplicaPlace(*partition, row["broker"])] = KafkaToolsError(kafka_text.move_state(row))
    return [*rows, *moves], errors | move_errors


def remove_throttles(admin: AdminClient) -> None:
    """Remove the recorded throttles, unless a reassignment is still in progress."""
    left = len(current.reassignments(admin) or ())
    if not left:
        progress.remove_left_throttles(admin)
    elif not ledger_of(admin).is_empty:
        running.note(
            f"throttles stay: {left} reassignment{(' is' if left == 1 else 's are')} in progress. Once complete, "
            "remove the throttles with --watch or --list"
        )


def status_line(admin: AdminClient, *, say: bool) -> StatusLine:
    """The progress line: on stdout among Kafka's text (``say``), else on stderr."""
    return StatusLine(sys.stdout if say else sys.stderr, admin.deadline().clock)


@contextmanager
def going_on(line: StatusLine, how: str) -> Iterator[None]:
    """On Ctrl-C, print that the reassignment continues, and ``how`` to follow it again."""
    try:
        yield
    except KeyboardInterrupt:
        line.clear()
        running.note(f"interrupted: moves in progress and their throttles stay; {how}")
        raise
