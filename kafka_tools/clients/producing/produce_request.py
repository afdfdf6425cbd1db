"""Batches of records -> a Produce request in a version that a node takes (magic 2 from 0.11 on, topic ids from v13)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.clients.producing.batch import ProducerBatch, ProducerIdentity
from kafka_tools.clients.settings import ProducerSettings
from kafka_tools.clients.transactions.requests import PRODUCE_BEFORE_V2
from kafka_tools.clients.transactions.state import TransactionManager
from kafka_tools.errors import KafkaToolsError
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.records.many_records import produced_batch
from kafka_tools.values import ZERO_UUID, Node

if TYPE_CHECKING:
    from kafka_tools.net.connection import Build, Pending
    from kafka_tools.net.versions import NodeVersions

MAGIC_2_VERSION = 3
"""First version of Produce that carries magic 2."""
ZSTD_VERSION = 7
TOPIC_ID_VERSION = 13
_NO_IDENTITY = ProducerIdentity(-1, -1)


class ProduceRequests:
    """Builds the requests of one producer."""

    def __init__(
        self, settings: ProducerSettings, metadata: ClusterMetadata, transactions: TransactionManager | None
    ) -> None:
        self._settings = settings
        self._transactions = transactions
        self._metadata = metadata

    def build(self, batches: Sequence[ProducerBatch]) -> ProduceRequest:
        """The request for ``batches``, at most one of each partition. Raises KafkaToolsError for a missing codec."""
        rows: dict[str, list[ProduceRequest.TopicProduceData.PartitionProduceData]] = {}
        for batch in batches:
            name, number = batch.topic_partition
            data = ProduceRequest.TopicProduceData.PartitionProduceData(index=number, records=self._encoded(batch))
            rows.setdefault(name, []).append(data)
        topics = [
            ProduceRequest.TopicProduceData(
                name=name, topic_id=self._metadata.topic_id(name), partition_data=rows[name]
            )
            for name in rows
        ]
        return ProduceRequest(
            transactional_id=self._settings.transactional_id,
            acks=self._settings.acks,
            timeout_ms=self._settings.request_timeout_ms,
            topic_data=topics,
        )

    def in_version(self, request: ProduceRequest) -> Build:
        """``request`` in the newest version of a node; topics without an id cannot go by id."""
        return partial(self._in_version, request)

    def _in_version(self, request: ProduceRequest, versions: NodeVersions) -> tuple[ProduceRequest, int]:
        version = versions.newest(ProduceRequest)
        if any(topic.topic_id == ZERO_UUID for topic in request.topic_data):
            version = min(version, TOPIC_ID_VERSION - 1)
        if self._transactions is not None and not self._transactions.is_v2:
            version = min(version, PRODUCE_BEFORE_V2)
        if version < MAGIC_2_VERSION:
            raise KafkaToolsError(f"{versions.peer} is older than Kafka 0.11, which this producer needs")
        if self._settings.codec == "zstd" and version < ZSTD_VERSION:
            raise KafkaToolsError(
                f"{versions.peer} does not support zstd, which is new in Kafka 2.1",
                hint="choose another compression.type: gzip, snappy or lz4",
            )
        return request, version

    def _encoded(self, batch: ProducerBatch) -> bytes:
        if batch.encoded is None:
            identity = batch.identity or _NO_IDENTITY
            batch.encoded = produced_batch(
                batch.records,
                codec=self._settings.codec,
                level=self._settings.compression_level,
                producer_id=identity.producer_id,
                producer_epoch=identity.epoch,
                base_sequence=batch.base_sequence,
                transactional=self._transactions is not None,
            )
        return batch.encoded


class SentRequest(NamedTuple):
    """A produce request whose answer has not come."""

    node: Node
    batches: list[ProducerBatch]
    request: ProduceRequest
    pending: Pending
    sent_s: float
