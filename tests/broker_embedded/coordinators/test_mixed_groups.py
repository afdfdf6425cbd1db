"""Members of both protocols in one group, and groups that change from one to the other (KIP-848's online migration)."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_tools.broker_embedded.coordinators.classic.group import ClassicGroup
from kafka_tools.broker_embedded.coordinators.consumer.member import ClassicSide
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.codec import decode_prefix, encode_versioned
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest
from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from tests.broker_embedded.coordinators.consumer_member import ModernMember, describe, state
from tests.broker_embedded.memory_broker import MemoryBroker

SESSION_MS = 10_000
REBALANCE_MS = 30_000
SUBSCRIPTION = encode_versioned(ConsumerProtocolSubscription(topics=["t"]), 0)
BELOW_0 = b"\xff\xff"
"""The version of an embedded protocol, which there is none below."""
AT_ONCE = {"group.consumer.assignment.interval.ms": "0", "group.initial.rebalance.delay.ms": "0"}


def made(**properties: str) -> MemoryBroker:
    broker = MemoryBroker({**AT_ONCE, **{name.replace("_", "."): value for name, value in properties.items()}})
    broker.create_topic("t", 4)
    return broker


@pytest.fixture
def broker() -> MemoryBroker:
    return made()


class OldMember:
    """A member of the classic protocol: what it sends, and what it has from the answers."""

    def __init__(self, broker: MemoryBroker, member_id: str = "", instance: str | None = None) -> None:
        self.broker = broker
        self.id = member_id
        self.instance = instance
        self.generation = -1
        self.assigned: dict[str, list[int]] = {}

    def join(self, *topics: str, metadata: bytes | None = None, protocol: str = "range") -> Any:
        """JoinGroup until there is an answer that is not about ids; the answer."""
        owned = [
            ConsumerProtocolSubscription.TopicPartition(topic=name, partitions=numbers)
            for name, numbers in self.assigned.items()
        ]
        said = encode_versioned(ConsumerProtocolSubscription(topics=list(topics), owned_partitions=owned), 2)
        request = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequest.RequestProtocol(name=protocol, metadata=metadata or said)],
        )
        answer = self.broker.send(request)
        self.broker.advance(0)
        if answer.response is not None and answer.response.error_code == codes.MEMBER_ID_REQUIRED:
            self.id = answer.response.member_id
            return self.join(*topics, metadata=metadata, protocol=protocol)
        if answer.response is not None and not answer.response.error_code:
            self.id, self.generation = answer.response.member_id, answer.response.generation_id
        return answer.response

    def sync(self, **assignments: dict[str, list[int]]) -> int:
        """SyncGroup; as a leader with ``assignments`` by member id."""
        request = SyncGroupRequest(
            group_id="g",
            generation_id=self.generation,
            member_id=self.id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocol_name="range",
        )
        for member_id, topics in assignments.items():
            named = [
                ConsumerProtocolAssignment.TopicPartition(topic=name, partitions=numbers)
                for name, numbers in topics.items()
            ]
            data = encode_versioned(ConsumerProtocolAssignment(assigned_partitions=named), 2)
            request.assignments.append(request.RequestAssignment(member_id=member_id, assignment=data))
        answer = self.broker.call(request)
        if not answer.error_code:
            found = decode_prefix(ConsumerProtocolAssignment, 2, answer.assignment, 2)[0]
            self.assigned = {each.topic: list(each.partitions) for each in found.assigned_partitions}
        return int(answer.error_code)

    def beat(self) -> int:
        request = HeartbeatRequest(
            group_id="g", generation_id=self.generation, member_id=self.id, group_instance_id=self.instance
        )
        return int(self.broker.call(request).error_code)

    def leave(self) -> int:
        identity = LeaveGroupRequest.MemberIdentity(member_id=self.id, group_instance_id=self.instance)
        return int(self.broker.call(LeaveGroupRequest(group_id="g", members=[identity])).members[0].error_code)


def classic_group(broker: MemoryBroker) -> OldMember:
    """A stable classic group of one member, which has everything."""
    member = OldMember(broker)
    assert member.join("t").leader == member.id
    assert member.sync(**{member.id: {"t": [0, 1, 2, 3]}}) == 0
    return member


def classic_state(broker: MemoryBroker) -> str:
    return str(broker.call(DescribeGroupsRequest(groups=["g"]), 5).groups[0].group_state)


def rebalanced(old: OldMember, new: ModernMember) -> None:
    """Let both go on until the group is stable."""
    for _ in range(10):
        new.beat(new.assigned)
        if old.beat() == codes.REBALANCE_IN_PROGRESS:
            old.join("t")
            assert old.sync() == 0
        if state(old.broker) == "Stable":
            return
    raise AssertionError("the group does not settle")


def test_classic_group_becomes_a_consumer_group_when_such_a_member_joins(broker: MemoryBroker) -> None:
    old, new = classic_group(broker), ModernMember(broker, "new")
    assert new.join("t").member_epoch == old.generation + 1
    assert new.assigned == {}
    assert classic_state(broker) == "Dead"
    assert [each.member_type for each in describe(broker).members] == [0, 1]
    assert old.beat() == codes.REBALANCE_IN_PROGRESS
    rebalanced(old, new)
    assert (len(old.assigned["t"]), len(new.assigned["t"])) == (2, 2)
    assert old.beat() == 0
    broker.restart()
    assert (old.beat(), new.beat().error_code, state(broker)) == (0, 0, "Stable")


def test_group_is_classic_again_when_the_last_member_of_the_consumer_protocol_left(broker: MemoryBroker) -> None:
    old, new = classic_group(broker), ModernMember(broker, "new")
    new.join("t")
    rebalanced(old, new)
    new.leave()
    assert state(broker) == "GROUP_ID_NOT_FOUND"
    assert describe(broker).error_message == "Group g is not a consumer group."
    assert classic_state(broker) == "PreparingRebalance"
    assert old.beat() == codes.REBALANCE_IN_PROGRESS
    assert old.join("t").leader == old.id
    assert old.sync(**{old.id: {"t": [0, 1, 2, 3]}}) == 0
    broker.restart()
    assert (classic_state(broker), old.beat()) == ("Stable", 0)


def test_group_is_classic_again_when_a_classic_member_takes_the_last_ones_place(broker: MemoryBroker) -> None:
    first, second = ModernMember(broker, "m1", instance="i"), OldMember(broker, instance="i")
    first.join("t")
    answer = second.join("t")
    assert (answer.error_code, answer.protocol_name) == (0, "range")
    assert classic_state(broker) == "Stable"
    assert second.sync() == 0
    assert second.assigned == {"t": [0, 1, 2, 3]}


def test_members_that_wait_in_a_classic_group_are_sent_back_to_join(broker: MemoryBroker) -> None:
    old = classic_group(broker)
    second = OldMember(broker)
    assert second.join("t") is None, "the first one has to rejoin before"
    waiting = broker.core.groups.store.find_as(ClassicGroup, "g").members[second.id].awaiting_join
    ModernMember(broker, "new").join("t")
    assert waiting.done
    assert second.join("t").error_code == 0
    assert old.beat() in (0, codes.REBALANCE_IN_PROGRESS)


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_upgrade_can_be_forbidden(policy: str) -> None:
    broker = made(group_consumer_migration_policy=policy)
    classic_group(broker)
    answer = ModernMember(broker, "new").join("t")
    assert answer.error_code == codes.GROUP_ID_NOT_FOUND
    assert answer.error_message == (
        "Cannot upgrade classic group g to consumer group because online upgrade is disabled."
    )


@pytest.mark.parametrize(("policy", "kind"), [("upgrade", "Stable"), ("Bidirectional", "GROUP_ID_NOT_FOUND")])
def test_downgrade_can_be_forbidden(policy: str, kind: str) -> None:
    broker = made(group_consumer_migration_policy=policy)
    old, new = classic_group(broker), ModernMember(broker, "new")
    new.join("t")
    rebalanced(old, new)
    new.leave()
    if kind == "Stable":
        assert old.beat() == 0, "the next target comes with the next heartbeat of a member that can ask for it"
    assert (state(broker) == "GROUP_ID_NOT_FOUND") == (kind != "Stable")


def test_classic_members_can_be_kept_out() -> None:
    broker = made(group_consumer_migration_policy="disabled")
    ModernMember(broker, "m1").join("t")
    assert OldMember(broker).join("t").error_code == codes.INCONSISTENT_GROUP_PROTOCOL


def test_group_of_another_kind_or_with_a_custom_assignor_is_not_upgraded(broker: MemoryBroker) -> None:
    member = OldMember(broker)
    member.join("t")
    request = SyncGroupRequest(
        group_id="g", generation_id=1, member_id=member.id, protocol_type="consumer", protocol_name="range"
    )
    data = encode_versioned(ConsumerProtocolAssignment(assigned_partitions=[], user_data=b"own"), 2)
    request.assignments = [request.RequestAssignment(member_id=member.id, assignment=data)]
    assert broker.call(request).error_code == 0
    answer = ModernMember(broker, "new").join("t")
    assert answer.error_code == codes.GROUP_ID_NOT_FOUND
    assert "because an unsupported custom assignor is in use." in answer.error_message
    assert member.beat() == 0, "nothing has changed for it"


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"\0\1\0", b"\0"), (BELOW_0 + SUBSCRIPTION[2:], BELOW_0 + SUBSCRIPTION[2:])],
    ids=["too short", "version below 0"],
)
def test_malformed_subscription_is_not_upgraded_and_not_taken(broker: MemoryBroker, old: bytes, new: bytes) -> None:
    member = OldMember(broker)
    member.join(metadata=old)
    member.sync(**{member.id: {}})
    answer = ModernMember(broker, "new").join("t")
    assert answer.error_code == codes.GROUP_ID_NOT_FOUND
    assert answer.error_message.endswith("because the embedded consumer protocol is malformed.")
    member.leave()
    ModernMember(broker, "new").join("t")
    assert OldMember(broker).join(metadata=new).error_code == codes.UNKNOWN_SERVER_ERROR


def test_deadlines_of_classic_members(broker: MemoryBroker) -> None:
    new = ModernMember(broker, "new")
    new.join("t")
    slow, late = OldMember(broker, "slow"), OldMember(broker, "late")
    slow.join("t")
    late.join("t")
    for _ in range(REBALANCE_MS // 5000 - 1):  # both are alive, and one of them never asks what it may read
        broker.advance(5000)
        slow.beat()
        late.beat()
        late.sync()
    broker.advance(5000)
    assert "slow" not in {each.member_id for each in describe(broker).members}
    broker.advance(SESSION_MS)
    assert {each.member_id for each in describe(broker).members} == {"new"}


def test_classic_requests_of_members_that_are_none(broker: MemoryBroker) -> None:
    new = ModernMember(broker, "new")
    new.join("t")
    old = OldMember(broker, "new")
    old.generation = new.epoch
    assert (old.beat(), old.sync()) == (codes.UNKNOWN_MEMBER_ID, codes.UNKNOWN_MEMBER_ID)
    nobody = OldMember(broker, "nobody")
    assert (nobody.beat(), nobody.sync(), nobody.leave()) == (codes.UNKNOWN_MEMBER_ID,) * 3
    member = OldMember(broker)
    member.join("t")
    member.generation += 1
    assert (member.beat(), member.sync()) == (codes.ILLEGAL_GENERATION, codes.ILLEGAL_GENERATION)


def test_empty_groups_change_their_kind_whatever_the_policy() -> None:
    broker = made(group_consumer_migration_policy="disabled")
    old = classic_group(broker)
    old.leave()
    broker.advance(0)
    new = ModernMember(broker, "new")
    assert new.join("t").error_code == 0
    new.leave()
    assert state(broker) == "Empty"
    assert OldMember(broker).join("t").error_code == 0
    broker.restart()
    assert describe(broker).error_code == codes.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("leaves", [True, False])
@pytest.mark.parametrize("said", [("range", BELOW_0 + SUBSCRIPTION[2:]), ("r" * 32_768, SUBSCRIPTION)])
def test_last_member_of_the_consumer_protocol_goes_though_no_classic_group_can_be_made_of_the_others(
    said: tuple[str, bytes], leaves: bool
) -> None:
    """A broker before this one took what such members said."""
    broker = made(group_consumer_min_session_timeout_ms="5001", group_consumer_session_timeout_ms="6000")
    new, old = ModernMember(broker, "new"), OldMember(broker)
    new.join("t")
    old.join("t")
    group = broker.core.groups.store.groups["g"]
    group.put(group.members[old.id]._replace(classic=ClassicSide(SESSION_MS, (said,))))
    if leaves:
        assert new.leave().error_code == 0
    for _ in range(3):
        broker.advance(2000)
        old.beat()
    assert [each.member_id for each in describe(broker).members] == [old.id]
