"""The topics that a consumer subscribed to, and their partitions: those that its group assigns, or all.

Drives the membership through ``group`` and writes into ``positions``; knows nothing of records. A rebalance is eager:
commit, revoke all partitions, join, take the assignment. Follows ``ConsumerCoordinator`` of Kafka's Java client.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext

from kafka_tools.clients.auto_commit import AutoCommit
from kafka_tools.clients.calls import Calls
from kafka_tools.clients.fetcher import Fetcher
from kafka_tools.clients.group import GroupClient
from kafka_tools.clients.membership import ConsumerMembership, State
from kafka_tools.clients.positions import EARLIEST, Positions
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.errors import KafkaToolsError
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.texts.name_patterns import NamePattern
from kafka_tools.values import TopicPartition

Listener = Callable[[list[TopicPartition]], None]


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
        self._released = released
        self._pattern: re.Pattern[str] | NamePattern | None = None
        self._partition_counts: dict[str, int] = {}
        self._on_assigned: Listener | None = None
        self._on_revoked: Listener | None = None
        self._prepared = False
        self._commit_before_join = False
        """Whether the commit before the next join is in progress."""
        self._committed_before_join = False
        """Whether it was started."""

    def begin(
        self,
        chosen: tuple[str, ...] | re.Pattern[str] | NamePattern,
        on_assigned: Listener | None,
        on_revoked: Listener | None,
    ) -> None:
        """Subscribe, or change the subscription."""
        if not isinstance(chosen, tuple):
            self._pattern, self.topics = chosen, ()
            self._metadata.watch_all()
        else:
            self._pattern, self.topics = None, chosen
            self._metadata.watch(chosen)
        self.active = True
        self._on_assigned, self._on_revoked = on_assigned, on_revoked
        if self._group is not None:
            if self._group.membership is None:
                self._group.membership = ConsumerMembership(self._settings)
            if self._pattern is None:
                self._group.membership.subscribe(self.topics)

    def end(self, timeout_s: float) -> None:
        """Revoke all partitions and start to leave the group."""
        if self._group is not None and self._group.membership is not None:
            self.revoke()
            self._group.leave(timeout_s)
        self.active = False
        self.topics, self._pattern = (), None

    @property
    def is_rebalancing(self) -> bool:
        return self._group is not None and self._group.membership is not None and self._group.membership.needs_rejoin

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
            return
        self._watch_subscription(membership)
        if membership.needs_rejoin and not self._prepare_to_join(group):
            return
        if membership.state is State.ASSIGNING:
            self._assign_group(membership)
        if membership.topics:
            group.step()
        assigned = membership.take_assignment()
        if assigned is not None:
            self._prepared = False
            self._positions.replace(assigned, keep=False)
            self._auto_commit.restart()
            if self._on_assigned is not None:
                with self._released():
                    self._on_assigned(assigned)

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
        if membership.is_leader and membership.state is State.STABLE:
            counts = self._counts(membership.group_topics)
            # A topic that cannot be described at this moment must not be revoked from its members.
            if counts != self._partition_counts and not self._metadata.update_wanted:
                membership.request_rejoin("the partitions of the subscribed topics changed")

    def _prepare_to_join(self, group: GroupClient) -> bool:
        """Before a join: commit the positions and revoke the partitions. Returns whether this is complete."""
        if self._prepared or self._commit_before_join:
            return self._prepared
        offsets = self._auto_commit.consumed()
        if offsets and self._auto_commit.enabled and not self._committed_before_join:
            self._commit_before_join = self._committed_before_join = True
            if not group.commit(offsets, self._on_commit_before_join):
                self._commit_before_join = False
            if self._commit_before_join:
                return False
        self._committed_before_join = False
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
        if self._on_revoked is not None:
            with self._released():
                self._on_revoked(partitions)
        self._positions.replace((), keep=False)

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
