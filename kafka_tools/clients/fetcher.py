"""Fetch: the partitions to request from a leader, and the records of its responses.

Builds requests and takes responses; knows no sockets. Holds at most one fetched chunk per partition, and asks for a
partition again only when its chunk is used up, so memory is bounded by ``fetch.max.bytes`` per node. Reads every
magic through ``records``; filters aborted transactions as ``CompletedFetch`` of Kafka's Java client does (KIP-98).
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.clients.fetched_data import Chunk, ConsumedRecord, PartitionData
from kafka_tools.clients.fetching.session import SESSION_ERRORS, AskedPartition, FetchSession
from kafka_tools.clients.fetching.validation import Validation
from kafka_tools.clients.positions import Position, Positions
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.errors import KafkaToolsError
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.net.rights import refused
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_tools.values import ZERO_UUID, Node, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafka_tools.clients.fetching.metrics import ConsumerMetrics
    from kafka_tools.clients.fetching.polled_columns import PolledColumns
    from kafka_tools.clients.group import GroupClient
    from kafka_tools.clients.groups.committed import OffsetAndMetadata
    from kafka_tools.clock import Clock
    from kafka_tools.metrics.names import MetricName
    from kafka_tools.net.exchange import Exchange
    from kafka_tools.net.versions import NodeVersions


TOPIC_ID_VERSION = 13
LAST_EPOCH_VERSION = 12
"""First Fetch that says the leader epoch of the record before, so that the leader notices a truncation."""
MOST_COLUMNS_BYTES = 8 * 1024 * 1024
"""About the most bytes of keys and values in one list of columns."""


class MeasuredConsumer:
    """The part of a consumer that gives its metrics."""

    _fetcher: Fetcher
    _clock: Clock
    _exchange: Exchange
    _positions: Positions

    def metrics(self) -> dict[MetricName, object]:
        """The metrics by name, with Kafka's names and groups: numbers. The first call starts the measurement."""
        if self._fetcher.metrics is None:
            from kafka_tools.clients.fetching.metrics import ConsumerMetrics

            client_id, positions = self._exchange.config.client_id, self._positions
            self._fetcher.metrics = ConsumerMetrics(self._clock, client_id, assigned=lambda: len(positions))
        return self._fetcher.metrics.values()


class Plan(NamedTuple):
    """One fetch for one node. ``asked``: partition -> the offset asked for."""

    node: Node
    request: FetchRequest
    asked: dict[TopicPartition, int]
    names: dict[uuid.UUID, str]
    leader_epochs: dict[TopicPartition, int]
    planned_s: float = 0.0

    def build(self, versions: NodeVersions) -> tuple[FetchRequest, int]:
        """The request with the version that the node takes; topics without an id cannot go by id."""
        version = versions.newest(FetchRequest)
        version = min(version, TOPIC_ID_VERSION - 1) if ZERO_UUID in self.names else version
        if version < LAST_EPOCH_VERSION:
            for topic in self.request.topics:
                for row in topic.partitions:
                    row.last_fetched_epoch = -1
        return self.request, version


class Fetcher:
    """Plans fetches and hands out records in partition order."""

    def __init__(
        self,
        settings: ConsumerSettings,
        metadata: ClusterMetadata,
        positions: Positions,
        on_out_of_range: Callable[[TopicPartition, int], None],
        validation: Validation,
    ) -> None:
        """``on_out_of_range(partition, offset)`` resets a position by policy, or raises when there is none."""
        self._validation = validation
        self._sessions: dict[int, FetchSession] = {}
        self._settings = settings
        self._metadata = metadata
        self._positions = positions
        self._on_out_of_range = on_out_of_range
        self.metrics: ConsumerMetrics | None = None
        """What was consumed since ``Consumer.metrics`` was called first; None before."""
        self._chunks: deque[Chunk] = deque()
        self._replicas: dict[TopicPartition, tuple[int, float]] = {}

    def plan(self, busy_nodes: Iterable[int], now_s: float) -> list[Plan]:
        """The fetches that may be sent now: none for nodes that still answer one, none for partitions with records."""
        busy = set(busy_nodes)
        holding = {chunk.topic_partition for chunk in self._chunks}
        per_node: dict[Node, list[tuple[TopicPartition, Position]]] = {}
        for topic_partition, position in self._positions.items():
            if position.offset is None or position.paused or topic_partition in holding or now_s < position.retry_at_s:
                continue
            if self._validation.is_needed(topic_partition, position):
                continue
            node = self._replica(topic_partition, now_s) or self._metadata.leader(topic_partition)
            if node is None:
                self._metadata.request_update()
            elif node.id not in busy:
                per_node.setdefault(node, []).append((topic_partition, position))
        return [self._request(node, partitions)._replace(planned_s=now_s) for node, partitions in per_node.items()]

    def polled(self) -> None:
        """The application calls ``poll``."""
        if self.metrics is not None:
            self.metrics.polled()

    def measured_commit(
        self, group: GroupClient, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Callable[[Callable[..., None]], bool]:
        """A function that starts a commit, as ``GroupClient.commit``, and measures the time until its answer."""
        answered = None if self.metrics is None else self.metrics.commit_begins()

        def start(done: Callable[..., None]) -> bool:
            def answer(error: KafkaToolsError | None) -> None:
                if answered is not None:
                    answered()
                done(error)

            return group.commit(offsets, answer)

        return start

    def take(self, plan: Plan, response: FetchResponse, now_s: float) -> None:
        """Keep what a node sent. Raises BrokerError for refusals that no retry mends, CorruptBatch for bad bytes."""
        if self.metrics is not None:
            self.metrics.fetched(now_s - plan.planned_s, response)
        session = self._sessions[plan.node.id]
        session.answered(response)
        if response.error_code in SESSION_ERRORS:
            return
        if response.error_code:
            if not error_codes.error(response.error_code).retriable:
                raise refused(FetchRequest, response.error_code, f"fetching from {plan.node}")
            self._metadata.request_update()
            self._back_off(plan.asked, now_s)
            return
        failure: KafkaToolsError | None = None
        for topic in response.responses:
            name = topic.topic or plan.names.get(topic.topic_id, "")
            for data in topic.partitions:
                topic_partition = TopicPartition(name, data.partition_index)
                position = self._positions.get(topic_partition)
                # The partition was revoked or its position changed meanwhile: ignore its data.
                if position is None or position.offset != plan.asked.get(topic_partition):
                    continue
                try:
                    self._take_partition(topic_partition, position, data, plan.leader_epochs[topic_partition], now_s)
                except KafkaToolsError as error:
                    failure = failure or error
        if failure is not None:
            raise failure

    def on_failure(self, plan: Plan, now_s: float) -> None:
        """A node did not answer: its leaders may have moved."""
        self._sessions[plan.node.id].lost()
        self._metadata.request_update()
        for topic_partition in plan.asked:
            self._replicas.pop(topic_partition, None)
        self._back_off(plan.asked, now_s)

    def records(self, limit: int) -> list[ConsumedRecord]:
        """Up to ``limit`` buffered records; positions move past them.

        A bad batch raises CorruptBatch once everything before it was handed out.
        """
        out: list[ConsumedRecord] = []
        paused = []
        while self._chunks and len(out) < limit:
            chunk = self._chunks[0]
            position = self._positions.get(chunk.topic_partition)
            if position is None or position.offset != chunk.position:
                self._chunks.popleft()
                continue
            if position.paused:
                paused.append(self._chunks.popleft())
                continue
            try:
                taken = chunk.take(limit - len(out))
            except KafkaToolsError:
                if out:
                    break
                raise
            if taken:
                out += taken
                position.leader_epoch = taken[-1].leader_epoch
                if self.metrics is not None:
                    lag = max(0, chunk.high_watermark - chunk.position)
                    self.metrics.consumed(chunk.topic_partition, len(taken), lag)
            position.offset = chunk.position
            if chunk.exhausted:
                self._chunks.popleft()
        self._chunks.extend(paused)
        return out

    def columns(self) -> list[PolledColumns]:
        """As ``records``: buffered records as columns, about as many bytes as are decoded together."""
        paused = []
        found: list[PolledColumns] = []
        size_bytes = 0
        while self._chunks and size_bytes < MOST_COLUMNS_BYTES:
            chunk = self._chunks[0]
            position = self._positions.get(chunk.topic_partition)
            if position is None or position.offset != chunk.position:
                self._chunks.popleft()
                continue
            if position.paused:
                paused.append(self._chunks.popleft())
                continue
            try:
                columns = chunk.take_columns()
            except KafkaToolsError:
                if found:
                    break
                raise
            if columns is not None and len(columns.offsets):
                found.append(columns)
                size_bytes += len(columns.data)
                if self.metrics is not None:
                    lag = max(0, chunk.high_watermark - chunk.position)
                    self.metrics.consumed(chunk.topic_partition, len(columns.offsets), lag)
                position.leader_epoch = chunk.leader_epoch
            position.offset = chunk.position
            if chunk.exhausted:
                self._chunks.popleft()
        self._chunks.extend(paused)
        return found

    def drop(self) -> None:
        """Forget everything fetched (the assignment is gone)."""
        self._chunks.clear()

    @property
    def has_data(self) -> bool:
        """Whether some fetched chunk belongs to a partition that may be read now."""
        for chunk in self._chunks:
            position = self._positions.get(chunk.topic_partition)
            if position is not None and not position.paused and position.offset == chunk.position:
                return True
        return False

    def _request(self, node: Node, partitions: list[tuple[TopicPartition, Position]]) -> Plan:
        wanted: dict[TopicPartition, AskedPartition] = {}
        for topic_partition, position in partitions:
            assert position.offset is not None
            known = self._metadata.partition(topic_partition)
            leader_epoch = known.leader_epoch if known is not None else -1
            topic_id = self._metadata.topic_id(topic_partition.topic)
            wanted[topic_partition] = AskedPartition(topic_id, position.offset, leader_epoch, position.leader_epoch)
        request = FetchRequest(
            max_wait_ms=self._settings.fetch_max_wait_ms,
            min_bytes=self._settings.fetch_min_bytes,
            max_bytes=self._settings.fetch_max_bytes,
            isolation_level=self._settings.isolation_level,
            rack_id=self._settings.client_rack,
        )
        session = self._sessions.setdefault(node.id, FetchSession())
        session.fill(request, wanted, self._settings.max_partition_fetch_bytes)
        asked = {topic_partition: row.offset for topic_partition, row in wanted.items()}
        names = {row.topic_id: name for (name, _), row in wanted.items()}
        leader_epochs = {topic_partition: row.leader_epoch for topic_partition, row in wanted.items()}
        return Plan(node, request, asked, names, leader_epochs)

    def _take_partition(
        self,
        topic_partition: TopicPartition,
        position: Position,
        data: PartitionData,
        leader_epoch: int,
        now_s: float,
    ) -> None:
        assert position.offset is not None
        code = data.error_code
        if code == error_codes.NONE:
            if data.diverging_epoch.end_offset >= 0:
                diverging = data.diverging_epoch
                self._validation.compare(topic_partition, position, diverging.epoch, diverging.end_offset)
            elif data.preferred_read_replica >= 0:
                # The leader sends no records but the follower that is near (KIP-392); asked anew after a while.
                until_s = now_s + self._settings.metadata_max_age_ms / 1000
                self._replicas[topic_partition] = (data.preferred_read_replica, until_s)
            elif data.records:
                position.compared_with = leader_epoch
                self._chunks.append(Chunk(topic_partition, position.offset, data, self._settings))
            return
        from_replica = self._replicas.pop(topic_partition, None) is not None
        if code == error_codes.OFFSET_OUT_OF_RANGE:
            # A follower may lag behind; only the leader's response counts.
            if not from_replica:
                self._on_out_of_range(topic_partition, position.offset)
            return
        row = error_codes.error(code)
        if not row.retriable:
            raise refused(FetchRequest, code, f"partition {topic_partition}")
        if row.refresh_metadata or code == error_codes.UNKNOWN_LEADER_EPOCH:
            self._metadata.request_update()
        self._back_off([topic_partition], now_s)

    def _replica(self, topic_partition: TopicPartition, now_s: float) -> Node | None:
        node_id, until_s = self._replicas.get(topic_partition, (-1, now_s))
        if now_s >= until_s:
            self._replicas.pop(topic_partition, None)
        return self._metadata.nodes.get(node_id) if now_s < until_s else None

    def _back_off(self, partitions: Iterable[TopicPartition], now_s: float) -> None:
        for topic_partition in partitions:
            position = self._positions.get(topic_partition)
            if position is not None:
                position.retry_at_s = now_s + self._settings.retry_backoff_ms / 1000
