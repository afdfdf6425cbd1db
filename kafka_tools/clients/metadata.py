"""What a producer or consumer knows of the cluster: nodes, topics, leaders, coordinators, and when to ask again.

Asks through an Exchange and keeps plain values; knows nothing of records or groups. Follows
``org.apache.kafka.clients.Metadata``: a leader of an older epoch never replaces a newer one (KIP-320), topic ids are
kept where brokers have them (KIP-516).
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kafka_tools.clock import Clock, Deadline
from kafka_tools.errors import BrokerError, DeadlineExceeded, NetworkError
from kafka_tools.net.connection import ClosedAtFirstRequest
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.freshness import Freshness
from kafka_tools.net.rights import with_right
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.schema import Request
from kafka_tools.values import ZERO_UUID, Node, TopicPartition

NO_LEADER = -1


class PartitionInfo(NamedTuple):
    """One partition: who leads it, since which epoch (-1: not known)."""

    leader_id: int
    leader_epoch: int


class TopicInfo(NamedTuple):
    """One topic. ``error`` is its error code; partitions by number."""

    name: str
    topic_id: uuid.UUID
    is_internal: bool
    error: int
    partitions: Mapping[int, PartitionInfo]
    available: tuple[int, ...]
    """Numbers of the partitions that have a leader, ascending."""


class ClusterMetadata:
    """The cluster as last seen. ``topics`` holds the topics of interest only, unless everything was asked for."""

    def __init__(
        self, exchange: Exchange, clock: Clock, *, max_age_ms: int, backoff_ms: int, auto_create: bool
    ) -> None:
        self._exchange = exchange
        self._clock = clock
        self._freshness = Freshness(clock, max_age_ms=max_age_ms, backoff_ms=backoff_ms)
        self._auto_create = auto_create
        self.nodes: dict[int, Node] = {}
        self.topics: dict[str, TopicInfo] = {}
        self._turn = 0
        self.is_known = False
        """Whether a broker has answered yet."""
        self._interest: set[str] | None = set()

    def watch(self, names: Iterable[str]) -> None:
        """Make exactly these topics the ones that refreshes ask for."""
        wanted = set(names)
        if self._interest is None or wanted - self._interest:
            self.request_update()
        self._interest = wanted

    def add(self, name: str) -> None:
        """Ask for this topic too from now on."""
        if self._interest is not None and name not in self._interest:
            self._interest.add(name)
            self.request_update()

    def watch_all(self) -> None:
        """Make refreshes ask for every topic (a subscription by pattern)."""
        if self._interest is not None:
            self._interest = None
            self.request_update()

    def request_update(self) -> None:
        """What is known proved wrong: refresh at the next chance."""
        self._freshness.wanted = True

    @property
    def update_wanted(self) -> bool:
        """Whether what is known is known to be incomplete or wrong."""
        return self._freshness.wanted

    @property
    def update_due(self) -> bool:
        """Whether a refresh is wanted, or the view is too old, and the last try is a back-off ago."""
        return self._freshness.is_due

    def request(self) -> MetadataRequest:
        """The request for the topics of interest; counts as asked from now on."""
        self._freshness.attempted()
        names = None if self._interest is None else sorted(self._interest)
        return MetadataRequest(
            topics=None if names is None else [MetadataRequest.RequestTopic(name=name) for name in names],
            allow_auto_topic_creation=self._auto_create and names is not None,
        )

    def refresh(self, deadline: Deadline) -> None:
        """Ask a node and take its answer. Raises NetworkError when no node answered before the deadline."""
        self.take(self.call_any(self.request(), deadline))

    def take(self, response: MetadataResponse) -> None:
        """Replace the view. Topic errors are kept, not raised; those that a moment mends ask for another update."""
        if response.error_code:
            self.request_update()
            return
        self._freshness.updated()
        self.nodes = {row.node_id: Node(row.node_id, row.host, row.port, row.rack) for row in response.brokers}
        topics = {}
        for row in response.topics:
            if row.name is None:
                continue
            topics[row.name] = self._topic(row.name, row)
            if error_codes.error(row.error_code).retriable:
                self.request_update()
        self.topics = topics
        self.is_known = True

    def any_node(self, timeout_s: float) -> Node:
        """A node to ask, another one each time; beside them the bootstrap servers while none of them is connected.

        Blocks, up to ``timeout_s``, only as long as no node is known; raises NetworkError then.
        """
        nodes = list(self.nodes.values())
        if not nodes:
            return self._exchange.bootstrap(Deadline(self._clock, timeout_s))
        if not any(map(self._exchange.is_connected, nodes)):
            # Every broker known may have moved: what the user gave still counts (KIP-899).
            nodes += [Node(-1 - number, *address) for number, address in enumerate(self._exchange.config.bootstrap)]
        self._turn += 1
        return nodes[self._turn % len(nodes)]

    def call_any(self, request: Request, deadline: Deadline) -> Any:
        """Send to any node that answers: known ones in turn, else the bootstrap addresses."""
        failure: NetworkError | None = None
        for node in self.nodes.values():
            if deadline.expired:
                break
            try:
                # One node that swallows requests must not use up the whole time.
                share_s = deadline.left_s() / 2 if len(self.nodes) > 1 else deadline.left_s()
                return self._exchange.call(node, request, Deadline(self._clock, share_s))
            except NetworkError as error:
                failure = error
        if failure is not None and deadline.expired:
            raise failure
        return self._exchange.call(self._exchange.bootstrap(deadline), request, deadline)

    def leader(self, topic_partition: TopicPartition) -> Node | None:
        """The node that leads a partition, None when it is not known."""
        partition = self.partition(topic_partition)
        return self.nodes.get(partition.leader_id) if partition is not None else None

    def partition(self, topic_partition: TopicPartition) -> PartitionInfo | None:
        topic = self.topics.get(topic_partition.topic)
        return topic.partitions.get(topic_partition.partition) if topic is not None else None

    def topic_id(self, name: str) -> uuid.UUID:
        """The topic's id; the zero uuid when the topic is unknown or its brokers have no ids."""
        topic = self.topics.get(name)
        return ZERO_UUID if topic is None else topic.topic_id

    def wait_for_topic(self, name: str, deadline: Deadline) -> TopicInfo:
        """The topic, once it has partitions with a leader.

        Raises BrokerError for a name or an access that the broker refuses, DeadlineExceeded when it does not appear.
        """
        self.add(name)
        while True:
            topic = self.topics.get(name)
            if topic is not None and topic.available:
                return topic
            if topic is not None and not error_codes.error(topic.error).retriable and topic.error:
                self.request_update()
                row = error_codes.error(topic.error)
                raise BrokerError(row, f"topic '{name}': {with_right(row.text, 'Metadata', row.code)}")
            if deadline.expired:
                raise DeadlineExceeded(
                    f"Topic {name} not present in metadata after {round(deadline.timeout_s * 1000)} ms.",
                    hint="the topic does not exist and is not created automatically, or none of its partitions "
                    "has a leader",
                )
            self._wait_for_update(deadline)

    def _wait_for_update(self, deadline: Deadline) -> None:
        wait_s = self._freshness.pause_s()
        if wait_s > 0:
            self._clock.sleep(min(wait_s, deadline.left_s()))
        if deadline.expired:
            return
        # Such connections are counted: the last one says that a login is wanted.
        with contextlib.suppress(ClosedAtFirstRequest):
            self.refresh(deadline)

    def _topic(self, name: str, row: MetadataResponse.ResponseTopic) -> TopicInfo:
        known = self.topics.get(name)
        same = known is not None and known.topic_id == row.topic_id
        partitions = {}
        for partition in row.partitions:
            found = PartitionInfo(partition.leader_id, partition.leader_epoch)
            before = known.partitions.get(partition.partition_index) if known is not None and same else None
            # An answer from a broker that lags behind; a topic made anew starts over.
            if before is not None and found.leader_epoch < before.leader_epoch:
                found = before
            if found.leader_id == NO_LEADER:
                self.request_update()
            partitions[partition.partition_index] = found
        available = tuple(sorted(number for number, found in partitions.items() if found.leader_id != NO_LEADER))
        return TopicInfo(name, row.topic_id, row.is_internal, row.error_code, partitions, available)
