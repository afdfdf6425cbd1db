"""Records of ``__cluster_metadata``: the state of a KRaft cluster.

A value is frame version, record type and version as unsigned varints, then the struct.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import (
    Stored,
    Struct,
    array,
    boolean,
    bytes_,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint16,
    uuid,
)


class RegisterBrokerRecord(Stored, id=0, versions="0-4", flexible="0+"):
    """Record: register broker.

    v1: adds in_controlled_shutdown.
    v2: adds is_migrating_zk_broker.
    v3: adds log_dirs.
    v4: adds cordoned_log_dirs.
    """

    broker_id = int32()
    is_migrating_zk_broker = boolean(versions="2+")
    incarnation_id = uuid()
    broker_epoch = int64()

    class BrokerEndpoint(Struct):
        name = string(map_key=True)
        host = string()
        port = uint16()
        security_protocol = int16()

    end_points = array(BrokerEndpoint)

    class BrokerFeature(Struct):
        name = string(map_key=True)
        min_supported_version = int16()
        max_supported_version = int16()

    features = array(BrokerFeature)
    rack = string(nullable="0+")
    fenced = boolean(default=True)
    in_controlled_shutdown = boolean(versions="1+")
    log_dirs = array(uuid(), versions="3+", tag=0)
    cordoned_log_dirs = array(uuid(), versions="4+", nullable="4+", default=None, tag=1)


class UnregisterBrokerRecord(Stored, id=1, versions="0", flexible="0+"):
    """Record: unregister broker."""

    broker_id = int32()
    broker_epoch = int64()


class TopicRecord(Stored, id=2, versions="0", flexible="0+"):
    """Record: topic."""

    name = string()
    topic_id = uuid()


class PartitionRecord(Stored, id=3, versions="0-2", flexible="0+"):
    """Record: partition.

    v1: adds directories.
    v2: adds eligible_leader_replicas, last_known_elr.
    """

    partition_id = int32(default=-1)
    topic_id = uuid()
    replicas = array(int32())
    isr = array(int32())
    removing_replicas = array(int32())
    adding_replicas = array(int32())
    leader = int32(default=-1)
    leader_recovery_state = int8(tag=0)
    leader_epoch = int32(default=-1)
    partition_epoch = int32(default=-1)
    directories = array(uuid(), versions="1+")
    eligible_leader_replicas = array(int32(), versions="2+", nullable="2+", default=None, tag=1)
    last_known_elr = array(int32(), versions="2+", nullable="2+", default=None, tag=2)


class ConfigRecord(Stored, id=4, versions="0", flexible="0+"):
    """Record: config."""

    resource_type = int8()
    resource_name = string()
    name = string()
    value = string(nullable="0+", config_value=True)


class PartitionChangeRecord(Stored, id=5, versions="0-2", flexible="0+"):
    """Record: partition change.

    v1: adds directories.
    v2: adds eligible_leader_replicas, last_known_elr.
    """

    partition_id = int32(default=-1)
    topic_id = uuid()
    isr = array(int32(), nullable="0+", default=None, tag=0)
    leader = int32(default=-2, tag=1)
    replicas = array(int32(), nullable="0+", default=None, tag=2)
    removing_replicas = array(int32(), nullable="0+", default=None, tag=3)
    adding_replicas = array(int32(), nullable="0+", default=None, tag=4)
    leader_recovery_state = int8(default=-1, tag=5)
    directories = array(uuid(), versions="1+", nullable="1+", default=None, tag=8)
    eligible_leader_replicas = array(int32(), versions="2+", nullable="2+", default=None, tag=6)
    last_known_elr = array(int32(), versions="2+", nullable="2+", default=None, tag=7)


class FenceBrokerRecord(Stored, id=7, versions="0", flexible="0+"):
    """Record: fence broker."""

    id = int32()
    epoch = int64()


class UnfenceBrokerRecord(Stored, id=8, versions="0", flexible="0+"):
    """Record: unfence broker."""

    id = int32()
    epoch = int64()


class RemoveTopicRecord(Stored, id=9, versions="0", flexible="0+"):
    """Record: remove topic."""

    topic_id = uuid()


class DelegationTokenRecord(Stored, id=10, versions="0", flexible="0+"):
    """Record: delegation token."""

    owner = string()
    requester = string()
    renewers = array(string())
    issue_timestamp = int64()
    max_timestamp = int64()
    expiration_timestamp = int64()
    token_id = string()


class UserScramCredentialRecord(Stored, id=11, versions="0", flexible="0+"):
    """Record: user scram credential."""

    name = string()
    mechanism = int8()
    salt = bytes_(secret=True)
    stored_key = bytes_(secret=True)
    server_key = bytes_(secret=True)
    iterations = int32()


class FeatureLevelRecord(Stored, id=12, versions="0", flexible="0+"):
    """Record: feature level."""

    name = string()
    feature_level = int16()


class ClientQuotaRecord(Stored, id=14, versions="0", flexible="0+"):
    """Record: client quota."""

    class EntityData(Struct):
        entity_type = string()
        entity_name = string(nullable="0+")

    entity = array(EntityData)
    key = string()
    value = float64()
    remove = boolean()


class ProducerIdsRecord(Stored, id=15, versions="0", flexible="0+"):
    """Record: producer ids."""

    broker_id = int32()
    broker_epoch = int64(default=-1)
    next_producer_id = int64()


class BrokerRegistrationChangeRecord(Stored, id=17, versions="0-3", flexible="0+"):
    """Record: broker registration change.

    v1: adds in_controlled_shutdown.
    v2: adds log_dirs.
    v3: adds cordoned_log_dirs.
    """

    broker_id = int32()
    broker_epoch = int64()
    fenced = int8(tag=0)
    in_controlled_shutdown = int8(versions="1+", tag=1)
    log_dirs = array(uuid(), versions="2+", tag=2)
    cordoned_log_dirs = array(uuid(), versions="3+", nullable="3+", default=None, tag=3)


class AccessControlEntryRecord(Stored, id=18, versions="0", flexible="0+"):
    """Record: access control entry."""

    id = uuid()
    resource_type = int8()
    resource_name = string()
    pattern_type = int8()
    principal = string()
    host = string()
    operation = int8()
    permission_type = int8()


class RemoveAccessControlEntryRecord(Stored, id=19, versions="0", flexible="0+"):
    """Record: remove access control entry."""

    id = uuid()


class NoOpRecord(Stored, id=20, versions="0", flexible="0+"):
    """Record: no op."""


class ZkMigrationStateRecord(Stored, id=21, versions="0", flexible="0+"):
    """Record: ZooKeeper migration state."""

    zk_migration_state = int8()


class RemoveUserScramCredentialRecord(Stored, id=22, versions="0", flexible="0+"):
    """Record: remove user scram credential."""

    name = string()
    mechanism = int8()


class BeginTransactionRecord(Stored, id=23, versions="0", flexible="0+"):
    """Record: begin transaction."""

    name = string(nullable="0+", default=None, tag=0)


class EndTransactionRecord(Stored, id=24, versions="0", flexible="0+"):
    """Record: end transaction."""


class AbortTransactionRecord(Stored, id=25, versions="0", flexible="0+"):
    """Record: abort transaction."""

    reason = string(nullable="0+", default=None, tag=0)


class RemoveDelegationTokenRecord(Stored, id=26, versions="0", flexible="0+"):
    """Record: remove delegation token."""

    token_id = string()


class RegisterControllerRecord(Stored, id=27, versions="0", flexible="0+"):
    """Record: register controller."""

    controller_id = int32()
    incarnation_id = uuid()
    zk_migration_ready = boolean()

    class ControllerEndpoint(Struct):
        name = string(map_key=True)
        host = string()
        port = uint16()
        security_protocol = int16()

    end_points = array(ControllerEndpoint)

    class ControllerFeature(Struct):
        name = string(map_key=True)
        min_supported_version = int16()
        max_supported_version = int16()

    features = array(ControllerFeature)


class ClearElrRecord(Stored, id=28, versions="0", flexible="0+"):
    """Record: clear ELR."""

    topic_name = string()


class UnregisterControllerRecord(Stored, id=29, versions="0", flexible="0+"):
    """Record: unregister controller."""

    controller_id = int32()


RECORDS: dict[int, type[Stored]] = {
    0: RegisterBrokerRecord,
    1: UnregisterBrokerRecord,
    2: TopicRecord,
    3: PartitionRecord,
    4: ConfigRecord,
    5: PartitionChangeRecord,
    7: FenceBrokerRecord,
    8: UnfenceBrokerRecord,
    9: RemoveTopicRecord,
    10: DelegationTokenRecord,
    11: UserScramCredentialRecord,
    12: FeatureLevelRecord,
    14: ClientQuotaRecord,
    15: ProducerIdsRecord,
    17: BrokerRegistrationChangeRecord,
    18: AccessControlEntryRecord,
    19: RemoveAccessControlEntryRecord,
    20: NoOpRecord,
    21: ZkMigrationStateRecord,
    22: RemoveUserScramCredentialRecord,
    23: BeginTransactionRecord,
    24: EndTransactionRecord,
    25: AbortTransactionRecord,
    26: RemoveDelegationTokenRecord,
    27: RegisterControllerRecord,
    28: ClearElrRecord,
    29: UnregisterControllerRecord,
}
"""Record type number -> struct."""
