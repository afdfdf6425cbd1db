"""Moves of replicas between the log directories of their broker: start them, and read their state (KIP-113)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.calls.log_dirs import ReplicaPlace
from kafka_tools.commands.partitions.reassignment.current import is_offline
from kafka_tools.errors import KafkaToolsError
from kafka_tools.net.broker_errors import has_code
from kafka_tools.protocol import error_codes

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.clock import Deadline
    from kafka_tools.values import TopicPartition

COMPLETED = "completed"
IN_PROGRESS = "in_progress"
ELSEWHERE = "elsewhere"
NOT_ACTIVE = "not_active"
MISSING = "missing"
"""The last three: moving to another directory than requested, cancelled or never started, no such replica there."""

_PAUSE_S = 0.1


class MoveState(NamedTuple):
    """The state of a replica's move to ``target``. ``current``: its directory; ``future``: where it moves, or None."""

    state: str
    target: str
    current: str | None
    future: str | None


def move_states(
    admin: AdminClient, targets: Mapping[ReplicaPlace, str]
) -> tuple[dict[ReplicaPlace, MoveState], dict[ReplicaPlace, KafkaToolsError]]:
    """Replica -> the state of its move, or the error of its broker."""
    states = {}
    errors = {}
    described = admin.describe_replica_log_dirs(targets) if targets else {}
    for place, outcome in described.items():
        target = targets[place]
        if outcome.error is not None and not is_offline(outcome.error):
            errors[place] = outcome.error
        elif outcome.error is not None or outcome.get().current is None:
            states[place] = MoveState(MISSING, target, None, None)
        else:
            found = outcome.get()
            state = COMPLETED if found.current == target else NOT_ACTIVE
            if found.future is not None:
                state = IN_PROGRESS if found.future == target else ELSEWHERE
            states[place] = MoveState(state, target, found.current, found.future)
    return states, errors


def start_moves(
    admin: AdminClient,
    wanted: Mapping[ReplicaPlace, str],
    deadline: Deadline,
    started: Callable[[dict[ReplicaPlace, str]], None],
) -> dict[ReplicaPlace, KafkaToolsError]:
    """Start moves, and call ``started`` with the started ones. Returns the errors of the others.

    If a broker does not have a replica yet, because its reassignment just started, the request is repeated until
    ``deadline``.
    """
    pending = dict(wanted)
    failed: dict[ReplicaPlace, KafkaToolsError] = {}
    while pending:
        outcomes = admin.alter_replica_log_dirs(pending)
        begun = sorted((place for place in outcomes.succeeded()), key=by_broker)
        if begun:
            started({place: pending.pop(place) for place in begun})
        waiting = {}
        for place, error in outcomes.failures().items():
            if _is_not_there_yet(error):
                waiting[place] = error
            else:
                failed[place] = error
                del pending[place]
        if waiting and deadline.expired:
            for place in waiting:
                failed[place] = KafkaToolsError(
                    "Timed out before log directory move could be started",
                    hint="the broker does not have the replica yet; use --timeout TIME to wait longer",
                )
            break
        if waiting:
            deadline.clock.sleep(min(_PAUSE_S, deadline.left_s()))
    return failed


def by_broker(place: ReplicaPlace) -> tuple[int, str, int]:
    """Sort key of replicas in Kafka's tool."""
    return place.broker_id, place.topic, place.partition


def replica_text(place: ReplicaPlace) -> str:
    """A replica in Kafka's form: ``orders-0-1``."""
    return f"{place.topic}-{place.partition}-{place.broker_id}"


def item_text(item: TopicPartition | ReplicaPlace) -> str:
    """A partition or a replica in Kafka's form."""
    return replica_text(item) if isinstance(item, ReplicaPlace) else str(item)


def _is_not_there_yet(error: KafkaToolsError) -> bool:
    return has_code(error, error_codes.REPLICA_NOT_AVAILABLE)
