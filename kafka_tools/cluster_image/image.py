"""The image: the state of a cluster after its metadata records (Kafka's ``MetadataImage`` and its deltas).

``ClusterImage.replay`` refuses a record that contradicts the image, such as a change of an unknown topic: it raises
InputError and changes nothing. ``Replay`` also applies metadata transactions (KIP-868).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kafka_tools.cluster_image.plain_partitions import LazyPartitions, plain_key
from kafka_tools.cluster_image.topics import Topics, replaced
from kafka_tools.errors import InputError
from kafka_tools.protocol.enums import ConfigResourceType
from kafka_tools.protocol.feature_levels import METADATA_VERSION, is_newer, known_levels
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored import cluster_metadata as records
from kafka_tools.values import uuid_text

QUOTA_TYPES = ("client-id", "ip", "user")
"""The types of a quota's entity, in the order of ``QuotaEntity``."""
QuotaEntity = tuple[tuple[str, str | None], ...]
"""(type, name) of each part, in the order of QUOTA_TYPES; the name of a default is None."""


class Provenance(NamedTuple):
    """The offset and epoch of an image's last record, and the time of its batch in milliseconds."""

    offset: int = -1
    epoch: int = -1
    time_ms: int = -1


class ClusterImage:
    """The state of a cluster, by subject."""

    def __init__(self) -> None:
        self.provenance = Provenance()
        self.features: dict[str, int] = {}
        """Finalized features and their levels."""
        self.brokers: dict[int, records.RegisterBrokerRecord] = {}
        self.controllers: dict[int, records.RegisterControllerRecord] = {}
        self.topics = Topics(LazyPartitions)
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        """(number of ConfigResourceType, name, empty for a default) -> configs."""
        self.quotas: dict[QuotaEntity, dict[str, float]] = {}
        self.producer_ids: records.ProducerIdsRecord | None = None
        """The last block of producer ids."""
        self.acls: dict[uuid.UUID, records.AccessControlEntryRecord] = {}
        self.scram: dict[int, dict[str, records.UserScramCredentialRecord]] = {}
        """Number of the mechanism -> user -> credential."""
        self.tokens: dict[str, records.DelegationTokenRecord] = {}
        self.zk_migration_state = 0

    def replay(self, record: Stored) -> None:
        """Apply one record. Raises InputError, with nothing changed, if it contradicts the image."""
        apply = _APPLY.get(type(record))
        if apply is not None:
            apply(self, record)

    def replay_plain(self, value: bytes) -> bool:
        """Apply the bytes of a record without decoding them. False if they are not a plain record of a partition."""
        key = plain_key(value)
        topic = self.topics.by_id.get(uuid.UUID(bytes=key[1])) if key is not None else None
        if key is None or topic is None:
            return False
        assert isinstance(topic.partitions, LazyPartitions)
        topic.partitions.keep_plain(key[0], value)
        return True

    def change_broker(self, id: int, epoch: int, **changes: Any) -> None:
        """Raises InputError if the broker is not registered, or has another epoch."""
        found = self.brokers.get(id)
        if found is None:
            raise InputError(f"broker {id} is not registered")
        if found.broker_epoch != epoch:
            raise InputError(f"broker {id} is registered with epoch {found.broker_epoch}, not {epoch}")
        self.brokers[id] = replaced(found, **changes)


class Replay:
    """Applies the records of a log to ``image``, and those of a transaction at its end.

    ``refuse`` is called with the offset of a record that contradicts the image, and the error.
    """

    def __init__(self, refuse: Callable[[int, InputError], object]) -> None:
        self.image = ClusterImage()
        self.open: list[tuple[int, Stored]] | None = None
        """The records of the open transaction."""
        self._refuse = refuse

    def take(self, offset: int, record: Stored) -> None:
        """Process the next record."""
        if isinstance(record, records.BeginTransactionRecord):
            if self.open is not None:
                self._refuse(offset, InputError("a transaction begins within another one"))
            else:
                self.open = []
        elif isinstance(record, records.EndTransactionRecord | records.AbortTransactionRecord):
            ended, self.open = self.open, None
            if ended is None:
                self._refuse(offset, InputError("a transaction ends without having begun"))
            elif isinstance(record, records.EndTransactionRecord):
                for each in ended:
                    self._apply(*each)
        elif self.open is not None:
            self.open.append((offset, record))
        else:
            self._apply(offset, record)

    def _apply(self, offset: int, record: Stored) -> None:
        try:
            self.image.replay(record)
        except InputError as error:
            self._refuse(offset, error)


def _register_broker(image: ClusterImage, record: records.RegisterBrokerRecord) -> None:
    if any(not endpoint.name for endpoint in record.end_points):
        raise InputError("Broker listeners must be named.")
    image.brokers[record.broker_id] = record


def _change_broker(image: ClusterImage, record: records.BrokerRegistrationChangeRecord) -> None:
    if record.fenced not in (-1, 0, 1):
        raise InputError(f"unknown value for fenced field: {record.fenced}")
    if record.in_controlled_shutdown not in (0, 1):
        raise InputError(f"unknown value for inControlledShutdown field: {record.in_controlled_shutdown}")
    changes: dict[str, Any] = {}
    if record.fenced:
        changes["fenced"] = record.fenced == 1
    if record.in_controlled_shutdown:
        changes["in_controlled_shutdown"] = True
    if record.log_dirs:
        changes["log_dirs"] = record.log_dirs
    if record.cordoned_log_dirs is not None:
        changes["cordoned_log_dirs"] = record.cordoned_log_dirs
    image.change_broker(record.broker_id, record.broker_epoch, **changes)


def _register_controller(image: ClusterImage, record: records.RegisterControllerRecord) -> None:
    image.controllers[record.controller_id] = record


def _remove_topic(image: ClusterImage, record: records.RemoveTopicRecord) -> None:
    topic = image.topics.remove(record)
    image.configs.pop((ConfigResourceType.TOPIC, topic.name), None)


def _clear_elr(image: ClusterImage, record: records.ClearElrRecord) -> None:
    by_name = image.topics.by_name
    if record.topic_name and record.topic_name not in by_name:
        raise InputError(f"topic {record.topic_name} does not exist")
    for topic in [by_name[record.topic_name]] if record.topic_name else image.topics.by_id.values():
        assert isinstance(topic.partitions, LazyPartitions)
        for found in topic.partitions.decoded():  # a plain record has no such replicas
            if found.eligible_leader_replicas or found.last_known_elr:
                topic.partitions[found.partition_id] = replaced(
                    found, eligible_leader_replicas=None, last_known_elr=None, partition_epoch=found.partition_epoch + 1
                )


def _config(image: ClusterImage, record: records.ConfigRecord) -> None:
    _set(image.configs, (record.resource_type, record.resource_name), record.name, record.value)


def _quota(image: ClusterImage, record: records.ClientQuotaRecord) -> None:
    parts = {part.entity_type: part.entity_name for part in record.entity}
    if not parts:
        raise InputError("a client quota has no entity")
    _set(image.quotas, quota_entity(parts), record.key, None if record.remove else record.value)


def _set(values: dict[Any, dict[str, Any]], key: object, name: str, value: object) -> None:
    """Set one name of a key, or remove it with None. A key without names is removed."""
    named = values.setdefault(key, {})
    if value is None:
        named.pop(name, None)
    else:
        named[name] = value
    if not named:
        del values[key]


def quota_entity(parts: Mapping[str, str | None]) -> QuotaEntity:
    """The parts in the order of QUOTA_TYPES, then other types."""
    return tuple(
        (kind, parts[kind]) for kind in (*QUOTA_TYPES, *sorted(parts.keys() - set(QUOTA_TYPES))) if kind in parts
    )


def _feature(image: ClusterImage, record: records.FeatureLevelRecord) -> None:
    name, level = record.name, record.feature_level
    if name == METADATA_VERSION and level not in known_levels() and not is_newer(METADATA_VERSION, level):
        raise InputError(f"unknown metadata.version {level}")
    if level:
        image.features[name] = level
    else:
        image.features.pop(name, None)


def _producer_ids(image: ClusterImage, record: records.ProducerIdsRecord) -> None:
    image.producer_ids = record


def _acl(image: ClusterImage, record: records.AccessControlEntryRecord) -> None:
    image.acls[record.id] = record


def _remove_acl(image: ClusterImage, record: records.RemoveAccessControlEntryRecord) -> None:
    if image.acls.pop(record.id, None) is None:
        raise InputError(f"no ACL has the id {uuid_text(record.id)}")


def _scram(image: ClusterImage, record: records.UserScramCredentialRecord) -> None:
    image.scram.setdefault(record.mechanism, {})[record.name] = record


def _token(image: ClusterImage, record: records.DelegationTokenRecord) -> None:
    for principal in (record.owner, record.requester, *record.renewers):
        if ":" not in principal:
            raise InputError("a delegation token names a principal without a type")
    image.tokens[record.token_id] = record


def _migration(image: ClusterImage, record: records.ZkMigrationStateRecord) -> None:
    image.zk_migration_state = record.zk_migration_state


_APPLY: dict[type[Stored], Callable[[ClusterImage, Any], object]] = {
    records.RegisterBrokerRecord: _register_broker,
    records.UnregisterBrokerRecord: lambda image, record: image.brokers.pop(record.broker_id, None),
    records.FenceBrokerRecord: lambda image, record: image.change_broker(record.id, record.epoch, fenced=True),
    records.UnfenceBrokerRecord: lambda image, record: image.change_broker(record.id, record.epoch, fenced=False),
    records.BrokerRegistrationChangeRecord: _change_broker,
    records.RegisterControllerRecord: _register_controller,
    records.UnregisterControllerRecord: lambda image, record: image.controllers.pop(record.controller_id, None),
    records.TopicRecord: lambda image, record: image.topics.add(record),
    records.RemoveTopicRecord: _remove_topic,
    records.PartitionRecord: lambda image, record: image.topics.set_partition(record),
    records.PartitionChangeRecord: lambda image, record: image.topics.change_partition(record),
    records.ClearElrRecord: _clear_elr,
    records.ConfigRecord: _config,
    records.FeatureLevelRecord: _feature,
    records.ClientQuotaRecord: _quota,
    records.ProducerIdsRecord: _producer_ids,
    records.AccessControlEntryRecord: _acl,
    records.RemoveAccessControlEntryRecord: _remove_acl,
    records.UserScramCredentialRecord: _scram,
    records.RemoveUserScramCredentialRecord: lambda image, record: image.scram.get(record.mechanism, {}).pop(
        record.name, None
    ),
    records.DelegationTokenRecord: _token,
    records.RemoveDelegationTokenRecord: lambda image, record: image.tokens.pop(record.token_id, None),
    records.ZkMigrationStateRecord: _migration,
    records.NoOpRecord: lambda image, record: None,
}
