"""Groups under clients that do anything at any time, found by Hypothesis: the group stays sound and settles.

Clients join, sync, heartbeat, commit, leave and vanish in every order, with stale generations, static or dynamic,
while time passes, the disk fails and the broker restarts. Whatever happened before: once the clients follow the
protocol again, all of them end up as members of one stable generation.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_tools.broker_embedded.coordinators.classic.group import ClassicGroup
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest
from tests.broker_embedded.memory_broker import Answer, MemoryBroker

SESSION_MS = 10_000
REBALANCE_MS = 30_000


class Client:
    """One consumer; it knows what the last answers told it."""

    def __init__(self, broker: MemoryBroker, instance: str | None) -> None:
        self.broker = broker
        self.instance = instance
        self.member_id = ""
        self.generation = -1
        self.assignment: bytes | None = None
        self.members: list[str] = []
        self.other = False
        self.joining: Answer | None = None
        self.syncing: Answer | None = None

    def join(self) -> None:
        request = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
        )
        names = ["range", "other"] if self.other else ["range"]
        request.protocols = [
            request.RequestProtocol(name=name, metadata=b"\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff") for name in names
        ]
        self.joining, self.assignment = self.broker.send(request), None

    def sync(self) -> None:
        request = SyncGroupRequest(
            group_id="g",
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocol_name="range",
        )
        request.assignments = [
            request.RequestAssignment(member_id=member, assignment=member.encode()) for member in self.members
        ]
        self.syncing = self.broker.send(request)

    def heartbeat(self) -> int:
        request = HeartbeatRequest(
            group_id="g",
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
        )
        return sound(self.broker.call(request).error_code)

    def commit(self) -> None:
        request = OffsetCommitRequest(
            group_id="g",
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
        )
        topic = request.RequestTopic(name="t")
        topic.partitions = [topic.RequestPartition(partition_index=0, committed_offset=1, committed_metadata="")]
        request.topics = [topic]
        sound(self.broker.call(request, 9).topics[0].partitions[0].error_code)

    def leave(self) -> None:
        request = LeaveGroupRequest(group_id="g")
        request.members = [request.MemberIdentity(member_id=self.member_id, group_instance_id=self.instance)]
        sound(self.broker.call(request).members[0].error_code)

    def change(self) -> None:
        """Its next join has other protocols."""
        self.other = not self.other

    def forget(self) -> None:
        """The process is gone; another one starts in its place."""
        self.__init__(self.broker, self.instance)  # type: ignore[misc]

    def take_answers(self) -> None:
        """Believe what was answered, as clients do."""
        if self.joining is not None and self.joining.done:
            response, self.joining = self.joining.response, None
            code = sound(response.error_code)
            if code in (codes.NONE, codes.MEMBER_ID_REQUIRED):
                self.member_id = response.member_id
            elif code in (codes.UNKNOWN_MEMBER_ID, codes.FENCED_INSTANCE_ID):
                self.member_id = ""
            self.generation = response.generation_id
            self.members = [member.member_id for member in response.members]
        if self.syncing is not None and self.syncing.done:
            response, self.syncing = self.syncing.response, None
            if sound(response.error_code) == codes.NONE:
                self.assignment = response.assignment
            elif response.error_code == codes.UNKNOWN_MEMBER_ID:
                self.member_id, self.generation = "", -1

    def follow_protocol(self) -> None:
        """One step of a well-behaved client."""
        self.take_answers()
        if self.joining is not None or self.syncing is not None:
            return
        if self.assignment is None and self.generation >= 0 and self.member_id:
            self.sync()
        elif self.assignment is None:
            self.join()
        else:
            code = self.heartbeat()
            if code:
                if code in (codes.UNKNOWN_MEMBER_ID, codes.FENCED_INSTANCE_ID):
                    self.member_id = ""
                self.generation, self.assignment = -1, None
        self.take_answers()
        if self.assignment is None and self.syncing is None and self.joining is None and self.generation >= 0:
            self.sync()
            self.take_answers()
            if self.assignment is None and self.syncing is None:
                self.generation = -1


def sound(code: int) -> int:
    """The code, which must not be that of a bug."""
    assert code != codes.UNKNOWN_SERVER_ERROR
    return code


def check_group(broker: MemoryBroker) -> None:
    group = broker.core.groups.store.find_as(ClassicGroup, "g")
    if group is None:
        return
    assert (group.leader in group.members) if group.members else group.leader is None
    assert set(group.static_members.values()) == {m.id for m in group.members.values() if m.instance_id is not None}
    assert not group.pending_join.keys() & group.members.keys()
    assert group.pending_sync <= group.members.keys()
    if group.state == "Empty":
        assert not group.members
    if group.state in ("Stable", "CompletingRebalance"):
        assert group.members
        assert not any(member.awaiting_join for member in group.members.values())
    if group.state != "CompletingRebalance":
        assert not any(member.awaiting_sync for member in group.members.values())
    for member in group.members.values():
        assert member.heartbeat is not None
    assert group.awaiting_join_count == sum(member.awaiting_join is not None for member in group.members.values())
    common = {name for name in ("range", "other") if all(supports(member, name) for member in group.members.values())}
    if group.members:
        assert {name for name in ("range", "other") if group.supports("consumer", [(name, b"")])} == common


def supports(member: Any, protocol: str) -> bool:
    return protocol in [name for name, _ in member.protocols]


ACTIONS = st.one_of(
    st.tuples(st.integers(0, 3), st.sampled_from(["join", "sync", "heartbeat", "commit", "leave", "forget", "change"])),
    st.tuples(st.just("pass"), st.sampled_from([1, 500, 2_999, 9_999, 10_000, 30_000, 300_000])),
    st.tuples(st.just("broker"), st.sampled_from(["restart", "fail", "heal"])),
)


@settings(max_examples=40)
@given(st.lists(ACTIONS, max_size=40), st.lists(st.booleans(), min_size=4, max_size=4))
def test_a_group_stays_sound_and_settles(actions: list[tuple[Any, Any]], static: list[bool]) -> None:
    broker = MemoryBroker({"group.initial.rebalance.delay.ms": "3000"})
    broker.create_topic("t")
    clients = [Client(broker, f"i{at}" if is_static else None) for at, is_static in enumerate(static)]
    for who, what in actions:
        if who == "pass":
            broker.advance(what)
        elif what == "restart":
            broker.fail_appends(None)
            broker.restart()
            for client in clients:  # connections end with the broker
                client.joining = client.syncing = None
        elif who == "broker":
            broker.fail_appends(OSError("disk full") if what == "fail" else None)
        else:
            getattr(clients[who], what)()
        for client in clients:
            client.take_answers()
        check_group(broker)
    broker.fail_appends(None)
    for _ in range(150):
        for client in clients:
            client.follow_protocol()
            check_group(broker)
        broker.advance(SESSION_MS / 4)
    group = broker.core.groups.store.find_as(ClassicGroup, "g")
    assert group is not None
    assert group.state == "Stable"
    assert set(group.members) == {client.member_id for client in clients}
    assert {client.generation for client in clients} == {group.generation}
    assert {client.assignment for client in clients} == {client.member_id.encode() for client in clients}
