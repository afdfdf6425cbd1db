"""A whole core over a directory, without sockets: requests in, responses out, on a clock that the test moves.

No fake: the bundled broker itself, with its faults (``faults``); what is left out is the listeners.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from kafka_tools.broker_embedded.configs.endpoints import Endpoint
from kafka_tools.broker_embedded.configs.limits import BrokerLimits
from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.broker_embedded.core import Core
from kafka_tools.broker_embedded.dispatch import Dispatcher
from kafka_tools.broker_embedded.faults.vocabulary import Faults
from kafka_tools.broker_embedded.opening import open_core
from kafka_tools.broker_embedded.security.authentication import ListenerSecurity
from kafka_tools.broker_embedded.security.login_sources import LoginSources
from kafka_tools.clock import ManualClock
from kafka_tools.protocol import registry
from kafka_tools.protocol.headers import decode_response, encode_request
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.protocol.schema import Request
from kafka_tools.records.build import build_batch


def listener_security(core: Core, endpoint: Endpoint, properties: Mapping[str, str] | None = None) -> ListenerSecurity:
    """What a SASL listener of this core offers; ``properties``: the broker's own if not given."""
    sources = LoginSources(core.credentials, core.tokens, core.timers)
    return ListenerSecurity(sources, endpoint, core.configs.broker_properties() if properties is None else properties)


def step(core: Core) -> None:
    """Run what is due, and what that leaves to be done at the same moment: where the clock stands still, all of it."""
    now_s = core.clock.monotonic_s()
    due_s = core.step()
    while due_s is not None and due_s <= now_s:
        due_s = core.step()


class Pending:
    """What a request got; ``response`` stays None while it is parked or if no answer is wanted."""

    def __init__(self) -> None:
        self.response: Any = None


class DiskBroker:
    """The core of a broker whose files are in ``path``. After each test ``conftest.py`` closes the ``opened`` cores."""

    opened: ClassVar[list[Core]] = []

    def __init__(
        self,
        path: Path,
        properties: Mapping[str, str] | None = None,
        *,
        release: str | None = None,
        fsync: str = "kafka",
        more_dirs: Sequence[Path] = (),
        limits: BrokerLimits | None = None,
    ) -> None:
        self.fsync = fsync
        self.path = path
        self.more_dirs = more_dirs
        self.limits = limits or BrokerLimits()
        self.properties = dict(properties or {})
        self.release = release
        self.clock = ManualClock()
        self.faults = Faults()
        self.core: Core
        self.open()

    def open(self) -> None:
        self.core = open_core(
            self.properties,
            data_dirs=[str(self.path), *map(str, self.more_dirs)],
            clock=self.clock,
            release=self.release,
            fsync=self.fsync,
            is_loading_held=self.faults.is_loading_held,
            limits=self.limits,
        )
        self.opened.append(self.core)
        self.dispatcher = Dispatcher(self.core)
        self.faults.attach(self.dispatcher.handlers, self.core.load_released)
        self.connection = Connection("c-1", "PLAINTEXT", "127.0.0.1")

    def restart(self, *, kill: bool = False) -> None:
        self.core.close(clean=not kill)
        self.open()

    def send(self, request: Request, version: int, connection: Connection | None = None) -> Pending:
        """Serve one request; the answer is decoded in the version asked for."""
        pending = Pending()
        response_class = registry.api(request.API_KEY).response

        def answer(payload: Any) -> None:
            if payload is not None:
                whole = payload if isinstance(payload, bytes) else b"".join(payload)
                correlation_id, pending.response = decode_response(response_class, version, whole)
                assert correlation_id == 7

        # In memory that may be written to, as what comes from clients: nothing else is served at once.
        frame = memoryview(bytearray(encode_request(request, version, 7, "test")))
        self.dispatcher.handle_frame(connection or self.connection, frame, answer)
        return pending

    def call(self, request: Request, version: int) -> Any:
        """The response to a request that is answered at once."""
        response = self.send(request, version).response
        assert response is not None, "the call is parked"
        return response

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.step()

    def step(self) -> None:
        step(self.core)

    # What many tests need

    def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        Topic = CreateTopicsRequest.CreatableTopic
        topic = Topic(name=name, num_partitions=partitions, replication_factor=1)
        topic.configs = [
            Topic.CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()
        ]
        (result,) = self.call(CreateTopicsRequest(topics=[topic]), 5).topics
        assert result.error_code == 0, result

    def produce(self, topic: str, batch: bytes | None, *, partition: int = 0, version: int = 9, acks: int = -1) -> Any:
        """The partition's part of the answer to producing one batch."""
        return self.produce_pending(topic, batch, partition=partition, version=version, acks=acks).response.responses[
            0
        ].partition_responses[0]  # fmt: skip

    def produce_pending(
        self, topic: str, batch: bytes | None, *, partition: int = 0, version: int = 9, acks: int = -1
    ) -> Pending:
        TopicData = ProduceRequest.TopicProduceData
        data = TopicData(name=topic, partition_data=[TopicData.PartitionProduceData(index=partition, records=batch)])
        if version >= 13:
            known = self.core.cluster.topic(topic)
            data = TopicData(topic_id=known.id if known else None, partition_data=data.partition_data)
        return self.send(ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[data]), version)

    def batch(self, *values: bytes, **options: Any) -> bytes:
        """A batch with these values, stamped with the clock's time."""
        now_ms = self.clock.now_ms()
        return build_batch([(now_ms, b"key", value, ()) for value in values], **options)


def fetch_request(
    topic: str, offset: int, *, partition: int = 0, max_bytes: int = 1 << 20, **fields: Any
) -> FetchRequest:
    """A fetch of one partition by name, without a session."""
    Topic = FetchRequest.Topic
    wanted = Topic.Partition(partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes)
    values: dict[str, Any] = {"max_wait_ms": 500, "min_bytes": 1, **fields}
    return FetchRequest(topics=[Topic(topic=topic, partitions=[wanted])], **values)
