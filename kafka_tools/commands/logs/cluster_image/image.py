"""The image: what a cluster's metadata records make, one after the other (Kafka's ``MetadataImage`` and its deltas).

``replay`` takes the records in order. One that contradicts what is there, such as a change of a topic that does not
exist, is refused with InputError and changes nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from kafka_tools.commands.logs.cluster_image.plain_partitions import plain_key, state_of
from kafka_tools.commands.logs.cluster_image.registrations import BrokerState, PartitionState
from kafka_tools.errors import InputError
from kafka_tools.protocol.enums import ConfigResourceType
from kafka_tools.protocol.feature_levels import METADATA_VERSION, is_newer, known_levels
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored import cluster_metadata as records
from kafka_tools.values import uuid_text

QUOTA_TYPES = ("client-id", "ip", "user")
"""What a client quota may be about, in the order of its name in the tree."""
QuotaEntity = tuple[tuple[str, str | None], ...]
"""(type, name) of each part, in the order of QUOTA_TYPES; the name of a default is None."""
_KRAFT_VERSION = "kraft.version"


class Provenance(NamedTuple):
    """The end of an image: offset and epoch of its last record, and its batch's time in milliseconds."""

    offset: int = -1
    epoch: int = -1
    time_ms: int = -1


class TopicState:
    """A topic and its partitions by number."""

    __slots__ = ("id", "name", "partitions")

    def __init__(self, name: str, id: uuid.UUID) -> None:
        self.name = name
        self.id = id
        self.partitions: dict[int, PartitionState | bytes] = {}
        """Number -> state, or the plain record that it is made of when somebody wants it (``state_of``)."""


class ClusterImage:
    """The state that the records of a metadata log make, by subject."""

    def __init__(self) -> None:
        self.provenance = Provenance()
        self.metadata_version: int | None = None
        self.features: dict[str, int] = {}
        """Finalized features besides metadata.version."""
        self.brokers: dict[int, BrokerState] = {}
        self.controllers: dict[int, records.RegisterControllerRecord] = {}
        self.topics: dict[uuid.UUID, TopicState] = {}
        self.topics_by_name: dict[str, TopicState] = {}
        self._topics_by_bytes: dict[bytes, TopicState] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        """(number of ConfigResourceType, name, empty for a default) -> configs."""
        self.quotas: dict[QuotaEntity, dict[str, float]] = {}
        self.next_producer_id = -1
        self.acls: dict[uuid.UUID, records.AccessControlEntryRecord] = {}
        self.scram: dict[int, dict[str, records.UserScramCredentialRecord]] = {}
        """Number of the mechanism -> user -> credential."""
        self.tokens: dict[str, records.DelegationTokenRecord] = {}

    def replay(self, record: Stored) -> None:
        """Apply one record. Raises InputError, with nothing changed, for one that contradicts the image."""
        apply = _APPLY.get(type(record))
        if apply is not None:
            apply(self, record)

    def replay_plain(self, value: bytes) -> bool:
        """Apply a record as its log has it if it needs no decoding for that: a plain one of a partition of a topic."""
        key = plain_key(value)
        topic = self._topics_by_bytes.get(key[1]) if key is not None else None
        if key is None or topic is None:
            return False
        topic.partitions[key[0]] = value
        return True

    def add_topic(self, name: str, id: uuid.UUID) -> None:
        """A topic without partitions."""
        topic = TopicState(name, id)
        self.topics[id] = self.topics_by_name[name] = self._topics_by_bytes[id.bytes] = topic

    def remove_topic(self, id: uuid.UUID) -> TopicState:
        """The topic that was there. Raises InputError if there is none."""
        topic = self.topic(id)
        del self.topics[id], self._topics_by_bytes[id.bytes]
        if self.topics_by_name.get(topic.name) is topic:
            del self.topics_by_name[topic.name]
        return topic

    def topic(self, id: uuid.UUID) -> TopicState:
        """Raises InputError if there is none."""
        found = self.topics.get(id)
        if found is None:
            raise InputError(f"no topic has the id {uuid_text(id)}")
        return found

    def broker(self, id: int, epoch: int) -> BrokerState:
        """Raises InputError if it is not registered, or with another epoch."""
        found = self.brokers.get(id)
        if found is None:
            raise InputError(f"broker {id} is not registered")
        if found.record.broker_epoch != epoch:
            raise InputError(f"broker {id} is registered with epoch {found.record.broker_epoch}, not {epoch}")
        return found


def _register_broker(image: ClusterImage, record: records.RegisterBrokerRecord) -> None:
    image.brokers[record.broker_id] = BrokerState(record)


def _unregister_broker(image: ClusterImage, record: records.UnregisterBrokerRecord) -> None:
    image.brokers.pop(record.broker_id, None)


def _fence(image: ClusterImage, record: records.FenceBrokerRecord) -> None:
    image.broker(record.id, record.epoch).fenced = True


def _unfence(image: ClusterImage, record: records.UnfenceBrokerRecord) -> None:
    image.broker(record.id, record.epoch).fenced = False


def _change_broker(image: ClusterImage, record: records.BrokerRegistrationChangeRecord) -> None:
    image.broker(record.broker_id, record.broker_epoch).change(record)


def _register_controller(image: ClusterImage, record: records.RegisterControllerRecord) -> None:
    image.controllers[record.controller_id] = record


def _unregister_controller(image: ClusterImage, record: records.UnregisterControllerRecord) -> None:
    image.controllers.pop(record.controller_id, None)


def _topic(image: ClusterImage, record: records.TopicRecord) -> None:
    image.add_topic(record.name, record.topic_id)


def _remove_topic(image: ClusterImage, record: records.RemoveTopicRecord) -> None:
    topic = image.remove_topic(record.topic_id)
    image.configs.pop((ConfigResourceType.TOPIC, topic.name), None)


def _partition(image: ClusterImage, record: records.PartitionRecord) -> None:
    image.topic(record.topic_id).partitions[record.partition_id] = PartitionState(record)


def _change_partition(image: ClusterImage, record: records.PartitionChangeRecord) -> None:
    topic = image.topic(record.topic_id)
    partition = topic.partitions.get(record.partition_id)
    if partition is None:
        raise InputError(f"topic {topic.name} has no partition {record.partition_id}")
    state = topic.partitions[record.partition_id] = state_of(partition)
    state.change(record)


def _clear_elr(image: ClusterImage, record: records.ClearElrRecord) -> None:
    if record.topic_name and record.topic_name not in image.topics_by_name:
        raise InputError(f"topic {record.topic_name} does not exist")
    chosen = [image.topics_by_name[record.topic_name]] if record.topic_name else list(image.topics.values())
    for topic in chosen:
        for partition in topic.partitions.values():
            if isinstance(partition, PartitionState):  # a plain record has none
                partition.clear_elr()


def _config(image: ClusterImage, record: records.ConfigRecord) -> None:
    # As Kafka's brokers do with a config that an older release had; a later one has those that are not known here.
    is_later = image.metadata_version is not None and is_newer(METADATA_VERSION, image.metadata_version)
    if not is_later and not _is_known(record.resource_type, record.name):
        return
    key = record.resource_type, record.resource_name
    configs = image.configs.setdefault(key, {})
    if record.value is None:
        configs.pop(record.name, None)
    else:
        configs[record.name] = record.value
    if not configs:
        del image.configs[key]


def _is_known(resource_type: int, name: str) -> bool:
    if resource_type == ConfigResourceType.BROKER:
        return True
    return name in _known_configs().get(resource_type, ())


@cache
def _known_configs() -> dict[int, set[str]]:
    from kafka_tools.config_definitions import client_metrics, group, topic

    return {
        ConfigResourceType.TOPIC: set(topic.TABLE),
        ConfigResourceType.CLIENT_METRICS: set(client_metrics.TABLE),
        ConfigResourceType.GROUP: set(group.TABLE),
    }


def _feature(image: ClusterImage, record: records.FeatureLevelRecord) -> None:
    if record.name == METADATA_VERSION:
        if record.feature_level not in known_levels() and not is_newer(METADATA_VERSION, record.feature_level):
            raise InputError(f"unknown metadata.version {record.feature_level}")
        image.metadata_version = record.feature_level
    elif record.name != _KRAFT_VERSION:
        if record.feature_level:
            image.features[record.name] = record.feature_level
        else:
            image.features.pop(record.name, None)


def _quota(image: ClusterImage, record: records.ClientQuotaRecord) -> None:
    parts = {part.entity_type: part.entity_name for part in record.entity}
    if not parts:
        raise InputError("a client quota is about no entity")
    entity = quota_entity(parts)
    quotas = image.quotas.setdefault(entity, {})
    if record.remove:
        quotas.pop(record.key, None)
    else:
        quotas[record.key] = record.value
    if not quotas:
        del image.quotas[entity]


def quota_entity(parts: Mapping[str, str | None]) -> QuotaEntity:
    """The parts in order; types that came later stand behind the others."""
    return tuple(
        (kind, parts[kind]) for kind in (*QUOTA_TYPES, *sorted(parts.keys() - set(QUOTA_TYPES))) if kind in parts
    )


def _producer_ids(image: ClusterImage, record: records.ProducerIdsRecord) -> None:
    image.next_producer_id = record.next_producer_id


def _acl(image: ClusterImage, record: records.AccessControlEntryRecord) -> None:
    image.acls[record.id] = record


def _remove_acl(image: ClusterImage, record: records.RemoveAccessControlEntryRecord) -> None:
    if record.id not in image.acls:
        raise InputError(f"no ACL has the id {uuid_text(record.id)}")
    del image.acls[record.id]


def _scram(image: ClusterImage, record: records.UserScramCredentialRecord) -> None:
    image.scram.setdefault(record.mechanism, {})[record.name] = record


def _remove_scram(image: ClusterImage, record: records.RemoveUserScramCredentialRecord) -> None:
    image.scram.get(record.mechanism, {}).pop(record.name, None)


def _token(image: ClusterImage, record: records.DelegationTokenRecord) -> None:
    for principal in (record.owner, record.requester, *record.renewers):
        if ":" not in principal:
            raise InputError("a delegation token names a principal without a type")
    image.tokens[record.token_id] = record


def _remove_token(image: ClusterImage, record: records.RemoveDelegationTokenRecord) -> None:
    image.tokens.pop(record.token_id, None)


_APPLY: dict[type[Stored], Callable[[ClusterImage, Any], None]] = {
    records.RegisterBrokerRecord: _register_broker,
    records.UnregisterBrokerRecord: _unregister_broker,
    records.FenceBrokerRecord: _fence,
    records.UnfenceBrokerRecord: _unfence,
    records.BrokerRegistrationChangeRecord: _change_broker,
    records.RegisterControllerRecord: _register_controller,
    records.UnregisterControllerRecord: _unregister_controller,
    records.TopicRecord: _topic,
    records.RemoveTopicRecord: _remove_topic,
    records.PartitionRecord: _partition,
    records.PartitionChangeRecord: _change_partition,
    records.ClearElrRecord: _clear_elr,
    records.ConfigRecord: _config,
    records.FeatureLevelRecord: _feature,
    records.ClientQuotaRecord: _quota,
    records.ProducerIdsRecord: _producer_ids,
    records.AccessControlEntryRecord: _acl,
    records.RemoveAccessControlEntryRecord: _remove_acl,
    records.UserScramCredentialRecord: _scram,
    records.RemoveUserScramCredentialRecord: _remove_scram,
    records.DelegationTokenRecord: _token,
    records.RemoveDelegationTokenRecord: _remove_token,
}
"""Records that change nothing of the image (no-ops, the state of a migration) are not in it."""
