"""One broker and the members of one group on it, as ``group_walks`` needs them: requests, and answers that compare."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from kafka_tools.broker_embedded.coordinators.group_store import KEYS, VALUES
from kafka_tools.broker_embedded.coordinators.replaying import decode_record
from kafka_tools.broker_embedded.coordinators.runtime import partition_for
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.codec import decode_prefix, encode_versioned
from kafka_tools.protocol.enums import CONSUMER_OFFSETS
from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_tools.protocol.messages.create_partitions import CreatePartitionsRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_delete import OffsetDeleteRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest
from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka_tools.protocol.stored.group_metadata import GroupMetadataValue
from kafka_tools.records.batches import batches
from tests.broker_embedded.wire_client import WireClient

SETTLE_S = 60.0
REGEX_S = 0.3
"""How long an expression takes to be resolved, beside the heartbeat that began it."""
SIZES = {"a": 3, "b": 2}
_LOADING = (
    codes.COORDINATOR_NOT_AVAILABLE, codes.NOT_COORDINATOR, codes.COORDINATOR_LOAD_IN_PROGRESS,
    codes.NOT_LEADER_OR_FOLLOWER, codes.UNKNOWN_TOPIC_OR_PARTITION,
)  # fmt: skip


class GroupPeer:
    """The group and its members as one broker has told them."""

    def __init__(self, address: str, name: str, static: int) -> None:
        self.client = WireClient(address)
        self.group = name
        self.static = static
        self.ids = {number: f"member-{number}" for number in range(4)}
        self.made: dict[str, str] = {}
        self.epochs = dict.fromkeys(range(4), 0)
        self.before = dict.fromkeys(range(4), 0)
        self.owned: dict[int, dict[str, list[int]]] = {number: {} for number in range(4)}
        self.sizes = dict(SIZES)
        self.committed = 0
        self.has_expressions = False
        find = FindCoordinatorRequest(key=name, key_type=0)
        self._until(lambda: self.client.call(find, 2).error_code)
        self._until(lambda: self.client.call(HeartbeatRequest(group_id=name, member_id="nobody"), 4).error_code)
        topics = [
            CreateTopicsRequest.CreatableTopic(name=self._topic(each), num_partitions=size, replication_factor=1)
            for each, size in SIZES.items()
        ]
        answer = self.client.call(CreateTopicsRequest(topics=topics, timeout_ms=30_000), 5)
        assert not any(each.error_code for each in answer.topics), answer
        self.log_partitions = self._partitions_of_log()
        self._wait_for_topics()
        self.names = self._topic_ids()
        self.started_at = len(self._batches())

    def close(self) -> None:
        self.client.__exit__(None, None, None)

    def take(self, step: Any) -> Any:
        """The answer to a step, without what differs by broker."""
        return getattr(self, f"_{step.op}")(step.member, step.argument)

    def _topic(self, name: str) -> str:
        return f"{self.group}-{name}"

    def _until(self, ask: Callable[[], int]) -> None:
        deadline = time.monotonic() + SETTLE_S
        while ask() in _LOADING:
            assert time.monotonic() < deadline, "the coordinator does not come"
            time.sleep(0.02)

    def _topic_ids(self) -> dict[UUID, str]:
        asked = [MetadataRequest.RequestTopic(name=self._topic(each)) for each in self.sizes]
        answer = self.client.call(MetadataRequest(topics=asked), 12)
        return {each.topic_id: (each.name or "")[-1] for each in answer.topics}

    def _partitions_of_log(self) -> int:
        answer = self.client.call(MetadataRequest(topics=[MetadataRequest.RequestTopic(name=CONSUMER_OFFSETS)]), 12)
        return len(answer.topics[0].partitions)

    def _wait_for_topics(self) -> None:
        """Until the coordinator knows the topics in their sizes: a member of another group of it gets all of them."""
        numbers = (number for number in itertools.count())
        probes = (f"probe-{self.group}-{number}" for number in numbers)
        home = partition_for(self.group, self.log_partitions)
        group = next(each for each in probes if partition_for(each, self.log_partitions) == home)
        deadline = time.monotonic() + SETTLE_S
        while True:
            request = ConsumerGroupHeartbeatRequest(
                group_id=group,
                member_id="probe",
                rebalance_timeout_ms=60_000,
                subscribed_topic_names=[self._topic(each) for each in self.sizes],
                topic_partitions=[],
            )
            answer = self.client.call(request, 1)
            found = [] if answer.assignment is None else answer.assignment.topic_partitions
            self.client.call(ConsumerGroupHeartbeatRequest(group_id=group, member_id="probe", member_epoch=-1), 1)
            if sorted(len(each.partitions) for each in found) == sorted(self.sizes.values()):
                return
            assert time.monotonic() < deadline, "the coordinator is not told of the topics"
            time.sleep(0.02)

    def _named(self, topics: Any) -> dict[str, list[int]]:
        return {self.names.get(each.topic_id, "?"): sorted(each.partitions) for each in topics}

    def _instance(self, member: int) -> str | None:
        return f"{self.group}-instance" if member == self.static else None

    def _shown(self, text: str | None) -> str | None:
        """A text with ids that this broker made as what they stand for."""
        for made, place in self.made.items():
            text = text.replace(made, place) if text else text
        return text

    # the consumer protocol

    def _beat(self, member: int, beat: dict[str, Any]) -> Any:
        epoch = {"own": self.epochs[member], "join": 0, "before": self.before[member], "ahead": self.epochs[member] + 7}
        owned = {
            "nothing": {}, "null": None, "own": self.owned[member], "all": {name: [0, 1] for name in SIZES},
        }[beat["owned"]]  # fmt: skip
        ids = {name: topic_id for topic_id, name in self.names.items()}
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.ids[member],
            member_epoch=epoch.get(beat["epoch"], beat["epoch"]),
            instance_id=self._instance(member),
            rack_id=beat.get("rack"),
            rebalance_timeout_ms=beat.get("timeout", -1),
            subscribed_topic_names=None if beat.get("topics") is None else [self._topic(n) for n in beat["topics"]],
            server_assignor=beat.get("assignor"),
            topic_partitions=None
            if owned is None
            else [
                ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=ids[name], partitions=numbers)
                for name, numbers in owned.items()
            ],
        )
        version = beat["version"]
        if beat.get("regex") is not None:
            request.subscribed_topic_regex, version = beat["regex"].replace("GROUP", self.group), 1
        answer = self.client.call(request, version)
        self.has_expressions = self.has_expressions or bool(beat.get("regex"))
        if self.has_expressions and (beat.get("regex") or beat.get("topics") is not None):
            time.sleep(REGEX_S)
        assigned = None
        if not answer.error_code and answer.member_epoch >= 0:
            if answer.member_epoch != self.epochs[member]:
                self.before[member], self.epochs[member] = self.epochs[member], answer.member_epoch
            if answer.assignment is not None:
                assigned = self.owned[member] = self._named(answer.assignment.topic_partitions)
        elif not answer.error_code:
            self.epochs[member], self.owned[member] = 0, {}
        text = answer.error_message
        if answer.error_code == codes.INVALID_REGULAR_EXPRESSION:
            text = (text or "").partition(":")[0]
        return (
            answer.error_code, self._shown(text), self._shown(answer.member_id), answer.member_epoch,
            answer.heartbeat_interval_ms, assigned,
        )  # fmt: skip

    def _describe(self, *_: Any) -> Any:
        request = ConsumerGroupDescribeRequest(group_ids=[self.group], include_authorized_operations=True)
        (group,) = self.client.call(request, 1).groups
        members = sorted(
            (
                self._shown(each.member_id), each.instance_id, each.rack_id, each.member_epoch, each.client_id,
                each.client_host, sorted(each.subscribed_topic_names), each.subscribed_topic_regex,
                self._named(each.assignment.topic_partitions), self._named(each.target_assignment.topic_partitions),
                each.member_type,
            )
            for each in group.members
        )  # fmt: skip
        return (
            group.error_code, group.error_message, group.group_state, group.group_epoch, group.assignment_epoch,
            group.assignor_name, group.authorized_operations, members,
        )  # fmt: skip

    # offsets

    def _epoch(self, member: int, which: str) -> int:
        return {
            "own": self.epochs[member],
            "before": self.before[member],
            "ahead": self.epochs[member] + 7,
            "none": -1,
        }[which]

    def _commit(self, member: int, argument: Any) -> Any:
        which, version, topic, number = argument
        Asked = OffsetCommitRequest.RequestTopic
        self.committed += 1
        ids = {name: topic_id for topic_id, name in self.names.items()}
        partition = Asked.RequestPartition(partition_index=number, committed_offset=self.committed)
        place = {"topic_id": ids[topic]} if version >= 10 else {"name": self._topic(topic)}
        request = OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=self._epoch(member, which),
            member_id="" if which == "none" else self.ids[member],
            topics=[Asked(partitions=[partition], **place)],
        )
        if version >= 7:
            request.group_instance_id = self._instance(member)
        return self.client.call(request, version).topics[0].partitions[0].error_code

    def _txn_commit(self, member: int, argument: Any) -> Any:
        return self._commit(member, argument)

    def _fetch(self, member: int, which: str) -> Any:
        Asked = OffsetFetchRequest.RequestGroup
        topics = [
            Asked.RequestTopics(name=self._topic(each), partition_indexes=list(range(size)))
            for each, size in sorted(SIZES.items())
        ]
        group = Asked(
            group_id=self.group,
            member_id=None if which == "none" else self.ids[member],
            member_epoch=self._epoch(member, which),
            topics=topics,
        )
        (answer,) = self.client.call(OffsetFetchRequest(groups=[group]), 9).groups
        return answer.error_code, [
            (each.partition_index, each.committed_offset, each.error_code)
            for topic in answer.topics
            for each in topic.partitions
        ]

    def _delete_offsets(self, *_: Any) -> Any:
        Asked = OffsetDeleteRequest.RequestTopic
        topics = [
            Asked(name=self._topic(each), partitions=[Asked.RequestPartition(partition_index=0)]) for each in SIZES
        ]
        answer = self.client.call(OffsetDeleteRequest(group_id=self.group, topics=topics), 0)
        return answer.error_code, sorted(
            (topic.name, each.error_code) for topic in answer.topics for each in topic.partitions
        )

    # groups of both kinds

    def _list(self, *_: Any) -> Any:
        found = []
        for types in ([], ["consumer"], ["classic"]):
            answer = self.client.call(ListGroupsRequest(types_filter=types), 5)
            found += [
                (each.protocol_type, each.group_state, each.group_type)
                for each in answer.groups
                if each.group_id == self.group
            ]
        return found

    def _describe_classic(self, _: int, which: int) -> Any:
        (group,) = self.client.call(DescribeGroupsRequest(groups=[self.group]), 5 + which).groups
        return group.error_code, group.group_state, group.protocol_type, group.protocol_data, len(group.members)

    def _delete_group(self, *_: Any) -> Any:
        (result,) = self.client.call(DeleteGroupsRequest(groups_names=[self.group]), 2).results
        return result.error_code

    def _grow(self, *_: Any) -> Any:
        if self.sizes["b"] >= 4:
            return None
        self.sizes["b"] += 1
        wanted = CreatePartitionsRequest.Topic(name=self._topic("b"), count=self.sizes["b"], assignments=None)
        answer = self.client.call(CreatePartitionsRequest(topics=[wanted], timeout_ms=30_000), 3)
        self._wait_for_topics()
        return answer.results[0].error_code

    # the classic protocol

    def _found_classic(self, member: int, _: Any) -> Any:
        """A classic group of one member, which has all of the first topic."""
        subscription = ConsumerProtocolSubscription(topics=[self._topic("a")])
        protocol = JoinGroupRequest.RequestProtocol(name="range", metadata=encode_versioned(subscription, 3))
        request = JoinGroupRequest(
            group_id=self.group, session_timeout_ms=45_000, rebalance_timeout_ms=60_000, protocol_type="consumer",
            protocols=[protocol],
        )  # fmt: skip
        request.member_id = self.ids[member] = self.client.call(request, 9).member_id
        self.made[request.member_id] = "made"
        joined = self.client.call(request, 9)
        topic = ConsumerProtocolAssignment.TopicPartition(topic=self._topic("a"), partitions=[0, 1, 2])
        assignment = ConsumerProtocolAssignment(assigned_partitions=[topic])
        given = SyncGroupRequest.RequestAssignment(
            member_id=request.member_id, assignment=encode_versioned(assignment, 3)
        )
        asked = SyncGroupRequest(
            group_id=self.group, generation_id=joined.generation_id, member_id=request.member_id,
            protocol_type="consumer", protocol_name="range", assignments=[given],
        )  # fmt: skip
        self.epochs[member] = joined.generation_id
        self.owned[member] = {"a": [0, 1, 2]}
        return joined.error_code, joined.generation_id, self.client.call(asked, 5).error_code

    def _join_classic(self, member: int, argument: Any) -> Any:
        topics, protocol = argument or (("a",), "range")
        version = ConsumerProtocolSubscription(topics=[self._topic(each) for each in topics])
        version.owned_partitions = [
            ConsumerProtocolSubscription.TopicPartition(topic=self._topic(name), partitions=numbers)
            for name, numbers in sorted(self.owned[member].items())
        ]
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=45_000,
            rebalance_timeout_ms=60_000,
            member_id=self.ids[member],
            group_instance_id=self._instance(member),
            protocol_type="consumer",
            protocols=[JoinGroupRequest.RequestProtocol(name=protocol, metadata=encode_versioned(version, 3))],
        )
        if self._is_classic():
            return "left out: classic groups have tests of their own"
        answer = self.client.call(request, 9)
        if self.has_expressions:  # one that is not used any longer lets the others be resolved
            time.sleep(REGEX_S)
        if not answer.error_code and answer.generation_id != self.epochs[member]:
            self.before[member], self.epochs[member] = self.epochs[member], answer.generation_id
        return (
            answer.error_code, self._shown(answer.member_id), answer.generation_id, answer.protocol_type,
            answer.protocol_name, answer.leader, answer.skip_assignment, len(answer.members),
        )  # fmt: skip

    def _is_classic(self) -> bool:
        (found,) = self.client.call(DescribeGroupsRequest(groups=[self.group]), 5).groups
        (consumer,) = self.client.call(ConsumerGroupDescribeRequest(group_ids=[self.group]), 1).groups
        return found.group_state != "Dead" or consumer.group_state in ("", "Empty")

    def _sync(self, member: int, which: str) -> Any:
        if self._is_classic():
            return None
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self._epoch(member, which),
            member_id=self.ids[member],
            group_instance_id=self._instance(member),
            protocol_type="consumer",
            protocol_name="range",
        )
        answer = self.client.call(request, 5)
        assigned = None
        if not answer.error_code:
            assigned = self.owned[member] = self._assignment(answer.assignment)
        return answer.error_code, answer.protocol_type, answer.protocol_name, assigned, bytes(answer.assignment[:2])

    def _assignment(self, data: bytes) -> dict[str, list[int]]:
        decoded = decode_prefix(ConsumerProtocolAssignment, 3, data, 2)[0]
        return {each.topic[-1]: sorted(each.partitions) for each in sorted(decoded.assigned_partitions, key=_topic)}

    def _heartbeat(self, member: int, which: str) -> Any:
        request = HeartbeatRequest(
            group_id=self.group,
            generation_id=self._epoch(member, which),
            member_id=self.ids[member],
            group_instance_id=self._instance(member),
        )
        return self.client.call(request, 4).error_code

    def _leave(self, member: int, by_instance: bool) -> Any:
        if self._is_classic():
            return None
        Identity = LeaveGroupRequest.MemberIdentity
        instance = self._instance(member)
        identity = Identity(member_id="" if by_instance and instance else self.ids[member], group_instance_id=instance)
        answer = self.client.call(LeaveGroupRequest(group_id=self.group, members=[identity]), 5)
        if not answer.error_code and not answer.members[0].error_code:
            self.epochs[member], self.owned[member] = 0, {}
        return answer.error_code, [
            (self._shown(each.member_id), each.group_instance_id, each.error_code) for each in answer.members
        ]

    # what was written

    def records(self) -> dict[str, list[str]]:
        """What was written for each key of the group's records, in order, without times and hashes."""
        found: dict[str, list[str]] = {}
        for batch in self._batches()[self.started_at :]:
            for key, value in batch:
                found.setdefault(key, []).append(value)
        return found

    def _batches(self) -> list[list[tuple[str, str]]]:
        Wanted = FetchRequest.Topic
        number = partition_for(self.group, self.log_partitions)
        found, offset = [], 0
        while True:
            asked = Wanted.Partition(partition=number, fetch_offset=offset, partition_max_bytes=1 << 20)
            request = FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                max_bytes=1 << 20,
                topics=[Wanted(topic=CONSUMER_OFFSETS, partitions=[asked])],
            )
            partition = self.client.call(request, 11).responses[0].partitions[0]
            views = list(batches(bytes(partition.records or b"")))
            for view in views:
                offset = view.last_offset + 1
                records = [line for record in view.records() for line in self._lines(record.key, record.value)]
                if records:
                    found.append(records)
            if not views:
                return found

    def _lines(self, key: bytes, value: bytes | None) -> list[tuple[str, str]]:
        decoded = decode_record(KEYS, VALUES, key, value)
        if decoded is None:
            return []
        struct, content = decoded
        if getattr(struct, "group_id", getattr(struct, "group", None)) != self.group:
            return []
        if isinstance(content, GroupMetadataValue):
            for member in content.members:
                member.assignment = repr(self._assignment(member.assignment)).encode()
            # the leader is whom the hash table of a consumer group had first
            content.leader = None if content.leader is None else ""
            content.members.sort(key=lambda each: each.member_id)
        for name in ("topic_partitions", "assigned_partitions", "partitions_pending_revocation"):
            if hasattr(content, name):
                getattr(content, name).sort(key=lambda each: self.names.get(each.topic_id, ""))
        text = repr(content)
        for topic_id, name in self.names.items():
            text = text.replace(str(topic_id), name)
        return [(self._shown(repr(struct)) or "", self._shown(_TIMES.sub(r"\1", text)) or "")]


def _topic(each: Any) -> str:
    return str(each.topic)


_TIMES = re.compile(
    r"\b(metadata_hash|assignment_timestamp|commit_timestamp|current_state_timestamp|timestamp|version)=-?\d+"
)
