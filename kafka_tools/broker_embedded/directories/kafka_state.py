"""The state of a cluster as Apache Kafka's controller left it in a directory: its newest snapshot and the log after it.

The records come to a state here, which is written anew as the fewest records that say it. Whether this broker can
serve that state, alone and from one directory, is asked of it by ``adoption``. Sources: ``MetadataImage`` and
``MetadataDelta`` of Kafka; changes between a BeginTransactionRecord and its end hold together (KIP-868).
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from kafka_tools.broker_embedded.cluster.features import unsupported
from kafka_tools.broker_embedded.directories.local_store import decode_record
from kafka_tools.errors import CorruptBatch, LogError
from kafka_tools.protocol.enums import ConfigResourceType
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored import cluster_metadata as stored
from kafka_tools.records.batches import BatchView
from kafka_tools.storage.kraft_snapshots import read_kraft_snapshot
from kafka_tools.storage.layout import partition_files
from kafka_tools.storage.names import parse_file_name
from kafka_tools.storage.segment import Segment

_NO_LEADER_CHANGE = -2
_OF_CONTROLLERS = (stored.FenceBrokerRecord, stored.UnfenceBrokerRecord, stored.NoOpRecord, stored.ClearElrRecord)
"""What says nothing that outlives the controller and its brokers."""


class KafkaState:
    """What the records come to. ``apply`` is given them in their order, ``records`` gives those that say the same."""

    def __init__(self) -> None:
        self.topics: dict[uuid.UUID, str] = {}
        self.partitions: dict[uuid.UUID, dict[int, stored.PartitionRecord]] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        """(ConfigResourceType, name) -> what is set."""
        self.features: dict[str, int] = {}
        self.brokers: dict[int, set[uuid.UUID]] = {}
        """Registered brokers and their log directories, which releases before 3.7 do not tell."""
        self.controllers: set[int] = set()
        self.migration = 0
        """From ZooKeeper: 0 and 3 when there is none (any more)."""
        self._latest: dict[Hashable, Stored] = {}
        """The last record about each credential, quota, token, ACL, and the producer ids."""
        self._open: list[Stored] | None = None
        """The records of a change that has not ended."""

    def apply(self, record: Stored) -> None:
        """Raises LogError for a record that does not fit what came before it."""
        if isinstance(record, stored.BeginTransactionRecord):
            self._open = []
        elif isinstance(record, stored.AbortTransactionRecord):
            self._open = None
        elif isinstance(record, stored.EndTransactionRecord):
            ended, self._open = self._open or [], None
            for each in ended:
                self._apply(each)
        elif self._open is not None:
            self._open.append(record)
        else:
            self._apply(record)

    def _apply(self, record: Stored) -> None:
        if isinstance(record, _OF_CONTROLLERS):
            return
        try:
            _APPLIERS[type(record)](self, record)
        except KeyError as error:
            text = f"a {type(record).__name__} contradicts the records before it: unknown {error}"
            raise LogError(text) from error

    def records(self, node_id: int) -> Iterator[Stored]:
        """The whole state, with every partition led by ``node_id``, its only replica."""
        for name, level in self.features.items():
            yield stored.FeatureLevelRecord(name=name, feature_level=level)
        for topic_id, name in self.topics.items():
            yield stored.TopicRecord(name=name, topic_id=topic_id)
            for number, found in sorted(self.partitions[topic_id].items()):
                # A broker that stopped in order led nothing at its end: the next one to lead begins a new epoch.
                yield stored.PartitionRecord(
                    partition_id=number, topic_id=topic_id, replicas=[node_id], isr=[node_id], leader=node_id,
                    leader_epoch=found.leader_epoch, partition_epoch=found.partition_epoch,
                )  # fmt: skip
        for (kind, name), values in self.configs.items():
            for key, value in values.items():
                yield stored.ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)
        yield from self._latest.values()

    def count(self, kind: type[Stored]) -> int:
        """How many credentials, quotas, tokens or ACLs there are, by the class of their records."""
        return sum(isinstance(record, kind) for record in self._latest.values())

    def _topic(self, record: stored.TopicRecord) -> None:
        self.topics[record.topic_id] = record.name
        self.partitions[record.topic_id] = {}

    def _remove_topic(self, record: stored.RemoveTopicRecord) -> None:
        name = self.topics.pop(record.topic_id)
        del self.partitions[record.topic_id]
        self.configs.pop((ConfigResourceType.TOPIC, name), None)

    def _partition(self, record: stored.PartitionRecord) -> None:
        self.partitions[record.topic_id][record.partition_id] = record

    def _change(self, record: stored.PartitionChangeRecord) -> None:
        found = self.partitions[record.topic_id][record.partition_id]
        if record.replicas is not None:
            found.replicas = list(record.replicas)
        if record.leader != _NO_LEADER_CHANGE:
            found.leader_epoch += 1
        found.partition_epoch += 1

    def _config(self, record: stored.ConfigRecord) -> None:
        values = self.configs.setdefault((record.resource_type, record.resource_name), {})
        if record.value is None:
            values.pop(record.name, None)
        else:
            values[record.name] = record.value

    def _feature(self, record: stored.FeatureLevelRecord) -> None:
        self.features.pop(record.name, None)
        if record.feature_level:
            self.features[record.name] = record.feature_level

    def _quota(self, record: stored.ClientQuotaRecord) -> None:
        entity = frozenset((part.entity_type, part.entity_name) for part in record.entity)
        self._keep(("quota", entity, record.key), None if record.remove else record)

    def _register(self, record: stored.RegisterBrokerRecord) -> None:
        self.brokers[record.broker_id] = set(record.log_dirs)

    def _registration(self, record: stored.BrokerRegistrationChangeRecord) -> None:
        if record.log_dirs:
            self.brokers[record.broker_id] = set(record.log_dirs)

    def _migrated(self, record: stored.ZkMigrationStateRecord) -> None:
        self.migration = record.zk_migration_state

    def _keep(self, key: Hashable, record: Stored | None) -> None:
        self._latest.pop(key, None)
        if record is not None:
            self._latest[key] = record


_APPLIERS: dict[type[Stored], Callable[[KafkaState, Any], object]] = {
    stored.TopicRecord: KafkaState._topic,
    stored.RemoveTopicRecord: KafkaState._remove_topic,
    stored.PartitionRecord: KafkaState._partition,
    stored.PartitionChangeRecord: KafkaState._change,
    stored.ConfigRecord: KafkaState._config,
    stored.FeatureLevelRecord: KafkaState._feature,
    stored.ClientQuotaRecord: KafkaState._quota,
    stored.ProducerIdsRecord: lambda state, record: state._keep("producer ids", record),
    stored.UserScramCredentialRecord: lambda state, it: state._keep(("scram", it.name, it.mechanism), it),
    stored.RemoveUserScramCredentialRecord: lambda state, it: state._keep(("scram", it.name, it.mechanism), None),
    stored.DelegationTokenRecord: lambda state, it: state._keep(("token", it.token_id), it),
    stored.RemoveDelegationTokenRecord: lambda state, it: state._keep(("token", it.token_id), None),
    stored.AccessControlEntryRecord: lambda state, it: state._keep(("acl", it.id), it),
    stored.RemoveAccessControlEntryRecord: lambda state, it: state._keep(("acl", it.id), None),
    stored.RegisterBrokerRecord: KafkaState._register,
    stored.UnregisterBrokerRecord: lambda state, it: state.brokers.pop(it.broker_id, None),
    stored.BrokerRegistrationChangeRecord: KafkaState._registration,
    stored.RegisterControllerRecord: lambda state, it: state.controllers.add(it.controller_id),
    stored.UnregisterControllerRecord: lambda state, it: state.controllers.discard(it.controller_id),
    stored.ZkMigrationStateRecord: KafkaState._migrated,
}


def read_kafka_state(directory: str, *, clean: bool) -> tuple[KafkaState, int]:
    """The state in a ``__cluster_metadata-0`` of Kafka, and how many bytes at the end of its log are torn.

    ``clean``: whether its broker stopped in order, so that nothing may be torn. Raises OSError; LogError for what is
    damaged, missing, or written by a release that is newer than what is known here.
    """
    state = KafkaState()
    try:
        return state, _read_into(state, directory, clean)
    except LogError as error:  # levels come first in snapshot and log: they say why what follows is not understood
        newer = unsupported(state.features)
        if newer is None:
            raise
        raise LogError(f"the cluster uses {newer} ({error})", path=directory) from error


def _read_into(state: KafkaState, directory: str, clean: bool) -> int:
    files = partition_files(directory)
    begin = 0
    if files.checkpoints:
        newest = files.checkpoints[-1]
        name = parse_file_name(os.path.basename(newest))
        assert name is not None
        begin = name.base_offset
        for record in read_kraft_snapshot(newest):
            state.apply(decode_record(record.value or b"", newest))
    expected, torn_bytes = begin, 0
    for segment in files.segments:
        if segment.log is None:
            continue
        if torn_bytes:
            raise LogError(f"{segment.log} follows a damaged log", path=directory)
        with Segment(segment.log) as log:
            position = 0
            for view in _batches(log, clean):
                position = view.file_position + view.size_bytes
                if view.last_offset < begin:
                    continue
                if view.base_offset > expected:
                    gap = f"offsets {expected} to {view.base_offset - 1} of the cluster metadata are missing"
                    raise LogError(f"{segment.log}: {gap}", path=directory)
                expected = view.last_offset + 1
                if not view.is_control:
                    for record in view.records():
                        state.apply(decode_record(record.value or b"", f"{segment.log} at offset {record.offset}"))
            torn_bytes = log.size_bytes - position
    return torn_bytes


def _batches(log: Segment, clean: bool) -> Iterator[BatchView]:
    """The batches of a file up to what a killed broker has torn. CorruptBatch where sound batches follow damage."""
    damage: int | None = None
    for found in log.batches():
        position = found.file_position if isinstance(found, BatchView) else found.position or 0
        if isinstance(found, BatchView) and damage is None and found.crc_ok():
            yield found
        elif clean or (isinstance(found, BatchView) and found.crc_ok()):
            at = position if damage is None else damage
            raise CorruptBatch(f"{log.path} is damaged at position {at}", path=log.path, position=at)
        elif damage is None:
            damage = position
