"""A cluster that exists only as functions: requests go in, responses come out, time moves when a test says so.

Not the bundled broker with its faults: the producer's and the consumer's state is looked at between two of their steps,
in their own virtual time, while leaders and coordinators move between two nodes.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from kafka_tools.clock import Deadline, ManualClock
from kafka_tools.errors import DeadlineExceeded, KafkaToolsError
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.connection import Pending
from kafka_tools.net.versions import ClusterCheck, NodeVersions
from kafka_tools.protocol import registry
from kafka_tools.protocol.codec import decode, encode
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.schema import Request, Response
from kafka_tools.values import Node, TopicPartition

NODES = (Node(1, "one", 9092, "r1"), Node(2, "two", 9092, "r2"))
NEVER = object()
"""An answer that does not come."""

Answer = Callable[[Node, Any, int], Any]


class FakeCluster:
    """Stands in for an Exchange and the brokers behind it.

    ``answers`` maps a request class to (node, request, version) -> response, error or NEVER. Metadata, producer ids
    and coordinators are answered from ``leaders``. Every message goes through its codec, in the newest version that
    ``limits`` allows, so that a field which a version lacks shows.
    """

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.cluster_check = ClusterCheck(True)
        self.config = ClientConfig({"bootstrap.servers": "one:9092"})
        self.leaders: dict[TopicPartition, int] = {}
        self.topic_errors: dict[str, int] = {}
        self.ids: dict[str, uuid.UUID] = {}
        self.answers: dict[type[Request], Answer] = {}
        self.limits: dict[int, int] = {}
        self.sent: list[tuple[Node, Request, int]] = []
        self.coordinator = NODES[0]
        self.next_producer_id = 100
        self.closed = False
        self._waiting: list[Pending] = []

    def topic(self, name: str, partitions: int = 1, leader: int = 1) -> None:
        self.ids[name] = uuid.uuid5(uuid.NAMESPACE_DNS, name)
        for number in range(partitions):
            self.leaders[TopicPartition(name, number)] = leader

    def requests(self, kind: type[Any]) -> list[Any]:
        """What was sent of one kind, in order."""
        return [request for _, request, _ in self.sent if isinstance(request, kind)]

    # The part of Exchange that clients use

    def bootstrap(self, deadline: Deadline) -> Node:
        return Node(-1, "one", 9092)

    def is_connected(self, node: Node) -> bool:
        return True

    def is_suspect(self, node: Node) -> bool:
        return False

    def call(self, node: Node, request: Any, deadline: Deadline, version: int | None = None) -> Any:
        pending = self.send(node, request, deadline)
        self.poll([pending], deadline)
        return pending.result()

    def send(
        self,
        node: Node,
        request: Any,
        deadline: Deadline,
        version: int | None = None,
        *,
        channel: str = "",
        timeout_s: float | None = None,
    ) -> Pending:
        build = request if callable(request) else lambda _: request
        pending = Pending(node, build, deadline, timeout_s or 30.0)
        pending.expires_s = self.clock.monotonic_s() + deadline.left_s()
        self._waiting.append(pending)
        return pending

    def poll(self, pending: Sequence[Pending], deadline: Deadline) -> list[Pending]:
        self._answer()
        done = [item for item in pending if item.done]
        if not done and deadline.left_s() > 0:
            self.clock.advance(min(deadline.left_s(), 0.05))
            self._answer()
        return [item for item in pending if item.done]

    def turn(self, wait_s: float) -> None:
        self._answer()
        self.clock.advance(min(wait_s, 0.25))
        self._answer()

    is_foreign = False

    def check_process(self) -> None:
        """Nobody forks."""

    def close(self) -> None:
        self.closed = True

    def _answer(self) -> None:
        waiting, self._waiting = self._waiting, []
        while waiting:
            try:
                self._answer_one(waiting[0])
            except BaseException:  # Ctrl-C: the requests are answered later
                self._waiting += waiting
                raise
            del waiting[0]

    def _answer_one(self, pending: Pending) -> None:
        if pending.request is None:
            self._receive(pending)
        if pending.done:
            return
        answer = self._answer_to(pending)
        if answer is NEVER and self.clock.monotonic_s() >= pending.expires_s:
            pending.fail(DeadlineExceeded("no response came in time"))
        elif answer is NEVER:
            self._waiting.append(pending)
        elif isinstance(answer, KafkaToolsError):
            pending.fail(answer)
        else:
            pending.succeed(_through_codec(answer, pending.version) if answer is not None else None)

    def _receive(self, pending: Pending) -> None:
        ranges = {
            row.key: (row.min_version, min(row.max_version, self.limits.get(row.key, row.max_version)))
            for row in registry.rows()
        }
        versions = NodeVersions(ranges, str(pending.node))
        try:
            built = pending.build(versions)
            request, version = built if isinstance(built, tuple) else (built, versions.newest(type(built)))
        except KafkaToolsError as error:
            pending.fail(error)
            return
        pending.request, pending.version = _through_codec(request, version), version
        self.sent.append((pending.node, pending.request, version))

    def _answer_to(self, pending: Pending) -> Any:
        request = pending.request
        scripted = self.answers.get(type(request)) if request is not None else None
        if scripted is not None:
            return scripted(pending.node, request, pending.version)
        if isinstance(request, MetadataRequest):
            return self._metadata(request)
        if isinstance(request, InitProducerIdRequest):
            self.next_producer_id += 1
            return InitProducerIdResponse(producer_id=self.next_producer_id - 1, producer_epoch=0)
        if isinstance(request, FindCoordinatorRequest):
            return self._coordinator(request, pending.version)
        raise AssertionError(f"no answer is scripted for {type(request).__name__}")

    def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        names = sorted({topic for topic, _ in self.leaders} | set(self.topic_errors))
        if request.topics is not None:
            names = [topic.name for topic in request.topics if topic.name is not None]
        response = MetadataResponse(
            brokers=[
                MetadataResponse.ResponseBroker(node_id=n.id, host=n.host, port=n.port, rack=n.rack) for n in NODES
            ]
        )
        for name in names:
            partitions = [
                MetadataResponse.ResponseTopic.ResponsePartition(
                    partition_index=number, leader_id=leader, leader_epoch=0, error_code=0 if leader >= 0 else 5
                )
                for (topic, number), leader in sorted(self.leaders.items())
                if topic == name
            ]
            code = self.topic_errors.get(name, 0 if partitions else 3)
            topic = MetadataResponse.ResponseTopic(name=name, error_code=code, partitions=partitions)
            topic.topic_id = self.ids.get(name, uuid.UUID(int=0))
            response.topics.append(topic)
        return response

    def _coordinator(self, request: FindCoordinatorRequest, version: int) -> FindCoordinatorResponse:
        node = self.coordinator
        if version < 4:
            return FindCoordinatorResponse(node_id=node.id, host=node.host, port=node.port)
        return FindCoordinatorResponse(
            coordinators=[
                FindCoordinatorResponse.Coordinator(key=key, node_id=node.id, host=node.host, port=node.port)
                for key in request.coordinator_keys
            ]
        )


def _through_codec(message: Any, version: int) -> Any:
    """The message as the other side reads it."""
    assert isinstance(message, Request | Response)
    return decode(type(message), version, encode(message, version))
