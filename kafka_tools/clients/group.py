"""A consumer's requests to its group's coordinator: finding it, membership requests, committed offsets.

Starts requests through ``calls`` and interprets responses; ``membership`` interprets its own. Speaks
to the coordinator over a connection of its own, so that heartbeats never wait behind a long fetch. Follows
``ConsumerCoordinator`` of Kafka's Java client.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from kafka_tools.clients.calls import Calls
from kafka_tools.clients.groups.committed import Committed as Committed
from kafka_tools.clients.groups.committed import (
    FetchedOffsets,
    GroupMetadata,
    OffsetCommitter,
    TopicIds,
    commit_codes,
    commit_request,
    fetch_request,
    fetched,
)
from kafka_tools.clients.groups.committed import OffsetAndMetadata as OffsetAndMetadata
from kafka_tools.clients.groups.consumer_heartbeats import REGEX_VERSION, ConsumerHeartbeats
from kafka_tools.clients.groups.membership import LEAVING, ConsumerMembership
from kafka_tools.clients.groups.share_heartbeats import ShareHeartbeats
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.clock import Clock
from kafka_tools.errors import BrokerError, KafkaToolsError, NetworkError, UnsupportedVersion
from kafka_tools.net.rights import refused
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CoordinatorType
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.schema import Request
from kafka_tools.values import ZERO_UUID, Node, TopicPartition

if TYPE_CHECKING:
    from kafka_tools.net.connection import Pending
    from kafka_tools.net.versions import NodeVersions

CHANNEL = "group"
Membership = ConsumerMembership | ConsumerHeartbeats | ShareHeartbeats
_ALSO_RETRIABLE = (
    error_codes.UNKNOWN_TOPIC_OR_PARTITION,
    error_codes.COORDINATOR_LOAD_IN_PROGRESS,
    error_codes.STALE_MEMBER_EPOCH,
)
"""STALE_MEMBER_EPOCH: the next heartbeat brings the new epoch (KIP-848)."""
_OUTDATED = (
    error_codes.REBALANCE_IN_PROGRESS,
    error_codes.STALE_MEMBER_EPOCH,
    error_codes.FENCED_MEMBER_EPOCH,
)
_COMMIT_HINT = (
    "the partitions were assigned to another member: poll more often, or raise max.poll.interval.ms or "
    "session.timeout.ms"
)


CommitDone = Callable[[KafkaToolsError | None], None]
FetchDone = Callable[[Committed | None, KafkaToolsError | None], None]


class GroupClient:
    """One group as one consumer sees it. ``membership`` is None for a consumer that assigns partitions itself."""

    def __init__(
        self,
        settings: ConsumerSettings,
        calls: Calls,
        clock: Clock,
        any_node: Callable[[], Node],
        topic_ids: TopicIds = lambda _: ZERO_UUID,
    ) -> None:
        assert settings.group_id
        self.group_id = settings.group_id
        self.coordinator: Node | None = None
        self.membership: Membership | None = None
        self._topic_ids = topic_ids
        self._settings = settings
        self._calls = calls
        self._clock = clock
        self._any_node = any_node
        self._look_up_at_s = 0.0
        self._commits = 0
        self.on_commit: Callable[[Mapping[TopicPartition, OffsetAndMetadata]], None] | None = None
        """Called with the offsets of each commit that succeeded."""

    # Coordinator

    def find_coordinator(self) -> None:
        """Look the coordinator up if it is not known."""
        if self.membership is not None and self.membership.coordinator_lost:
            self.membership.coordinator_lost = False
            self.coordinator = None
        if self.coordinator is None:
            self._look_up(self._clock.monotonic_s())

    def keep_alive(self) -> None:
        """Look the coordinator up, or send a heartbeat that is due; start no rebalance."""
        if self.membership is not None and not self.membership.needs_rejoin:
            self.step()
        else:
            self.find_coordinator()

    def step(self) -> None:
        """Look the coordinator up if it is not known; else send the membership request that is due."""
        self.find_coordinator()
        if self.coordinator is None:
            return
        self._start(self.membership.next_request(self._clock.monotonic_s()) if self.membership is not None else None)

    def beat(self) -> None:
        """Look the coordinator up, or send what keeps the membership and starts no rebalance, if it is due."""
        self.find_coordinator()
        if self.coordinator is not None and self.membership is not None:
            self._start(self.membership.next_beat(self._clock.monotonic_s()))

    def beat_in_s(self, now_s: float) -> float:
        """Seconds until ``beat`` may have something to do, were nothing to arrive."""
        if self.coordinator is None or self.membership is None:
            return max(0.0, self._look_up_at_s - now_s) if self.membership is not None else float("inf")
        return self.membership.beat_in_s(now_s)

    def _start(self, request: Request | None) -> None:
        membership = self.membership
        if request is None or self.coordinator is None:
            return
        timeout_s = self._settings.request_timeout_ms / 1000
        if isinstance(request, JoinGroupRequest):
            # The coordinator answers when every member has joined or the rebalance timeout is over.
            timeout_s = max(timeout_s, self._settings.max_poll_interval_ms / 1000 + 5)
        elif isinstance(request, HeartbeatRequest):
            # Without response within the session timeout the coordinator is taken to be dead.
            timeout_s = min(timeout_s, self._settings.session_timeout_ms / 1000)

        def build(versions: NodeVersions) -> Request:
            is_regex = isinstance(request, ConsumerGroupHeartbeatRequest) and request.subscribed_topic_regex
            if is_regex and versions.newest(ConsumerGroupHeartbeatRequest) < REGEX_VERSION:
                raise UnsupportedVersion(
                    "the brokers do not match regular expressions for consumers: this needs Kafka 4.0 or later"
                )
            return request

        self._calls.start(
            "membership",
            self.coordinator,
            build,
            timeout_s,
            lambda pending: self._on_membership(membership, pending),
            channel=CHANNEL,
        )

    def wait_s(self) -> float:
        """Seconds until ``step`` may have something to do, were nothing to arrive."""
        now_s = self._clock.monotonic_s()
        if self.coordinator is None:
            return float("inf") if self._calls.is_under_way("coordinator") else max(0.0, self._look_up_at_s - now_s)
        return self.membership.wait_s(now_s) if self.membership is not None else float("inf")

    def _look_up(self, now_s: float) -> None:
        if self._calls.is_under_way("coordinator") or now_s < self._look_up_at_s:
            return
        timeout_s = self._settings.request_timeout_ms / 1000
        self._calls.start("coordinator", self._any_node(), self._find_request, timeout_s, self._on_coordinator)

    def _find_request(self, versions: NodeVersions) -> FindCoordinatorRequest:
        if versions.newest(FindCoordinatorRequest) >= 4:
            return FindCoordinatorRequest(key_type=CoordinatorType.GROUP, coordinator_keys=[self.group_id])
        return FindCoordinatorRequest(key=self.group_id, key_type=CoordinatorType.GROUP)

    def _on_coordinator(self, pending: Pending) -> None:
        self._look_up_at_s = self._clock.monotonic_s() + self._settings.retry_backoff_ms / 1000
        if pending.error is not None:
            _raise_unless_network(pending.error)
            return
        answer = pending.response
        if pending.version >= 4:
            if not answer.coordinators:
                raise KafkaToolsError(f"{pending.node} did not name the coordinator of group '{self.group_id}'")
            answer = answer.coordinators[0]
        if not answer.error_code:
            self.coordinator = Node(answer.node_id, answer.host, answer.port)
            return
        about = f"coordinator of group '{self.group_id}'"
        error = refused(FindCoordinatorRequest, answer.error_code, about, answer.error_message)
        if not error.code.retriable:
            raise error

    # Membership

    def _on_membership(self, membership: Membership | None, pending: Pending) -> None:
        if self.membership is None or membership is not self.membership:
            return
        now_s = self._clock.monotonic_s()
        if pending.error is not None:
            self.membership.on_failure(now_s)
            _raise_unless_network(pending.error)
            return
        # Each membership gets the responses to its own requests.
        self.membership.on_response(pending.response, now_s)

    def leave(self, timeout_s: float) -> None:
        """Start to leave the group, if this is a member that should."""
        membership, self.membership = self.membership, None
        if membership is not None:
            self._start_to_leave(membership, LEAVING, timeout_s)

    def leave_unpolled(self, timeout_s: float) -> None:
        """Start to leave because nobody polls. The next poll revokes the partitions and joins again."""
        assert self.membership is not None
        self._start_to_leave(self.membership, "consumer poll timeout has expired.", timeout_s)
        self.membership.lapse()

    def _start_to_leave(self, membership: Membership, reason: str, timeout_s: float) -> None:
        if self.coordinator is None:
            return
        build = membership.leave_build(reason)
        if self.membership is None:
            self._calls.forget("membership")  # a member that joins anew must not get its response
        if build is None:
            return
        # The coordinator removes a member without LeaveGroup after the session timeout, so nothing is lost.
        self._calls.forget("leave")
        self._calls.start("leave", self.coordinator, build, timeout_s, lambda _: None, channel=CHANNEL)

    def metadata(self) -> GroupMetadata:
        """Who this member is, as transactions name it."""
        if self.membership is None:
            return GroupMetadata(self.group_id)
        by = self.membership.committer
        return GroupMetadata(self.group_id, by.epoch, by.member_id, by.instance_id)

    # Committed offsets

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], done: CommitDone) -> bool:
        """Start a commit; ``done(error)`` later. False when the coordinator is not known yet."""
        if self.coordinator is None:
            return False
        if self.membership is not None and not self.membership.is_member:
            # The coordinator of an empty group would take it, as the commit of a consumer without membership.
            done(self._refused(OffsetCommitRequest, error_codes.UNKNOWN_MEMBER_ID, _any_of(offsets)))
            return True
        by = self._committer
        ids = {name: self._topic_ids(name) for name, _ in offsets}
        self._commits += 1
        self._calls.start(
            ("commit", self._commits),
            self.coordinator,
            lambda versions: commit_request(versions, by, offsets, ids.__getitem__),
            self._settings.request_timeout_ms / 1000,
            lambda pending: self._committed(pending, {ids[name]: name for name in ids}, offsets, done),
            channel=CHANNEL,
        )
        return True

    def _committed(
        self,
        pending: Pending,
        names: Mapping[uuid.UUID, str],
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        done: CommitDone,
    ) -> None:
        error = self._commit_error(pending, names)
        if error is None and self.on_commit is not None:
            self.on_commit(offsets)
        done(error)

    @property
    def _committer(self) -> OffsetCommitter:
        return OffsetCommitter(self.group_id) if self.membership is None else self.membership.committer

    def _commit_error(self, pending: Pending, names: Mapping[uuid.UUID, str]) -> KafkaToolsError | None:
        if pending.error is not None:
            if isinstance(pending.error, NetworkError):
                self.coordinator = None
            return pending.error
        for topic_partition, code in commit_codes(pending.response, names):
            if code:
                return self._refused(OffsetCommitRequest, code, str(topic_partition))
        return None

    def _refused(self, request: type[Request], code: int, what: str) -> BrokerError:
        row = error_codes.error(code)
        if row.coordinator_moved or code == error_codes.REQUEST_TIMED_OUT:
            self.coordinator = None
        hint = None
        if row.member_unknown or code in _OUTDATED:
            hint = _COMMIT_HINT
            if self.membership is not None:
                self.membership.fence(code)
        return refused(request, code, f"offset of {what}, group '{self.group_id}'", hint=hint)

    def fetch_committed(self, partitions: Iterable[TopicPartition], done: FetchDone) -> bool:
        """Start to read committed offsets; ``done(offsets, error)`` later.

        False when it cannot start now, also while the same request of this generation is in progress.
        """
        wanted = frozenset(partitions)
        by = self._committer
        key = ("committed", wanted, None if by.has_member_epoch else by.epoch)
        if self.coordinator is None or self._calls.is_under_way(key):
            return False
        ids = {name: self._topic_ids(name) for name, _ in wanted}
        names = {ids[name]: name for name in ids}
        timeout_s = self._settings.request_timeout_ms / 1000
        self._calls.start(
            key,
            self.coordinator,
            lambda versions: fetch_request(versions, by, wanted, ids.__getitem__),
            timeout_s,
            lambda pending: self._on_committed(pending, by, names, done),
            channel=CHANNEL,
        )
        return True

    def _on_committed(
        self, pending: Pending, by: OffsetCommitter, names: Mapping[uuid.UUID, str], done: FetchDone
    ) -> None:
        if not by.has_member_epoch and by.epoch != self._committer.epoch:
            # Another member may have committed since: the new generation asks for itself.
            done(
                None, OutdatedResponse(f"the committed offsets are those before a rebalance of group '{self.group_id}'")
            )
            return
        if pending.error is not None:
            if isinstance(pending.error, NetworkError):
                self.coordinator = None
            done(None, pending.error)
            return
        found: FetchedOffsets = fetched(pending.response, pending.version, names)
        if found.code:
            about = "any partition" if found.about is None else str(found.about)
            done(None, self._refused(OffsetFetchRequest, found.code, about))
        else:
            done(found.offsets, None)


def _any_of(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> str:
    return str(next(iter(offsets), "no partition"))


class OutdatedResponse(KafkaToolsError):
    """A response that belongs to an earlier generation of the group."""


def is_retriable(error: KafkaToolsError) -> bool:
    """Whether the same request about offsets may succeed a moment later."""
    if isinstance(error, BrokerError):
        return bool(error.code.retriable) or error.code.code in _ALSO_RETRIABLE
    return isinstance(error, NetworkError | OutdatedResponse)


def _raise_unless_network(error: KafkaToolsError) -> None:
    """Raise errors other than network errors; after a network error the coordinator is looked up again."""
    if not isinstance(error, NetworkError):
        raise error
