"""The membership that consumer groups and share groups have in common: heartbeats with a member epoch, and errors.

A state machine without I/O. Its owner asks ``next_request``, sends the request to the coordinator of the group, and
passes the response to ``on_response`` or the failure to ``on_failure``. Times are monotonic seconds.
Follows ``AbstractMembershipManager`` and ``AbstractHeartbeatRequestManager`` of Kafka's Java client.
"""

from __future__ import annotations

import enum
import uuid
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from kafka_tools.clients.groups.committed import OffsetCommitter
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.errors import BrokerError
from kafka_tools.net.rights import refused
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafka_tools.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from kafka_tools.values import uuid_text

if TYPE_CHECKING:
    from kafka_tools.net.connection import Build
    from kafka_tools.protocol.schema import Request

JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH = 0, -1, -2
"""Member epochs with a meaning. A static member that leaves with -2 keeps its partitions until it returns."""

Target = dict[uuid.UUID, tuple[int, ...]]
"""Topic id -> partitions, ascending: an assignment as the coordinator sends it."""

R = TypeVar("R", ConsumerGroupHeartbeatRequest, ShareGroupHeartbeatRequest)
HeartbeatAnswer = ConsumerGroupHeartbeatResponse | ShareGroupHeartbeatResponse


class MemberState(enum.Enum):
    """The state of a member."""

    UNSUBSCRIBED = "unsubscribed"
    JOINING = "joining"
    RECONCILING = "reconciling"
    """The target assignment differs from the present one."""
    ACKNOWLEDGING = "acknowledging"
    """The target was applied, and the coordinator has to be told."""
    STABLE = "stable"
    FENCED = "fenced"
    """The coordinator no longer knows the member or its epoch: its partitions are lost."""
    STALE = "stale"
    """The application did not poll for ``max.poll.interval.ms``, so the member left. It joins at the next poll."""
    FATAL = "fatal"
    """The coordinator refused the member for good; ``failure`` says why."""


_URGENT = (MemberState.JOINING, MemberState.ACKNOWLEDGING)
_SILENT = (MemberState.UNSUBSCRIBED, MemberState.FENCED, MemberState.STALE, MemberState.FATAL)


class MemberHeartbeats(ABC, Generic[R]):
    """One member. After each response look at ``state``, ``coordinator_lost`` and ``must_drop``."""

    request_class: type[R]
    unsupported = ""
    """What to say when the cluster does not have this kind of group."""

    def __init__(self, settings: ConsumerSettings) -> None:
        assert settings.group_id
        self.settings = settings
        self.group_id = settings.group_id
        self.member_id = uuid_text(uuid.uuid4())
        """Chosen by the member, and the same as long as it exists (KIP-1082)."""
        self.epoch = JOIN_EPOCH
        self.state = MemberState.UNSUBSCRIBED
        self.failure: BrokerError | None = None
        self.coordinator_lost = False
        self.topics: tuple[str, ...] = ()
        self.target: Target = {}
        self._in_flight = False
        self._outdated = False
        """The response to come belongs to an earlier membership: it is ignored."""
        self._sent: dict[str, object] = {}
        """What the coordinator knows already: only changes are sent again."""
        self._interval_s = 0.0
        self._sent_at_s = 0.0
        self._is_due = False
        self._retry_at_s = 0.0
        self._failed_attempts = 0

    # Calls of the owner

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Subscribe to topics by name; joins the group if this is not a member yet."""
        self.topics = tuple(sorted(set(topics)))
        self._join_if_idle()

    @property
    def is_member(self) -> bool:
        """Whether the coordinator knows it as a member."""
        return self.state not in _SILENT and self.epoch > JOIN_EPOCH

    @property
    def needs_rejoin(self) -> bool:
        """Never: a join of this protocol stops nobody."""
        return False

    @property
    def committer(self) -> OffsetCommitter:
        """Who commits."""
        return OffsetCommitter(self.group_id, self.member_id, self.epoch, self.settings.group_instance_id, True)

    @property
    def must_drop(self) -> bool:
        """Whether all partitions are lost: the owner drops them, then calls ``rejoin``."""
        return self.state in (MemberState.FENCED, MemberState.STALE)

    def rejoin(self) -> None:
        """Join with epoch 0 and without partitions, after they were dropped."""
        self.epoch = JOIN_EPOCH
        self.target = {}
        self._outdated = self._in_flight
        self._forget_sent()
        self.state = MemberState.JOINING

    def heartbeat_soon(self) -> None:
        """Make the next heartbeat due: something showed that the coordinator has news."""
        self._is_due = True

    def next_request(self, now_s: float) -> R | None:
        """The heartbeat that is due now, at most one at a time; None when there is nothing to send."""
        if self._in_flight or self.state in _SILENT or now_s < self._retry_at_s:
            return None
        if not self._is_urgent and now_s < self._sent_at_s + self._interval_s:
            return None
        self._in_flight = True
        self._is_due = False
        self._sent_at_s = now_s
        request = self._heartbeat(everything=self.state is MemberState.JOINING)
        if self.state is MemberState.ACKNOWLEDGING:
            self._acknowledged()
        return request

    def wait_s(self, now_s: float) -> float:
        """Seconds until ``next_request`` may have something, were no response to come."""
        if self._in_flight or self.state in _SILENT:
            return float("inf")
        due_s = 0.0 if self._is_urgent else self._sent_at_s + self._interval_s
        return max(0.0, max(due_s, self._retry_at_s) - now_s)

    def next_beat(self, now_s: float) -> R | None:
        """The heartbeat that is due while nobody polls: it joins nothing."""
        return self.next_request(now_s) if self.is_member else None

    def beat_in_s(self, now_s: float) -> float:
        """Seconds until ``next_beat`` has something, were no response to come."""
        return self.wait_s(now_s) if self.is_member else float("inf")

    def leave_request(self) -> R | None:
        """The heartbeat with which the member leaves; None if it is not a member. No response is needed."""
        is_known = self.state not in _SILENT
        self.state = MemberState.UNSUBSCRIBED
        if not is_known:
            return None
        self.epoch = self._leave_epoch
        return self._heartbeat(everything=False)

    def leave_build(self, reason: str) -> Build | None:
        """As ``leave_request``, for any version."""
        request = self.leave_request()
        return None if request is None else lambda _: request

    def lapse(self) -> None:
        """The member left because nobody polled: its partitions are lost, and it joins when somebody polls."""
        self.state = MemberState.STALE

    # Responses of the coordinator

    def on_response(self, response: HeartbeatAnswer, now_s: float) -> None:
        """Process a response. Raises BrokerError for errors that no retry mends; the member is FATAL then."""
        self._in_flight = False
        outdated, self._outdated = self._outdated, False
        if outdated or self.state in _SILENT:
            return
        if response.error_code:
            self._forget_sent()
            self._on_error(response.error_code, response.error_message, now_s)
            return
        self._failed_attempts = 0
        self._interval_s = response.heartbeat_interval_ms / 1000
        if response.member_id:
            self.member_id = response.member_id
        self.epoch = response.member_epoch
        if response.assignment is not None:
            found = {row.topic_id: tuple(sorted(row.partitions)) for row in response.assignment.topic_partitions}
            self.target = {topic_id: numbers for topic_id, numbers in found.items() if numbers}
            self._on_target()
        elif self.state is MemberState.JOINING:
            self.state = MemberState.STABLE

    def on_failure(self, now_s: float) -> None:
        """No response came: the coordinator is looked up again, and everything is sent again."""
        self._in_flight = self._outdated = False
        self.coordinator_lost = True
        self._forget_sent()
        self._back_off(now_s)

    def fence(self, code: int) -> bool:
        """A commit was refused. Returns whether the next heartbeat, which is due now, will tell what has changed."""
        is_outdated = code in (
            error_codes.STALE_MEMBER_EPOCH,
            error_codes.UNKNOWN_MEMBER_ID,
            error_codes.FENCED_MEMBER_EPOCH,
        )
        if is_outdated:
            self.heartbeat_soon()
        return is_outdated

    # Inside

    @property
    def _is_urgent(self) -> bool:
        return self._is_due or self.state in _URGENT

    def _join_if_idle(self) -> None:
        if self.state is MemberState.UNSUBSCRIBED:
            self.rejoin()
        else:
            self.heartbeat_soon()

    @abstractmethod
    def _heartbeat(self, everything: bool) -> R:
        """The next heartbeat, with ``everything`` or with what changed."""

    @abstractmethod
    def _on_target(self) -> None:
        """``target`` is new: set the state."""

    @abstractmethod
    def _acknowledged(self) -> None:
        """The acknowledgement is on its way: set the state."""

    @property
    def _leave_epoch(self) -> int:
        return LEAVE_EPOCH

    def _changed(self, name: str, value: object, everything: bool) -> bool:
        """Whether a field must be sent; it then counts as sent."""
        if not everything and name in self._sent and self._sent[name] == value:
            return False
        self._sent[name] = value
        return True

    def _forget_sent(self) -> None:
        self._sent.clear()

    def _on_error(self, code: int, message: str | None, now_s: float) -> None:
        row = error_codes.error(code)
        if row.coordinator_moved:
            self.coordinator_lost = True
        if code in (error_codes.FENCED_MEMBER_EPOCH, error_codes.UNKNOWN_MEMBER_ID):
            self.state = MemberState.FENCED
            self.epoch = JOIN_EPOCH
        elif row.retriable:
            self._back_off(now_s)
        elif code == error_codes.TOPIC_AUTHORIZATION_FAILED:
            # The right may be granted, or the subscription changed, so the member stays.
            self._back_off(now_s)
            raise self._refused(code, message)
        else:
            self.state = MemberState.FATAL
            self.failure = self._refused(code, message)
            raise self.failure

    def _refused(self, code: int, message: str | None) -> BrokerError:
        request: type[Request] = self.request_class
        hint = self.unsupported if code == error_codes.UNSUPPORTED_VERSION else _HINTS.get(code)
        return refused(request, code, f"group '{self.group_id}'", message, hint=hint)

    def _back_off(self, now_s: float) -> None:
        most_ms = self.settings.retry_backoff_ms * 2 ** min(self._failed_attempts, 10)
        self._retry_at_s = now_s + min(most_ms, max(self.settings.retry_backoff_ms, MOST_BACK_OFF_MS)) / 1000
        self._failed_attempts += 1


MOST_BACK_OFF_MS = 1_000
"""Kafka's default of ``retry.backoff.max.ms``."""

_HINTS = {
    error_codes.UNRELEASED_INSTANCE_ID: "another member uses this group.instance.id: stop it, or wait until the "
    "coordinator removes it",
    error_codes.FENCED_INSTANCE_ID: "another member took over this group.instance.id: give each its own",
    error_codes.UNSUPPORTED_ASSIGNOR: "set group.remote.assignor to an assignor of the brokers",
}
