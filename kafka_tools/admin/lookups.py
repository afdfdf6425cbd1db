"""Lookups of the node for a key: any node, the controller, a given node, a partition's leader, a coordinator.

A lookup maps keys to nodes. A key without a node gets a final error, or a reason to retry. A lookup sends its own
requests (Metadata, FindCoordinator) and retries nothing: ``admin.driver`` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from kafka_tools.clock import Deadline
from kafka_tools.errors import ConnectFailed, InvalidRequest, KafkaToolsError
from kafka_tools.net.broker_errors import broker_error, error_of, has_code
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.net.rights import name_what_is_missing
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, TRANSACTION_STATE, CoordinatorType
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.texts.java_hashing import positive_hash
from kafka_tools.values import Node, TopicPartition

K = TypeVar("K", bound=Hashable)

_STATE_TOPICS = {CoordinatorType.GROUP: CONSUMER_OFFSETS, CoordinatorType.TRANSACTION: TRANSACTION_STATE}
"""Key type -> the topic whose partitions' leaders are the coordinators."""

NEW_PARTITION_GRACE_S = 0.3
"""How long to retry a partition that a broker does not know yet, although it knows the topic."""
OFFLINE_GRACE_S = 3.0
"""How long to retry a partition whose in-sync replicas are all offline: an operator has to start a broker."""


class ClusterAccess(NamedTuple):
    """The connections and the metadata that a lookup works with."""

    exchange: Exchange
    metadata: ClusterMetadata


class FoundNodes(Generic[K]):
    """Keys with their nodes, keys with a final error, and keys to retry with the reason."""

    def __init__(self, nodes: dict[K, Node] | None = None) -> None:
        self.nodes = nodes or {}
        self.failed: dict[K, KafkaToolsError] = {}
        self.later: dict[K, KafkaToolsError] = {}
        self.grace_s: dict[K, float] = {}
        """Limits in seconds for retries of keys in ``later``, if known."""

    def keep_only(self, keys: Iterable[K]) -> None:
        """Drop results for other keys than ``keys``."""
        asked = set(keys)
        for part in (self.nodes, self.failed, self.later):
            for key in part.keys() - asked:
                del part[key]

    def wait_for(self, key: K, reason: KafkaToolsError, grace_s: float) -> None:
        """Retry a key, but fail it when the reason has lasted this long."""
        self.later[key] = reason
        self.grace_s[key] = grace_s


class Lookup(ABC, Generic[K]):
    """Finds nodes for keys."""

    def is_patient(self, key: K) -> bool:
        """Whether to retry an unreachable node, because ``key`` may move to another node."""
        return True

    @abstractmethod
    def find(self, cluster: ClusterAccess, keys: Sequence[K], deadline: Deadline) -> FoundNodes[K]:
        """Find the node of each key. Raises errors of all keys."""


class AnyNodeLookup(Lookup[K]):
    """Every key to any broker; with bootstrap controllers, to the active controller (KIP-919)."""

    def find(self, cluster: ClusterAccess, keys: Sequence[K], deadline: Deadline) -> FoundNodes[K]:
        if cluster.exchange.config.is_controllers:
            return ControllerLookup[K]().find(cluster, keys, deadline)
        return FoundNodes(dict.fromkeys(keys, cluster.metadata.any_node(deadline)))


class ControllerLookup(Lookup[K]):
    """Every key to the controller."""

    def find(self, cluster: ClusterAccess, keys: Sequence[K], deadline: Deadline) -> FoundNodes[K]:
        node = cluster.metadata.controller(deadline)
        if node is not None:
            return FoundNodes(dict.fromkeys(keys, node))
        found: FoundNodes[K] = FoundNodes()
        found.later = dict.fromkeys(keys, ConnectFailed("the cluster has no controller at the moment"))
        return found


class GivenNodeLookup(Lookup[K]):
    """Each key to the node whose id ``node_id`` names; None means any node."""

    def __init__(self, node_id: Callable[[K], int | None]) -> None:
        self._node_id = node_id

    def is_patient(self, key: K) -> bool:
        return self._node_id(key) is None

    def find(self, cluster: ClusterAccess, keys: Sequence[K], deadline: Deadline) -> FoundNodes[K]:
        found: FoundNodes[K] = FoundNodes()
        nodes: dict[int | None, Node | None] = {}
        for key in keys:
            id = self._node_id(key)
            if id not in nodes:
                nodes[id] = cluster.metadata.any_node(deadline) if id is None else cluster.metadata.node(id, deadline)
            node = nodes[id]
            if node is None:
                known = ", ".join(str(node.id) for node in cluster.metadata.live_nodes(deadline))
                text = f"the cluster has no live broker {id}; live brokers: {known or 'none'}"
                found.failed[key] = InvalidRequest(error_codes.error(error_codes.BROKER_ID_NOT_REGISTERED), text)
            else:
                found.nodes[key] = node
        return found


class SameNodeLookup(Lookup[Node]):
    """Keys that are nodes: each to itself."""

    def is_patient(self, key: Node) -> bool:
        return False

    def find(self, cluster: ClusterAccess, keys: Sequence[Node], deadline: Deadline) -> FoundNodes[Node]:
        return FoundNodes({node: node for node in keys})


class LeaderLookup(Lookup[TopicPartition]):
    """Each partition to its leader, by one Metadata request for all of their topics.

    ``known``: partition -> id of its leader from a recent response. It is used once: if the leader has moved, a
    request finds it.
    """

    def __init__(self, known: Mapping[TopicPartition, int] | None = None) -> None:
        self._known = known or {}

    def find(
        self, cluster: ClusterAccess, keys: Sequence[TopicPartition], deadline: Deadline
    ) -> FoundNodes[TopicPartition]:
        found: FoundNodes[TopicPartition] = FoundNodes()
        if self._known:
            known, self._known = self._known, {}
            live = {node.id: node for node in cluster.metadata.live_nodes(deadline)}
            found.nodes = {key: live[known[key]] for key in keys if known.get(key) in live}
            keys = [key for key in keys if key not in found.nodes]
            if not keys:
                return found
        topics = {item.name: item for item in _topics(cluster, {key.topic for key in keys}, deadline)}
        partitions = {name: {item.partition_index: item for item in topic.partitions} for name, topic in topics.items()}
        live = {node.id: node for node in cluster.metadata.live_nodes(deadline)}
        for key in keys:
            topic = topics.get(key.topic)
            if topic is None:
                found.failed[key] = broker_error(
                    error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"Topic {key.topic} not found."
                )
                continue
            error = error_of(topic.error_code)
            if error is None:
                self._place(key, partitions[key.topic], live, found)
            elif error.code.retriable:
                found.later[key] = _named(error.code.code, key)
            else:
                name_what_is_missing(error, MetadataRequest)
                found.failed[key] = error
        return found

    @staticmethod
    def _place(
        key: TopicPartition, partitions: dict[int, Any], live: dict[int, Node], found: FoundNodes[TopicPartition]
    ) -> None:
        partition = partitions.get(key.partition)
        if partition is None:
            count = len(partitions)
            text = f"topic {key.topic} has no partition {key.partition}, only 0 to {count - 1}"
            error = broker_error(error_codes.UNKNOWN_TOPIC_OR_PARTITION, text)
            found.wait_for(key, error, NEW_PARTITION_GRACE_S)
        elif partition.leader_id not in live:
            code = partition.error_code or error_codes.LEADER_NOT_AVAILABLE
            offline = _offline(key, partition, live)
            if offline is None:
                found.later[key] = _named(code, key)
            else:
                found.wait_for(key, broker_error(code, offline), OFFLINE_GRACE_S)
        else:
            found.nodes[key] = live[partition.leader_id]


class CoordinatorLookup(Lookup[str]):
    """Each group or transactional id to its coordinator (FindCoordinator)."""

    def __init__(self, key_type: int = CoordinatorType.GROUP) -> None:
        self._key_type = key_type

    def find(self, cluster: ClusterAccess, keys: Sequence[str], deadline: Deadline) -> FoundNodes[str]:
        from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest

        found: FoundNodes[str] = FoundNodes()
        for key in keys:
            if key is None:  # untyped callers, and files with a missing value
                text = "The given group id 'null' cannot be represented in a request."
                found.failed[key] = broker_error(error_codes.INVALID_GROUP_ID, text)
        keys = [key for key in keys if key not in found.failed]
        if not keys:
            return found
        node = cluster.metadata.any_node(deadline)
        versions = cluster.exchange.node_versions(node, deadline)
        version = versions.newest(FindCoordinatorRequest)
        if self._key_type != CoordinatorType.GROUP:
            versions.require(FindCoordinatorRequest, 1, "this kind of coordinator")
        if version >= 4:
            request = FindCoordinatorRequest(key_type=self._key_type, coordinator_keys=list(keys))
            answers = [(item.key, item) for item in cluster.exchange.call(node, request, deadline).coordinators]
        else:
            requests = [(node, FindCoordinatorRequest(key_type=self._key_type, key=key)) for key in keys]
            answers = list(zip(keys, cluster.exchange.call_many(requests, deadline), strict=True))
        for key, answer in answers:
            if isinstance(answer, KafkaToolsError):
                raise answer
            self._place(key, answer, found)
        self._look_for_offline(cluster, found, deadline)
        return found

    def _look_for_offline(self, cluster: ClusterAccess, found: FoundNodes[str], deadline: Deadline) -> None:
        """Report keys without a coordinator if the partition with their state is offline.

        Brokers only report a missing coordinator, also while the topic of the state is being created.
        """
        absent = [key for key, error in found.later.items() if has_code(error, error_codes.COORDINATOR_NOT_AVAILABLE)]
        if not absent:
            return
        (topic,) = _topics(cluster, [_STATE_TOPICS[self._key_type]], deadline) or (None,)
        if topic is None or not topic.partitions:
            return
        live = {node.id: node for node in cluster.metadata.live_nodes(deadline)}
        partitions = {item.partition_index: item for item in topic.partitions}
        for key in absent:
            place = TopicPartition(topic.name, positive_hash(key) % len(partitions))
            partition = partitions.get(place.partition)
            offline = _offline(place, partition, live) if partition is not None else None
            if offline is not None:
                found.wait_for(key, broker_error(error_codes.COORDINATOR_NOT_AVAILABLE, offline), OFFLINE_GRACE_S)

    def _place(self, key: str, item: Any, found: FoundNodes[str]) -> None:
        if item.error_code == error_codes.NONE:
            found.nodes[key] = Node(item.node_id, item.host, item.port)
            return
        from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest

        error = broker_error(item.error_code, item.error_message or None)
        name_what_is_missing(error, FindCoordinatorRequest)
        retriable = error.code.retriable or item.error_code == error_codes.COORDINATOR_NOT_AVAILABLE
        (found.later if retriable else found.failed)[key] = error


def _topics(cluster: ClusterAccess, names: Iterable[str], deadline: Deadline) -> list[Any]:
    """A broker's metadata of these topics, from one Metadata request."""
    Topic = MetadataRequest.RequestTopic
    request = MetadataRequest(topics=[Topic(name=name) for name in sorted(names)], allow_auto_topic_creation=False)
    node = cluster.metadata.any_node(deadline)
    response = cluster.exchange.call(node, request, deadline)
    error = error_of(response.error_code)
    if error is not None:
        raise error
    cluster.metadata.take_nodes(response)
    topics: list[Any] = response.topics
    return topics


def _offline(place: TopicPartition, partition: Any, live: Mapping[int, Node]) -> str | None:
    """Why a partition cannot get a leader now: none of its in-sync replicas is alive. None where it may get one."""
    if partition.leader_id in live or any(id in live for id in partition.isr_nodes):
        return None
    gone = ", ".join(map(str, partition.isr_nodes or partition.replica_nodes))
    return f"{place} is offline: its last in-sync broker {gone} is not running"


def _named(code: int, key: TopicPartition) -> KafkaToolsError:
    return broker_error(code, f"{key}: {error_codes.error(code).text}")


def versions_of(cluster: ClusterAccess, deadline: Deadline) -> NodeVersions:
    """The API versions of a node, for calls that choose between APIs."""
    return cluster.exchange.node_versions(cluster.metadata.any_node(deadline), deadline)
