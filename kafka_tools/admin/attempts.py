"""What the attempts of a call have to do with each other: how far apart they are, how long there are more, what each
leaves of the time to a broker, whether they go to the wrong nodes, and what an error owes to an attempt before it.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable
from typing import Any

from kafka_tools.clock import Clock, Deadline
from kafka_tools.errors import AlreadyExists, BrokerError, DeadlineExceeded, KafkaToolsError, NotFound
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.protocol import error_codes

ANSWER_SHARE, ANSWER_MOST_S = 0.1, 1.0
"""The part of the time left, and the most of it in seconds, that an answer gets for its way from the broker."""
MISLED_TIMES = 3
"""Times in a row that the wrong node is asked before another one is asked which is the right one."""
_WRONG_NODE = frozenset({error_codes.NOT_CONTROLLER, error_codes.NOT_LEADER_OR_FOLLOWER, error_codes.NOT_COORDINATOR})
_NOTHING_LEFT_TO_DO = frozenset({error_codes.INVALID_PARTITIONS, error_codes.NO_REASSIGNMENT_IN_PROGRESS})
"""A topic has that many partitions already; the reassignment to be cancelled is none any more."""


def pause_s(attempt: int, config: ClientConfig) -> float:
    """Before the next attempt, after so many: doubles with each, give or take 20 % (KIP-580)."""
    import random  # 1 ms that a call without retries does not pay

    first, most = config.number("retry.backoff.ms"), config.number("retry.backoff.max.ms")
    return min(first * (1 << min(attempt - 1, 30)), max(first, most)) * random.uniform(0.8, 1.2) / 1000


def brokers_deadline(deadline: Deadline, config: ClientConfig) -> Deadline:
    """The time that a broker is given for a request: its answer, partial as it may be, must still be awaited."""
    left_s = min(deadline.left_s(), config.number("request.timeout.ms") / 1000)
    return Deadline(deadline.clock, left_s - min(left_s * ANSWER_SHARE, ANSWER_MOST_S))


class WrongNodes:
    """Counts attempts at nodes that were told to be leader, controller or coordinator, and are not."""

    def __init__(self, metadata: ClusterMetadata) -> None:
        self._metadata = metadata
        self._is_misled = False
        self._in_a_row = 0

    def look_at(self, reasons: Iterable[KafkaToolsError]) -> None:
        """The reasons for which keys of an answer are tried again."""
        codes = {error.code.code for error in reasons if isinstance(error, BrokerError)}
        self._is_misled |= bool(codes & _WRONG_NODE)
        if error_codes.NOT_CONTROLLER in codes:
            self._metadata.clear_controller()

    def end_of_attempt(self) -> None:
        """All answers of an attempt were looked at."""
        self._in_a_row = self._in_a_row + 1 if self._is_misled else 0
        self._is_misled = False
        if self._in_a_row >= MISLED_TIMES:
            self._in_a_row = 0
            self._metadata.doubt()


class Graces:
    """Keys whose reason to try again is worth a short wait only."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lasts: dict[Hashable, tuple[float, float]] = {}
        """Since when the reason of a key has lasted, and until when it may (monotonic)."""

    def is_over(self, key: Hashable, limit_s: float | None) -> bool:
        """Whether a reason that is worth ``limit_s`` has lasted as long; None: it is worth waiting for."""
        if limit_s is None:
            self._lasts.pop(key, None)
            return False
        now_s = self._clock.monotonic_s()
        since_s, _ = self._lasts.get(key, (now_s, 0.0))
        self._lasts[key] = since_s, since_s + limit_s
        return now_s >= since_s + limit_s

    def least_left_s(self, keys: Container[Any]) -> float:
        """Seconds until the first of these keys is no longer worth waiting for; infinity if there is none."""
        ends_s = min((until_s for key, (_, until_s) in self._lasts.items() if key in keys), default=float("inf"))
        return max(ends_s - self._clock.monotonic_s(), 0.0)


def may_stem_from_success(error: KafkaToolsError) -> bool:
    """Whether a broker says so of a change that was made before: it is there, it is gone, or it needs no more."""
    if isinstance(error, AlreadyExists | NotFound):
        return True
    return isinstance(error, BrokerError) and error.code.code in _NOTHING_LEFT_TO_DO


def with_reason(error: KafkaToolsError, reason: KafkaToolsError | None) -> KafkaToolsError:
    """An error of the last attempt; where its time was cut short, why there were attempts before tells more."""
    if reason is None or not isinstance(error, DeadlineExceeded):
        return error
    return DeadlineExceeded(f"{error}; before that: {reason}", node=error.node, hint=error.hint or reason.hint)
