"""Operations on groups and the offsets they committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.admin.connected import V
from kafka_tools.admin.driver import AdminCall
from kafka_tools.admin.lookups import versions_of
from kafka_tools.admin.operations.cluster import ClusterOperations
from kafka_tools.admin.outcomes import Listing, Outcome, Outcomes
from kafka_tools.clock import Deadline
from kafka_tools.errors import InputError, UnsupportedVersion
from kafka_tools.net.broker_errors import has_code
from kafka_tools.protocol import error_codes
from kafka_tools.values import Many, TopicPartition, check_keys, several

if TYPE_CHECKING:
    from kafka_tools.admin.calls.groups import GroupDescription, GroupListing
    from kafka_tools.admin.calls.members import MemberIdentity
    from kafka_tools.admin.calls.offsets import CommittedOffset
    from kafka_tools.admin.calls.share_groups import ShareOffset
    from kafka_tools.admin.calls.streams_groups import StreamsGroupDescription


class GroupOperations(ClusterOperations):
    """See the module."""

    def list_groups(
        self,
        states: Many[str] = (),
        types: Many[str] = (),
        *,
        protocol_types: Many[str] = (),
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Listing[GroupListing]:
        """The groups of every broker, by id; ``errors`` of the result contains the errors of brokers.

        States need 2.6, types other than classic 3.8; protocol types ("consumer", "connect", "") are filtered here.
        """
        states = several("states", states, "str")
        types = several("types", types, "str")
        protocol_types = several("protocol_types", protocol_types, "str")
        from kafka_tools.admin.calls.groups import ListGroups

        deadline = deadline or self.deadline(timeout_s)
        outcomes = self.run(ListGroups(states, types, protocol_types), self.nodes(deadline=deadline), deadline=deadline)
        failures = list(outcomes.failures().values())
        if failures and len(failures) == len(outcomes):
            raise failures[0]
        groups = {group.group_id: group for found in outcomes.succeeded().values() for group in found}
        return Listing((groups[group_id] for group_id in sorted(groups)), failures)

    def describe_groups(
        self,
        group_ids: Many[str],
        *,
        include_authorized_operations: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[str, GroupDescription]:
        """Group -> members and state, of the new and of the classic protocol."""
        group_ids = several("group_ids", group_ids, "str")
        from kafka_tools.admin.calls.groups import DescribeClassicGroups, DescribeConsumerGroups
        from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest

        keys = list(dict.fromkeys(group_ids))
        deadline = deadline or self.deadline(timeout_s)
        found: dict[str, Outcome[GroupDescription]] = {}
        named = [key for key in keys if key]  # only a classic group can have the empty id
        if named and versions_of(self.cluster, deadline).has(ConsumerGroupDescribeRequest):
            call = DescribeConsumerGroups(include_authorized_operations)
            outcomes = self.run(call, named, deadline=deadline)
            found = {key: outcome for key, outcome in outcomes.items() if not _is_other_kind(outcome)}
        others = [key for key in keys if key not in found]
        rest = self.run(DescribeClassicGroups(include_authorized_operations), others, deadline=deadline)
        return Outcomes((key, found[key] if key in found else rest[key]) for key in keys)

    def describe_classic_groups(
        self,
        group_ids: Many[str],
        *,
        include_authorized_operations: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[str, GroupDescription]:
        """Group -> members and state, of the classic protocol only (consumers, Connect workers and others)."""
        group_ids = several("group_ids", group_ids, "str")
        from kafka_tools.admin.calls.groups import DescribeClassicGroups

        return self.run(DescribeClassicGroups(include_authorized_operations), group_ids, timeout_s, deadline)

    def describe_streams_groups(
        self,
        group_ids: Many[str],
        *,
        include_authorized_operations: bool = False,
        include_topology_description: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[str, StreamsGroupDescription]:
        """Streams group -> topology, tasks of its members, and state (4.1); the nodes of the topology (4.4)."""
        group_ids = several("group_ids", group_ids, "str")
        from kafka_tools.admin.calls.streams_groups import DescribeStreamsGroups

        call = DescribeStreamsGroups(include_authorized_operations, include_topology_description)
        return self.run(call, group_ids, timeout_s, deadline)

    def delete_groups(
        self, group_ids: Many[str], *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[str, None]:
        """Delete groups of any kind that have no members, with their offsets."""
        group_ids = several("group_ids", group_ids, "str")
        from kafka_tools.admin.calls.groups import DeleteGroups

        return self.run(DeleteGroups(), group_ids, timeout_s, deadline)

    def remove_members(
        self,
        group_id: str,
        members: Many[MemberIdentity] | None,
        *,
        reason: str | None = None,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[MemberIdentity, None]:
        """Make members leave their group, all of them for None; static ones are named by instance id (2.4)."""
        members = None if members is None else several("members", members, "MemberIdentity")
        from kafka_tools.admin.calls.members import REASON, RemoveMembers, everyone

        deadline = deadline or self.deadline(timeout_s)
        if members is None:
            members = everyone(self.describe_groups([group_id], deadline=deadline)[group_id].get())
        if not members:
            return Outcomes(())
        return self.ask_group(RemoveMembers(group_id, members, reason or REASON), group_id, timeout_s, deadline)

    # share groups

    def describe_share_groups(
        self,
        group_ids: Many[str],
        *,
        include_authorized_operations: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[str, GroupDescription]:
        """Share group -> members and state (4.1)."""
        group_ids = several("group_ids", group_ids, "str")
        from kafka_tools.admin.calls.share_groups import DescribeShareGroups

        return self.run(DescribeShareGroups(include_authorized_operations), group_ids, timeout_s, deadline)

    def list_share_group_offsets(
        self,
        wanted: Mapping[str, Sequence[TopicPartition] | None],
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[str, Outcomes[TopicPartition, ShareOffset | None]]:
        """Share group -> partition -> start offset; None means all partitions of a group (4.1)."""
        check_keys("wanted", wanted, "str", values="TopicPartition")
        from kafka_tools.admin.calls.share_groups import DescribeShareOffsets

        return self.run(DescribeShareOffsets(wanted), wanted, timeout_s, deadline)

    def alter_share_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int],
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicPartition, None]:
        """Start sharing from other offsets; the group must have no members (4.1)."""
        check_keys("offsets", offsets, "TopicPartition")
        wanted = {group_id: offsets} if offsets else {}
        outcomes = self.alter_share_groups_offsets(wanted, timeout_s=timeout_s, deadline=deadline)
        return outcomes[group_id].get() if offsets else Outcomes(())

    def alter_share_groups_offsets(
        self,
        offsets: Mapping[str, Mapping[TopicPartition, int]],
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[str, Outcomes[TopicPartition, None]]:
        """The same for many groups, a request for each."""
        check_keys("offsets", offsets, "str")
        from kafka_tools.admin.calls.share_groups import AlterShareOffsets

        return self.run(AlterShareOffsets(offsets), offsets, timeout_s, deadline)

    def delete_share_group_offsets(
        self, group_id: str, topics: Many[str], *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[str, None]:
        """Delete a share group's offsets of some topics (4.1)."""
        topics = several("topics", topics, "str")
        from kafka_tools.admin.calls.share_groups import DeleteShareOffsets

        if not topics:
            return Outcomes(())
        return self.ask_group(DeleteShareOffsets(group_id, topics), group_id, timeout_s, deadline)

    # offsets

    def list_group_offsets(
        self,
        group_id: str,
        partitions: Many[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicPartition, CommittedOffset | None]:
        """Partition -> committed offset, None without one; all partitions of the group unless some are named."""
        partitions = None if partitions is None else several("partitions", partitions, "TopicPartition")
        outcomes = self.list_groups_offsets(
            {group_id: partitions}, require_stable=require_stable, timeout_s=timeout_s, deadline=deadline
        )
        return outcomes[group_id].get()

    def list_groups_offsets(
        self,
        wanted: Mapping[str, Sequence[TopicPartition] | None],
        *,
        require_stable: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[str, Outcomes[TopicPartition, CommittedOffset | None]]:
        """The same for many groups."""
        check_keys("wanted", wanted, "str", values="TopicPartition")
        from kafka_tools.admin.calls.offsets import FetchGroupOffsets

        return self.run(FetchGroupOffsets(wanted, require_stable), wanted, timeout_s, deadline)

    def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int | CommittedOffset],
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicPartition, None]:
        """Commit offsets for a group that has no members."""
        check_keys("offsets", offsets, "TopicPartition")
        wanted = {group_id: offsets} if offsets else {}
        outcomes = self.alter_groups_offsets(wanted, timeout_s=timeout_s, deadline=deadline)
        return outcomes[group_id].get() if offsets else Outcomes(())

    def alter_groups_offsets(
        self,
        offsets: Mapping[str, Mapping[TopicPartition, int | CommittedOffset]],
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[str, Outcomes[TopicPartition, None]]:
        """The same for many groups: a concurrent request for each group."""
        check_keys("offsets", offsets, "str")
        from kafka_tools.admin.calls.offsets import CommitGroupOffsets, CommittedOffset

        values: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        for group_id, wanted in offsets.items():
            values[group_id] = {}
            for key, value in wanted.items():
                committed = CommittedOffset(value) if isinstance(value, int) else value
                if committed.offset < 0:
                    raise InputError(f"cannot commit offset {committed.offset} of {key}: it is negative")
                values[group_id][key] = committed
        return self.run(CommitGroupOffsets(values), values, timeout_s, deadline)

    def delete_group_offsets(
        self,
        group_id: str,
        partitions: Many[TopicPartition],
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicPartition, None]:
        """Delete a group's committed offsets of some partitions (2.4)."""
        partitions = several("partitions", partitions, "TopicPartition")
        from kafka_tools.admin.calls.offsets import DeleteGroupOffsets

        if not partitions:
            return Outcomes(())
        return self.ask_group(DeleteGroupOffsets(group_id, partitions), group_id, timeout_s, deadline)

    def ask_group(
        self, call: AdminCall[str, V, Any], group_id: str, timeout_s: float | None, deadline: Deadline | None
    ) -> V:
        """Run a call about one group; raises its error."""
        return self.run(call, [group_id], timeout_s, deadline)[group_id].get()


def _is_other_kind(outcome: Outcome[Any]) -> bool:
    """Whether a group does not use the new protocol, or its coordinator does not support that protocol."""
    other = (error_codes.GROUP_ID_NOT_FOUND, error_codes.UNSUPPORTED_VERSION)
    return any(has_code(outcome.error, code) for code in other) or isinstance(outcome.error, UnsupportedVersion)
