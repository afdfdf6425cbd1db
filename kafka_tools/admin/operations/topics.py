"""Operations on topics and their partitions: records, offsets, reassignments, elections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_tools.admin.connected import Connected
from kafka_tools.admin.lookups import LeaderLookup, versions_of
from kafka_tools.admin.outcomes import Outcomes
from kafka_tools.clock import Deadline
from kafka_tools.values import Many, TopicPartition, check_keys, several

if TYPE_CHECKING:
    from kafka_tools.admin.calls.offsets import ListedOffset
    from kafka_tools.admin.calls.reassignments import Reassignment
    from kafka_tools.admin.calls.topic_changes import CreatedTopic, NewPartitions, NewTopic
    from kafka_tools.admin.calls.topics import TopicDescription, TopicKey, TopicListing


class TopicOperations(Connected):
    """See the module."""

    def list_topics(
        self, *, include_internal: bool = True, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> list[TopicListing]:
        """All topics that the principal may see, by name."""
        from kafka_tools.admin.calls.topics import ListTopics

        return self.ask(ListTopics(include_internal), timeout_s, deadline)

    def describe_topics(
        self,
        topics: Many[TopicKey],
        *,
        page_size: int | None = None,
        include_authorized_operations: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicKey, TopicDescription]:
        """Topics by name or id (2.8). ``page_size`` bounds the partitions per response (3.7 and later)."""
        topics = several("topics", topics, "str", "UUID")
        from kafka_tools.admin.calls.topics import PAGE_PARTITIONS, DescribeTopics
        from kafka_tools.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest

        keys = list(dict.fromkeys(topics))
        deadline = deadline or self.deadline(timeout_s)
        names = [key for key in keys if isinstance(key, str) and key]
        if not names or not versions_of(self.cluster, deadline).has(DescribeTopicPartitionsRequest):
            return self.run(DescribeTopics(include_authorized_operations), keys, deadline=deadline)
        from kafka_tools.admin.topic_pages import describe_by_pages

        found = describe_by_pages(names, page_size or PAGE_PARTITIONS, self.cluster, deadline)
        others = [key for key in keys if key not in found]
        rest = self.run(DescribeTopics(include_authorized_operations), others, deadline=deadline)
        return Outcomes((key, found[key] if key in found else rest[key]) for key in keys)

    def create_topics(
        self,
        topics: Many[NewTopic],
        *,
        validate_only: bool = False,
        retry_on_quota_violation: bool = True,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[str, CreatedTopic]:
        """Name -> the created topic. ``retry_on_quota_violation``: retry after a quota violation (KIP-599)."""
        topics = several("topics", topics, "NewTopic")
        from kafka_tools.admin.calls.topic_changes import CreateTopics, by_name

        named = by_name(topics)
        return self.run(CreateTopics(named, validate_only, retry_on_quota_violation), named, timeout_s, deadline)

    def delete_topics(
        self,
        topics: Many[TopicKey],
        *,
        retry_on_quota_violation: bool = True,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicKey, None]:
        """Topics by name, or by id (2.8)."""
        topics = several("topics", topics, "str", "UUID")
        from kafka_tools.admin.calls.topic_changes import DeleteTopics

        return self.run(DeleteTopics(retry_on_quota_violation), topics, timeout_s, deadline)

    def create_partitions(
        self,
        wanted: Mapping[str, NewPartitions],
        *,
        validate_only: bool = False,
        retry_on_quota_violation: bool = True,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[str, None]:
        """Raise topics to a total number of partitions."""
        check_keys("wanted", wanted, "str")
        from kafka_tools.admin.calls.topic_changes import CreatePartitions

        call = CreatePartitions(wanted, validate_only, retry_on_quota_violation)
        return self.run(call, wanted, timeout_s, deadline)

    # records and offsets

    def delete_records(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicPartition, int]:
        """Delete records before an offset (-1: the high watermark). Returns the new log start offsets."""
        check_keys("offsets", offsets, "TopicPartition")
        from kafka_tools.admin.calls.records import DeleteRecords

        return self.run(DeleteRecords(offsets), offsets, timeout_s, deadline)

    def list_offsets(
        self,
        specs: Mapping[TopicPartition, int],
        *,
        leaders: Mapping[TopicPartition, int] | None = None,
        read_committed: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicPartition, ListedOffset]:
        """Partition -> timestamp in ms, or a constant of ``calls.offsets`` (LATEST, EARLIEST, ...).

        ``leaders``: partition -> id of its leader from a recent response; saves a request.
        """
        check_keys("specs", specs, "TopicPartition")
        if leaders is not None:
            check_keys("leaders", leaders, "TopicPartition")
        from kafka_tools.admin.calls.offsets import ListOffsets
        from kafka_tools.protocol.enums import IsolationLevel

        isolation = IsolationLevel.READ_COMMITTED if read_committed else IsolationLevel.READ_UNCOMMITTED
        call = ListOffsets(specs, isolation, LeaderLookup(leaders))
        return self.run(call, specs, timeout_s, deadline)

    # reassignments and elections

    def alter_partition_reassignments(
        self,
        wanted: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicPartition, None]:
        """Move partitions to other brokers, the preferred leader first; None cancels a move (2.4)."""
        check_keys("wanted", wanted, "TopicPartition", values="int")
        from kafka_tools.admin.calls.reassignments import AlterReassignments

        call = AlterReassignments(wanted, allow_replication_factor_change)
        return self.run(call, wanted, timeout_s, deadline)

    def list_partition_reassignments(
        self,
        partitions: Many[TopicPartition] | None = None,
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> dict[TopicPartition, Reassignment]:
        """The reassignments in progress, of some partitions or of all (2.4)."""
        partitions = None if partitions is None else several("partitions", partitions, "TopicPartition")
        from kafka_tools.admin.calls.reassignments import PER_REQUEST, ListReassignments

        deadline = deadline or self.deadline(timeout_s)
        if partitions is None or len(partitions) <= PER_REQUEST:
            return self.ask(ListReassignments(partitions), deadline=deadline)
        found: dict[TopicPartition, Reassignment] = {}
        for start in range(0, len(partitions), PER_REQUEST):
            part = self.ask(ListReassignments(partitions[start : start + PER_REQUEST]), deadline=deadline)
            found.update(part)
        return found

    def elect_leaders(
        self,
        partitions: Many[TopicPartition] | None = None,
        *,
        unclean: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicPartition, None]:
        """Elect the preferred leaders, or with ``unclean`` replicas that are not in sync (2.2, 2.4).

        ELECTION_NOT_NEEDED is an error of its key. For all partitions, only those with a result are returned.
        """
        partitions = None if partitions is None else several("partitions", partitions, "TopicPartition")
        from kafka_tools.admin.calls.elections import PREFERRED, UNCLEAN, ElectLeaders

        return self.ask(ElectLeaders(UNCLEAN if unclean else PREFERRED, partitions), timeout_s, deadline)
