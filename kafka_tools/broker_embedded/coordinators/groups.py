"""The group coordinator: all groups of this broker, kept in ``__consumer_offsets``.

Ties together ``membership`` (who is in a group), ``offsets`` (what groups committed) and the log
(``runtime``). One broker leads every partition, so a group's partition only says where its records go.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection, Iterator
from heapq import merge
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.coordinators.classic.group import DEAD, STABLE, ClassicGroup, in_join_version
from kafka_tools.broker_embedded.coordinators.classic.member import metadata_for
from kafka_tools.broker_embedded.coordinators.classic.membership import Membership
from kafka_tools.broker_embedded.coordinators.classic.rebalances import Rebalances, join_error
from kafka_tools.broker_embedded.coordinators.consumer.classic_members import ClassicMembers
from kafka_tools.broker_embedded.coordinators.consumer.coordinator import ConsumerGroups
from kafka_tools.broker_embedded.coordinators.consumer.describing import described
from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.consumer.group_topics import GroupTopics
from kafka_tools.broker_embedded.coordinators.consumer.settings import ConsumerGroupSettings
from kafka_tools.broker_embedded.coordinators.group_records import GROUPS_TOPIC, KEYS, VALUES
from kafka_tools.broker_embedded.coordinators.group_store import GroupStore
from kafka_tools.broker_embedded.coordinators.loaded_groups import LoadedGroups
from kafka_tools.broker_embedded.coordinators.loading import Loading
from kafka_tools.broker_embedded.coordinators.offsets import Offsets
from kafka_tools.broker_embedded.coordinators.removal import Removal
from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorLog
from kafka_tools.broker_embedded.refusals import cut_to_fit, error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CoordinatorGroupType
from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsResponse
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafka_tools.protocol.stored.cluster_metadata import RemoveTopicRecord, TopicRecord

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.features import FinalizedFeatures
    from kafka_tools.broker_embedded.cluster.journal import Journal
    from kafka_tools.broker_embedded.cluster.metadata import Cluster
    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.coordinators.state_topics import StateTopics
    from kafka_tools.broker_embedded.purgatory import Parked
    from kafka_tools.broker_embedded.slices import Slices
    from kafka_tools.broker_embedded.timers import Timers

log = logging.getLogger(__name__)

DescribedGroup = DescribeGroupsResponse.DescribedGroup
SEVERAL_LEAVE_FROM = 3
"""Version of LeaveGroup (KIP-345)."""
_DAMAGED = "The groups in %s are not served until it is repaired (kafka-tools broker mend)"


_RUN = 1000
"""So many groups are sorted at once."""


def _id(found: tuple[ClassicGroup | ConsumerGroup, str]) -> str:
    return found[0].id


def _forgotten(_: None, error: BaseException | None) -> None:
    if error is not None:
        log.error("cannot delete the offsets of a deleted topic before they expire", exc_info=error)


def type_of(group: ClassicGroup | ConsumerGroup) -> str:
    """The type of a group, as ListGroups says it."""
    return CoordinatorGroupType.CONSUMER if isinstance(group, ConsumerGroup) else CoordinatorGroupType.CLASSIC


class GroupCoordinator:
    """``membership``, ``offsets`` and ``removal`` work on what ``store`` holds; ``load`` begins to read the log."""

    def __init__(
        self,
        journal: Journal,
        topics: StateTopics,
        cluster: Cluster,
        configs: ConfigStore,
        features: FinalizedFeatures,
        timers: Timers,
        slices: Slices,
        background: Slices,
    ) -> None:
        """``background``: where partitions are loaded that clients need not wait for."""
        self._configs = configs
        self._timers = timers
        self._log = CoordinatorLog(topics, configs, timers.clock, GROUPS_TOPIC, "offsets.topic.compression.codec")
        self.store = store = GroupStore(self._log, Loading(self._log, KEYS, VALUES, background, _DAMAGED), timers.clock)
        self._rebalances = rebalances = Rebalances(store, configs, timers)
        self.membership = Membership(store, rebalances, configs)
        self.offsets = Offsets(store, rebalances, cluster, configs)
        self.settings = ConsumerGroupSettings(configs, features)
        self._slices = slices
        self.consumer = ConsumerGroups(store, GroupTopics(journal, cluster), self.settings, rebalances, timers, slices)
        self._classic_members = ClassicMembers(self.consumer)
        self.removal = Removal(store, self.offsets, configs, timers, slices)
        self._topic_names: dict[uuid.UUID, str] = {}
        self._deleted: list[tuple[str, uuid.UUID]] = []
        """The topics that were deleted while partitions were being loaded."""
        self._loaded = False
        journal.on_record(TopicRecord, self._apply_topic)
        journal.on_record(RemoveTopicRecord, self._apply_remove_topic)

    # requests of classic members, to groups of either kind

    def join(
        self, request: JoinGroupRequest, version: int, client_id: str, client_host: str
    ) -> Work[JoinGroupResponse | Parked]:
        """Join or rejoin. BrokerError for what no group takes."""
        self.membership.check_join(request)
        yield from self.store.ensured()
        group = self.store.consumer(request.group_id)
        if group is None or group.is_empty:
            return self.membership.join(request, version, client_id, client_host)
        try:
            response = yield from self._classic_members.join(request.group_id, request, version, client_id, client_host)
        except BrokerError as error:
            response = join_error(error.code.code, "")
        return in_join_version(response, version)

    def sync(self, request: SyncGroupRequest) -> Work[SyncGroupResponse | Parked]:
        """A member asks for its assignment. BrokerError with what it is told."""
        if request.group_id and self.store.loading.is_loading(request.group_id):
            raise error_for(error_codes.REBALANCE_IN_PROGRESS)  # which makes every client join again
        group = self._with_members(request.group_id)
        if group is None:
            return self.membership.sync(request)
        return (yield from self._classic_members.sync(group, request))

    def heartbeat(self, request: HeartbeatRequest) -> int:
        """Keep a member's session; returns the error code of the answer, or BrokerError.

        While the group is loaded nobody's session can end, and the answer is that all is well, as in Kafka.
        """
        if request.group_id and self.store.loading.is_loading(request.group_id):
            return error_codes.NONE
        group = self._with_members(request.group_id)
        return self.membership.heartbeat(request) if group is None else self._classic_members.heartbeat(group, request)

    def leave(self, request: LeaveGroupRequest, version: int) -> Work[LeaveGroupResponse]:
        """Members leave. BrokerError with what all of them are told."""
        identities = request.members
        if version < SEVERAL_LEAVE_FROM:
            identities = [LeaveGroupRequest.MemberIdentity(member_id=request.member_id)]
        while (group := self._with_members(request.group_id)) is not None:
            answers = yield from self._classic_members.leave(group, identities)
            if answers is not None:
                is_one = version < SEVERAL_LEAVE_FROM
                return (
                    LeaveGroupResponse(error_code=answers[0].error_code)
                    if is_one
                    else LeaveGroupResponse(members=answers)
                )
        return self.membership.leave(request, version)

    def _with_members(self, group_id: str) -> ConsumerGroup | None:
        """The consumer group of this id, unless it is empty: then its classic members are those of no group."""
        group = self.store.consumer(group_id) if group_id else None
        return None if group is None or group.is_empty else group

    # reading

    def list(
        self, states: Collection[str], types: Collection[str]
    ) -> Work[Iterator[tuple[ClassicGroup | ConsumerGroup, str]]]:
        """Groups by id, each with its state, narrowed to states and types; both are compared without case, none means
        all.

        BrokerError COORDINATOR_LOAD_IN_PROGRESS while any is not loaded.
        """
        self.store.loading.check_all()
        wanted = {state.strip().lower() for state in states}
        kinds = {name.strip().lower() for name in types}
        known = list(self.store.groups.values())
        runs: list[list[tuple[ClassicGroup | ConsumerGroup, str]]] = []
        for first in range(0, len(known), _RUN):
            found = []
            for group in known[first : first + _RUN]:
                yield
                if self.store.holds(group) and (not kinds or type_of(group) in kinds):
                    state = group.state
                    if not wanted or state.lower() in wanted:
                        found.append((group, state))
            runs.append(sorted(found, key=_id))
        return merge(*runs, key=_id)

    def describe_consumer(self, group_id: str) -> Work[ConsumerGroupDescribeResponse.DescribedGroup]:
        """A consumer group and its members. BrokerError GROUP_ID_NOT_FOUND for others."""
        if not group_id:
            raise error_for(error_codes.INVALID_GROUP_ID)
        group = self.consumer.migration.existing(group_id)
        return (yield from described(group, self.settings.assignors[0], self.consumer.topics))

    def describe(self, group_id: str, version: int) -> Work[DescribeGroupsResponse.DescribedGroup]:
        """A group and its members, as they were at the beginning; protocol and metadata only while it is stable.

        Unknown groups are Dead.
        """
        answer = DescribedGroup(group_id=group_id)
        try:
            group = self.store.find(group_id)
        except BrokerError as error:
            answer.error_code = error.code.code
            if version >= 6:
                answer.error_message = error.broker_message
            return answer
        if not isinstance(group, ClassicGroup):
            answer.group_state = DEAD
            if version >= 6:  # KIP-1043
                answer.error_code = error_codes.GROUP_ID_NOT_FOUND
                problem = "not found" if group is None else "is not a classic group"
                answer.error_message = cut_to_fit(f"Group {group_id} {problem}.")
            return answer
        stable = group.state == STABLE
        answer.group_state = group.state
        answer.protocol_type = group.protocol_type or ""
        answer.protocol_data = group.protocol or "" if stable else ""
        protocol = group.protocol or ""
        for member, protocols, assignment in [
            (each, each.protocols, each.assignment) for each in group.members.values()
        ]:
            yield
            answer.members.append(
                DescribedGroup.DescribedGroupMember(
                    member_id=member.id,
                    group_instance_id=member.instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    member_metadata=metadata_for(protocol, protocols) if stable else b"",
                    member_assignment=assignment,
                )
            )
        return answer

    # the log

    def load(self, spare_bytes: int) -> int:
        """Read partitions of ``spare_bytes`` in all, and the others while requests are served (``loading``).

        Members get one session to come back. Returns how many bytes are left to spare.
        """
        left = self.store.loading.begin(self._part, spare_bytes)
        self._loaded = True
        self.removal.schedule()
        return left

    def _part(self, partition: int) -> LoadedGroups:
        return LoadedGroups(partition, self.store, self.offsets.table, self._begun, self._served)

    def _begun(self, group: ClassicGroup | ConsumerGroup) -> None:
        if isinstance(group, ConsumerGroup):
            self.consumer.loaded(group)
        else:
            self._rebalances.loaded(group)

    def _served(self, group_ids: Collection[str]) -> None:
        """These groups are loaded: so must be forgotten what they committed for topics that were deleted meanwhile."""
        for name, topic_id in self._deleted:
            self._slices.begin(self._forget_topic(name, topic_id, group_ids), _forgotten)
        if not self.store.loading.under_way:
            self._deleted.clear()

    def _apply_topic(self, record: TopicRecord) -> None:
        self._topic_names[record.topic_id] = record.name

    def _apply_remove_topic(self, record: RemoveTopicRecord) -> None:
        name = self._topic_names.pop(record.topic_id, None)
        if name is not None and self._loaded:
            if name == GROUPS_TOPIC:
                self._unload()
            else:
                if self.store.loading.under_way:
                    self._deleted.append((name, record.topic_id))
                self._slices.begin(self._forget_topic(name, record.topic_id), _forgotten)

    def _forget_topic(self, name: str, topic_id: uuid.UUID, group_ids: Collection[str] | None = None) -> Work[None]:
        yield from self._slices.durable()  # else the topic could come back without them
        yield from self.offsets.forget_topic(name, topic_id, group_ids)

    def _unload(self) -> None:
        """The log is gone, and all groups with it: whoever waits must look for a coordinator again."""
        log.info("unloading %d groups", len(self.store.groups))
        for group in self.store.groups.values():
            if isinstance(group, ClassicGroup):
                self._rebalances.unloaded(group)
        self.consumer.fencing.deadlines.cancel_all()
        self.store.groups.clear()
        self.store.loading.stop()
        self._deleted.clear()
        self.offsets.table.drop_all()
