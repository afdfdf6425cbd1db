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
    """A broker's registration. It replaces the earlier one of the same id.

    The active controller writes it when a broker starts and sends BrokerRegistration. A new process begins fenced, and
    is unfenced by a later BrokerRegistrationChangeRecord.

    v1: adds in_controlled_shutdown.
    v2: adds is_migrating_zk_broker.
    v3: adds log_dirs.
    v4: adds cordoned_log_dirs.
    """

    broker_id = int32()
    # True for a broker in ZooKeeper mode during the migration to KRaft. Kafka 4 refuses such brokers.
    is_migrating_zk_broker = boolean(versions="2+")
    # Random id that the broker process chose when it started. Another id under the same broker id means that the broker
    # has restarted.
    incarnation_id = uuid()
    # The offset at which the controller wrote the registration. It stays the same while the process lives. Requests
    # with an older epoch are refused as STALE_BROKER_EPOCH.
    broker_epoch = int64()

    class BrokerEndpoint(Struct):
        # Listener name, such as EXTERNAL.
        name = string(map_key=True)
        # Advertised host name or address.
        host = string()
        port = uint16()
        # 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
        security_protocol = int16()

    # Addresses under which clients and brokers reach this broker, one for each entry of advertised.listeners.
    end_points = array(BrokerEndpoint)

    class BrokerFeature(Struct):
        # Feature such as metadata.version, kraft.version or group.version.
        name = string(map_key=True)
        # Lowest level, inclusive.
        min_supported_version = int16()
        # Highest level, inclusive.
        max_supported_version = int16()

    # Levels of each feature that the broker's software supports.
    features = array(BrokerFeature)
    # broker.rack of the broker. Null if it has none.
    rack = string(nullable="0+")
    # True while clients must not be sent to the broker: it has yet to catch up with the metadata, or its heartbeats
    # stopped.
    fenced = boolean(default=True)
    # True when the broker has asked to shut down and its leaderships are moving away.
    in_controlled_shutdown = boolean(versions="1+")
    # Ids of the log directories that are online. Offline ones are missing here.
    log_dirs = array(uuid(), versions="3+", tag=0)
    # Ids of the log directories that take no new replicas. Null until the broker reports them in a heartbeat.
    cordoned_log_dirs = array(uuid(), versions="4+", nullable="4+", default=None, tag=1)


class UnregisterBrokerRecord(Stored, id=1, versions="0", flexible="0+"):
    """A broker's registration is deleted.

    The active controller writes it when an operator sends UnregisterBroker. Its replicas must be reassigned separately.
    """

    # The broker that leaves the cluster. It can register again.
    broker_id = int32()
    # Epoch of the registration that ends.
    broker_epoch = int64()


class TopicRecord(Stored, id=2, versions="0", flexible="0+"):
    """A topic is created. Its configs and PartitionRecords follow in the same batch.

    The active controller writes it on CreateTopics. No record changes it, and RemoveTopicRecord ends it.
    """

    # Unique among the topics that exist.
    name = string()
    # Random and never used again, so that a topic created anew under an old name has another id.
    topic_id = uuid()


class PartitionRecord(Stored, id=3, versions="0-2", flexible="0+"):
    """The whole state of one partition.

    The active controller writes it on CreateTopics and CreatePartitions. Later changes are PartitionChangeRecords. A
    snapshot contains one PartitionRecord with all of them applied.

    v1: adds directories.
    v2: adds eligible_leader_replicas, last_known_elr.
    """

    # Index within the topic, from 0. -1: never written.
    partition_id = int32(default=-1)
    # Topic of an earlier TopicRecord.
    topic_id = uuid()
    # Broker ids in the order of preference. The first one is the preferred leader.
    replicas = array(int32())
    # In-sync replicas: broker ids that have every committed record.
    isr = array(int32())
    # Broker ids that a reassignment removes once it completes. Empty without a reassignment.
    removing_replicas = array(int32())
    # Broker ids that a reassignment adds. They stay here until all of it is complete. Empty without a reassignment.
    adding_replicas = array(int32())
    # Broker id of the leader. -1: no replica can lead, the partition is offline.
    leader = int32(default=-1)
    # 0: the leader has all committed records. 1: it came from an unclean election and is still recovering.
    leader_recovery_state = int8(tag=0)
    # Counts the elections. Followers and clients use it to detect stale leaders.
    leader_epoch = int32(default=-1)
    # Counts all changes of the partition. AlterPartition must send the current one.
    partition_epoch = int32(default=-1)
    # Log directory of each replica, in the order of replicas. Three ids are reserved: 0 for a replica in the migration
    # from ZooKeeper, 1 for not assigned yet, 2 for a directory that is offline.
    directories = array(uuid(), versions="1+")
    # Replicas outside the ISR that still have every committed record and may be elected cleanly (KIP-966). Null: none.
    eligible_leader_replicas = array(int32(), versions="2+", nullable="2+", default=None, tag=1)
    # The last leader, kept while no replica can be elected. Null: none.
    last_known_elr = array(int32(), versions="2+", nullable="2+", default=None, tag=2)


class ConfigRecord(Stored, id=4, versions="0", flexible="0+"):
    """One config of one resource is set or deleted.

    The active controller writes it on IncrementalAlterConfigs and AlterConfigs, and on CreateTopics for the configs of
    the request.
    """

    # 2 topic, 4 broker, 16 client metrics, 32 group.
    resource_type = int8()
    # Topic, broker id, client metrics subscription or group. An empty name is the default of all brokers.
    resource_name = string()
    # Config key, such as retention.ms.
    name = string()
    # Value as text. Null deletes the config, and the default applies again.
    value = string(nullable="0+", config_value=True)


class PartitionChangeRecord(Stored, id=5, versions="0-2", flexible="0+"):
    """A change of one partition. Fields that do not change have their default.

    The active controller writes it on elections, AlterPartition, reassignments, AssignReplicasToDirs, and when a broker
    is fenced or unregistered. Each record raises partition_epoch by 1.

    v1: adds directories.
    v2: adds eligible_leader_replicas, last_known_elr.
    """

    # Index within the topic. -1: never written.
    partition_id = int32(default=-1)
    topic_id = uuid()
    # The new in-sync replicas. Null: no change.
    isr = array(int32(), nullable="0+", default=None, tag=0)
    # Broker id of the new leader, also raising leader_epoch. -1: the partition has no leader any more. -2: no change.
    leader = int32(default=-2, tag=1)
    # The new replicas, the preferred leader first. Null: no change.
    replicas = array(int32(), nullable="0+", default=None, tag=2)
    # Replicas that the reassignment in progress removes. Empty: the reassignment is over. Null: no change.
    removing_replicas = array(int32(), nullable="0+", default=None, tag=3)
    # Replicas that the reassignment in progress adds. Empty: the reassignment is over. Null: no change.
    adding_replicas = array(int32(), nullable="0+", default=None, tag=4)
    # 0: the leader has all committed records. 1: it recovers from an unclean election. -1: no change.
    leader_recovery_state = int8(default=-1, tag=5)
    # Log directory of each replica, in the order of the replicas. Null: no change.
    directories = array(uuid(), versions="1+", nullable="1+", default=None, tag=8)
    # The new eligible leader replicas (KIP-966). Null: no change.
    eligible_leader_replicas = array(int32(), versions="2+", nullable="2+", default=None, tag=6)
    # The new last known leader. Null: no change. Empty: cleared.
    last_known_elr = array(int32(), versions="2+", nullable="2+", default=None, tag=7)


class FenceBrokerRecord(Stored, id=7, versions="0", flexible="0+"):
    """A broker is fenced: it may not lead, and clients are not sent to it.

    Controllers wrote it before metadata.version 3.3-IV2 when the heartbeats of a broker stopped. Newer ones write
    BrokerRegistrationChangeRecord.
    """

    # Broker id.
    id = int32()
    # broker_epoch of the registration that is fenced.
    epoch = int64()


class UnfenceBrokerRecord(Stored, id=8, versions="0", flexible="0+"):
    """A fenced broker is available again.

    Controllers wrote it before metadata.version 3.3-IV2 when a broker had caught up. Newer ones write
    BrokerRegistrationChangeRecord.
    """

    # Broker id.
    id = int32()
    # broker_epoch of the registration that is unfenced.
    epoch = int64()


class RemoveTopicRecord(Stored, id=9, versions="0", flexible="0+"):
    """A topic is deleted with all its partitions and configs.

    The active controller writes it on DeleteTopics. Brokers delete the logs when they read it.
    """

    # From now on no request with this id is served.
    topic_id = uuid()


class DelegationTokenRecord(Stored, id=10, versions="0", flexible="0+"):
    """A delegation token, without its secret: its HMAC follows from token_id and delegation.token.secret.key.

    The active controller writes it on CreateDelegationToken, and again with a new expiration_timestamp on
    RenewDelegationToken and ExpireDelegationToken.
    """

    # Principal that the token stands for, such as User:alice.
    owner = string()
    # Principal that created the token. The owner, unless somebody created it on their behalf.
    requester = string()
    # Principals that may renew and expire the token besides the owner.
    renewers = array(string())
    # Creation time in ms since 1970.
    issue_timestamp = int64()
    # The token cannot be renewed beyond this time, in ms since 1970.
    max_timestamp = int64()
    # The token is invalid from this time on unless it is renewed, in ms since 1970.
    expiration_timestamp = int64()
    # User name of the token in SCRAM logins.
    token_id = string()


class UserScramCredentialRecord(Stored, id=11, versions="0", flexible="0+"):
    """The SCRAM credential of one user and mechanism. It replaces the earlier one.

    The active controller writes it on AlterUserScramCredentials. `kafka-storage format --add-scram` puts it among the
    records that start a cluster. The password itself is not stored.
    """

    # User name, without the prefix "User:".
    name = string()
    # 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
    mechanism = int8()
    # Random bytes that the client chose for this password.
    salt = bytes_(secret=True)
    # Hash of the client key, with which the broker verifies the client's proof (RFC 5802).
    stored_key = bytes_(secret=True)
    # Key with which the broker proves to the client that it knows the credential (RFC 5802).
    server_key = bytes_(secret=True)
    # Rounds of the hash over the password, 4096 to 16384.
    iterations = int32()


class FeatureLevelRecord(Stored, id=12, versions="0", flexible="0+"):
    """A feature is set to a level for the whole cluster.

    The active controller writes it on UpdateFeatures. The first ones come from `kafka-storage format`. The one of
    metadata.version stands before all records that need that version.
    """

    # Feature such as metadata.version, group.version or transaction.version.
    name = string()
    # Level in force from here on. 0 disables the feature.
    feature_level = int16()


class ClientQuotaRecord(Stored, id=14, versions="0", flexible="0+"):
    """One quota of one entity is set or deleted.

    The active controller writes it on AlterClientQuotas.
    """

    class EntityData(Struct):
        # user, client-id or ip.
        entity_type = string()
        # Null: the default of all entities of the type.
        entity_name = string(nullable="0+")

    # The parts of the entity's name, in any order: a user, a client id, both, or an IP address.
    entity = array(EntityData)
    # producer_byte_rate, consumer_byte_rate, request_percentage, controller_mutation_rate or connection_creation_rate.
    key = string()
    # In the unit of the key: bytes, percent of a thread, mutations or connections a second. Ignored with remove.
    value = float64()
    # True deletes the quota.
    remove = boolean()


class ProducerIdsRecord(Stored, id=15, versions="0", flexible="0+"):
    """A block of 1000 producer ids is handed to a broker.

    The active controller writes it on AllocateProducerIds, which a broker sends when its block is nearly used up.
    """

    # Broker that received the block.
    broker_id = int32()
    # Epoch of the broker's registration. -1 from the migration from ZooKeeper.
    broker_epoch = int64(default=-1)
    # First id of the next block: all ids below it are handed out.
    next_producer_id = int64()


class BrokerRegistrationChangeRecord(Stored, id=17, versions="0-3", flexible="0+"):
    """A change of a registered broker. Fields that do not change have their default.

    The active controller writes it when the broker's heartbeats start or stop, when a heartbeat asks for a controlled
    shutdown, and when one reports other offline or cordoned log directories.

    v1: adds in_controlled_shutdown.
    v2: adds log_dirs.
    v3: adds cordoned_log_dirs.
    """

    broker_id = int32()
    # Epoch of the registration that changes.
    broker_epoch = int64()
    # 1: fenced. -1: unfenced. 0: no change.
    fenced = int8(tag=0)
    # 1: the controlled shutdown begins. 0: no change. Only a new registration ends it.
    in_controlled_shutdown = int8(versions="1+", tag=1)
    # Ids of the log directories that are still online. Empty: no change.
    log_dirs = array(uuid(), versions="2+", tag=2)
    # Ids of all log directories that take no new replicas. Null: no change.
    cordoned_log_dirs = array(uuid(), versions="3+", nullable="3+", default=None, tag=3)


class AccessControlEntryRecord(Stored, id=18, versions="0", flexible="0+"):
    """An ACL is created.

    The active controller writes it on CreateAcls, if no equal ACL exists. No record changes it;
    RemoveAccessControlEntryRecord ends it.
    """

    # Random id, by which the ACL is removed. Clients never see it.
    id = uuid()
    # 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user.
    resource_type = int8()
    # Name or prefix, as pattern_type says. * stands for all names, and the cluster is kafka-cluster.
    resource_name = string()
    # 3 literal, 4 prefixed.
    pattern_type = int8()
    # Such as User:alice. User:* stands for everybody.
    principal = string()
    # IP address of the client. * stands for all addresses.
    host = string()
    # 2 all, 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe. Of the cluster: 9 cluster action, 12 idempotent
    # write. Of configs: 10 describe, 11 alter. Of tokens: 13 create, 14 describe. Of transactions: 15 two-phase commit.
    operation = int8()
    # 2 deny, 3 allow. One deny outweighs every allow.
    permission_type = int8()


class RemoveAccessControlEntryRecord(Stored, id=19, versions="0", flexible="0+"):
    """An ACL is deleted.

    The active controller writes one for each ACL that matches a filter of DeleteAcls.
    """

    # As in AccessControlEntryRecord.
    id = uuid()


class NoOpRecord(Stored, id=20, versions="0", flexible="0+"):
    """A record without content: it changes nothing.

    The active controller writes it every metadata.max.idle.interval.ms (500 ms), so that every node can tell from the
    growing log that it is up to date.
    """


class ZkMigrationStateRecord(Stored, id=21, versions="0", flexible="0+"):
    """Progress of the migration from ZooKeeper.

    Controllers of Kafka 3.4 to 3.9 write it when the migration starts and ends. Kafka 4 writes 0 into the log of a new
    cluster, and does not start on a log whose migration is unfinished.
    """

    # 0: the cluster never used ZooKeeper. 1: migration, records go to both. 2: pre-migration. 3: post-migration, done.
    zk_migration_state = int8()


class RemoveUserScramCredentialRecord(Stored, id=22, versions="0", flexible="0+"):
    """The SCRAM credential of one user and mechanism is deleted.

    The active controller writes it on AlterUserScramCredentials.
    """

    # User name, without the prefix "User:".
    name = string()
    # 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
    mechanism = int8()


class BeginTransactionRecord(Stored, id=23, versions="0", flexible="0+"):
    """The records that follow take effect only with the next EndTransactionRecord (KIP-868).

    The active controller writes it before changes that are too large for one batch, such as the first records of a
    cluster. Readers show nothing of them until the end.
    """

    # Purpose of the transaction, for people who read the log. Null: none given.
    name = string(nullable="0+", default=None, tag=0)


class EndTransactionRecord(Stored, id=24, versions="0", flexible="0+"):
    """The records since BeginTransactionRecord take effect, all at the same time.

    The controller that wrote the BeginTransactionRecord writes it.
    """


class AbortTransactionRecord(Stored, id=25, versions="0", flexible="0+"):
    """The records since BeginTransactionRecord are void.

    A new active controller writes it when its predecessor failed before EndTransactionRecord.
    """

    # Text for people who read the log, such as "Controller failover". Null: none given.
    reason = string(nullable="0+", default=None, tag=0)


class RemoveDelegationTokenRecord(Stored, id=26, versions="0", flexible="0+"):
    """A delegation token is deleted.

    The active controller writes it when a token has expired or is expired immediately.
    """

    # As in DelegationTokenRecord.
    token_id = string()


class RegisterControllerRecord(Stored, id=27, versions="0", flexible="0+"):
    """A controller's registration. It replaces the earlier one of the same id (KIP-919).

    The active controller writes it when a controller starts and sends ControllerRegistration.
    """

    # node.id of the controller.
    controller_id = int32()
    # Random id that the controller process chose when it started.
    incarnation_id = uuid()
    # True if the controller is configured for the migration from ZooKeeper. Kafka 4 always writes false.
    zk_migration_ready = boolean()

    class ControllerEndpoint(Struct):
        # Listener name, such as CONTROLLER.
        name = string(map_key=True)
        # Advertised host name or address.
        host = string()
        port = uint16()
        # 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
        security_protocol = int16()

    # Addresses under which nodes and admin clients reach this controller, one for each of controller.listener.names.
    end_points = array(ControllerEndpoint)

    class ControllerFeature(Struct):
        # Feature such as metadata.version or kraft.version.
        name = string(map_key=True)
        # Lowest level, inclusive.
        min_supported_version = int16()
        # Highest level, inclusive.
        max_supported_version = int16()

    # Levels of each feature that the controller's software supports.
    features = array(ControllerFeature)


class ClearElrRecord(Stored, id=28, versions="0", flexible="0+"):
    """The eligible leader replicas of partitions are forgotten (KIP-966).

    The active controller writes it when min.insync.replicas of a topic or of the cluster changes, because they were
    chosen by the old value.
    """

    # Topic whose partitions are cleared. Empty: all topics.
    topic_name = string()


class UnregisterControllerRecord(Stored, id=29, versions="0", flexible="0+"):
    """A controller's registration is deleted.

    The active controller writes it when an operator sends UnregisterController.
    """

    # The controller, which is no voter any more.
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
