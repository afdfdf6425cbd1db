"""Rules for the attempts of a call: pauses, limits, the time for a broker, attempts at wrong nodes, and errors that an
earlier attempt caused.
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
"""The part of the remaining time, and its maximum in seconds, that is reserved for the response's transfer."""
MISLED_TIMES = 3
"""Consecutive attempts at a wrong node until another node is asked for the metadata."""
_WRONG_NODE = frozenset({error_codes.NOT_CONTROLLER, error_codes.NOT_LEADER_OR_FOLLOWER, error_codes.NOT_COORDINATOR})
_NOTHING_LEFT_TO_DO = frozenset({error_codes.INVALID_PARTITIONS, error_codes.NO_REASSIGNMENT_IN_PROGRESS})
"""The topic already has that many partitions; the reassignment to cancel is no longer in progress."""


def pause_s(attempt: int, config: ClientConfig) -> float:
    """Seconds before the attempt after number ``attempt``: doubles each time, plus or minus 20 % (KIP-580)."""
    import random  # takes 1 ms; a call without retries does not need it

    first, most = config.number("retry.backoff.ms"), config.number("retry.backoff.max.ms")
    return min(first * (1 << min(attempt - 1, 30)), max(first, most)) * random.uniform(0.8, 1.2) / 1000


def brokers_deadline(deadline: Deadline, config: ClientConfig) -> Deadline:
    """A broker's deadline for a request, early enough that even a partial response arrives in time."""
    left_s = min(deadline.left_s(), config.number("request.timeout.ms") / 1000)
    return Deadline(deadline.clock, left_s - min(left_s * ANSWER_SHARE, ANSWER_MOST_S))


class WrongNodes:
    """Counts attempts at nodes that are not the leader, controller or coordinator, contrary to the metadata."""

    def __init__(self, metadata: ClusterMetadata) -> None:
        self._metadata = metadata
        self._is_misled = False
        self._in_a_row = 0

    def look_at(self, reasons: Iterable[KafkaToolsError]) -> None:
        """Note the errors for which keys of a response are retried."""
        codes = {error.code.code for error in reasons if isinstance(error, BrokerError)}
        self._is_misled |= bool(codes & _WRONG_NODE)
        if error_codes.NOT_CONTROLLER in codes:
            self._metadata.clear_controller()

    def end_of_attempt(self) -> None:
        """All responses of an attempt were processed."""
        self._in_a_row = self._in_a_row + 1 if self._is_misled else 0
        self._is_misled = False
        if self._in_a_row >= MISLED_TIMES:
            self._in_a_row = 0
            self._metadata.doubt()


class Graces:
    """Keys that are retried only for a short time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lasts: dict[Hashable, tuple[float, float]] = {}
        """Start and allowed end of the reason of a key (monotonic)."""

    def is_over(self, key: Hashable, limit_s: float | None) -> bool:
        """Whether a key's reason has lasted for ``limit_s``; None: without limit."""
        if limit_s is None:
            self._lasts.pop(key, None)
            return False
        now_s = self._clock.monotonic_s()
        since_s, _ = self._lasts.get(key, (now_s, 0.0))
        self._lasts[key] = since_s, since_s + limit_s
        return now_s >= since_s + limit_s

    def least_left_s(self, keys: Container[Any]) -> float:
        """Seconds until the limit of the first of these keys is over; infinity without any."""
        ends_s = min((until_s for key, (_, until_s) in self._lasts.items() if key in keys), default=float("inf"))
        return max(ends_s - self._clock.monotonic_s(), 0.0)


def may_stem_from_success(error: KafkaToolsError) -> bool:
    """Whether an earlier, successful attempt may cause the error: the object exists, is deleted, or is changed."""
    if isinstance(error, AlreadyExists | NotFound):
        return True
    return isinstance(error, BrokerError) and error.code.code in _NOTHING_LEFT_TO_DO


def with_reason(error: KafkaToolsError, reason: KafkaToolsError | None) -> KafkaToolsError:
    """The error of the last attempt; a timeout also gets the reason of the attempt before it."""
    if reason is None or not isinstance(error, DeadlineExceeded):
        return error
    return DeadlineExceeded(f"{error}; before that: {reason}", node=error.node, hint=error.hint or reason.hint)
