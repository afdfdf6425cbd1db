"""Follows reassignments until they have ended: bytes left, rate, time left.

Each poll sends one request to the controller and to each participating broker. The bytes that a new replica still
needs are an estimate: the size of the largest old replica, minus its own. Logs grow and are compacted meanwhile.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafka_tools.admin.calls.log_dirs import ReplicaPlace
from kafka_tools.commands import running
from kafka_tools.commands.partitions.reassignment.current import replicas_in, share_s
from kafka_tools.errors import BrokerError, ConfigError, KafkaToolsError, NetworkError, SecurityError
from kafka_tools.texts.quantities import bytes_text, span_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka_tools.admin.calls.reassignments import Reassignment
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.clock import Clock
    from kafka_tools.commands.partitions.reassignment.documents import Replicas
    from kafka_tools.output.progress import StatusLine
    from kafka_tools.values import TopicPartition

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0
"""Seconds between two polls. Each pause is twice the previous one."""
RATE_S = 30.0
"""Period of the rate in seconds."""
LONGEST_SILENCE_S = 300.0
"""Seconds without a response of the cluster after which following ends with the error."""

AGAIN_S = 5.0
"""Seconds between two requests to a cluster that does not respond."""
_FOLLOWED_AGAIN = "moves in progress continue; --watch follows them again"

T = TypeVar("T")


class Status(NamedTuple):
    """The state at one poll. ``is_at_least``: the size of some partitions is unknown. ``rate``: bytes per second, None
    at the first poll. ``away``: broker that is down -> number of new replicas that wait for it."""

    partitions: int
    log_dir_moves: int
    bytes_left: int
    is_at_least: bool
    rate: float | None
    away: Mapping[int, int]

    @property
    def is_over(self) -> bool:
        return not (self.partitions or self.log_dir_moves)

    def text(self) -> str:
        """``12 partitions under way, 1.2 GiB left, 35.0 MiB/s, about 36 s``."""
        moving = []
        if self.partitions or not self.log_dir_moves:
            moving.append(f"{self.partitions} partition{'' if self.partitions == 1 else 's'}")
        if self.log_dir_moves:
            moving.append(f"{self.log_dir_moves} move{'' if self.log_dir_moves == 1 else 's'} between log directories")
        floor = "at least " if self.is_at_least else ""
        parts = [f"{' and '.join(moving)} in progress", f"{floor}{bytes_text(self.bytes_left)} left"]
        if self.rate is not None:
            parts.append(f"{bytes_text(self.rate)}/s")
            if self.rate > 0 and self.bytes_left:
                parts.append(f"about {span_text(self.bytes_left / self.rate)}")
        return ", ".join(parts)


class ReassignmentFollower:
    """Polls all reassignments, or certain partitions and replicas that change their log directory.

    ``targets``: partition seen in progress -> its replicas at the end. ``paths``: replica -> directory it moves to. A
    replica that was seen moving between directories, or that is known to move (``have_begun``), moves until its broker
    reports the end. ``only_log_dirs``: brokers are too old to list reassignments (before 2.4).
    """

    def __init__(
        self,
        admin: AdminClient,
        partitions: Collection[TopicPartition] | None = None,
        paths: Mapping[ReplicaPlace, str] | None = None,
        *,
        have_begun: bool = False,
        only_log_dirs: bool = False,
    ) -> None:
        self.targets: dict[TopicPartition, Replicas] = {}
        self.paths: dict[ReplicaPlace, str] = {}
        self.progressed_s = admin.deadline().clock.monotonic_s()
        """The time of the last progress seen, in seconds of the monotonic clock."""
        self.left: dict[ReplicaPlace, int] = {}
        """Bytes that each new replica still needs, if known."""
        self.open_partitions: set[TopicPartition] = set()
        self.open_paths: set[ReplicaPlace] = set(paths or ()) if have_begun else set()
        """Replicas that moved between directories at the last poll, or earlier on brokers that did not respond."""
        self._admin = admin
        self._only_log_dirs = only_log_dirs
        self._partitions = None if partitions is None else set(partitions)
        self._paths = paths
        self._sizes: dict[ReplicaPlace, int] = {}
        self._moved = 0
        self._history: deque[tuple[float, int]] = deque()

    def look(self) -> Status:
        """Poll once. Raises the error of a controller that does not respond. Brokers that do not respond are left
        out."""
        was_open = bool(self.open_partitions or self.open_paths)
        status = self._look_once()
        if status.is_over and was_open and self._partitions is None:
            status = self._look_once()  # poll all directories again: moves may have started there meanwhile
        return status

    def _look_once(self) -> Status:
        admin = self._admin
        moves = {
            partition: each
            for partition, each in ({} if self._only_log_dirs else admin.list_partition_reassignments()).items()
            if self._partitions is None or partition in self._partitions
        }
        alive = {node.id for node in admin.nodes()}
        futures, answered = self._ask_brokers(moves, alive)
        left, unknown = self._left(moves)
        left |= {place: max(0, self._sizes.get(place, size) - size) for place, size in futures.items()}
        untold = {place for place in self.open_paths if place.broker_id not in answered}
        left |= {place: self.left[place] for place in untold & self.left.keys()}
        unknown += len(untold - self.left.keys())
        self._note_progress(moves, untold | futures.keys(), left)
        self.targets |= {partition: target_of(each) for partition, each in moves.items()}
        away = Counter(id for each in moves.values() for id in each.adding if id not in answered)
        away.update(place.broker_id for place in untold)
        return Status(len(moves), len(self.open_paths), sum(left.values()), unknown > 0, self._rate(), away)

    def _ask_brokers(
        self, moves: Mapping[TopicPartition, Reassignment], alive: set[int]
    ) -> tuple[dict[ReplicaPlace, int], set[int]]:
        """Bytes that replicas have in the directory they move to, and the brokers that responded.

        Stores the sizes of replicas. For a broker that does not respond, the earlier sizes stay.
        """
        admin = self._admin
        everything = self._partitions is None and not (self.open_partitions or self.open_paths)
        places = self.open_paths if self._paths is None else self._paths
        ids = alive & {*(id for each in moves.values() for id in each.replicas), *(each.broker_id for each in places)}
        asked = list(dict.fromkeys([*moves, *(place.topic_partition for place in places)]))
        described = admin.describe_log_dirs(
            sorted(alive if everything else ids), None if everything else asked, timeout_s=share_s(admin)
        )
        futures = {}
        for broker_id, dirs in described.succeeded().items():
            self._sizes |= {ReplicaPlace(*partition, broker_id): 0 for partition in moves}
            for place, path, replica in replicas_in(broker_id, dirs):
                if not replica.is_future:
                    self._sizes[place] = replica.size_bytes
                elif self._paths is None or place in self._paths:
                    futures[place] = replica.size_bytes
                    self.paths[place] = path
        if everything:  # sizes are only needed for moves
            kept = {*moves, *(place.topic_partition for place in futures)}
            self._sizes = {place: size for place, size in self._sizes.items() if place.topic_partition in kept}
        return futures, set(described.succeeded())

    def _left(self, moves: Mapping[TopicPartition, Reassignment]) -> tuple[dict[ReplicaPlace, int], int]:
        """Bytes that each new replica still needs, and the number of replicas for which they are unknown."""
        left = {}
        unknown = 0
        for partition, each in moves.items():
            adding = set(each.adding)
            whole = [self._sizes.get(ReplicaPlace(*partition, id), -1) for id in each.replicas if id not in adding]
            size = max(whole, default=-1)
            for id in adding:
                place = ReplicaPlace(*partition, id)
                if size < 0:
                    unknown += 1
                else:
                    left[place] = max(0, size - self._sizes.get(place, 0))
        return left, unknown

    def _note_progress(
        self,
        moves: Mapping[TopicPartition, Reassignment],
        moving: set[ReplicaPlace],
        left: dict[ReplicaPlace, int],
    ) -> None:
        # Counted is how much less a replica lacks than before, not how much it received: a log that grows puts the end
        # off. A replica that is no longer in progress has received all that it lacked.
        moved = sum(max(0, before - left.get(place, 0)) for place, before in self.left.items())
        now_s = self._admin.deadline().clock.monotonic_s()
        if moved or self.open_partitions != moves.keys() or self.open_paths != moving:
            self.progressed_s = now_s
        self.left = left
        self.open_partitions, self.open_paths = set(moves), moving
        self._moved += moved
        self._history.append((now_s, self._moved))
        while len(self._history) > 2 and self._history[1][0] <= now_s - RATE_S:
            self._history.popleft()

    def _rate(self) -> float | None:
        (first_s, first), (last_s, last) = self._history[0], self._history[-1]
        return (last - first) / (last_s - first_s) if last_s > first_s else None


def target_of(reassignment: Reassignment) -> Replicas:
    """The replicas of a partition when its reassignment is over."""
    removing = set(reassignment.removing)
    return tuple(id for id in reassignment.replicas if id not in removing)


def follow(
    admin: AdminClient,
    follower: ReassignmentFollower,
    line: StatusLine,
    *,
    begins: str = "",
    stalled_s: float = math.inf,
    is_first: bool = True,
) -> Status:
    """Poll until no reassignment is in progress. Returns the last status.

    ``begins``: the start of the status line. ``stalled_s``: stop waiting after this time without progress. If
    ``is_first``, an error of the first poll is raised. Other errors are retried for some minutes.
    """
    clock = admin.deadline().clock
    pause_s = FIRST_PAUSE_S
    away: set[int] = set()
    silent_since_s: float | None = None
    status: Status | None = None
    while True:
        try:
            status = follower.look()
        except (NetworkError, BrokerError) as error:
            if (status is None and is_first) or isinstance(error, SecurityError | ConfigError):
                raise
            silent_since_s = _tell_silence(error, silent_since_s, clock.monotonic_s(), line)
        else:
            if silent_since_s is not None:
                line.clear()
                running.note("the cluster responds again")
                silent_since_s = None
                follower.progressed_s = clock.monotonic_s()  # nobody saw what moved meanwhile
            if set(status.away) != away:
                line.clear()
                _tell_away(status.away, away)
                away = set(status.away)
            if status.is_over:
                line.clear()
                return status
            line.show(begins + status.text())
            if clock.monotonic_s() - follower.progressed_s >= stalled_s:
                line.clear()
                return status
        clock.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def patiently(clock: Clock, ask: Callable[[], T], hint: str = _FOLLOWED_AGAIN) -> T:
    """The result of ``ask``. Retries for some minutes while the cluster does not respond, then raises its error."""
    until_s = clock.monotonic_s() + LONGEST_SILENCE_S
    while True:
        try:
            return ask()
        except NetworkError as error:
            if clock.monotonic_s() >= until_s:
                error.hint = hint
                raise
        clock.sleep(AGAIN_S)


def _tell_silence(error: KafkaToolsError, since_s: float | None, now_s: float, line: StatusLine) -> float:
    if since_s is None:
        line.clear()
        running.note(f"warning: the cluster does not respond, retrying for {span_text(LONGEST_SILENCE_S)}: {error}")
        return now_s
    if now_s - since_s > LONGEST_SILENCE_S:
        error.hint = _FOLLOWED_AGAIN
        raise error
    return since_s


def _tell_away(now: Mapping[int, int], before: set[int]) -> None:
    for id in sorted(now.keys() - before):
        waiting = "1 partition waits" if now[id] == 1 else f"{now[id]} partitions wait"
        running.note(f"warning: broker {id} does not respond: {waiting} for it")
    for id in sorted(before - now.keys()):
        running.note(f"no longer waiting for broker {id}")
