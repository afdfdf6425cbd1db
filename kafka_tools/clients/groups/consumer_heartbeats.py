"""A member of a consumer group of the new protocol (KIP-848): the coordinator assigns, the member reconciles.

The coordinator sends a target. The member commits and revokes what it must give up, takes what it gets, and
acknowledges; the coordinator gives a partition to another member only then. A state machine without I/O.
Follows ``ConsumerMembershipManager`` and ``ConsumerHeartbeatRequestManager`` of Kafka's Java client.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import NamedTuple

from kafka_tools.clients.groups.heartbeats import LEAVE_EPOCH, LEAVE_STATIC_EPOCH, MemberHeartbeats, MemberState, Target
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_tools.values import TopicPartition

REGEX_VERSION = 1
"""First ConsumerGroupHeartbeat with regular expressions."""


class Reconciliation(NamedTuple):
    """One step towards the target. ``assigned``: all partitions afterwards; ``target``: the same by topic id."""

    assigned: list[TopicPartition]
    added: list[TopicPartition]
    revoked: list[TopicPartition]
    target: Target


class ConsumerHeartbeats(MemberHeartbeats[ConsumerGroupHeartbeatRequest]):
    """One member. In state RECONCILING the owner applies ``change`` and then calls ``apply``."""

    request_class = ConsumerGroupHeartbeatRequest
    unsupported = "set group.protocol=classic until the brokers support the protocol of KIP-848"

    def __init__(self, settings: ConsumerSettings) -> None:
        super().__init__(settings)
        self.regex: str | None = None
        self._had_regex = False
        self.current: Target = {}
        """The partitions that the member owns, by topic id."""
        self._names: dict[uuid.UUID, str] = {}
        """Names of assigned topics, kept in case the metadata forgets them."""

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Subscribe to topics by name."""
        self.regex = None
        super().subscribe(topics)

    def subscribe_regex(self, regex: str) -> None:
        """Subscribe to every topic that the regular expression (RE2) matches; the broker matches."""
        self.topics, self.regex = (), regex
        self._join_if_idle()

    def rejoin(self) -> None:
        super().rejoin()
        self.current = {}
        self._had_regex = False
        self._names.clear()

    @property
    def unnamed(self) -> set[uuid.UUID]:
        """Ids of assigned topics whose names are not known yet: the owner looks them up."""
        return {topic_id for topic_id in self.target if topic_id not in self._names}

    @property
    def assigned_names(self) -> tuple[str, ...]:
        """The topics of the target whose names are known."""
        return tuple(sorted({self._names[topic_id] for topic_id in self.target if topic_id in self._names}))

    def learn(self, names: Mapping[uuid.UUID, str]) -> None:
        """Take the names of topics from the metadata. Names of topics that are not assigned are forgotten."""
        wanted = self.target.keys() | self.current.keys()
        for topic_id in list(self._names.keys() - wanted):
            del self._names[topic_id]
        self._names |= {topic_id: names[topic_id] for topic_id in wanted if topic_id in names}

    def topic_id(self, name: str) -> uuid.UUID | None:
        """The id of an assigned topic; None if no topic of this name is assigned."""
        return next((topic_id for topic_id, known in self._names.items() if known == name), None)

    def change(self, owned: list[TopicPartition]) -> Reconciliation | None:
        """The step that can be taken now; None while nothing changes until more names are known.

        A topic whose name is not known is left out: the metadata may know it a moment later. A topic that was deleted
        and created again has another id, so its partitions are both revoked and added.
        """
        if self.state is not MemberState.RECONCILING:
            return None
        named = {topic_id: numbers for topic_id, numbers in self.target.items() if topic_id in self._names}
        if named == self.current and named != self.target:
            return None
        assigned = [TopicPartition(self._names[each], number) for each, numbers in named.items() for number in numbers]
        assigned.sort()
        kept = {
            TopicPartition(self._names[each], number)
            for each, numbers in named.items()
            for number in set(numbers) & set(self.current.get(each, ()))
        }.intersection(owned)
        added = [each for each in assigned if each not in kept]
        return Reconciliation(assigned, added, [each for each in owned if each not in kept], named)

    def apply(self, change: Reconciliation) -> None:
        """``change`` was carried out: tell the coordinator with the next heartbeat."""
        if self.state is MemberState.RECONCILING:
            self.current = change.target
            self.state = MemberState.ACKNOWLEDGING

    def _heartbeat(self, everything: bool) -> ConsumerGroupHeartbeatRequest:
        settings = self.settings
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=settings.group_instance_id,
        )
        if self.epoch < 0:
            return request
        if everything:
            request.rack_id = settings.client_rack or None
        if self._changed("rebalance timeout", settings.max_poll_interval_ms, everything):
            request.rebalance_timeout_ms = settings.max_poll_interval_ms
        if self._changed("topics", self.topics, everything):
            request.subscribed_topic_names = list(self.topics)
        # An empty expression takes back an earlier one. Version 0 has no such field.
        self._had_regex = self._had_regex or self.regex is not None
        if self._had_regex and self._changed("regex", self.regex, everything):
            request.subscribed_topic_regex = self.regex or ""
        if settings.remote_assignor and self._changed("assignor", settings.remote_assignor, everything):
            request.server_assignor = settings.remote_assignor
        if self._changed("partitions", self.current, everything):
            request.topic_partitions = [
                ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=topic_id, partitions=list(numbers))
                for topic_id, numbers in self.current.items()
            ]
        return request

    def _on_target(self) -> None:
        if self.target != self.current:
            self.state = MemberState.RECONCILING
        elif self.state in (MemberState.JOINING, MemberState.RECONCILING):
            self.state = MemberState.STABLE

    def _acknowledged(self) -> None:
        self.state = MemberState.STABLE if self.target == self.current else MemberState.RECONCILING

    @property
    def _leave_epoch(self) -> int:
        return LEAVE_EPOCH if self.settings.group_instance_id is None else LEAVE_STATIC_EPOCH
