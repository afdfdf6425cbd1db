"""The rounds of ``kafka-replica-verification``: one request to each broker, then what arrived is compared.

Requests have the replica id -2, with which brokers return what followers have, too.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kafka_tools.clock import Clock, Deadline, SystemClock
from kafka_tools.commands import running, standard_streams
from kafka_tools.commands.options.connection import tracer
from kafka_tools.commands.partitions.replica_comparison import ComparedPartition, FetchedReplica
from kafka_tools.commands.topics.patterns import TopicPattern
from kafka_tools.errors import CorruptBatch, InputError, KafkaToolsError
from kafka_tools.net.broker_errors import broker_error
from kafka_tools.net.exchange import Exchange
from kafka_tools.output.rows import ItemError, Rows
from kafka_tools.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_tools.values import ZERO_UUID, Node, TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient, TopicDescription
    from kafka_tools.commands.options.connection import ConnectionOptions
    from kafka_tools.net.versions import NodeVersions

DEBUGGING_REPLICA = -2
ANSWER_BYTES = 50 * 1024 * 1024
"""Maximum size of an answer. Partitions whose data does not fit come first in the next round."""
PAUSE_S = 0.2
"""After a round without progress, so that brokers which answer with errors are not asked without end."""
_TOPIC_ID_VERSION, _STATE_VERSION = 13, 15


class ReplicaVerification:
    """One run. ``is_quiet``: print no lines."""

    def __init__(
        self,
        connection: ConnectionOptions,
        options: Mapping[str, Any],
        *,
        is_quiet: bool,
        clock: Clock | None = None,
    ) -> None:
        self._connection = connection
        self._options = options
        self._is_quiet = is_quiet
        self._clock = clock or SystemClock()
        self._parts: dict[TopicPartition, ComparedPartition] = {}
        self._ids: dict[str, uuid.UUID] = {}
        self._nodes: dict[int, Node] = {}
        self._reported_s = 0.0
        self._failures: dict[TopicPartition, KafkaToolsError] = {}
        self._told: set[tuple[TopicPartition, int, str]] = set()
        self._turn = 0

    @property
    def differs(self) -> bool:
        """Whether replicas of a partition differ."""
        return any(part.difference_count for part in self._parts.values())

    def run(self, spec: int, kind: str) -> Rows:
        """Verify from the offset that ``spec`` asks for. Ends with ``--once``, and where Kafka's tool gives up."""
        config = self._connection.client_config()
        with self._connection.admin() as admin:
            self._select(admin, spec)
        self._print("verification process is started")
        self._reported_s = self._clock.monotonic_s()
        with Exchange(config, trace=tracer(self._connection.trace)) as exchange:
            self._verify(exchange)
        rows = [part.row() for key, part in sorted(self._parts.items()) if part.is_done]
        errors = [
            ItemError.of(key, self._failures.get(key) or KafkaToolsError("not all replicas returned its records"))
            for key, part in sorted(self._parts.items())
            if not part.is_done
        ]
        return Rows(kind, rows, errors if self._options["once"] else [])

    def _select(self, admin: AdminClient, spec: int) -> None:
        """Find the partitions, their replicas and the offsets to start and end at."""
        from kafka_tools.admin.calls.offsets import LATEST

        pattern = TopicPattern(self._options["topics_include"])
        names = sorted(each.name for each in admin.list_topics() if pattern.matches(each.name))
        if not names:
            raise InputError(
                "No topics found. --topics-include, if specified, is either filtering out all topics or there is no "
                "topic."
            )
        topics: Sequence[TopicDescription] = list(admin.describe_topics(names).raise_any().succeeded().values())
        self._nodes = {node.id: node for node in admin.describe_cluster().nodes}
        self._ids = {topic.name: topic.topic_id for topic in topics}
        replicas = {TopicPartition(topic.name, each.partition): each for topic in topics for each in topic.partitions}
        starts = admin.list_offsets(dict.fromkeys(replicas, spec)).raise_any().succeeded()
        ends = starts if spec == LATEST else admin.list_offsets(dict.fromkeys(replicas, LATEST)).raise_any().succeeded()
        for key, described in replicas.items():
            end = ends[key].offset
            start = starts[key].offset if starts[key].offset >= 0 else end
            self._parts[key] = ComparedPartition(key, described.replicas, start, end if self._options["once"] else None)

    def _verify(self, exchange: Exchange) -> None:
        progress_s = self._clock.monotonic_s()
        while True:
            parts = [part for part in self._parts.values() if not part.is_done]
            if not parts:
                break
            if self._compare(self._fetch(exchange, parts)):
                progress_s = self._clock.monotonic_s()
            elif self._options["once"] and self._clock.monotonic_s() - progress_s > self._connection.timeout_s:
                return
            else:
                self._clock.sleep(PAUSE_S)
            if not self._options["once"] and any(part.is_misaligned for part in parts):
                return
            if self._clock.monotonic_s() - self._reported_s > self._options["report_interval_ms"] / 1000:
                self._report()
            standard_streams.require_reader()
        self._report()

    def _fetch(
        self, exchange: Exchange, parts: Sequence[ComparedPartition]
    ) -> dict[TopicPartition, dict[int, FetchedReplica]]:
        """Ask each broker for its replicas. Partition -> replica -> what it returned."""
        self._turn += 1
        at = self._turn % len(parts)
        wanted: dict[int, list[ComparedPartition]] = {}
        for part in (*parts[at:], *parts[:at]):
            for replica in part.replicas:
                wanted.setdefault(replica, []).append(part)
        asked = [(replica, each) for replica, each in wanted.items() if replica in self._nodes]
        timeout_s = exchange.config.number("request.timeout.ms") / 1000 + self._options["max_wait_ms"] / 1000
        requests = [(self._nodes[replica], self._request(each)) for replica, each in asked]
        found: dict[TopicPartition, dict[int, FetchedReplica]] = {}
        for (replica, each), answer in zip(
            asked, exchange.call_many(requests, Deadline(self._clock, timeout_s)), strict=True
        ):
            if isinstance(answer, KafkaToolsError):
                for part in each:
                    self._note_failure(part.partition, replica, answer)
            else:
                self._take(replica, answer, found)
        for replica in wanted.keys() - self._nodes.keys():
            for part in wanted[replica]:
                self._note_failure(part.partition, replica, KafkaToolsError("its broker is not running"))
        return found

    def _request(self, parts: Sequence[ComparedPartition]) -> Any:
        """A function that builds the request for the versions of a broker."""
        rows: dict[str, list[FetchRequest.Topic.Partition]] = {}
        for part in parts:
            row = FetchRequest.Topic.Partition(
                partition=part.partition.partition,
                fetch_offset=part.offset,
                partition_max_bytes=self._options["fetch_size"],
            )
            rows.setdefault(part.partition.topic, []).append(row)

        def build(versions: NodeVersions) -> tuple[FetchRequest, int]:
            version = versions.newest(FetchRequest)
            if any(self._ids[name] == ZERO_UUID for name in rows):
                version = min(version, _TOPIC_ID_VERSION - 1)
            state = FetchRequest.ReplicaState(replica_id=DEBUGGING_REPLICA)
            whose = {"replica_state": state} if version >= _STATE_VERSION else {"replica_id": DEBUGGING_REPLICA}
            topics = [FetchRequest.Topic(topic=name, topic_id=self._ids[name], partitions=rows[name]) for name in rows]
            sizes = {"max_wait_ms": self._options["max_wait_ms"], "min_bytes": 1, "max_bytes": ANSWER_BYTES}
            return FetchRequest(topics=topics, **sizes, **whose), version

        return build

    def _take(
        self, replica: int, response: FetchResponse, found: dict[TopicPartition, dict[int, FetchedReplica]]
    ) -> None:
        names = {id: name for name, id in self._ids.items()}
        for topic in response.responses:
            for data in topic.partitions:
                key = TopicPartition(topic.topic or names.get(topic.topic_id, ""), data.partition_index)
                if key not in self._parts:
                    continue
                if data.error_code or response.error_code:
                    self._note_failure(key, replica, broker_error(data.error_code or response.error_code))
                else:
                    found.setdefault(key, {})[replica] = FetchedReplica(data.high_watermark, bytes(data.records or b""))

    def _compare(self, fetched: Mapping[TopicPartition, Mapping[int, FetchedReplica]]) -> bool:
        """Compare what arrived. Returns whether a partition moved on."""
        moved = False
        for key, by_replica in fetched.items():
            part = self._parts[key]
            before = part.offset
            try:
                differences = part.compare(by_replica)
            except CorruptBatch as error:
                self._note_failure(key, -1, error)
                continue
            for each in differences:
                self._print(each.text(key))
            moved = moved or part.offset > before or part.is_misaligned
        return moved

    def _note_failure(self, key: TopicPartition, replica: int, error: KafkaToolsError) -> None:
        """Keep why a partition cannot be compared, and tell it once on stderr."""
        whose = f"replica {replica} of {key}" if replica >= 0 else str(key)
        self._failures[key] = error if replica < 0 else KafkaToolsError(f"replica {replica}: {error}")
        if (key, replica, str(error)) not in self._told and not self._options["once"]:
            self._told.add((key, replica, str(error)))
            running.note(f"cannot read {whose}: {error}")

    def _report(self) -> None:
        part = max(self._parts.values(), key=lambda part: part.lag)
        self._print(
            f"max lag is {part.lag} for partition {part.partition} at offset {part.offset} among "
            f"{len(self._parts)} partitions"
        )
        self._reported_s = self._clock.monotonic_s()

    def _print(self, text: str) -> None:
        if not self._is_quiet:
            now_ms = self._clock.now_ms()
            at = datetime.fromtimestamp(now_ms // 1000)
            running.emit(f"{at:%Y-%m-%d %H:%M:%S},{now_ms % 1000:03}: {text}\n")
