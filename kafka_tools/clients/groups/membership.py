"""A member of a classic consumer group as a state machine that chooses requests and processes responses.

Knows no sockets and no threads: the consumer asks ``next_request`` from its poll, sends what it gets to the group's
coordinator and hands the answer, or the failure, back. Join, sync, heartbeat and leave follow
``AbstractCoordinator`` and ``ConsumerCoordinator`` of Kafka's Java client (eager and, by KIP-429, cooperative
rebalancing, KIP-394 member ids, KIP-345 static members).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from kafka_tools.clients.groups.assignors import SubscribedMember
from kafka_tools.clients.groups.committed import NO_GENERATION, OffsetCommitter
from kafka_tools.clients.groups.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kafka_tools.clients.groups.sticky import EVERY_ASSIGNOR, cooperative_generation, sticky_claim, user_data
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.errors import DecodeError, KafkaToolsError
from kafka_tools.net.rights import refused
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CONSUMER_PROTOCOL_TYPE
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_tools.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.net.connection import Build

GroupRequest: TypeAlias = JoinGroupRequest | SyncGroupRequest | HeartbeatRequest
GroupResponse: TypeAlias = JoinGroupResponse | SyncGroupResponse | HeartbeatResponse

LEAVING = "the consumer is being closed"


class State(enum.Enum):
    """The member's state. Only STABLE members have partitions."""

    UNJOINED = "unjoined"
    JOINING = "joining"
    ASSIGNING = "assigning"
    """Leader only: the coordinator waits for the assignment, for which topics' partition counts are needed."""
    SYNCING = "syncing"
    STABLE = "stable"


class ConsumerMembership:
    """One member. Times are monotonic seconds, passed in.

    After each answer look at ``state``, ``coordinator_lost`` (find it anew) and ``take_assignment()``.
    """

    def __init__(self, settings: ConsumerSettings) -> None:
        assert settings.group_id
        self.settings = settings
        self.group_id = settings.group_id
        self.state = State.UNJOINED
        self.member_id = ""
        self.generation_id = NO_GENERATION
        self.coordinator_lost = False
        self.topics: tuple[str, ...] = ()
        self.owned: list[TopicPartition] = []
        self.group_topics: tuple[str, ...] = ()
        """Leader only: every topic that some member subscribes to; the leader watches their partition counts."""
        self.is_leader = False
        self._members: list[SubscribedMember] = []
        self._protocol = ""
        self._in_flight = False
        self._retry_at_s = 0.0
        self._heartbeat_at_s = 0.0
        self._last_answer_s = 0.0
        self._assignments: dict[str, list[TopicPartition]] = {}
        self._assignment: list[TopicPartition] | None = None
        self._rejoin_reason: str | None = None

    # Calls of the consumer

    def subscribe(self, topics: Iterable[str]) -> None:
        """Set the topics of the subscription; a change asks for a rebalance."""
        chosen = tuple(sorted(set(topics)))
        if chosen != self.topics:
            self.topics = chosen
            self.request_rejoin("the subscription changed")

    def request_rejoin(self, reason: str) -> None:
        """Rejoin as soon as possible with the same member id."""
        self._rejoin_reason = reason
        if not self._in_flight:
            self.state = State.UNJOINED

    @property
    def needs_rejoin(self) -> bool:
        return self.state is not State.STABLE or self._rejoin_reason is not None

    def next_request(self, now_s: float) -> GroupRequest | None:
        """The request that is due now, at most one at a time; None when there is nothing to send."""
        if self._in_flight or now_s < self._retry_at_s:
            return None
        if self.state is State.STABLE and self._rejoin_reason is not None:
            self.state = State.UNJOINED
        request: GroupRequest | None = None
        if self.state is State.UNJOINED:
            self.state = State.JOINING
            request = self._join()
        elif self.state is State.SYNCING:
            request = self._sync()
        elif self.state is State.STABLE and now_s >= self._heartbeat_at_s:
            request = self._heartbeat(now_s)
        self._in_flight = request is not None
        return request

    @property
    def is_member(self) -> bool:
        """Whether the coordinator knows it as a member of a generation."""
        return self.generation_id != NO_GENERATION

    def next_beat(self, now_s: float) -> GroupRequest | None:
        """The request that keeps the membership and starts no rebalance, if one is due while nobody polls."""
        if self.beat_in_s(now_s) > 0:
            return None
        if self.state is State.SYNCING:
            request: GroupRequest = self._sync()
        else:
            request = self._heartbeat(now_s)
        self._in_flight = True
        return request

    def beat_in_s(self, now_s: float) -> float:
        """Seconds until ``next_beat`` has something, were no answer to come."""
        if self._in_flight or not self.is_member or self.state is State.JOINING:
            return float("inf")
        due_s = self._retry_at_s if self.state is State.SYNCING else max(self._heartbeat_at_s, self._retry_at_s)
        return max(0.0, due_s - now_s)

    def lapse(self) -> None:
        """The member leaves because nobody polled; it joins again when somebody does."""
        self._forget_generation(keep_member_id=False)

    def wait_s(self, now_s: float) -> float:
        """Seconds until ``next_request`` may have something, were no answer to come."""
        if self._in_flight:
            return float("inf")
        if self.state is State.STABLE and self._rejoin_reason is None:
            return max(0.0, self._heartbeat_at_s - now_s, self._retry_at_s - now_s)
        return max(0.0, self._retry_at_s - now_s)

    def assign(self, partition_counts: Mapping[str, int]) -> None:
        """Leader only, in state ASSIGNING: divide the partitions of ``group_topics`` among the members."""
        assert self.state is State.ASSIGNING
        self._assignments = EVERY_ASSIGNOR[self._protocol](self._members, partition_counts)
        self.state = State.SYNCING

    def take_assignment(self) -> list[TopicPartition] | None:
        """The partitions of a new generation, once; None when nothing new was assigned."""
        taken, self._assignment = self._assignment, None
        return taken

    def leave_request(self, version: int, reason: str = LEAVING) -> LeaveGroupRequest | None:
        """The LeaveGroup request of a dynamic member. A static member does not leave: it may return (KIP-345)."""
        if not self.member_id or self.settings.group_instance_id is not None:
            return None
        if version < 3:
            return LeaveGroupRequest(group_id=self.group_id, member_id=self.member_id)
        member = LeaveGroupRequest.MemberIdentity(member_id=self.member_id, reason=reason)
        return LeaveGroupRequest(group_id=self.group_id, members=[member])

    def leave_build(self, reason: str) -> Build | None:
        """As ``leave_request``, for the version that the coordinator takes."""
        old, new = self.leave_request(0, reason), self.leave_request(3, reason)
        if old is None or new is None:
            return None
        return lambda versions: new if versions.newest(LeaveGroupRequest) >= 3 else old

    @property
    def committer(self) -> OffsetCommitter:
        """Who commits."""
        return OffsetCommitter(self.group_id, self.member_id, self.generation_id, self.settings.group_instance_id)

    # Responses of the coordinator

    def on_response(self, response: GroupResponse, now_s: float) -> None:
        """Process a response. Raises BrokerError for permanent errors (group authorization, fenced instance...)."""
        self._in_flight = False
        self._last_answer_s = now_s
        if isinstance(response, JoinGroupResponse):
            self._on_join(response, now_s)
        elif isinstance(response, SyncGroupResponse):
            self._on_sync(response, now_s)
        elif response.error_code != error_codes.NONE and not self.fence(response.error_code):
            self._retry_or_raise(response.error_code, now_s)

    def on_failure(self, now_s: float) -> None:
        """No answer came: the connection broke or the request timed out. The coordinator is looked up again."""
        self._in_flight = False
        self.coordinator_lost = True
        if self.state is not State.STABLE:
            # The coordinator may have received the join; another one with the same member id replaces it.
            self.state = State.UNJOINED
        elif (now_s - self._last_answer_s) * 1000 > self.settings.session_timeout_ms:
            self.request_rejoin("no heartbeat was answered within the session timeout")
        self._back_off(now_s)

    def fence(self, code: int) -> bool:
        """Handle an error code that says that the group has changed. Returns whether ``code`` is such an error."""
        if error_codes.error(code).member_unknown:
            self._forget_generation(keep_member_id=code == error_codes.ILLEGAL_GENERATION)
            return True
        if code == error_codes.REBALANCE_IN_PROGRESS:
            self.request_rejoin("the group is rebalancing")
            return True
        return False

    # Requests

    def _join(self) -> JoinGroupRequest:
        reason, self._rejoin_reason = self._rejoin_reason, None
        return JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=self.settings.session_timeout_ms,
            rebalance_timeout_ms=self.settings.max_poll_interval_ms,
            member_id=self.member_id,
            group_instance_id=self.settings.group_instance_id,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocols=[
                JoinGroupRequest.RequestProtocol(name=name, metadata=self._subscription(name))
                for name in self.settings.assignors
            ],
            reason=reason,
        )

    def _subscription(self, assignor: str) -> bytes:
        generation_id, rack = self.generation_id, self.settings.client_rack or None
        # An eager member has given everything up by now; its sticky assignor knows what it had.
        kept = self.owned if self.settings.is_cooperative else []
        return encode_subscription(
            self.topics, kept, generation_id, rack, user_data(assignor, self.owned, generation_id)
        )

    def _heartbeat(self, now_s: float) -> HeartbeatRequest:
        self._heartbeat_at_s = now_s + self.settings.heartbeat_interval_ms / 1000
        return HeartbeatRequest(
            group_id=self.group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.settings.group_instance_id,
        )

    def _sync(self) -> SyncGroupRequest:
        assignments = [
            SyncGroupRequest.RequestAssignment(member_id=member_id, assignment=encode_assignment(partitions))
            for member_id, partitions in self._assignments.items()
        ]
        return SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.settings.group_instance_id,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocol_name=self._protocol,
            assignments=assignments,
        )

    # Answers

    def _on_join(self, response: JoinGroupResponse, now_s: float) -> None:
        code = response.error_code
        if code == error_codes.NONE:
            self._joined(response)
            self._heartbeat_at_s = now_s + self.settings.heartbeat_interval_ms / 1000
            return
        self.state = State.UNJOINED
        if code == error_codes.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
        elif error_codes.error(code).member_unknown:
            self._forget_generation(keep_member_id=False)
        elif code == error_codes.REBALANCE_IN_PROGRESS:
            pass  # retry immediately, as Java does
        else:
            self._retry_or_raise(code, now_s)

    def _joined(self, response: JoinGroupResponse) -> None:
        if response.protocol_name not in self.settings.assignors:
            # The coordinator may only choose what every member offered.
            raise KafkaToolsError(
                f"group '{self.group_id}': the coordinator chose the assignor '{response.protocol_name}', "
                f"which this consumer did not offer"
            )
        self._protocol = response.protocol_name
        self.member_id = response.member_id
        self.generation_id = response.generation_id
        self.is_leader = response.leader == response.member_id
        self._assignments = {}
        self.group_topics = ()
        self.state = State.SYNCING
        if self.is_leader and not response.skip_assignment:
            self._members = [self._member(row) for row in response.members]
            self.group_topics = tuple(sorted({topic for member in self._members for topic in member.topics}))
            self.state = State.ASSIGNING

    def _member(self, row: JoinGroupResponse.ResponseMember) -> SubscribedMember:
        try:
            subscription = decode_subscription(row.metadata)
        except DecodeError as error:
            raise KafkaToolsError(
                f"group '{self.group_id}': cannot read the subscription of member '{row.member_id}': {error}"
            ) from error
        owned = tuple(
            TopicPartition(each.topic, number) for each in subscription.owned_partitions for number in each.partitions
        )
        generation = subscription.generation_id
        if self._protocol == "sticky":
            owned, generation = sticky_claim(subscription.user_data)
        elif self._protocol == "cooperative-sticky" and generation < 0:
            generation = cooperative_generation(subscription.user_data)
        return SubscribedMember(row.member_id, row.group_instance_id, tuple(subscription.topics), owned, generation)

    def _on_sync(self, response: SyncGroupResponse, now_s: float) -> None:
        code = response.error_code
        if code != error_codes.NONE:
            self.state = State.UNJOINED
            if error_codes.error(code).member_unknown:
                self._forget_generation(keep_member_id=code == error_codes.ILLEGAL_GENERATION)
            elif code != error_codes.REBALANCE_IN_PROGRESS:
                self._retry_or_raise(code, now_s)
            return
        self.state = State.STABLE
        self._heartbeat_at_s = now_s + self.settings.heartbeat_interval_ms / 1000
        self._assignment = self.owned = self._assigned(bytes(response.assignment))

    def _assigned(self, data: bytes) -> list[TopicPartition]:
        try:
            return decode_assignment(data)
        except DecodeError as error:
            raise KafkaToolsError(f"group '{self.group_id}': cannot read the assignment: {error}") from error

    def _retry_or_raise(self, code: int, now_s: float) -> None:
        row = error_codes.error(code)
        if not row.retriable:
            raise refused(JoinGroupRequest, code, f"group '{self.group_id}'")
        if row.coordinator_moved:
            self.coordinator_lost = True
        self._back_off(now_s)

    def _forget_generation(self, keep_member_id: bool) -> None:
        self.generation_id = NO_GENERATION
        self.owned = []
        if not keep_member_id:
            self.member_id = ""
        self.request_rejoin("the coordinator no longer knows this member or generation")

    def _back_off(self, now_s: float) -> None:
        self._retry_at_s = now_s + self.settings.retry_backoff_ms / 1000
