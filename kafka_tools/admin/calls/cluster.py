"""The cluster itself: id, nodes, controller; and the API versions that each node supports."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.calls.permissions import operations_of
from kafka_tools.admin.driver import ALL, AdminCall, Reply
from kafka_tools.admin.lookups import AnyNodeLookup, SameNodeLookup
from kafka_tools.clock import Deadline
from kafka_tools.errors import ConnectFailed
from kafka_tools.net.versions import NodeVersions, VersionRange
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import EndpointType
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.schema import Request
from kafka_tools.values import Node

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.describe_cluster import DescribeClusterResponse


class ClusterDescription(NamedTuple):
    """A cluster as one node describes it. ``nodes`` are brokers, or controllers when controllers were asked.

    ``controller`` is None while there is none. ``fenced``: ids of registered brokers that are not live (KIP-1073).
    """

    cluster_id: str | None
    controller: Node | None
    nodes: tuple[Node, ...]
    fenced: frozenset[int] = frozenset()
    authorized_operations: tuple[str, ...] | None = None
    """The ACL operations that the principal is authorized for; None unless requested (2.3)."""


class DescribeCluster(AdminCall[str, ClusterDescription, "DescribeClusterResponse | MetadataResponse"]):
    """By DescribeCluster (2.8), else by Metadata."""

    name = "describe cluster"
    lookup = AnyNodeLookup()

    controllers: bool
    include_fenced_brokers: bool = False
    include_authorized_operations: bool = False
    needs_nodes: bool = False
    """Whether to retry after a response without any node, as from a cluster that starts."""

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest

        if self.include_fenced_brokers:
            versions.require(DescribeClusterRequest, 2, "showing fenced brokers")
        if not versions.has(DescribeClusterRequest) and not self.controllers:
            if self.include_authorized_operations:
                versions.require(MetadataRequest, 8, "asking for the authorized operations of the cluster")
            return MetadataRequest(topics=[], include_cluster_authorized_operations=self.include_authorized_operations)
        if self.controllers:
            versions.require(DescribeClusterRequest, 1, "describing controllers")
        kind = EndpointType.CONTROLLER if self.controllers else EndpointType.BROKER
        return DescribeClusterRequest(
            endpoint_type=kind,
            include_fenced_brokers=self.include_fenced_brokers,
            include_cluster_authorized_operations=self.include_authorized_operations,
        )

    def interpret(self, reply: Reply[str, ClusterDescription, DescribeClusterResponse | MetadataResponse]) -> None:
        response = reply.response
        if isinstance(response, MetadataResponse):
            message = None
            nodes = {item.node_id: Node(item.node_id, item.host, item.port, item.rack) for item in response.brokers}
            fenced: frozenset[int] = frozenset()
        else:
            message = response.error_message
            nodes = {each.broker_id: Node(each.broker_id, each.host, each.port, each.rack) for each in response.brokers}
            fenced = frozenset(each.broker_id for each in response.brokers if each.is_fenced)
        if self.needs_nodes and not nodes and response.error_code == error_codes.NONE:
            reply.again[ALL] = ConnectFailed(f"{reply.node}: Metadata fetch failed due to missing broker list")
            return
        description = ClusterDescription(
            response.cluster_id,
            nodes.get(response.controller_id),
            tuple(nodes[id] for id in sorted(nodes)),
            fenced,
            operations_of(response.cluster_authorized_operations),
        )
        reply.take(ALL, response.error_code, message, description)


class ApiVersions(AdminCall[Node, dict[int, VersionRange], ApiVersionsResponse]):
    """Node -> API key -> (oldest, newest)."""

    name = "API versions"
    lookup = SameNodeLookup()

    def build(self, keys: list[Node], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools import __version__

        return ApiVersionsRequest(client_software_name="kafka-tools", client_software_version=__version__)

    def interpret(self, reply: Reply[Node, dict[int, VersionRange], ApiVersionsResponse]) -> None:
        ranges = {item.api_key: (item.min_version, item.max_version) for item in reply.response.api_keys}
        for key in reply.keys:
            reply.take(key, reply.response.error_code, None, ranges)
