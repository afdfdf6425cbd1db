"""The steps that start a batch of reassignments. Each step waits for brokers that are down for a while."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_tools.admin.calls.log_dirs import ReplicaPlace
from kafka_tools.commands.partitions.reassignment import current, log_dir_moves, throttles
from kafka_tools.commands.partitions.reassignment.changes import ChangeOrder
from kafka_tools.commands.partitions.reassignment.documents import check_executable, read_reassignment
from kafka_tools.commands.partitions.reassignment.following import AGAIN_S, LONGEST_SILENCE_S, patiently
from kafka_tools.commands.partitions.reassignment.ledger import ledger_of
from kafka_tools.errors import KafkaToolsError, NetworkError, SecurityError, UnsupportedVersion
from kafka_tools.net.broker_errors import has_code
from kafka_tools.protocol import error_codes
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient

T = TypeVar("T")

GO_ON = "repeat the command to continue with the rest"


class BatchStarter:
    """Starts the reassignments of a file. Raises InputError for an invalid file.

    ``only_log_dirs``: nothing moves between brokers, whose release is too old for the request (before 2.4).
    """

    def __init__(self, admin: AdminClient, asked: ChangeOrder) -> None:
        document = read_reassignment(asked.text, asked.place)
        self.only_log_dirs = False
        self._admin = admin
        self._clock = admin.deadline().clock
        self._asked = asked
        self._wanted = check_executable(document, asked.place)
        self._paths = document.log_dirs
        self._throttle = asked.throttle

    @property
    def is_throttled(self) -> bool:
        return self._throttle.inter_broker >= 0 or self._throttle.log_dirs >= 0

    def alive(self) -> set[int]:
        """Ids of the live brokers."""
        return {node.id for node in self._admin.nodes()}

    def paths_of(self, partitions: Sequence[TopicPartition]) -> dict[ReplicaPlace, str]:
        """Replica -> its new log directory, for replicas with one in the file."""
        if not self._paths:
            return {}
        places = (ReplicaPlace(*partition, id) for partition in partitions for id in self._wanted[partition])
        return {place: self._paths[place] for place in places if place in self._paths}

    def limit(self, partitions: Sequence[TopicPartition], before: current.Assignment) -> None:
        """Set the throttles of a batch, and keep those of partitions in progress."""
        admin, rates = self._admin, self._throttle
        if not self.is_throttled:
            return
        ledger = ledger_of(admin)
        if rates.inter_broker >= 0 and not self.only_log_dirs:
            wanted = {partition: self._wanted[partition] for partition in partitions}
            moves = throttles.moves_of(current.reassignments(admin) or {}, wanted, before)
            throttles.limit_moves(admin, moves, rates.inter_broker, ledger)
        if rates.log_dirs >= 0:
            movers = {each.broker_id for each in self.paths_of(partitions)}
            throttles.limit_log_dirs(admin, movers, rates.log_dirs, ledger)

    def begin(
        self, partitions: Sequence[TopicPartition], put_off: list[TopicPartition], failed: dict[Any, KafkaToolsError]
    ) -> list[TopicPartition]:
        """Start reassignments. Returns the started ones. If the cluster does not respond, the request is sent again.

        ``put_off`` gets those that the controller refuses because a broker just went down, ``failed`` the others
        that it refuses.
        """
        if self.only_log_dirs:
            return sorted(partitions)
        begun: list[TopicPartition] = []
        pending = list(partitions)
        until_s = self._clock.monotonic_s() + LONGEST_SILENCE_S
        while pending:
            outcomes = self._admin.alter_partition_reassignments(
                {partition: self._wanted[partition] for partition in pending},
                allow_replication_factor_change=self._asked.allow_replication_factor_change,
            )
            begun += outcomes.succeeded()
            failures = outcomes.failures()
            _raise_what_concerns_all(failures, len(outcomes))
            pending = [partition for partition, error in failures.items() if _may_pass(error)]
            if pending and self._clock.monotonic_s() >= until_s:
                error = failures[pending[0]]
                error.hint = GO_ON
                raise error
            refused = {partition: error for partition, error in failures.items() if partition not in pending}
            alive = self._patiently(self.alive) if any(map(_is_bad_assignment, refused.values())) else set()
            for partition, error in refused.items():
                if _is_bad_assignment(error) and not alive.issuperset(self._wanted[partition]):
                    put_off.append(partition)
                else:
                    failed[partition] = error
            if pending:
                self._clock.sleep(AGAIN_S)
        return sorted(begun)

    def _patiently(self, ask: Callable[[], T]) -> T:
        return patiently(self._clock, ask, GO_ON)

    def start_moves(
        self, wanted: dict[ReplicaPlace, str], failed: dict[Any, KafkaToolsError]
    ) -> dict[ReplicaPlace, str]:
        """Start moves between log directories, with retries. Returns the started ones. ``failed`` gets the others."""
        started: dict[ReplicaPlace, str] = {}
        until_s = self._clock.monotonic_s() + LONGEST_SILENCE_S
        while wanted:
            deadline = self._admin.deadline(self._asked.move_timeout_s)
            refused = log_dir_moves.start_moves(self._admin, wanted, deadline, started.update)
            is_last = self._clock.monotonic_s() >= until_s
            passing = {place for place, error in refused.items() if _may_pass(error) or current.is_away(error)}
            wanted = {place: wanted[place] for place in passing if not is_last}
            failed |= {place: error for place, error in refused.items() if place not in wanted}
            if wanted:
                self._clock.sleep(AGAIN_S)
        return started


def _raise_what_concerns_all(failures: Mapping[TopicPartition, KafkaToolsError], asked: int) -> None:
    """Raise an error that every partition of a request failed with, unless it is about single partitions."""
    first = next(iter(failures.values()), None)
    if first is None or len(failures) < asked:
        return
    if isinstance(first, UnsupportedVersion | SecurityError) or has_code(
        first, error_codes.CLUSTER_AUTHORIZATION_FAILED
    ):
        raise first


def _is_bad_assignment(error: KafkaToolsError) -> bool:
    return has_code(error, error_codes.INVALID_REPLICA_ASSIGNMENT)


def _may_pass(error: KafkaToolsError) -> bool:
    return has_code(error, error_codes.REQUEST_TIMED_OUT) or isinstance(error, NetworkError)
