"""What the admin client knows of the cluster: nodes, controller, cluster id; when it asks again.

Refreshes when somebody found it wrong (``request_update``), when it is older than ``metadata.max.age.ms``, and
never twice within ``retry.backoff.ms``. When no known node answers it starts again from the bootstrap servers
(KIP-899). Leaders and coordinators are not kept: calls look them up (``admin.lookups``).
"""

from __future__ import annotations

from typing import Any

from kafka_tools.clock import Deadline
from kafka_tools.errors import KafkaToolsError, NetworkError
from kafka_tools.net.broker_errors import error_of
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.freshness import Freshness
from kafka_tools.protocol.enums import EndpointType
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.values import Node


class ClusterMetadata:
    """See the module."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._clock = exchange.clock
        self._nodes: dict[int, Node] = {}
        self._controller_id = -1
        self._cluster_id: str | None = None
        config = exchange.config
        self._freshness = Freshness(
            exchange.clock,
            max_age_ms=config.number("metadata.max.age.ms"),
            backoff_ms=config.number("retry.backoff.ms"),
        )

    def request_update(self) -> None:
        """What is known turned out to be wrong: the next user asks again."""
        self._freshness.wanted = True

    def clear_controller(self) -> None:
        """The controller has moved; the nodes stay known."""
        self._controller_id = -1
        self.request_update()

    def any_node(self, deadline: Deadline) -> Node:
        """A node to talk to: one that is connected, else the first bootstrap server or known node that answers.

        One that left a request unanswered is passed over as long as there are others.
        """
        suspect = self._exchange.is_suspect
        for node in self._nodes.values():
            if self._exchange.is_connected(node) and not suspect(node):
                return node
        if any(map(suspect, self._nodes.values())):
            found = self._known_node(deadline)
            if found is not None:
                return found
        try:
            return self._exchange.bootstrap(deadline)
        except NetworkError as error:
            found = self._known_node(deadline)
            if found is None:
                raise
            del error
            return found

    def nodes(self, deadline: Deadline) -> list[Node]:
        """Every node of the cluster, by id."""
        self._refresh_if_due(deadline)
        return [self._nodes[id] for id in sorted(self._nodes)]

    def node(self, id: int, deadline: Deadline) -> Node | None:
        """The node of an id; None when the cluster has none of that id."""
        if id not in self._nodes:
            self.request_update()
        self._refresh_if_due(deadline)
        return self._nodes.get(id)

    def controller(self, deadline: Deadline) -> Node | None:
        """The node that answers for the controller; None while there is none."""
        if self._controller_id < 0:
            self.request_update()
        self._refresh_if_due(deadline)
        return self._nodes.get(self._controller_id)

    def delay_s(self) -> float:
        """Seconds until a refresh is allowed (0: now); the caller waits, so that retries do not storm."""
        return self._freshness.pause_s()

    def is_due(self) -> bool:
        """Whether the next user has to ask the cluster."""
        return self._freshness.is_stale

    def update(self, cluster_id: str | None, controller_id: int, nodes: list[Node]) -> None:
        """Take a cluster's description; one without any node changes nothing but is an answer."""
        self._freshness.updated()
        if nodes:
            self._nodes = {node.id: node for node in nodes}
            self._controller_id = controller_id
            self._cluster_id = cluster_id

    def take_response(self, response: Any) -> None:
        """What any Metadata response says about the cluster, whatever it was asked for."""
        nodes = [Node(item.node_id, item.host, item.port, item.rack) for item in response.brokers]
        self.update(response.cluster_id, response.controller_id, nodes)

    def _refresh_if_due(self, deadline: Deadline) -> None:
        if not self.is_due():
            return
        self._clock.sleep(min(self.delay_s(), deadline.left_s()))
        node = self.any_node(deadline)
        self._freshness.attempted()
        if self._exchange.config.is_controllers:
            self._ask_controllers(node, deadline)
            return
        # No topics are named, so that nothing is created by asking.
        response = self._exchange.call(node, MetadataRequest(topics=[]), deadline)
        error = error_of(response.error_code)
        if error is not None:
            raise error
        self.take_response(response)

    def _ask_controllers(self, node: Node, deadline: Deadline) -> None:
        from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest

        response = self._exchange.call(node, DescribeClusterRequest(endpoint_type=EndpointType.CONTROLLER), deadline)
        error = error_of(response.error_code, response.error_message)
        if error is not None:
            raise error
        nodes = [Node(item.broker_id, item.host, item.port, item.rack) for item in response.brokers]
        self.update(response.cluster_id, response.controller_id, nodes)

    def _known_node(self, deadline: Deadline) -> Node | None:
        for node in sorted(self._nodes.values(), key=self._exchange.is_suspect):
            try:
                self._exchange.connected(node, deadline)
            except KafkaToolsError:
                continue  # the caller reports why the bootstrap servers could not be used
            return node
        return None
