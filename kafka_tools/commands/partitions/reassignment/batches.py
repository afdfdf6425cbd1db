"""``--execute --batch-size``: reassign a number of partitions at a time, and wait for each batch to end.

Progress is read from the cluster, nothing is kept elsewhere: after a kill the same command skips partitions that have
arrived, waits for those under way, and goes on with the rest. A failure of one partition, or a broker that is down,
does not stop the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_tools.admin.calls.log_dirs import ReplicaPlace
from kafka_tools.commands import running
from kafka_tools.commands.partitions.reassignment import current, log_dir_moves, throttles
from kafka_tools.commands.partitions.reassignment.changes import ChangeOrder, change_row, changed
from kafka_tools.commands.partitions.reassignment.documents import (
    ANY_LOG_DIR,
    ReassignmentDocument,
    check_executable,
    read_reassignment,
    reassignment_text,
)
from kafka_tools.commands.partitions.reassignment.following import (
    AGAIN_S,
    LONGEST_SILENCE_S,
    ReassignmentFollower,
    follow,
    patiently,
    target_of,
)
from kafka_tools.commands.partitions.reassignment.watch import (
    going_on,
    how_it_ended,
    remove_throttles,
    status_line,
    throttles_of,
)
from kafka_tools.errors import InputError, KafkaToolsError, NetworkError, SecurityError, UnsupportedVersion
from kafka_tools.output.kafka import reassignment_text as kafka_text
from kafka_tools.protocol import error_codes
from kafka_tools.texts.quantities import span_text
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.calls.reassignments import Reassignment
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.output.cells import Row
    from kafka_tools.output.rows import Rows

STALLED_S = 300.0
"""Seconds without progress after which a batch is no longer waited for."""
_FETCHED_BYTES = 10 << 20
"""replica.fetch.response.max.bytes: under a throttle a replica may get so many bytes at once, then none for long."""
_GO_ON = "the same command again goes on with the rest"

T = TypeVar("T")


def execute_in_batches(
    admin: AdminClient,
    asked: ChangeOrder,
    throttle: throttles.Throttle,
    *,
    size: int | None,
    additional: bool,
    allow_replication_factor_change: bool,
) -> Rows:
    """Begin the reassignments of a file, ``size`` partitions at a time (None: all), and wait until they are over.

    Before anything is begun it raises InputError for a file that is not valid and, unless ``additional``, for
    reassignments of others that are under way.
    """
    document = read_reassignment(asked.text, asked.place)
    execution = _Execution(admin, asked, document, throttle, allow_replication_factor_change)
    return execution.run(size or max(1, len(document.partitions)), additional=additional)


class _Execution:
    def __init__(
        self,
        admin: AdminClient,
        asked: ChangeOrder,
        document: ReassignmentDocument,
        throttle: throttles.Throttle,
        allow_replication_factor_change: bool,
    ) -> None:
        self._admin = admin
        self._clock = admin.deadline().clock
        self._asked = asked
        self._wanted = check_executable(document, asked.place)
        self._paths = document.log_dirs
        self._throttle = throttle
        self._allow_change = allow_replication_factor_change
        self._line = status_line(admin, say=asked.say)
        self._before: current.Assignment = {}
        self._log_dirs: dict[ReplicaPlace, str] = {}
        self._underway: set[TopicPartition] = set()
        """Partitions of the file that were under way when the command began."""
        self._put_off: list[TopicPartition] = []
        self._stalled: dict[TopicPartition, str] = {}
        self._stalled_paths: dict[ReplicaPlace, str] = {}
        self._rows: list[Row] = []
        self._failed: dict[Any, KafkaToolsError] = {}

    def run(self, size: int, *, additional: bool) -> Rows:
        running_now = self._admin.list_partition_reassignments()
        self._underway = {key for key, each in running_now.items() if self._wanted.get(key) == target_of(each)}
        if running_now.keys() - self._underway and not additional:
            raise KafkaToolsError(kafka_text.CANNOT_EXECUTE)
        self._look_up(running_now)
        self._say(kafka_text.current_assignment(reassignment_text(self._before, self._log_dirs)))
        there = {
            partition: None for partition in self._before if partition not in running_now and self._is_there(partition)
        }
        self._rows += [self._row(partition, "unchanged") for partition in there]
        rest = [partition for partition in self._before if partition not in there]
        rest.sort(key=lambda partition: partition not in self._underway)  # what is under way comes first
        with going_on(self._line, f"{_GO_ON}, --watch follows what has begun"):
            self._in_batches(rest, size)
            put_off, self._put_off = self._put_off, []
            self._in_batches(put_off, size)
            alive = self._patiently(self._alive) if self._put_off else set()
            for partition in self._put_off:
                missing = self._missing_brokers(partition, alive) or "its brokers have come back too late"
                self._failed[partition] = KafkaToolsError(f"{missing}: nothing was begun")
            self._look_after_stalled()
            self._patiently(lambda: remove_throttles(self._admin))
        completed = sum(row["result"] == "completed" and row["broker"] is None for row in self._rows)
        failed = f", {len(self._failed)} failed" if self._failed else ""
        self._say(f"Moved: {completed} of {len(self._wanted)} partitions; {len(there)} were there already{failed}.\n")
        return changed(self._rows, self._failed)

    def _look_up(self, running_now: dict[TopicPartition, Reassignment]) -> None:
        """Read where the partitions of the file are; one that does not exist has failed. Raises if none exists."""
        found: current.Assignment = {}
        errors: dict[str, KafkaToolsError] = {}
        for name, outcome in self._admin.describe_topics(sorted({key.topic for key in self._wanted})).items():
            if outcome.error is not None:
                missing = current.is_unknown_topic(outcome.error)
                errors[str(name)] = InputError(f"Topic {name} not found.") if missing else outcome.error
                continue
            for each in outcome.get().partitions:
                found[TopicPartition(str(name), each.partition)] = each.replicas
        for partition in self._wanted:
            if partition in found:
                self._before[partition] = found[partition]
            else:
                error = errors.get(partition.topic) or InputError(f"Unable to find partition: {partition}")
                self._failed[partition] = error
        if not self._before:
            raise next(iter(self._failed.values()))
        for partition in self._underway & self._before.keys():  # the way back leads to where it came from
            adding = set(running_now[partition].adding)
            self._before[partition] = tuple(id for id in running_now[partition].replicas if id not in adding)
        self._log_dirs = current.log_dirs_of(self._admin, self._before)

    def _is_there(self, partition: TopicPartition) -> bool:
        if self._before[partition] != self._wanted[partition]:
            return False
        return all(self._log_dirs.get(place) == path for place, path in self._paths_of([partition]).items())

    def _paths_of(self, partitions: Sequence[TopicPartition]) -> dict[ReplicaPlace, str]:
        if not self._paths:
            return {}
        places = (ReplicaPlace(*partition, id) for partition in partitions for id in self._wanted[partition])
        return {place: self._paths[place] for place in places if place in self._paths}

    def _in_batches(self, partitions: Sequence[TopicPartition], size: int) -> None:
        count = -(-len(partitions) // size)
        for number in range(count):
            begins = f"batch {number + 1} of {count}: " if count > 1 else ""
            self._one_batch(partitions[number * size : (number + 1) * size], begins)

    def _one_batch(self, partitions: Sequence[TopicPartition], begins: str) -> None:
        alive = self._patiently(self._alive)
        ready: list[TopicPartition] = []
        put_off: list[TopicPartition] = []
        for partition in partitions:
            can_begin = partition in self._underway or alive.issuperset(self._wanted[partition])
            (ready if can_begin else put_off).append(partition)
        if put_off:
            self._put_off += put_off
            away = {self._missing_brokers(partition, alive) for partition in put_off}
            self._note(begins, len(put_off), "put off", "; ".join(sorted(away)))
        failed_before = len(self._failed)
        if ready:
            self._patiently(lambda: self._limit(ready))
        begun = [each for each in ready if each in self._underway]
        begun += self._begin([each for each in ready if each not in self._underway])
        paths = self._start_moves(begun)
        if begun:
            self._wait(begun, paths, begins)
        failed = list(self._failed.items())[failed_before:]
        first = f"the first is {log_dir_moves.item_text(failed[0][0])}: {failed[0][1]}" if failed else ""
        self._note(begins, len(failed), "failed", first)

    def _limit(self, partitions: Sequence[TopicPartition]) -> None:
        """Set the throttles of a batch, and keep those of partitions under way."""
        admin, rates = self._admin, self._throttle
        if rates.inter_broker < 0 and rates.log_dirs < 0:
            return
        ledger = throttles_of(admin)
        if rates.inter_broker >= 0:
            wanted = {partition: self._wanted[partition] for partition in partitions}
            moves = throttles.moves_of(admin.list_partition_reassignments(), wanted, self._before)
            throttles.limit_moves(admin, moves, rates.inter_broker, ledger)
        if rates.log_dirs >= 0:
            throttles.limit_log_dirs(
                admin, {each.broker_id for each in self._paths_of(partitions)}, rates.log_dirs, ledger
            )

    def _begin(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Begin reassignments; those that have begun. If the cluster does not answer, the request is sent again."""
        begun: list[TopicPartition] = []
        pending = list(partitions)
        until_s = self._clock.monotonic_s() + LONGEST_SILENCE_S
        while pending:
            outcomes = self._admin.alter_partition_reassignments(
                {partition: self._wanted[partition] for partition in pending},
                allow_replication_factor_change=self._allow_change,
            )
            begun += outcomes.succeeded()
            failures = outcomes.failures()
            _raise_what_concerns_all(failures, len(outcomes))
            pending = [partition for partition, error in failures.items() if _may_pass(error)]
            if pending and self._clock.monotonic_s() >= until_s:
                error = failures[pending[0]]
                error.hint = _GO_ON
                raise error
            self._failed |= {partition: error for partition, error in failures.items() if partition not in pending}
            if pending:
                self._clock.sleep(AGAIN_S)
        return sorted(begun)

    def _start_moves(self, begun: Sequence[TopicPartition]) -> dict[ReplicaPlace, str]:
        """Begin the moves between log directories of a batch, patiently; those that have begun."""
        started: dict[ReplicaPlace, str] = {}
        wanted = {place: path for place, path in self._paths_of(begun).items() if self._log_dirs.get(place) != path}
        until_s = self._clock.monotonic_s() + LONGEST_SILENCE_S
        while wanted:
            deadline = self._admin.deadline(self._asked.move_timeout_s)
            failed = log_dir_moves.start_moves(self._admin, wanted, deadline, started.update)
            is_last = self._clock.monotonic_s() >= until_s
            wanted = {place: wanted[place] for place, error in failed.items() if _may_pass(error) and not is_last}
            self._failed |= {place: error for place, error in failed.items() if place not in wanted}
            if wanted:
                self._clock.sleep(AGAIN_S)
        return started

    def _wait(self, begun: Sequence[TopicPartition], paths: dict[ReplicaPlace, str], begins: str) -> None:
        follower = ReassignmentFollower(self._admin, begun, paths, have_begun=True)
        rates = [rate for rate in self._throttle if rate > 0]
        stalled_s = max(STALLED_S, 2 * _FETCHED_BYTES / min(rates) if rates else 0.0)
        status = follow(self._admin, follower, self._line, begins=begins, stalled_s=stalled_s, is_first=False)
        stalled, stalled_paths = follower.open_partitions, follower.open_paths
        if stalled or stalled_paths:
            away = f": waits for broker {', '.join(map(str, sorted(status.away)))}" if status.away else ""
            self._stalled |= dict.fromkeys(stalled, f"nothing has moved for {span_text(stalled_s)}{away}")
            self._stalled_paths |= {place: path for place, path in paths.items() if place in stalled_paths}
            self._note(begins, len(stalled) + len(stalled_paths), "left behind", "nothing of it moves")
        self._take(
            [each for each in begun if each not in stalled],
            {place: path for place, path in paths.items() if place not in stalled_paths},
        )

    def _take(self, partitions: Sequence[TopicPartition], paths: dict[ReplicaPlace, str]) -> None:
        """Add a row for each partition that has arrived, and an error for each other."""
        targets = [(partition, self._wanted[partition]) for partition in partitions]
        rows, errors = self._patiently(lambda: how_it_ended(self._admin, ReassignmentDocument(targets, paths)))
        self._failed |= errors
        for row in rows:
            if row["state"] != log_dir_moves.COMPLETED:
                continue
            partition, broker = TopicPartition(row["topic"], row["partition"]), row["broker"]
            if broker is None:
                self._rows.append(self._row(partition, "completed"))
            else:
                path = paths[ReplicaPlace(*partition, broker)]
                self._rows.append(change_row(partition, "completed", broker=broker, log_dir=path))

    def _look_after_stalled(self) -> None:
        """Look again at partitions that were no longer waited for; those still under way have failed."""
        if not (self._stalled or self._stalled_paths):
            return
        follower = ReassignmentFollower(self._admin, self._stalled, self._stalled_paths, have_begun=True)
        self._patiently(follower.look)
        open_ones, open_paths = follower.open_partitions, follower.open_paths
        self._take(
            [each for each in self._stalled if each not in open_ones],
            {place: path for place, path in self._stalled_paths.items() if place not in open_paths},
        )
        for partition in sorted(open_ones):
            self._rows.append(self._row(partition, "started"))
            self._failed[partition] = KafkaToolsError(f"still under way: {self._stalled[partition]}")
        for place in sorted(open_paths):
            self._failed[place] = KafkaToolsError("still under way")

    def _row(self, partition: TopicPartition, result: str) -> Row:
        before = self._before[partition]
        return change_row(
            partition,
            result,
            replicas=list(self._wanted[partition]),
            previous_replicas=list(before),
            previous_log_dirs=[self._log_dirs.get(ReplicaPlace(*partition, id), ANY_LOG_DIR) for id in before],
        )

    def _patiently(self, ask: Callable[[], T]) -> T:
        return patiently(self._clock, ask, _GO_ON)

    def _alive(self) -> set[int]:
        return {node.id for node in self._admin.nodes()}

    def _missing_brokers(self, partition: TopicPartition, alive: set[int]) -> str:
        missing = sorted(set(self._wanted[partition]) - alive)
        if not missing:
            return ""
        plural, does = ("", "does") if len(missing) == 1 else ("s", "do")
        return f"broker{plural} {', '.join(map(str, missing))} {does} not exist, or {does} not answer"

    def _note(self, begins: str, count: int, what: str, why: str) -> None:
        if count:
            self._line.clear()
            running.note(f"warning: {begins}{count} partition{'' if count == 1 else 's'} {what}: {why}")

    def _say(self, text: str) -> None:
        if self._asked.say:
            self._line.clear()
            running.emit(text)
            sys.stdout.flush()


def _raise_what_concerns_all(failures: Mapping[TopicPartition, KafkaToolsError], asked: int) -> None:
    """Raise an error that every partition of a request failed with, if it is not about single partitions."""
    first = next(iter(failures.values()), None)
    if first is None or len(failures) < asked:
        return
    code = getattr(getattr(first, "code", None), "code", None)
    if isinstance(first, UnsupportedVersion | SecurityError) or code == error_codes.CLUSTER_AUTHORIZATION_FAILED:
        raise first


def _may_pass(error: KafkaToolsError) -> bool:
    timed_out = getattr(getattr(error, "code", None), "code", None) == error_codes.REQUEST_TIMED_OUT
    return timed_out or isinstance(error, NetworkError)
