"""A broker core without sockets and files, on a clock that only the test moves.

Requests go through the real dispatcher as the bytes that a client would send, in the version asked for, and the
answers come back as bytes: what a version lacks is noticed. No fake: the bundled broker's own core, whose logs are left
out so that thousands of groups cost no disk; where files matter ``disk_broker`` is used.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from kafka_tools.broker_embedded.configs.store import View
from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.broker_embedded.core import Core
from kafka_tools.broker_embedded.dispatch import Dispatcher
from kafka_tools.broker_embedded.partitions.hosted import Partitions
from kafka_tools.broker_embedded.partitions.partition import Partition, limits
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.clock import ManualClock
from kafka_tools.protocol import registry
from kafka_tools.protocol.headers import decode_response, encode_request
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import PartitionRecord, RemoveTopicRecord, TopicRecord
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.values import TopicPartition
from tests.broker_embedded.disk_broker import step


class Answer:
    """What a request got: ``response`` is None until a parked one is answered."""

    def __init__(self) -> None:
        self.response: Any = None

    @property
    def done(self) -> bool:
        return self.response is not None


class MemoryStore:
    """A store of metadata records that forgets with the process."""

    def __init__(self) -> None:
        self.records: list[Stored] = []

    @property
    def end_offset(self) -> int:
        return len(self.records)

    def append(self, records: Sequence[Stored]) -> None:
        self.records.extend(records)

    def sync(self) -> None:
        """There is no disk."""

    def replay(self) -> Iterator[Stored]:
        yield from list(self.records)

    def why_lost(self) -> str | None:
        return None

    def lose(self, why: str) -> None:
        """There are no files."""

    def close(self, *, clean: bool = True) -> bool:
        return clean


class MemoryDirs:
    """The log directories of a broker that has none."""

    cluster_id = "cluster"
    paths = live = ()
    metadata_dir = ""
    unsynced = None

    def mark_clean(self, paths: list[str]) -> None: ...

    def unlock(self) -> None: ...


class MemoryLog:
    """A partition's log as a list of batches, which outlives the core."""

    def __init__(self, kept: list[bytes]) -> None:
        self.kept = kept
        self._end = list(batches(kept[-1]))[-1].last_offset + 1 if kept else 0
        self.failing: Exception | None = None

    segments = ()

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.kept))

    def append(self, batch: bytearray, *, leader_epoch: int, from_client: bool) -> Any:
        if self.failing is not None:
            raise self.failing
        offset = self._end
        batch[:8] = offset.to_bytes(8, "big")
        self._end += int.from_bytes(batch[23:27], "big") + 1  # the last offset delta
        self.kept.append(bytes(batch))
        return SimpleNamespace(base_offset=offset, last_offset=self._end - 1)

    def walk(self, offset: int | None = None) -> Iterator[BatchView]:
        for batch in self.kept:
            yield from (view for view in batches(batch) if view.last_offset >= (offset or 0))


class MemoryPartitions(Partitions):
    """Partitions without files: each that the cluster has is there. ``kept`` and ``failing`` are the test's."""

    kept: dict[TopicPartition, list[bytes]]
    failing: Exception | None = None

    def get(self, topic: str, number: int) -> Partition | None:
        info = self._cluster.partition(topic, number)
        if info is None:
            return None
        id = TopicPartition(topic, number)
        found = self._partitions.get(id)
        if found is None:
            log: Any = MemoryLog(self.kept.setdefault(id, []))
            configs = self._configs.topic(topic)
            topic_id = self._cluster.topics[topic].id
            found = self._partitions[id] = Partition(id, topic_id, log, "", info.leader_epoch, limits(configs))
        found.log.failing = self.failing  # type: ignore[attr-defined]
        return found

    def locate(self) -> None: ...

    def open_all(self) -> None: ...

    def start_timers(self) -> None: ...

    def configs_changed(self, topic_name: str | None) -> None: ...

    def make(self, topic: str, topic_id: uuid.UUID, numbers: Iterable[int], configs: View) -> Work[list[Partition]]:
        yield
        return []


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
        self.node_id = node_id
        self.start()

    def start(self) -> None:
        dirs: Any = MemoryDirs()
        self.core: Any = Core(
            properties=self.properties, dirs=dirs, store=self.store, clock=self.clock, hosted=MemoryPartitions
        )
        self.core.partitions.kept = self.batches
        self.core.registration.endpoints["PLAINTEXT"] = ("localhost", 9092)
        self.dispatcher = Dispatcher(self.core)
        self.core.start()

    def fail_appends(self, error: Exception | None) -> None:
        """Let every append raise from now on; None lets them succeed again."""
        self.core.partitions.failing = error

    def restart(self) -> None:
        self.start()

    def create_topic(self, name: str, partitions: int = 1) -> uuid.UUID:
        self.core.journal.commit(topic_records(name, partitions, self.node_id))
        return self.core.cluster.topics[name].id

    def delete_topic(self, name: str) -> None:
        self.core.journal.commit([RemoveTopicRecord(topic_id=self.core.cluster.topic(name).id)])

    def send(
        self, request: Any, version: int | None = None, *, client_id: str = "client", host: str = "127.0.0.1"
    ) -> Answer:
        """Handle one request; the answer may still be open."""
        api = registry.api(request.API_KEY)
        handler = self.dispatcher.handlers[request.API_KEY]
        version = handler.max_version if version is None else version
        assert handler.min_version <= version <= handler.max_version, f"{api.name} v{version} is not served"
        answer = Answer()

        def take(payload: Any) -> None:
            assert payload is not None
            whole = payload if isinstance(payload, bytes) else b"".join(payload)
            answer.response = decode_response(api.response, version, whole)[1]

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

    def step(self) -> None:
        step(self.core)
