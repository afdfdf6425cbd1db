"""One try: a broker with groups and a transactional id of others, poison beside them, start, ``mend``, start.

What must hold is in ``Trial.run``: others lose nothing, each record that is left out has one line in the log, ``broker
mend`` names the same ones, a start after it complains of nothing and knows the same, and no request of whoever wrote
the poison ends in a fault of the broker.
"""

from __future__ import annotations

import logging
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from kafka_tools.broker_embedded.coordinators.mending import mend
from kafka_tools.clock import ManualClock
from kafka_tools.protocol import registry
from kafka_tools.protocol.headers import decode_response, encode_request
from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from kafka_tools.protocol.messages.list_transactions import ListTransactionsRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest
from kafka_tools.protocol.schema import Request
from kafka_tools.records.build import build_batch
from tests.broker_embedded.coordinators.slow_start import state
from tests.broker_embedded.disk_broker import DiskBroker
from tests.broker_embedded.poisoned.records import Poison, Raw
from tests.broker_embedded.transactional_client import Client

ONE_PARTITION = {
    "offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
}  # fmt: skip
"""Everybody's groups lie beside the poison."""
LEFT_OUT = re.compile(
    r"^(?P<at>\S+): (?P<what>the (record|batch) at offset (?P<offset>\d+) was skipped: .*)\. Stop the"
)
OTHERS = re.compile(r"^\S+: (\d+) more records? (?:was|were) skipped")
_MAY_WRITE = "__admin_client"
_HALF_AN_HOUR_S = 1800


class _Lines(logging.Handler):
    """What the broker logs."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def left_out(self) -> list[tuple[str, str]]:
        """(partition, what) of each record that is left out."""
        found = (LEFT_OUT.match(record.getMessage()) for record in self.records)
        return [(each["at"], each["what"]) for each in found if each]

    def others(self) -> int:
        """How many more are left out, which have no line of their own."""
        return sum(int(found[1]) for record in self.records if (found := OTHERS.match(record.getMessage())))

    def faults(self) -> list[str]:
        """Lines that no record may cause."""
        return [
            f"{record.getMessage()} {record.exc_info[1]!r}" if record.exc_info else record.getMessage()
            for record in self.records
            if record.exc_info or "AssertionError" in record.getMessage() or "is not served" in record.getMessage()
        ]


@contextmanager
def _logged() -> Iterator[_Lines]:
    lines, top = _Lines(), logging.getLogger("kafka_tools")
    level = top.level
    top.addHandler(lines)
    top.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        top.removeHandler(lines)
        top.setLevel(level)


def _about(group: str) -> Iterator[tuple[Request, int]]:
    """What is asked about a group, and by its members, with the version of each."""
    yield DescribeGroupsRequest(groups=[group]), 5
    yield ConsumerGroupDescribeRequest(group_ids=[group]), 1
    yield OffsetFetchRequest(groups=[OffsetFetchRequest.RequestGroup(group_id=group, topics=None)]), 8
    for member in ("m1", "m2", ""):
        yield HeartbeatRequest(group_id=group, generation_id=1, member_id=member), 3
        yield SyncGroupRequest(group_id=group, generation_id=1, member_id=member, protocol_type="consumer"), 4
        yield LeaveGroupRequest(group_id=group, members=[LeaveGroupRequest.MemberIdentity(member_id=member)]), 4


class Trial:
    """``run`` gives what is wrong, one line each. ``written``: records by topic where they are not left to chance."""

    def __init__(self, path: Path, seed: int | str) -> None:
        self._rng = random.Random(f"trial {seed}")
        self.broker = DiskBroker(path / "data", ONE_PARTITION)
        self.broker.create("t", 3)
        topic = self.broker.core.cluster.topic("t")
        assert topic is not None
        self._poison = Poison(seed, [topic.id])
        self._theirs = Client(self.broker, "their-tx")
        self._epoch = 0
        self.problems: list[str] = []
        self.left_out: list[tuple[str, str]] = []

    def run(self, written: list[tuple[str, list[Raw]]] | None = None) -> list[str]:
        self._others_begin()
        batches = written if written is not None else self._chosen()
        for topic, records in batches:
            self._write(topic, records, written is None)
        given = self._given_ids()
        with _logged() as lines:
            self.broker.restart(kill=self._rng.random() < 0.5)
        self.left_out = lines.left_out()
        self._wrong_if(lines.faults(), "start")
        before = state(self.broker)
        self.broker.core.close()
        mended = mend([str(self.broker.path)], ManualClock(self.broker.clock.now_ms()))
        named = [
            (each.directory.rpartition("/")[2], str(left_out)) for each in mended.logs for left_out in each.left_out
        ]
        if lines.others():
            beyond = sorted(set(named) - set(self.left_out))
            if len(beyond) != lines.others() or set(self.left_out) - set(named):
                self.problems.append(f"mend names {sorted(named)}, the start {sorted(self.left_out)} and others")
        elif sorted(named) != sorted(self.left_out):
            self.problems.append(f"mend names {sorted(named)}, the start {sorted(self.left_out)}")
        with _logged() as lines:
            self.broker.open()
        if lines.left_out():
            self.problems.append(f"complains after mending of {lines.left_out()}")
        if state(self.broker) != before:
            self.problems.append(f"knows {state(self.broker)} after mending, {before} before")
        with _logged() as lines:
            self._others_go_on(given)
            self._asked()
        self._wrong_if(lines.faults(), "requests")
        with _logged() as lines:
            self.broker.restart(kill=True)
        if lines.left_out():
            self.problems.append(f"wrote itself what it leaves out: {lines.left_out()}")
        self._wrong_if(lines.faults(), "last start")
        self.broker.core.close(clean=False)
        return self.problems

    def _chosen(self) -> list[tuple[str, list[Raw]]]:
        poison = self._poison
        return [(topic, poison.batch(topic)) for topic in (poison.topic() for _ in range(self._rng.randint(1, 12)))]

    def _wrong_if(self, lines: list[str], when: str) -> None:
        self.problems += [f"{when}: {line}" for line in lines]

    # others, whom nothing may cost anything

    def _others_begin(self) -> None:
        self._ask(FindCoordinatorRequest(key="their-group"), 3)
        assert self._commit("their-group", 7) == 0
        self._beat("their-modern", 0)
        assert self._theirs.init() == 0 and self._theirs.add(0) == [0]
        assert self._theirs.produce(b"a").error_code == 0

    def _others_go_on(self, given: int) -> None:
        asked = OffsetFetchRequest(groups=[OffsetFetchRequest.RequestGroup(group_id="their-group", topics=None)])
        (found,) = self._ask(asked, 8).groups
        offsets = [each.committed_offset for topic in found.topics for each in topic.partitions]
        if (found.error_code, offsets) != (0, [7]):
            self.problems.append(f"their-group has {offsets}, error {found.error_code}")
        if self._commit("their-group", 7):
            self.problems.append("their-group cannot commit")
        self._beat("their-modern", self._epoch)
        if self._theirs.end(True):
            self.problems.append("their transaction cannot be committed")
        plain = self._ask(InitProducerIdRequest(transactional_id=None), 4)
        if plain.error_code or not given <= plain.producer_id < given + 3000:
            self.problems.append(
                f"producer id {plain.producer_id}, error {plain.error_code}; {given} were given before"
            )

    def _commit(self, group: str, offset: int) -> int:
        Topic = OffsetCommitRequest.RequestTopic
        topic = Topic(name="t", partitions=[Topic.RequestPartition(partition_index=0, committed_offset=offset)])
        request = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, topics=[topic])
        return int(self._ask(request, 8).topics[0].partitions[0].error_code)

    def _beat(self, group: str, epoch: int, member: str = "theirs", instance: str | None = None) -> int:
        joins: dict[str, Any] = {
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": ["t"],
            "topic_partitions": [],
        }
        request = ConsumerGroupHeartbeatRequest(
            group_id=group, member_id=member, member_epoch=epoch, instance_id=instance, **({} if epoch else joins)
        )
        answer = self._ask(request, 1)
        if group == "their-modern":
            if answer.error_code:
                self.problems.append(f"their member is answered {answer.error_code}")
            self._epoch = answer.member_epoch
        return int(answer.member_epoch)

    def _given_ids(self) -> int:
        return int(self.broker.core.producer_ids._next_block)

    # who wrote it

    def _write(self, topic: str, records: list[Raw], may_be_transactional: bool) -> None:
        """As the one client that may: what is refused is not there."""
        now_ms = self.broker.clock.now_ms()
        fields: dict[str, Any] = {}
        if may_be_transactional and self._poison.transactional():
            fields = {"producer_id": 0, "producer_epoch": 7, "base_sequence": 0, "transactional": True}
        batch = build_batch([(now_ms, key, value, ()) for key, value in records], **fields)
        Data = ProduceRequest.TopicProduceData
        data = Data(name=topic, partition_data=[Data.PartitionProduceData(index=0, records=batch)])
        self._ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data]), 9, _MAY_WRITE)

    def _asked(self) -> None:
        """Everything that one can ask for about what was written, by and by."""
        groups = [*self.broker.core.groups.store.groups, "own", "other-own"]
        ids = [each.transactional_id for each in self._ask(ListTransactionsRequest(), 1).transaction_states]
        self._ask(ListGroupsRequest(), 5)
        asked: list[Callable[[], object]] = []
        for group in groups:
            if not group.startswith("their"):
                asked += [partial(self._ask, request, version) for request, version in _about(group)]
                asked += [partial(self._commit, group, 3), partial(self.broker.advance, self._rng.choice((1, 70)))]
                for member in ("m1", "m2", ""):
                    asked += [partial(self._join, group, member, instance) for instance in (None, "i1")]
                    asked += [partial(self._beat, group, 0, member or "new", instance) for instance in (None, "i1")]
                    asked.append(partial(self._beat, group, self._rng.choice((-1, 1, 2)), member or "new"))
        for id in set(ids) - {"their-tx"}:
            init = InitProducerIdRequest(transactional_id=id, transaction_timeout_ms=1000)
            asked.append(partial(self._ask, init, 4))
            asked.append(partial(self._ask, DescribeTransactionsRequest(transactional_ids=[id]), 0))
        self._rng.shuffle(asked)
        for ask in asked:
            ask()
        for _ in range(3):
            self.broker.advance(_HALF_AN_HOUR_S)
        for group in groups:
            self._ask(DeleteGroupsRequest(groups_names=[group]), 2)
        self.broker.advance(_HALF_AN_HOUR_S)

    def _join(self, group: str, member: str, instance: str | None) -> None:
        Protocol = JoinGroupRequest.RequestProtocol
        request = JoinGroupRequest(
            group_id=group, session_timeout_ms=10_000, rebalance_timeout_ms=1000, member_id=member,
            group_instance_id=instance, protocol_type="consumer",
            protocols=[Protocol(name="range", metadata=b"\0\1\0\0\0\1\0\1t\xff\xff\xff\xff\0\0\0\0")],
        )  # fmt: skip
        self._ask(request, 5)

    def _ask(self, request: Request, version: int, client_id: str = "test") -> Any:
        """The answer; None while it is parked."""
        answers: list[Any] = []
        response = registry.api(request.API_KEY).response

        def answer(payload: Any) -> None:
            if payload is not None:
                whole = payload if isinstance(payload, bytes) else b"".join(payload)
                answers.append(decode_response(response, version, whole)[1])

        frame = memoryview(bytearray(encode_request(request, version, 7, client_id)))
        self.broker.dispatcher.handle_frame(self.broker.connection, frame, answer)
        return answers[0] if answers else None
