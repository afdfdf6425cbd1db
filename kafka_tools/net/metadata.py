"""A client's metadata of the cluster: nodes, controller, topics of interest with their leaders, and when to refresh.

The admin client, producers and consumers share this class. The admin client names no topics (its lookups find leaders
and coordinators themselves), and its requests block. Producers and consumers send ``request`` when ``update_due`` is
true, and pass the response to ``take``. A refresh follows when a request found the metadata wrong (``request_update``)
and when it is older than ``metadata.max.age.ms``, never twice within ``retry.backoff.ms``. If no known node answers, it
restarts from the bootstrap servers (KIP-899). Follows ``org.apache.kafka.clients.Metadata`` and
``AdminMetadataManager``: a leader of an older epoch never replaces a newer one (KIP-320), and topic ids are kept if
brokers have them (KIP-516).
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterable
from typing import Any

from kafka_tools.clock import Deadline
from kafka_tools.errors import BrokerError, DeadlineExceeded, KafkaToolsError, NetworkError
from kafka_tools.net.broker_errors import error_of
from kafka_tools.net.connection import ClosedAtFirstRequest
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.freshness import Freshness
from kafka_tools.net.rights import with_right
from kafka_tools.net.topic_metadata import PartitionMetadata, TopicMetadata, topic_metadata
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import EndpointType
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.schema import Request
from kafka_tools.values import ZERO_UUID, Node, TopicPartition

NO_CONTROLLER = -1


class ClusterMetadata:
    """The cluster as last seen. ``topics`` contains only the topics of interest, unless all were requested.

    ``nodes`` never contains a bootstrap address. ``auto_create``: whether a request for a topic may create it.
    """

    def __init__(self, exchange: Exchange, *, auto_create: bool = False) -> None:
        config = exchange.config
        self._exchange = exchange
        self._clock = exchange.clock
        self._freshness = Freshness(
            exchange.clock,
            max_age_ms=config.number("metadata.max.age.ms"),
            backoff_ms=config.number("retry.backoff.ms"),
        )
        self._auto_create = auto_create
        self.nodes: dict[int, Node] = {}
        self.topics: dict[str, TopicMetadata] = {}
        self.is_known = False
        """Whether a broker has answered yet."""
        self._controller_id = NO_CONTROLLER
        self._turn = 0
        self._told_by: Node | None = None
        """The node that ``any_node`` selected last."""
        self._doubted: set[tuple[str, int]] = set()
        """Addresses of nodes whose metadata was repeatedly wrong, as of a node that cannot reach its controller."""
        self._interest: set[str] | None = set()
        self._ids: frozenset[uuid.UUID] = frozenset()
        """Topics that the next request asks for by id."""
        exchange.cluster_check.when_wrong.append(self.begin_again)

    # Which topics

    def watch(self, names: Iterable[str]) -> None:
        """Let refreshes ask for exactly these topics."""
        wanted = set(names)
        if self._interest is None or wanted - self._interest:
            self.request_update()
        self._interest = wanted

    def watch_all(self) -> None:
        """Let refreshes ask for every topic (a subscription by pattern)."""
        if self._interest is not None:
            self._interest = None
            self.request_update()

    def add(self, name: str) -> None:
        """Let refreshes also ask for this topic."""
        if self._interest is not None and name not in self._interest:
            self._interest.add(name)
            self.request_update()

    def look_up_ids(self, ids: Iterable[uuid.UUID]) -> None:
        """Let the next refresh ask for these topics by id, to learn their names. They stay only if they are watched."""
        self._ids = frozenset(ids)
        self.request_update()

    # Asking the cluster

    def request_update(self) -> None:
        """The metadata is wrong: refresh it as soon as possible."""
        self._freshness.wanted = True

    def begin_again(self) -> None:
        """A connection reached the wrong node: forget the cluster and ask the bootstrap servers (KIP-1102)."""
        self.nodes, self.topics, self._controller_id = {}, {}, NO_CONTROLLER
        self._doubted.clear()
        self.request_update()

    def doubt(self) -> None:
        """The last node's metadata is repeatedly wrong: ask other nodes first, until all have been doubted."""
        self.request_update()
        if self._told_by is not None:
            self._doubted.add(_address(self._told_by))
        if self.nodes and all(_address(node) in self._doubted for node in self.nodes.values()):
            self._doubted.clear()

    @property
    def update_wanted(self) -> bool:
        """Whether the metadata is known to be incomplete or wrong."""
        return self._freshness.wanted

    @property
    def update_due(self) -> bool:
        """Whether a refresh is wanted or the metadata is too old, and the backoff since the last request is over."""
        return self._freshness.is_due

    def update_in_s(self) -> float:
        """Seconds until ``update_due``."""
        return self._freshness.due_in_s()

    def request(self) -> MetadataRequest:
        """The request for the topics of interest; the backoff starts now."""
        self._freshness.attempted()
        ids, self._ids = self._ids, frozenset()
        if ids:
            rows = [MetadataRequest.RequestTopic(topic_id=each, name=None) for each in sorted(ids)]
            return MetadataRequest(topics=rows, allow_auto_topic_creation=False)
        names = None if self._interest is None else sorted(self._interest)
        return MetadataRequest(
            topics=None if names is None else [MetadataRequest.RequestTopic(name=name) for name in names],
            # A request without topics creates nothing, and versions without this field use its default.
            allow_auto_topic_creation=names is not None and (self._auto_create or not names),
        )

    def take(self, response: MetadataResponse) -> None:
        """Replace the metadata. Topic errors are kept, not raised; retriable ones request another update."""
        if response.error_code == error_codes.REBOOTSTRAP_REQUIRED:
            self._exchange.cluster_check.node_is_wrong()
        if response.error_code:
            self.request_update()
            return
        self.take_nodes(response)
        topics = {}
        for row in response.topics:
            if row.name is None:
                continue
            topics[row.name] = topic = topic_metadata(row.name, row, self.topics.get(row.name))
            if error_codes.error(row.error_code).retriable or len(topic.available) < len(topic.partitions):
                self.request_update()
        if self._interest is not None:
            # The request may be older than the interest in a topic.
            topics |= {name: row for name, row in self.topics.items() if name in self._interest and name not in topics}
        self.topics = topics

    def take_nodes(self, response: MetadataResponse) -> None:
        """Take nodes and controller of a Metadata response for any topics."""
        nodes = [Node(row.node_id, row.host, row.port, row.rack) for row in response.brokers]
        self._replace(nodes, response.controller_id, response.cluster_id)

    def refresh(self, deadline: Deadline) -> None:
        """Ask a node and take its response. Raises NetworkError when no node answered before the deadline, BrokerError
        for a response that is an error as a whole."""
        if self._exchange.config.is_controllers:
            self._ask_controllers(deadline)
            return
        response = self.call_any(self.request(), deadline)
        self.take(response)
        if response.error_code == error_codes.REBOOTSTRAP_REQUIRED:
            self.take(response := self.call_any(self.request(), deadline))
        error = error_of(response.error_code)
        if error is not None:
            raise error

    def call_any(self, request: Request, deadline: Deadline) -> Any:
        """Send to any node that answers: known ones in turn, connected ones first, else the bootstrap addresses."""
        failure: NetworkError | None = None
        for node in sorted(self.nodes.values(), key=self._trouble):
            if deadline.expired:
                break
            try:
                # One node that does not answer must not use up the whole time.
                share_s = deadline.left_s() / 2 if len(self.nodes) > 1 else deadline.left_s()
                response = self._exchange.call(node, request, Deadline(self._clock, share_s))
                self._told_by = node
                return response
            except NetworkError as error:
                failure = error
        if failure is not None and deadline.expired:
            raise failure
        self._told_by = self._exchange.bootstrap(deadline)
        return self._exchange.call(self._told_by, request, deadline)

    # Nodes

    def next_node(self, timeout_s: float) -> Node:
        """A node to send to without waiting, another one each time. Includes the bootstrap servers while no known node
        is connected.

        Blocks, up to ``timeout_s``, only if no node is known. Raises NetworkError if no bootstrap server answers.
        """
        nodes = list(self.nodes.values())
        if not nodes:
            return self._exchange.bootstrap(Deadline(self._clock, timeout_s))
        if not any(map(self._exchange.is_connected, nodes)):
            # Every known broker may have moved: use the bootstrap servers as well (KIP-899).
            nodes += [Node(-1 - number, *address) for number, address in enumerate(self._exchange.config.bootstrap)]
        self._turn += 1
        return nodes[self._turn % len(nodes)]

    def any_node(self, deadline: Deadline) -> Node:
        """A node that answers: one that is connected, else the first bootstrap server or known node that answers.

        It skips a node that left a request unanswered or that is doubted, as long as there are others. Raises as
        ``bootstrap`` of Exchange.
        """
        self._told_by = self._pick(deadline)
        return self._told_by

    def _pick(self, deadline: Deadline) -> Node:
        if self._doubted and not self.nodes:
            self.refresh(deadline)
        for node in self.nodes.values():
            if self._trouble(node) == (False, False, False):
                return node
        if self._doubted or any(map(self._exchange.is_suspect, self.nodes.values())):
            found = self._known_node(deadline)
            if found is not None:
                return found
        try:
            return self._exchange.bootstrap(deadline)
        except NetworkError:
            found = self._known_node(deadline)
            if found is None:
                raise
            return found

    def live_nodes(self, deadline: Deadline) -> list[Node]:
        """Every node of the cluster, ordered by id; refreshes if necessary."""
        self._refresh_if_stale(deadline)
        return [self.nodes[id] for id in sorted(self.nodes)]

    def node(self, id: int, deadline: Deadline) -> Node | None:
        """The node with this id, None if the cluster has no such node; refreshes if necessary."""
        if id not in self.nodes:
            self.request_update()
        self._refresh_if_stale(deadline)
        return self.nodes.get(id)

    def controller(self, deadline: Deadline) -> Node | None:
        """The controller's node; None while there is no controller."""
        if self._controller_id == NO_CONTROLLER:
            self.request_update()
        self._refresh_if_stale(deadline)
        return self.nodes.get(self._controller_id)

    def clear_controller(self) -> None:
        """The controller has moved; the nodes stay known."""
        self._controller_id = NO_CONTROLLER
        self.request_update()

    # Topics

    def leader(self, topic_partition: TopicPartition) -> Node | None:
        """The node that leads a partition, None when it is not known."""
        partition = self.partition(topic_partition)
        return self.nodes.get(partition.leader_id) if partition is not None else None

    def partition(self, topic_partition: TopicPartition) -> PartitionMetadata | None:
        """A partition as last seen, None when it is not known."""
        topic = self.topics.get(topic_partition.topic)
        return topic.partitions.get(topic_partition.partition) if topic is not None else None

    def topic_id(self, name: str) -> uuid.UUID:
        """The topic's id; the zero uuid when the topic is unknown or its brokers have no ids."""
        topic = self.topics.get(name)
        return ZERO_UUID if topic is None else topic.topic_id

    def wait_for_topic(self, name: str, deadline: Deadline) -> TopicMetadata:
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
                raise BrokerError(row, f"topic '{name}': {with_right(row.text, MetadataRequest, row.code)}")
            if deadline.expired:
                raise DeadlineExceeded(
                    f"Topic {name} not present in metadata after {round(deadline.timeout_s * 1000)} ms.",
                    hint="check that the topic exists or can be created automatically, and that its "
                    "partitions have leaders",
                )
            self._wait_for_backoff(deadline)
            if not deadline.expired:
                # The pool counts these connections: the error of the last one says that a login is required.
                with contextlib.suppress(ClosedAtFirstRequest):
                    self.take(self.call_any(self.request(), deadline))

    # Inside

    def _replace(self, nodes: list[Node], controller_id: int, cluster_id: str | None) -> None:
        """Take nodes and controller; a response without any node changes neither, but counts as a response."""
        self._freshness.updated()
        self.is_known = True
        if nodes:
            self._exchange.cluster_check.cluster_id = cluster_id
            self.nodes = {node.id: node for node in nodes}
            self._controller_id = controller_id

    def _refresh_if_stale(self, deadline: Deadline) -> None:
        if self._freshness.is_stale:
            self._wait_for_backoff(deadline)
            self.refresh(deadline)

    def _wait_for_backoff(self, deadline: Deadline) -> None:
        wait_s = min(self._freshness.pause_s(), deadline.left_s())
        if wait_s > 0:
            self._clock.sleep(wait_s)

    def _ask_controllers(self, deadline: Deadline) -> None:
        from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest

        self._freshness.attempted()
        response = self.call_any(DescribeClusterRequest(endpoint_type=EndpointType.CONTROLLER), deadline)
        error = error_of(response.error_code, response.error_message)
        if error is not None:
            raise error
        nodes = [Node(item.broker_id, item.host, item.port, item.rack) for item in response.brokers]
        self._replace(nodes, response.controller_id, response.cluster_id)

    def _trouble(self, node: Node) -> tuple[bool, bool, bool]:
        """Sort key: nodes that are likely to answer, with correct metadata, come first."""
        exchange = self._exchange
        return exchange.is_suspect(node), _address(node) in self._doubted, not exchange.is_connected(node)

    def _known_node(self, deadline: Deadline) -> Node | None:
        for node in sorted(self.nodes.values(), key=self._trouble):
            try:
                self._exchange.connected(node, deadline)
            except KafkaToolsError:
                continue  # the caller reports why the bootstrap servers could not be used
            return node
        return None


def _address(node: Node) -> tuple[str, int]:
    return node.host, node.port
