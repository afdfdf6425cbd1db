"""``--execute --batch-size``: reassign a number of partitions at a time, and wait for each batch to end.

The cluster is the only source of progress. After a kill, the same command skips completed partitions, waits for those
in progress, and continues with the rest. A failure of one partition, or a broker that is down, does not stop the
others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.admin.calls.log_dirs import ReplicaPlace
from kafka_tools.commands import running
from kafka_tools.commands.partitions.reassignment import current, log_dir_moves
from kafka_tools.commands.partitions.reassignment.batch_start import GO_ON, BatchStarter
from kafka_tools.commands.partitions.reassignment.changes import ChangeOrder, change_row, changed, partition_row
from kafka_tools.commands.partitions.reassignment.documents import ReassignmentDocument, reassignment_text
from kafka_tools.commands.partitions.reassignment.following import (
    AGAIN_S,
    LONGEST_SILENCE_S,
    ReassignmentFollower,
    follow,
    target_of,
)
from kafka_tools.commands.partitions.reassignment.ledger import ledger_of
from kafka_tools.commands.partitions.reassignment.watch import going_on, how_it_ended, remove_throttles, status_line
from kafka_tools.errors import InputError, KafkaToolsError
from kafka_tools.output.kafka import reassignment_text as kafka_text
from kafka_tools.texts.quantities import span_text
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.calls.reassignments import Reassignment
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.output.cells import Row
    from kafka_tools.output.rows import Rows

STALLED_S = 300.0
"""Seconds without progress after which the command stops waiting for a batch."""
_FETCHED_BYTES = 10 << 20
"""replica.fetch.response.max.bytes: a throttled replica may get this many bytes at once, then none for long."""


class BatchedExecution(BatchStarter):
    """``--execute`` that waits until the reassignments have ended. Raises InputError for an invalid file."""

    def __init__(self, admin: AdminClient, asked: ChangeOrder) -> None:
        super().__init__(admin, asked)
        self._line = status_line(admin, say=asked.say)
        self._before: current.Assignment = {}
        self._log_dirs: dict[ReplicaPlace, str] = {}
        self._underway: set[TopicPartition] = set()
        """Partitions of the file that were in progress when the command started."""
        self._put_off: list[TopicPartition] = []
        self._stalled: dict[TopicPartition, str] = {}
        self._stalled_paths: dict[ReplicaPlace, str] = {}
        self._rows: list[Row] = []
        self._failed: dict[Any, KafkaToolsError] = {}

    def run(self, size: int | None) -> Rows:
        """Start the reassignments, ``size`` partitions at a time (None: all), and wait until they have ended.

        Unless ``additional``, raises KafkaToolsError before it starts any if others are in progress.
        """
        listed = current.reassignments(self._admin)
        running_now = listed or {}
        self._underway = {key for key, each in running_now.items() if self._wanted.get(key) == target_of(each)}
        if running_now.keys() - self._underway and not self._asked.additional:
            raise KafkaToolsError(kafka_text.CANNOT_EXECUTE)
        self._look_up(running_now)
        self.only_log_dirs = listed is None
        if listed is None:
            current.check_old_brokers(self._admin, self._wanted, self._paths)
        self._say(kafka_text.current_assignment(reassignment_text(self._before, self._log_dirs)))
        there = {
            partition: None for partition in self._before if partition not in running_now and self._is_there(partition)
        }
        self._rows += [self._row(partition, "unchanged") for partition in there]
        rest = [partition for partition in self._before if partition not in there]
        rest.sort(key=lambda partition: partition not in self._underway)  # partitions in progress come first
        with going_on(self._line, f"{GO_ON}, --watch follows the moves in progress"):
            self._move(rest, size or len(self._wanted))
        failed = {key.topic_partition if isinstance(key, ReplicaPlace) else key for key in self._failed}
        arrived = {TopicPartition(row["topic"], row["partition"]) for row in self._rows if row["result"] == "completed"}
        told = f"{len(there)} were already in place" + (f", {len(failed)} failed" if failed else "")
        self._say(f"Moved: {len(arrived - failed)} of {len(self._wanted)} partitions; {told}.\n")
        self._patiently(lambda: remove_throttles(self._admin))
        return changed(self._rows, self._failed)

    def _move(self, partitions: Sequence[TopicPartition], size: int) -> None:
        """Move all batches, then the postponed partitions. After an error, remove throttles that are no longer
        needed."""
        try:
            with ledger_of(self._admin).hold() if self.is_throttled else contextlib.nullcontext():
                self._in_batches(partitions, size)
                put_off, self._put_off = self._put_off, []
                self._await_brokers(put_off)
                self._in_batches(put_off, size)
                alive = self._patiently(self.alive) if self._put_off else set()
                for partition in self._put_off:
                    missing = self._missing_brokers(partition, alive) or "its brokers came back too late"
                    self._failed[partition] = KafkaToolsError(f"{missing}: no reassignment was started")
                self._look_after_stalled()
        except KafkaToolsError:
            if self.is_throttled:
                self._line.clear()
                try:
                    remove_throttles(self._admin)
                except KafkaToolsError as error:
                    running.note(f"throttles stay: {error}; remove them with --list when nothing is in progress")
            raise

    def _await_brokers(self, partitions: Sequence[TopicPartition]) -> None:
        """Wait for the brokers of postponed partitions, which may be restarting."""
        until_s = self._clock.monotonic_s() + LONGEST_SILENCE_S
        wanted = {id for partition in partitions for id in self._wanted[partition]}
        told: set[int] = set()
        while missing := wanted - self._patiently(self.alive):
            if missing - told:
                self._line.clear()
                named = ", ".join(map(str, sorted(missing)))
                running.note(f"waiting up to {span_text(LONGEST_SILENCE_S)} for broker {named}")
                told |= missing
            if self._clock.monotonic_s() >= until_s:
                return
            self._clock.sleep(AGAIN_S)

    def _look_up(self, running_now: dict[TopicPartition, Reassignment]) -> None:
        """Read the replicas of the file's partitions. A partition that does not exist has failed. Raises if none
        exists."""
        found, errors = current.described(self._admin, (key.topic for key in self._wanted))
        for name, error in errors.items():
            if current.is_unknown_topic(error):
                errors[name] = InputError(f"Topic {name} not found.")
        for partition in self._wanted:
            if partition in found:
                self._before[partition] = found[partition]
            else:
                missing = InputError(f"Unable to find partition: {partition}")
                self._failed[partition] = errors.get(partition.topic) or missing
        if not self._before:
            raise next(iter(self._failed.values()))
        for partition in self._underway & self._before.keys():  # a rollback leads to the original replicas
            adding = set(running_now[partition].adding)
            self._before[partition] = tuple(id for id in running_now[partition].replicas if id not in adding)
        self._log_dirs = current.log_dirs_of(self._admin, self._before)

    def _is_there(self, partition: TopicPartition) -> bool:
        if self._before[partition] != self._wanted[partition]:
            return False
        return all(self._log_dirs.get(place) == path for place, path in self.paths_of([partition]).items())

    def _in_batches(self, partitions: Sequence[TopicPartition], size: int) -> None:
        count = -(-len(partitions) // size)
        for number in range(count):
            begins = f"batch {number + 1} of {count}: " if count > 1 else ""
            self._one_batch(partitions[number * size : (number + 1) * size], begins)

    def _one_batch(self, partitions: Sequence[TopicPartition], begins: str) -> None:
        alive = self._patiently(self.alive)
        ready: list[TopicPartition] = []
        put_off: list[TopicPartition] = []
        for partition in partitions:
            can_begin = partition in self._underway or alive.issuperset(self._wanted[partition])
            (ready if can_begin else put_off).append(partition)
        failed_before = len(self._failed)
        if ready:
            self._patiently(lambda: self.limit(ready, self._before))
        begun = [each for each in ready if each in self._underway]
        begun += self.begin([each for each in ready if each not in self._underway], put_off, self._failed)
        if put_off:
            self._put_off += put_off
            away = {self._missing_brokers(partition, alive) or "a broker is restarting" for partition in put_off}
            self._note(begins, len(put_off), "postponed", "; ".join(sorted(away)))
        elsewhere = {place: path for place, path in self.paths_of(begun).items() if self._log_dirs.get(place) != path}
        paths = self.start_moves(elsewhere, self._failed)
        if begun:
            self._wait(begun, paths, begins)
        failed = list(self._failed.items())[failed_before:]
        first = f"the first is {log_dir_moves.item_text(failed[0][0])}: {failed[0][1]}" if failed else ""
        self._note(begins, len(failed), "failed", first)

    def _wait(self, begun: Sequence[TopicPartition], paths: dict[ReplicaPlace, str], begins: str) -> None:
        follower = self._follower(begun, paths)
        rates = [rate for rate in self._throttle if rate > 0]
        stalled_s = max(STALLED_S, 2 * _FETCHED_BYTES / min(rates) if rates else 0.0)
        status = follow(self._admin, follower, self._line, begins=begins, stalled_s=stalled_s, is_first=False)
        stalled, stalled_paths = follower.open_partitions, follower.open_paths
        if stalled or stalled_paths:
            away = f": waiting for broker {', '.join(map(str, sorted(status.away)))}" if status.away else ""
            self._stalled |= dict.fromkeys(stalled, f"no progress for {span_text(stalled_s)}{away}")
            self._stalled_paths |= {place: path for place, path in paths.items() if place in stalled_paths}
            self._note(begins, len(stalled) + len(stalled_paths), "left behind", "no progress")
        self._take(
            [each for each in begun if each not in stalled],
            {place: path for place, path in paths.items() if place not in stalled_paths},
        )

    def _follower(self, begun: Collection[TopicPartition], paths: Mapping[ReplicaPlace, str]) -> ReassignmentFollower:
        return ReassignmentFollower(self._admin, begun, paths, have_begun=True, only_log_dirs=self.only_log_dirs)

    def _take(self, partitions: Sequence[TopicPartition], paths: dict[ReplicaPlace, str]) -> None:
        """Add a row for each completed partition, and an error for each other."""
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
        """Check stalled partitions again. Those still in progress have failed."""
        if not (self._stalled or self._stalled_paths):
            return
        follower = self._follower(self._stalled, self._stalled_paths)
        self._patiently(follower.look)
        open_ones, open_paths = follower.open_partitions, follower.open_paths
        self._take(
            [each for each in self._stalled if each not in open_ones],
            {place: path for place, path in self._stalled_paths.items() if place not in open_paths},
        )
        for partition in sorted(open_ones):
            self._rows.append(self._row(partition, "started"))
            self._failed[partition] = KafkaToolsError(f"still in progress: {self._stalled[partition]}")
        for place in sorted(open_paths):
            self._failed[place] = KafkaToolsError("still in progress")

    def _row(self, partition: TopicPartition, result: str) -> Row:
        return partition_row(partition, result, self._wanted[partition], self._before[partition], self._log_dirs)

    def _missing_brokers(self, partition: TopicPartition, alive: set[int]) -> str:
        missing = sorted(set(self._wanted[partition]) - alive)
        if not missing:
            return ""
        plural, does = ("", "does") if len(missing) == 1 else ("s", "do")
        return f"broker{plural} {', '.join(map(str, missing))} {does} not exist or {does} not respond"

    def _note(self, begins: str, count: int, what: str, why: str) -> None:
        if count:
            self._line.clear()
            running.note(f"warning: {begins}{count} partition{'' if count == 1 else 's'} {what}: {why}")

    def _say(self, text: str) -> None:
        if self._asked.say:
            self._line.clear()
            self._asked.tell(text)
