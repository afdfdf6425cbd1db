"""A consumer's requests to its group's coordinator: finding it, membership requests, committed offsets.

Starts requests through ``calls`` and interprets responses; ``membership`` interprets its own. Speaks
to the coordinator over a connection of its own, so that heartbeats never wait behind a long fetch. Follows
``ConsumerCoordinator`` of Kafka's Java client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from kafka_tools.clients.calls import Calls
from kafka_tools.clients.groups.committed import Committed as Committed
from kafka_tools.clients.groups.committed import GroupMetadata
from kafka_tools.clients.groups.committed import OffsetAndMetadata as OffsetAndMetadata
from kafka_tools.clients.membership import LEAVING, NO_GENERATION, ConsumerMembership, GroupRequest
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.clock import Clock
from kafka_tools.errors import BrokerError, KafkaToolsError, NetworkError
from kafka_tools.net.rights import refused
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CoordinatorType
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_tools.protocol.schema import Request
from kafka_tools.values import Node, TopicPartition

if TYPE_CHECKING:
    from kafka_tools.net.connection import Pending
    from kafka_tools.net.versions import NodeVersions

CHANNEL = "group"
OFFSETS_BY_NAME_VERSION = 9
"""Newest OffsetCommit and OffsetFetch that name topics instead of giving ids."""

_ALSO_RETRIABLE = (error_codes.UNKNOWN_TOPIC_OR_PARTITION, error_codes.COORDINATOR_LOAD_IN_PROGRESS)
_COMMIT_HINT = (
    "the partitions were assigned to another member: poll more often, or raise max.poll.interval.ms or "
    "session.timeout.ms"
)


CommitDone = Callable[[KafkaToolsError | None], None]
FetchDone = Callable[[Committed | None, KafkaToolsError | None], None]


class GroupClient:
    """One group as one consumer sees it. ``membership`` is None for a consumer that assigns partitions itself."""

    def __init__(self, settings: ConsumerSettings, calls: Calls, clock: Clock, any_node: Callable[[], Node]) -> None:
        assert settings.group_id
        self.group_id = settings.group_id
        self.coordinator: Node | None = None
        self.membership: ConsumerMembership | None = None
        self._settings = settings
        self._calls = calls
        self._clock = clock
        self._any_node = any_node
        self._look_up_at_s = 0.0
        self._commits = 0

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

    def _start(self, request: GroupRequest | None) -> None:
        if request is not None and self.coordinator is not None:
            timeout_s = self._settings.request_timeout_ms / 1000
            if isinstance(request, JoinGroupRequest):
                # The coordinator answers when every member has joined or the rebalance timeout is over.
                timeout_s = max(timeout_s, self._settings.max_poll_interval_ms / 1000 + 5)
            self._calls.start("membership", self.coordinator, request, timeout_s, self._on_membership, channel=CHANNEL)

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

    def _on_membership(self, pending: Pending) -> None:
        if self.membership is None:
            return
        now_s = self._clock.monotonic_s()
        if pending.error is not None:
            self.membership.on_failure(now_s)
            _raise_unless_network(pending.error)
            return
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

    def _start_to_leave(self, membership: ConsumerMembership, reason: str, timeout_s: float) -> None:
        if self.coordinator is None or membership.leave_request(0, reason) is None:
            return
        request_of = {version: membership.leave_request(version, reason) for version in (0, 3)}

        def build(versions: NodeVersions) -> LeaveGroupRequest:
            request = request_of[3 if versions.newest(LeaveGroupRequest) >= 3 else 0]
            assert request is not None
            return request

        # The coordinator removes a member without LeaveGroup after the session timeout, so nothing is lost.
        self._calls.forget("leave")
        self._calls.start("leave", self.coordinator, build, timeout_s, lambda _: None, channel=CHANNEL)

    def metadata(self) -> GroupMetadata:
        """Who this member is, as transactions name it."""
        if self.membership is None:
            return GroupMetadata(self.group_id)
        member = self.membership
        return GroupMetadata(self.group_id, member.generation_id, member.member_id, self._settings.group_instance_id)

    # Committed offsets

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], done: CommitDone) -> bool:
        """Start a commit; ``done(error)`` later. False when the coordinator is not known yet."""
        if self.coordinator is None:
            return False
        if self.membership is not None and not self.membership.is_member:
            # The coordinator of an empty group would take it, as the commit of a consumer without membership.
            done(self._refused(OffsetCommitRequest, error_codes.UNKNOWN_MEMBER_ID, _any_of(offsets)))
            return True
        rows: dict[str, list[OffsetCommitRequest.RequestTopic.RequestPartition]] = {}
        for (name, number), committed in sorted(offsets.items()):
            rows.setdefault(name, []).append(
                OffsetCommitRequest.RequestTopic.RequestPartition(
                    partition_index=number,
                    committed_offset=committed.offset,
                    committed_leader_epoch=committed.leader_epoch,
                    committed_metadata=committed.metadata,
                )
            )
        membership = self.membership
        request = OffsetCommitRequest(
            group_id=self.group_id,
            generation_id_or_member_epoch=membership.generation_id if membership is not None else NO_GENERATION,
            member_id=membership.member_id if membership is not None else "",
            group_instance_id=self._settings.group_instance_id if membership is not None else None,
            topics=[OffsetCommitRequest.RequestTopic(name=name, partitions=rows[name]) for name in rows],
        )
        self._commits += 1
        self._calls.start(
            ("commit", self._commits),
            self.coordinator,
            lambda versions: (request, min(versions.newest(OffsetCommitRequest), OFFSETS_BY_NAME_VERSION)),
            self._settings.request_timeout_ms / 1000,
            lambda pending: done(self._commit_error(pending)),
            channel=CHANNEL,
        )
        return True

    def _commit_error(self, pending: Pending) -> KafkaToolsError | None:
        if pending.error is not None:
            if isinstance(pending.error, NetworkError):
                self.coordinator = None
            return pending.error
        response: OffsetCommitResponse = pending.response
        for topic in response.topics:
            for partition in topic.partitions:
                if partition.error_code:
                    what = f"{topic.name}-{partition.partition_index}"
                    return self._refused(OffsetCommitRequest, partition.error_code, what)
        return None

    def _refused(self, request: type[Request], code: int, what: str) -> BrokerError:
        row = error_codes.error(code)
        if row.coordinator_moved or code == error_codes.REQUEST_TIMED_OUT:
            self.coordinator = None
        hint = None
        if row.member_unknown or code == error_codes.REBALANCE_IN_PROGRESS:
            hint = _COMMIT_HINT
            if self.membership is not None:
                self.membership.fence(code)
        return refused(request, code, f"offset of {what}, group '{self.group_id}'", hint=hint)

    def fetch_committed(self, partitions: Iterable[TopicPartition], done: FetchDone) -> bool:
        """Start to read committed offsets; ``done(offsets, error)`` later. False when it cannot start now."""
        key = "committed"
        if self.coordinator is None or self._calls.is_under_way(key):
            return False
        wanted: dict[str, list[int]] = {}
        for name, number in sorted(partitions):
            wanted.setdefault(name, []).append(number)

        def build(versions: NodeVersions) -> tuple[OffsetFetchRequest, int]:
            version = min(versions.newest(OffsetFetchRequest), OFFSETS_BY_NAME_VERSION)
            return self._fetch_request(wanted, version), version

        timeout_s = self._settings.request_timeout_ms / 1000
        self._calls.start(
            key, self.coordinator, build, timeout_s, lambda pending: self._on_committed(pending, done), channel=CHANNEL
        )
        return True

    def _fetch_request(self, wanted: Mapping[str, list[int]], version: int) -> OffsetFetchRequest:
        if version < 8:
            topics = [
                OffsetFetchRequest.RequestTopic(name=name, partition_indexes=numbers)
                for name, numbers in wanted.items()
            ]
            return OffsetFetchRequest(group_id=self.group_id, topics=topics, require_stable=version >= 7)
        group = OffsetFetchRequest.RequestGroup(
            group_id=self.group_id,
            topics=[
                OffsetFetchRequest.RequestGroup.RequestTopics(name=name, partition_indexes=numbers)
                for name, numbers in wanted.items()
            ],
        )
        return OffsetFetchRequest(groups=[group], require_stable=True)

    def _on_committed(self, pending: Pending, done: FetchDone) -> None:
        if pending.error is not None:
            if isinstance(pending.error, NetworkError):
                self.coordinator = None
            done(None, pending.error)
            return
        response: OffsetFetchResponse = pending.response
        group = response.groups[0] if pending.version >= 8 and response.groups else response
        if group.error_code:
            done(None, self._refused(OffsetFetchRequest, group.error_code, "any partition"))
            return
        found: Committed = {}
        for topic in group.topics:
            for row in topic.partitions:
                topic_partition = TopicPartition(topic.name, row.partition_index)
                if row.error_code:
                    done(None, self._refused(OffsetFetchRequest, row.error_code, str(topic_partition)))
                    return
                found[topic_partition] = (
                    OffsetAndMetadata(row.committed_offset, row.committed_leader_epoch, row.metadata or "")
                    if row.committed_offset >= 0
                    else None
                )
        done(found, None)


def _any_of(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> str:
    return str(next(iter(offsets), "no partition"))


def is_retriable(error: KafkaToolsError) -> bool:
    """Whether the same request about offsets may succeed a moment later."""
    if isinstance(error, BrokerError):
        return bool(error.code.retriable) or error.code.code in _ALSO_RETRIABLE
    return isinstance(error, NetworkError)


def _raise_unless_network(error: KafkaToolsError) -> None:
    """Raise errors other than network errors; after a network error the coordinator is looked up again."""
    if not isinstance(error, NetworkError):
        raise error
