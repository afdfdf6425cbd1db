"""The argument of a handler: one request and its connection.

``dispatch`` finds the handler of a request, and ``serving`` sends the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafka_tools.broker_embedded.answers import encode_whole
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.enums import CLUSTER_NAME, AclResourceType
from kafka_tools.values import Node

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.answers import Payload
    from kafka_tools.broker_embedded.connection import Connection
    from kafka_tools.broker_embedded.core import Core

RequestBytes = bytes | bytearray | memoryview
Answer = Callable[["Payload | None"], None]
"""Gets the payload of a response frame, or None if the client expects no answer."""


class NoReply:
    """A handler returns it if the client expects no answer (produce with acks=0)."""


NO_REPLY = NoReply()


class CloseConnection(Exception):
    """A handler raises it if the protocol has no other answer than to close the connection."""


class Call:
    """One request with everything that a handler needs. ``broker`` is the Core."""

    __slots__ = (
        "api", "broker", "client_id", "connection", "encode", "on_throttled", "request", "throttle_ms", "version"
    )  # fmt: skip

    def __init__(
        self, broker: Core, connection: Connection, api: registry.Api, version: int, client_id: str | None, request: Any
    ) -> None:
        self.broker = broker
        self.connection = connection
        self.api = api
        self.version = version
        self.client_id = client_id or ""
        self.request = request
        self.throttle_ms = 0
        """The throttle time in ms that the handler sets (quota of controller mutations)."""
        self.on_throttled: Callable[[], None] | None = None
        """Called if the client is over a quota and gets an empty answer instead (Fetch)."""
        self.encode: Callable[[Any, int, int], Payload] = encode_whole
        """(response, version, correlation id) -> its bytes. Fetch sets another one for ranges of files."""

    @property
    def principal(self) -> str:
        return self.connection.principal

    @property
    def client_host(self) -> str:
        """The client's address as Kafka spells it."""
        return self.connection.kafka_host

    @property
    def connection_id(self) -> str:
        return self.connection.id

    def nodes(self) -> list[Node]:
        """The cluster's nodes at the addresses that this client can use."""
        return self.broker.cluster.nodes_on(self.connection.listener, self.connection.local_host)

    def node(self, id: int) -> Node:
        """One node at the address that this client can use. KeyError for an unknown id."""
        return {node.id: node for node in self.nodes()}[id]

    def allowed(self, operation: int, resource_type: int, name: str) -> bool:
        """Whether the principal may do this (an AclOperation) with a resource of an AclResourceType."""
        authorizer = self.broker.authorizer
        return authorizer is None or authorizer(self.principal, self.client_host, operation, resource_type, name)

    def allowed_on_cluster(self, operation: int) -> bool:
        """Whether the principal may do this with the cluster."""
        return self.allowed(operation, AclResourceType.CLUSTER, CLUSTER_NAME)

    def allowed_on_topic(self, operation: int, name: str) -> bool:
        """Whether the principal may do this with a topic."""
        return self.allowed(operation, AclResourceType.TOPIC, name)

    def allowed_on_group(self, operation: int, group_id: str) -> bool:
        """Whether the principal may do this with a group."""
        return self.allowed(operation, AclResourceType.GROUP, group_id)

    def allowed_on_transactional_id(self, operation: int, transactional_id: str) -> bool:
        """Whether the principal may do this with a transactional id."""
        return self.allowed(operation, AclResourceType.TRANSACTIONAL_ID, transactional_id)

    def allowed_somewhere(self, operation: int, resource_type: int) -> bool:
        """Whether the principal may do this with at least one resource of a type."""
        # Kafka checks this name: super users and principals with the right on every resource pass.
        return self.allowed(operation, resource_type, "hardcode") or self.broker.acls.authorize_somewhere(
            self.principal, self.client_host, operation, resource_type
        )


def check_timeout(timeout_ms: int) -> None:
    """The controller refuses a request with a timeout of 0 or less as a whole: REQUEST_TIMED_OUT."""
    if timeout_ms <= 0:
        raise error_for(error_codes.REQUEST_TIMED_OUT)
