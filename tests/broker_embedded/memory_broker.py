"""A broker core without sockets and files, on a clock that only the test moves.

Requests go through the real dispatcher as the bytes that a client would send, in the version asked for, and the
answers come back as bytes: what a version lacks is noticed.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from kafka_tools.broker_embedded.call import Connection
from kafka_tools.broker_embedded.cluster.features import Features
from kafka_tools.broker_embedded.cluster.metadata import Cluster
from kafka_tools.broker_embedded.cluster.store import MemoryStore
from kafka_tools.broker_embedded.configs.store import ConfigStore
from kafka_tools.broker_embedded.coordinators.groups import Groups
from kafka_tools.broker_embedded.coordinators.producer_ids import ProducerIds
from kafka_tools.broker_embedded.core import Core
from kafka_tools.broker_embedded.dispatch import Dispatcher
from kafka_tools.broker_embedded.purgatory import Purgatory
from kafka_tools.broker_embedded.quotas.limits import Quotas
from kafka_tools.broker_embedded.quotas.throttling import Throttling
from kafka_tools.broker_embedded.security.acls import Acls
from kafka_tools.broker_embedded.security.delegation_tokens import DelegationTokens
from kafka_tools.broker_embedded.security.scram_credentials import Credentials
from kafka_tools.broker_embedded.slices import Slices
from kafka_tools.broker_embedded.timers import Timers
from kafka_tools.clock import ManualClock
from kafka_tools.protocol import registry
from kafka_tools.protocol.headers import decode_response, encode_request
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import PartitionRecord, RemoveTopicRecord, TopicRecord
from kafka_tools.values import Node, TopicPartition


class Answer:
    """What a request got: ``response`` is None until a parked one is answered."""

    def __init__(self) -> None:
        self.response: Any = None

    @property
    def done(self) -> bool:
        return self.response is not None


class MemoryCore(Core):
    """The core with its logs in a dict, and only the state that needs no files."""

    def __init__(self, properties: Mapping[str, str], store: MemoryStore, clock: ManualClock, node: Node) -> None:
        self.properties = dict(properties)
        self.store = store
        self.clock = clock
        self.release = None
        self.authorizer = None
        self.check_broker_config = None
        self.timers = Timers(clock)
        self.purgatory = Purgatory(self.timers)
        self.slices = Slices(self.timers)
        self._appliers = {}
        self.cluster = Cluster(self, "cluster", node)
        self.configs = ConfigStore(self)
        self.features = Features(self)
        self.quotas = Quotas(self)
        self.credentials = Credentials(self)
        self.acls = Acls(self)
        self.tokens = DelegationTokens(self)
        self.throttling = Throttling(self)
        self.groups = Groups(self)
        self.producer_ids = ProducerIds(self)
        self.batches: dict[TopicPartition, list[bytes]] = {}
        self.failing_appends: Exception | None = None

    def topic_config_changed(self, name: str) -> None:
        pass

    def broker_config_changed(self) -> None:
        pass

    def internal_append(self, topic: str, partition: int, batch: bytes | bytearray) -> int:
        if self.failing_appends:
            raise self.failing_appends
        log = self.batches.setdefault(TopicPartition(topic, partition), [])
        log.append(bytes(batch))
        return len(log) - 1

    def ensure_topic(self, name: str) -> None:
        if self.cluster.topic(name) is None:
            self.commit(topic_records(name, self.configs.broker.integer("offsets.topic.num.partitions"), 1))

    def read_batches(self, topic: str, partition: int) -> Iterator[Any]:
        from kafka_tools.records.batches import batches

        for batch in self.batches.get(TopicPartition(topic, partition), []):
            yield from batches(batch)


def topic_records(name: str, partitions: int, node_id: int) -> list[Stored]:
    topic_id = uuid.uuid4()
    records: list[Stored] = [TopicRecord(name=name, topic_id=topic_id)]
    for number in range(partitions):
        records.append(
            PartitionRecord(
                partition_id=number,
                topic_id=topic_id,
                replicas=[node_id],
                isr=[node_id],
                leader=node_id,
                leader_epoch=0,
            )
        )
    return records


class MemoryBroker:
    """``call`` sends a request, ``advance`` moves the clock, ``restart`` loads everything anew."""

    def __init__(self, properties: Mapping[str, str] | None = None, node_id: int = 1) -> None:
        self.properties = {"node.id": str(node_id), "offsets.topic.num.partitions": "3", **(properties or {})}
        self.clock = ManualClock()
        self.store = MemoryStore()
        self.batches: dict[TopicPartition, list[bytes]] = {}
        self.node = Node(node_id, "localhost", 9092)
        self.start()

    def start(self) -> None:
        core = MemoryCore(self.properties, self.store, self.clock, self.node)
        core.batches = self.batches
        self.core: Any = core
        self.dispatcher = Dispatcher(core)
        for record in self.store.replay():
            core.apply(record)
        core.groups.load()

    def restart(self) -> None:
        self.start()

    def create_topic(self, name: str, partitions: int = 1) -> uuid.UUID:
        self.core.commit(topic_records(name, partitions, self.node.id))
        return self.core.cluster.topics[name].id

    def delete_topic(self, name: str) -> None:
        self.core.commit([RemoveTopicRecord(topic_id=self.core.cluster.topic(name).id)])

    def send(
        self, request: Any, version: int | None = None, *, client_id: str = "client", host: str = "127.0.0.1"
    ) -> Answer:
        """Handle one request; the answer may still be open."""
        api = registry.api(request.API_KEY)
        handler = self.dispatcher.handlers[request.API_KEY]
        version = handler.max_version if version is None else version
        assert handler.min_version <= version <= handler.max_version, f"{api.name} v{version} is not served"
        answer = Answer()

        def take(payload: bytes | None) -> None:
            assert payload is not None
            answer.response = decode_response(api.response, version, payload)[1]

        frame = encode_request(request, version, 1, client_id)
        self.dispatcher.handle_frame(Connection("test", "PLAINTEXT", host), frame, take)
        return answer

    def call(self, request: Any, version: int | None = None, **rest: Any) -> Any:
        """The response of a request that is answered at once."""
        answer = self.send(request, version, **rest)
        assert answer.done, f"no answer yet to {request!r}"
        return answer.response

    def advance(self, ms: float) -> None:
        """Move the clock forward and run what is due on the way, in order."""
        end_s = self.clock.monotonic_s() + ms / 1000
        while True:
            due_s = self.core.timers.next_due_s()
            if due_s is None or due_s > end_s:
                break
            self.clock.advance(max(0.0, due_s - self.clock.monotonic_s()))
            self.core.step()
        self.clock.advance(max(0.0, end_s - self.clock.monotonic_s()))
