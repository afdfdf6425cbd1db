"""A cluster of scripted nodes in virtual time.

Not the bundled broker with its faults: several nodes that disagree, and releases whose APIs it does not have.
"""

import contextlib

import pytest

from kafka_tools.admin.client import AdminClient
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.net.virtual import VirtualNetwork, VirtualNode


class ScriptedCluster:
    """Nodes 1 to n. ``handlers[RequestClass]`` is ``answer(request, version, node_id)``; Metadata and
    FindCoordinator are answered from ``controller``, ``leaders`` and ``coordinator`` unless a handler stands there."""

    def __init__(self, size=1, versions=None):
        self.handlers = {}
        self.controller = 1
        self.leaders = {}
        self.coordinator = 1
        self.log = []
        self.nodes = {number: VirtualNode(number, self._answer, versions) for number in range(1, size + 1)}
        self.network = VirtualNetwork(list(self.nodes.values()))

    @property
    def bootstrap(self):
        return f"{self.nodes[1].host}:{self.nodes[1].port}"

    def sent(self, request_class):
        """(node id, request, version) of every request of a class, in order."""
        return [item for item in self.log if isinstance(item[1], request_class)]

    def _answer(self, request, version, node):
        if isinstance(request, ApiVersionsRequest) and ApiVersionsRequest not in self.handlers:
            return None
        self.log.append((node.id, request, version))
        handler = self.handlers.get(type(request))
        if handler is not None:
            return handler(request, version, node.id)
        if isinstance(request, MetadataRequest):
            return self.metadata(request)
        if isinstance(request, FindCoordinatorRequest):
            return self._coordinators(request, version)
        raise AssertionError(f"nothing answers {request}")

    def metadata(self, request):
        Broker, Topic = MetadataResponse.ResponseBroker, MetadataResponse.ResponseTopic
        brokers = [Broker(node_id=id, host=node.host, port=node.port) for id, node in self.nodes.items()]
        wanted = [topic.name for topic in request.topics] if request.topics is not None else None
        topics = []
        for name in sorted({partition.topic for partition in self.leaders}) if wanted is None else wanted:
            partitions = [
                Topic.ResponsePartition(
                    partition_index=key.partition,
                    leader_id=leader,
                    replica_nodes=[leader],
                    isr_nodes=[leader],
                    error_code=0 if leader >= 0 else 5,
                )
                for key, leader in self.leaders.items()
                if key.topic == name
            ]
            topics.append(Topic(name=name, partitions=partitions, error_code=0 if partitions else 3))
        return MetadataResponse(brokers=brokers, cluster_id="scripted", controller_id=self.controller, topics=topics)

    def _coordinators(self, request, version):
        node = self.nodes[self.coordinator]
        place = {"node_id": self.coordinator, "host": node.host, "port": node.port}
        if version < 4:
            return FindCoordinatorResponse(**place)
        Coordinator = FindCoordinatorResponse.Coordinator
        return FindCoordinatorResponse(coordinators=[Coordinator(key=key, **place) for key in request.coordinator_keys])


@pytest.fixture
def scripted():
    """``scripted(size, versions, **settings)`` -> (cluster, admin client), closed at the end of the test."""
    with contextlib.ExitStack() as stack:

        def make(size=1, versions=None, timeout_s=30.0, warn=None, **settings):
            cluster = ScriptedCluster(size, versions)
            stack.enter_context(cluster.network.in_use())
            values = {"bootstrap.servers": cluster.bootstrap, "retry.backoff.ms": "10", "retry.backoff.max.ms": "20"}
            values |= {"reconnect.backoff.ms": "5", "reconnect.backoff.max.ms": "10"}
            values |= {key.replace("_", "."): str(value) for key, value in settings.items()}
            client = stack.enter_context(AdminClient(ClientConfig(values), timeout_s=timeout_s, warn=warn))
            return cluster, client

        yield make
