"""The group coordinator: all groups of this broker, stored in ``__consumer_offsets``.

Combines ``membership`` (the members of groups), ``offsets`` (committed offsets) and the log (``runtime``). This broker
leads every partition, so a group's partition only determines where its records are stored.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection, Iterator

from kafka_tools.broker_embedded.coordinators.classic.group import DEAD, STABLE, ClassicGroup, in_join_version
from kafka_tools.broker_embedded.coordinators.classic.member import metadata_for
from kafka_tools.broker_embedded.coordinators.classic.membership import Membership
from kafka_tools.broker_embedded.coordinators.classic.rebalances import Rebalances, join_error
from kafka_tools.broker_embedded.coordinators.consumer.classic_members import ClassicMembers
from kafka_tools.broker_embedded.coordinators.consumer.coordinator import ConsumerGroups
from kafka_tools.broker_embedded.coordinators.consumer.describing import described
from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.group import Group
from kafka_tools.broker_embedded.coordinators.group_store import GroupStore
from kafka_tools.broker_embedded.coordinators.loaded_groups import LoadedGroups
from kafka_tools.broker_embedded.coordinators.offsets import Offsets
from kafka_tools.broker_embedded.coordinators.removal import Removal
from kafka_tools.broker_embedded.coordinators.runtime import Runtime, in_order
from kafka_tools.broker_embedded.purgatory import Parked
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CONSUMER_OFFSETS
from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsResponse
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafka_tools.protocol.stored.cluster_metadata import RemoveTopicRecord

log = logging.getLogger(__name__)

DescribedGroup = DescribeGroupsResponse.DescribedGroup
_NOT_FORGOTTEN = "cannot delete the offsets of a deleted topic before they expire"
SEVERAL_LEAVE_FROM = 3
"""Version of LeaveGroup (KIP-345)."""


class GroupCoordinator:
    """``membership``, ``offsets`` and ``removal`` use the groups of ``store``; ``load`` starts to read the log."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.store = store = GroupStore(runtime)
        self.log, self.loading = store.log, store.loading
        rebalances = Rebalances(store)
        self.membership = Membership(store, rebalances)
        self.consumer = ConsumerGroups(store, rebalances)
        self.settings = self.consumer.settings
        self._classic_members = ClassicMembers(self.consumer)
        self.offsets = Offsets(store)
        self.removal = Removal(store, self.offsets)
        self._deleted: list[tuple[str, uuid.UUID]] = []
        """The topics that were deleted while partitions were loading."""
        self._loaded = False
        runtime.journal.on_record(RemoveTopicRecord, self._apply_remove_topic)

    # requests of classic members, to classic and consumer groups

    def join(
        self, request: JoinGroupRequest, version: int, client_id: str, client_host: str
    ) -> Work[JoinGroupResponse | Parked]:
        """Join or rejoin. The response is parked until the members of a classic group are known.

        BrokerError for a request that no group accepts.
        """
        self.membership.check_join(request)
        yield from self.store.ensured()
        group = self.store.find_as(ConsumerGroup, request.group_id)
        response: JoinGroupResponse | Parked
        if group is None or group.is_empty:
            response = self.membership.join(request, version, client_id, client_host)
        else:
            try:
                response = yield from self._classic_members.join(group.id, request, version, client_id, client_host)
            except BrokerError as error:
                response = join_error(error.code.code, "")
        return response if isinstance(response, Parked) else in_join_version(response, version)

    def sync(self, request: SyncGroupRequest) -> Work[SyncGroupResponse | Parked]:
        """Return a member's assignment. BrokerError with the member's error code."""
        if self._is_loading(request.group_id):
            raise error_for(error_codes.REBALANCE_IN_PROGRESS)  # clients join again
        group = self._with_members(request.group_id)
        if group is None:
            return self.membership.sync(request)
        return (yield from self._classic_members.sync(group, request))

    def heartbeat(self, request: HeartbeatRequest) -> int:
        """Extend a member's session. Returns the error code of the response, or raises BrokerError.

        While the group is loading, no session can expire and the response has no error, as in Kafka.
        """
        if self._is_loading(request.group_id):
            return error_codes.NONE
        group = self._with_members(request.group_id)
        return self.membership.heartbeat(request) if group is None else self._classic_members.heartbeat(group, request)

    def leave(self, request: LeaveGroupRequest, version: int) -> Work[LeaveGroupResponse]:
        """Remove members from a group. BrokerError with an error code for all of them."""
        if not request.group_id:
            return LeaveGroupResponse(error_code=error_codes.INVALID_GROUP_ID)
        is_one = version < SEVERAL_LEAVE_FROM
        identities = [LeaveGroupRequest.MemberIdentity(member_id=request.member_id)] if is_one else request.members
        codes: list[int] | None = None
        while codes is None:
            group = self._with_members(request.group_id)
            if group is None:
                codes = self.membership.leave(request.group_id, identities)
            else:
                codes = yield from self._classic_members.leave(group, identities)
        if is_one:
            return LeaveGroupResponse(error_code=codes[0])
        members = [
            LeaveGroupResponse.MemberResponse(
                member_id=each.member_id, group_instance_id=each.group_instance_id, error_code=code
            )
            for each, code in zip(identities, codes, strict=True)
        ]
        return LeaveGroupResponse(members=members)

    def _is_loading(self, group_id: str) -> bool:
        """Whether the group is loading. BrokerError INVALID_GROUP_ID for an empty id."""
        if not group_id:
            raise error_for(error_codes.INVALID_GROUP_ID)
        return self.loading.is_loading(group_id)

    def _with_members(self, group_id: str) -> ConsumerGroup | None:
        """The consumer group of this id; None if it is empty, since ``membership`` then serves its classic members."""
        group = self.store.find_as(ConsumerGroup, group_id)
        return None if group is None or group.is_empty else group

    # reading

    def list(self, states: Collection[str], types: Collection[str]) -> Work[Iterator[tuple[Group, str]]]:
        """Groups in the order of their ids, with their states. Only those of the states and types, if given.

        States and types are compared without case. BrokerError COORDINATOR_LOAD_IN_PROGRESS while any is not loaded.
        """
        self.loading.check_all()
        wanted = {state.strip().lower() for state in states}
        kinds = {name.strip().lower() for name in types}

        def shown(group: Group) -> tuple[Group, str] | None:
            if not self.store.holds(group) or (kinds and group.type not in kinds):
                return None
            state = group.state
            return (group, state) if not wanted or state.lower() in wanted else None

        return in_order(self.store.groups, shown)

    def describe_consumer(self, group_id: str) -> Work[ConsumerGroupDescribeResponse.DescribedGroup]:
        """A consumer group and its members. BrokerError GROUP_ID_NOT_FOUND for any other group."""
        if not group_id:
            raise error_for(error_codes.INVALID_GROUP_ID)
        group = self.store.existing(ConsumerGroup, group_id)
        return (yield from described(group, self.settings.assignors[0], self.consumer.topics))

    def describe(self, group_id: str, version: int) -> Work[DescribeGroupsResponse.DescribedGroup]:
        """A group and its members at the time of the call. Protocol and metadata are set only for a stable group.

        The state of an unknown group is Dead.
        """
        answer = DescribedGroup(group_id=group_id)
        try:
            group = self.store.existing(ClassicGroup, group_id)
        except BrokerError as error:
            answer.error_code = error.code.code
            if answer.error_code == error_codes.GROUP_ID_NOT_FOUND:
                answer.group_state = DEAD
                answer.error_code = error_codes.NONE if version < 6 else answer.error_code  # KIP-1043
            if version >= 6:
                answer.error_message = error.broker_message
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
        """Load partitions of ``spare_bytes`` in total now, and the others while requests are served (``loading``).

        Members get one session timeout to return. Returns the number of bytes that are left of ``spare_bytes``.
        """
        left = self.loading.begin(self._part, spare_bytes)
        self._loaded = True
        self.removal.schedule()
        return left

    def _part(self, partition: int) -> LoadedGroups:
        return LoadedGroups(partition, self.store, self.offsets.table, self._served)

    def _served(self, group_ids: Collection[str]) -> None:
        """Forget offsets that loaded groups committed for topics that were deleted during the load."""
        for name, topic_id in self._deleted:
            self._runtime.begin(self._forget_topic(name, topic_id, group_ids), _NOT_FORGOTTEN)
        if not self.loading.under_way:
            self._deleted.clear()

    def _apply_remove_topic(self, record: RemoveTopicRecord) -> None:
        name = self._runtime.cluster.removed_ids[record.topic_id]
        if not self._loaded:
            return
        if name == CONSUMER_OFFSETS:
            self._unload()
            return
        if self.loading.under_way:
            self._deleted.append((name, record.topic_id))
        self._runtime.begin(self._forget_topic(name, record.topic_id), _NOT_FORGOTTEN)

    def _forget_topic(self, name: str, topic_id: uuid.UUID, group_ids: Collection[str] | None = None) -> Work[None]:
        yield from self._runtime.slices.durable()  # else the topic could come back without them
        yield from self.offsets.forget_topic(name, topic_id, group_ids)

    def _unload(self) -> None:
        """Unload all groups, since their log is deleted. Waiting members must find the coordinator again."""
        log.info("unloading %d groups", len(self.store.groups))
        for group in self.store.groups.values():
            self.store.members[group.type].ended(group)
        self.store.groups.clear()
        self.loading.stop()
        self._deleted.clear()
        self.offsets.table.drop_all()
