"""The topics that a consumer subscribed to, and their partitions: those that its group assigns, or all.

Drives the membership through ``group`` and writes into ``positions``; knows nothing of records. A rebalance of the
classic protocol is eager: commit, revoke all partitions, join, take the assignment. For the new protocol (KIP-848) see
``groups.reconciler``. Follows ``ConsumerCoordinator`` of Kafka's Java client.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

from kafka_tools.clients.auto_commit import AutoCommit
from kafka_tools.clients.calls import Calls
from kafka_tools.clients.fetcher import Fetcher
from kafka_tools.clients.group import GroupClient, is_retriable
from kafka_tools.clients.groups.consumer_heartbeats import ConsumerHeartbeats
from kafka_tools.clients.groups.listeners import RebalanceListeners
from kafka_tools.clients.groups.membership import ConsumerMembership, State
from kafka_tools.clients.groups.reconciler import Reconciler
from kafka_tools.clients.positions import EARLIEST, Positions
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.clock import Clock
from kafka_tools.errors import InputError, KafkaToolsError
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.protocol import error_codes
from kafka_tools.texts.name_patterns import NamePattern
from kafka_tools.values import TopicPartition


class SubscriptionPattern(NamedTuple):
    """A regular expression of RE2 that the brokers match against whole topic names (KIP-848).

    Other than with an ``re.Pattern``, the consumer does not look at every topic of the cluster.
    """

    pattern: str


Chosen = tuple[str, ...] | re.Pattern[str] | NamePattern | SubscriptionPattern
"""What a consumer may subscribe to: topic names, or a pattern."""


class Subscription:
    """Topics and their partitions. ``topics`` are those that match now, where it is a pattern."""

    def __init__(
        self,
        settings: ConsumerSettings,
        calls: Calls,
        metadata: ClusterMetadata,
        positions: Positions,
        fetcher: Fetcher,
        group: GroupClient | None,
        auto_commit: AutoCommit,
        clock: Clock,
        released: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """``released`` is entered around listeners: other threads may use the client meanwhile."""
        self.active = False
        self.topics: tuple[str, ...] = ()
        self._settings = settings
        self._calls = calls
        self._metadata = metadata
        self._positions = positions
        self._fetcher = fetcher
        self._group = group
        self._auto_commit = auto_commit
        self._clock = clock
        self._released = released
        self._reconciler: Reconciler | None = None
        """Applies assignments of the new protocol."""
        self._pattern: re.Pattern[str] | NamePattern | None = None
        self._partition_counts: dict[str, int] = {}
        self._listeners = RebalanceListeners()
        self._assigned: list[TopicPartition] | None = None
        """A new assignment of the classic protocol that was not taken yet."""
        self._prepared = False
        self._commit_before_join = False
        """Whether the commit before the next join is in progress."""
        self._committed_before_join = False
        """Whether it was started."""

    def begin(self, chosen: Chosen, listeners: RebalanceListeners) -> None:
        """Subscribe, or change the subscription. InputError for a pattern that only the new protocol supports."""
        membership = self._joined()
        if isinstance(chosen, SubscriptionPattern):
            if not isinstance(membership, ConsumerHeartbeats):
                raise InputError(
                    "a SubscriptionPattern is matched by the brokers: it needs group.id and group.protocol=consumer",
                    hint="or subscribe to an re.Pattern, which the consumer matches itself",
                )
            self._pattern, self.topics = None, ()
            self._metadata.watch(())
            membership.subscribe_regex(chosen.pattern)
        elif isinstance(chosen, tuple):
            self._pattern, self.topics = None, chosen
            self._metadata.watch(chosen)
            if membership is not None:
                membership.subscribe(chosen)
        else:
            self._pattern, self.topics = chosen, ()
            self._metadata.watch_all()
        self.active = True
        self._listeners = listeners.within(self._released)
        if self._reconciler is not None:
            self._reconciler.listeners = self._listeners

    def _joined(self) -> ConsumerMembership | ConsumerHeartbeats | None:
        """The membership in the group, which begins now if there is none; None without group."""
        if self._group is None:
            return None
        if self._group.membership is None and not self._settings.is_new_protocol:
            self._group.membership = ConsumerMembership(self._settings)
        elif self._group.membership is None:
            self._group.membership = member = ConsumerHeartbeats(self._settings)
            self._reconciler = Reconciler(
                member,
                self._clock,
                self._metadata,
                self._positions,
                self._auto_commit,
                self._group.commit,
                is_retriable,
            )
        membership = self._group.membership
        assert isinstance(membership, ConsumerMembership | ConsumerHeartbeats)
        return membership

    def end(self, timeout_s: float) -> None:
        """Revoke all partitions and start to leave the group."""
        if self._group is not None and self._group.membership is not None:
            if self._reconciler is not None:
                self._reconciler.release()
                self._fetcher.drop()
                self._reconciler = None
            else:
                self.revoke()
            self._group.leave(timeout_s)
        self.active = False
        self.topics, self._pattern = (), None

    @property
    def is_rebalancing(self) -> bool:
        if self._reconciler is not None:
            return self._reconciler.is_committing
        membership = None if self._group is None else self._group.membership
        # A cooperative member goes on reading the partitions that it keeps (KIP-429).
        return membership is not None and membership.needs_rejoin and not self._settings.is_cooperative

    def advance(self) -> None:
        """Start the requests that are due: finding the coordinator, joining, heartbeats. Take a new assignment."""
        if self.active and self._metadata.is_known:
            self._match_topics()
        if self._group is not None:
            self._advance_group(self._group)
        elif self.active:
            self._take_all_partitions()

    def _advance_group(self, group: GroupClient) -> None:
        membership = group.membership
        if membership is None:
            group.find_coordinator()
        elif isinstance(membership, ConsumerMembership):
            self._advance_classic(group, membership)
        elif isinstance(membership, ConsumerHeartbeats):
            self._advance_new(group, membership)

    def _advance_new(self, group: GroupClient, membership: ConsumerHeartbeats) -> None:
        assert self._reconciler is not None
        if self._pattern is not None and self._metadata.is_known and membership.topics != self.topics:
            membership.subscribe(self.topics)
        self._reconciler.advance()
        if membership.regex is not None:
            self.topics = membership.assigned_names
        group.step()

    def _advance_classic(self, group: GroupClient, membership: ConsumerMembership) -> None:
        self._watch_subscription(membership)
        if membership.needs_rejoin and not self._prepare_to_join(group):
            return
        if membership.state is State.ASSIGNING:
            self._assign_group(membership)
        if membership.topics:
            group.step()
        if self._assigned is None:
            self._assigned = membership.take_assignment()
        if self._assigned is not None:
            self._take_assignment(group, membership, self._assigned)
            self._assigned = None

    def _take_assignment(
        self, group: GroupClient, membership: ConsumerMembership, assigned: list[TopicPartition]
    ) -> None:
        """A rebalance is complete. A cooperative member gives up what others get, and joins again so that they do."""
        self._prepared = False
        keep = self._settings.is_cooperative
        owned = set(self._positions)
        revoked = [each for each in self._positions if each not in assigned]
        if revoked:
            offsets = self._auto_commit.consumed()
            if self._auto_commit.enabled and offsets:
                # Leaves before the next join, after which another member may read the offsets.
                group.commit(offsets, lambda _: None)
            self._listeners.revoked(revoked)
            membership.request_rejoin("need to revoke partitions and re-join")
        self._positions.replace(assigned, keep=keep)
        self._auto_commit.restart()
        self._listeners.assigned([each for each in assigned if each not in owned])

    def _match_topics(self) -> None:
        """Bring the subscription up to date with the topics that match the pattern."""
        if self._pattern is not None:
            self.topics = tuple(
                sorted(
                    name
                    for name, topic in self._metadata.topics.items()
                    if self._pattern.fullmatch(name)
                    and not (topic.is_internal and self._settings.exclude_internal_topics)
                )
            )

    def _take_all_partitions(self) -> None:
        """Without a group: every partition of the topics. One that appears later is read from its start."""
        found: list[TopicPartition] = []
        for topic in self.topics:
            info = self._metadata.topics.get(topic)
            if info is not None and info.partitions:
                found += [TopicPartition(topic, number) for number in sorted(info.partitions)]
            else:
                # Keep the positions if a broker temporarily does not know the topic.
                found += [each for each in self._positions if each.topic == topic]
        if found == list(self._positions):
            return
        seen = {topic for topic, _ in self._positions}
        late = [each for each in found if each not in self._positions and each.topic in seen]
        self._positions.replace(found, keep=True)
        for topic_partition in late:
            self._positions.assigned(topic_partition, "read").request_reset(EARLIEST)

    def _watch_subscription(self, membership: ConsumerMembership) -> None:
        """Tell the group about other topics; as its leader, about other partition counts."""
        if self._pattern is not None and self._metadata.is_known:
            membership.subscribe(self.topics)
        stable = membership.is_leader and membership.state is State.STABLE
        if stable and any(map(self._has_changed, membership.group_topics)):
            membership.request_rejoin("the partitions of the subscribed topics changed")

    def _has_changed(self, name: str) -> bool:
        """Whether a topic has other partitions than those that were assigned.

        One that cannot be described at this moment must not be revoked from its members.
        """
        topic, assigned = self._metadata.topics.get(name), self._partition_counts.get(name, 0)
        if topic is not None and topic.partitions:
            return len(topic.partitions) != assigned
        return topic is not None and topic.error == error_codes.UNKNOWN_TOPIC_OR_PARTITION and assigned > 0

    def _prepare_to_join(self, group: GroupClient) -> bool:
        """Before a join: commit the positions and revoke the partitions. Returns whether this is complete."""
        if self._prepared or self._commit_before_join:
            return self._prepared
        membership = group.membership
        is_member = membership is not None and membership.is_member
        offsets = self._auto_commit.consumed() if is_member else {}
        if offsets and self._auto_commit.enabled and not self._committed_before_join:
            self._commit_before_join = self._committed_before_join = True
            if not group.commit(offsets, self._on_commit_before_join):
                self._commit_before_join = False
            if self._commit_before_join:
                return False
        self._committed_before_join = False
        if not is_member:
            self._lose()
        elif self._settings.is_cooperative:
            self._revoke_unsubscribed()
        else:
            self.revoke()
        self._prepared = True
        return True

    def _on_commit_before_join(self, _: KafkaToolsError | None) -> None:
        # If it failed, the next owners of the partitions return the records again: at-least-once delivery.
        self._commit_before_join = False

    def revoke(self) -> None:
        """Revoke every partition and call the listener."""
        partitions = list(self._positions)
        if not partitions:
            return
        self._fetcher.drop()
        self._listeners.revoked(partitions)
        self._positions.replace((), keep=False)

    def _lose(self) -> None:
        """The member is no longer in the group: others may have its partitions already."""
        partitions = list(self._positions)
        if partitions:
            self._fetcher.drop()
            try:
                self._listeners.lost(partitions)
            finally:
                self._positions.replace((), keep=False)

    def _revoke_unsubscribed(self) -> None:
        """Before a cooperative rebalance: give up partitions of topics that are no longer subscribed to."""
        wanted = set(self.topics)
        dropped = [each for each in self._positions if each.topic not in wanted]
        if dropped:
            self._listeners.revoked(dropped)
            self._positions.replace([each for each in self._positions if each.topic in wanted], keep=True)

    def _assign_group(self, membership: ConsumerMembership) -> None:
        """The leader's part, once the partition counts of all members' topics are known."""
        missing = [topic for topic in membership.group_topics if topic not in self._metadata.topics]
        if missing and self._pattern is None:
            self._metadata.watch({*self.topics, *membership.group_topics})
            if self._metadata.update_wanted or self._calls.is_under_way("metadata"):
                return
        self._partition_counts = self._counts(membership.group_topics)
        membership.assign(self._partition_counts)

    def _counts(self, topics: Iterable[str]) -> dict[str, int]:
        known = self._metadata.topics
        return {topic: len(known[topic].partitions) for topic in topics if topic in known and known[topic].partitions}
