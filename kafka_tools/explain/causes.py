"""From an error to its likely cause and to the next command. ``docs/commands/explain.md`` shows the same table.

An error without a row has no usual cause. ``$B`` stands for the address of a broker.
"""

from __future__ import annotations

from typing import NamedTuple


class Cause(NamedTuple):
    """The usual cause of an error, and the commands that confirm or remove it."""

    text: str
    next: tuple[str, ...] = ()


_TOPIC = ("kafka-topics -b $B --describe --topic TOPIC",)
_GROUP = ("kafka-consumer-groups -b $B --describe --group GROUP --members --verbose",)
_QUORUM = ("kafka-metadata-quorum -b $B describe --status",)
_NODES = ("kafka-cluster list-endpoints -b $B",)
_ACLS = ("kafka-acls -b $B --list --principal User:NAME",)
_PRODUCERS = ("kafka-transactions -b $B describe-producers --topic TOPIC --partition 0",)
_TRANSACTION = ("kafka-transactions -b $B describe --transactional-id ID",)
_VERSIONS = ("kafka-broker-api-versions -b $B",)
_TOKENS = ("kafka-delegation-tokens -b $B --describe",)

CAUSES: dict[str, Cause] = {
    "UNKNOWN_SERVER_ERROR": Cause("The broker hit a bug or an unforeseen state. Only its log says more."),
    "OFFSET_OUT_OF_RANGE": Cause(
        "Retention or kafka-delete-records removed the records before the consumer read them, or the topic was created "
        "again. auto.offset.reset decides where a consumer continues.",
        (
            "kafka-get-offsets -b $B --topic TOPIC --time earliest",
            "kafka-consumer-groups -b $B --describe --group GROUP",
        ),
    ),
    "CORRUPT_MESSAGE": Cause(
        "A batch was damaged on its way or on the disk, or a record without a key was sent to a compacted topic.",
        ("kafka-configs -b $B --describe --topic TOPIC", "kafka-dump-log --files SEGMENT.log"),
    ),
    "UNKNOWN_TOPIC_OR_PARTITION": Cause(
        "The topic does not exist, its name is misspelt, or it was created or deleted a moment ago.",
        ("kafka-topics -b $B --list", *_TOPIC),
    ),
    "UNKNOWN_TOPIC_ID": Cause("The topic was deleted, or deleted and created again under the same name.", _TOPIC),
    "LEADER_NOT_AVAILABLE": Cause(
        "No live replica can lead the partition: its brokers are down, or only replicas outside the ISR are alive.",
        ("kafka-topics -b $B --describe --unavailable-partitions", *_QUORUM),
    ),
    "NOT_LEADER_OR_FOLLOWER": Cause(
        "The leader moved, and the client has old metadata. It asks again by itself. An error that stays means that "
        "brokers disagree about the metadata.",
        (*_TOPIC, *_QUORUM),
    ),
    "REQUEST_TIMED_OUT": Cause(
        "The broker could not complete the request in time: followers are slow with acks=all, or the controller is.",
        ("kafka-topics -b $B --describe --under-replicated-partitions", *_QUORUM),
    ),
    "BROKER_NOT_AVAILABLE": Cause("The broker is down or is not registered.", _NODES),
    "REPLICA_NOT_AVAILABLE": Cause(
        "The replica is moving, or its broker is down.", ("kafka-reassign-partitions -b $B --list", *_TOPIC)
    ),
    "MESSAGE_TOO_LARGE": Cause(
        "A batch is larger than max.message.bytes of the topic. The limit counts the compressed batch.",
        (
            "kafka-configs -b $B --describe --all --topic TOPIC",
            "kafka-configs -b $B --alter --topic TOPIC --add-config max.message.bytes=2MiB",
        ),
    ),
    "RECORD_LIST_TOO_LARGE": Cause(
        "A batch is larger than segment.bytes of the topic.", ("kafka-configs -b $B --describe --all --topic TOPIC",)
    ),
    "NETWORK_EXCEPTION": Cause(
        "The broker closed the connection: it restarted, the connection was idle, or a PLAINTEXT client talked to "
        "a TLS or SASL listener.",
        _NODES,
    ),
    "COORDINATOR_LOAD_IN_PROGRESS": Cause(
        "The coordinator moved to another broker, which still reads __consumer_offsets or __transaction_state.",
        ("kafka-topics -b $B --describe --topic __consumer_offsets",),
    ),
    "COORDINATOR_NOT_AVAILABLE": Cause(
        "__consumer_offsets or __transaction_state does not exist yet, or has too few live brokers for its replication "
        "factor.",
        ("kafka-topics -b $B --describe --topic __consumer_offsets", *_NODES),
    ),
    "NOT_COORDINATOR": Cause("The coordinator moved. Clients look it up again by themselves.", _GROUP),
    "INVALID_TOPIC_EXCEPTION": Cause(
        "The name has characters other than letters, digits, '.', '_' and '-', is longer than 249 characters, or "
        "differs from an existing name only in '.' and '_'.",
        ("kafka-topics -b $B --list",),
    ),
    "NOT_ENOUGH_REPLICAS": Cause(
        "Fewer replicas are in sync than min.insync.replicas demands, so that acks=all cannot be kept.",
        ("kafka-topics -b $B --describe --under-min-isr-partitions", *_NODES),
    ),
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": Cause(
        "The ISR shrank below min.insync.replicas after the leader had written the records. A producer without "
        "idempotence may write them twice when it tries again.",
        ("kafka-topics -b $B --describe --under-min-isr-partitions",),
    ),
    "ILLEGAL_GENERATION": Cause(
        "The group rebalanced without this member: it took longer than max.poll.interval.ms between polls, or its "
        "heartbeats did not arrive within session.timeout.ms.",
        _GROUP,
    ),
    "INCONSISTENT_GROUP_PROTOCOL": Cause(
        "Members of one group have no assignor in common, or a connector and a consumer use the same group id.", _GROUP
    ),
    "UNKNOWN_MEMBER_ID": Cause(
        "The coordinator removed the member, usually because the application took longer than max.poll.interval.ms "
        "between two polls. Offsets of what it processed meanwhile are not committed.",
        _GROUP,
    ),
    "REBALANCE_IN_PROGRESS": Cause("A member joined or left. Members join again by themselves.", _GROUP),
    "TOPIC_AUTHORIZATION_FAILED": Cause("No ACL allows the operation on the topic, or one denies it.", _ACLS),
    "GROUP_AUTHORIZATION_FAILED": Cause("No ACL allows the operation on the group, or one denies it.", _ACLS),
    "CLUSTER_AUTHORIZATION_FAILED": Cause(
        "No ACL allows the operation on the cluster. An idempotent producer of a release before 2.8 needs "
        "IDEMPOTENT_WRITE.",
        _ACLS,
    ),
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": Cause("No ACL allows WRITE (or DESCRIBE) on the transactional id.", _ACLS),
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED": Cause("No ACL allows the operation on the delegation token.", _ACLS),
    "INVALID_TIMESTAMP": Cause(
        "A record's timestamp is further from the broker's clock than message.timestamp.before.max.ms or "
        "message.timestamp.after.max.ms allows: clocks differ, or seconds or microseconds were sent for milliseconds.",
        ("kafka-configs -b $B --describe --all --topic TOPIC",),
    ),
    "UNSUPPORTED_SASL_MECHANISM": Cause(
        "The listener does not offer the client's sasl.mechanism.",
        ("kafka-configs -b $B --describe --all --broker ID",),
    ),
    "SASL_AUTHENTICATION_FAILED": Cause(
        "The user or the password is wrong, SCRAM credentials for the mechanism do not exist, or a token expired.",
        ("kafka-scram -b $B --describe",),
    ),
    "UNSUPPORTED_VERSION": Cause(
        "The broker is older (or newer) than the request: it lacks this version of the API, or a feature level is not "
        "finalized yet.",
        (*_VERSIONS, "kafka-features -b $B describe"),
    ),
    "TOPIC_ALREADY_EXISTS": Cause("A topic has this name, or its deletion is not complete.", _TOPIC),
    "INVALID_REPLICATION_FACTOR": Cause(
        "Fewer brokers are alive than the replication factor demands.",
        _NODES,
    ),
    "INVALID_REPLICA_ASSIGNMENT": Cause(
        "The assignment names a broker twice, or one that does not exist.",
        _NODES,
    ),
    "INVALID_CONFIG": Cause(
        "A value is outside its range, or a config is unknown or not dynamic.",
        ("kafka-tools explain CONFIG", "kafka-configs -b $B --describe --all --topic TOPIC"),
    ),
    "NOT_CONTROLLER": Cause("The controller moved. Clients look it up again by themselves.", _QUORUM),
    "INVALID_REQUEST": Cause(
        "The request is malformed, or from another release than the broker expects. The broker's log says what it "
        "refused.",
        _VERSIONS,
    ),
    "POLICY_VIOLATION": Cause(
        "A policy class of the cluster refused the topic or the config. The message is the policy's own.",
        ("kafka-configs -b $B --describe --all --broker ID",),
    ),
    "OUT_OF_ORDER_SEQUENCE_NUMBER": Cause(
        "A batch of an idempotent producer before this one was lost, or two producers use one producer id.", _PRODUCERS
    ),
    "INVALID_PRODUCER_EPOCH": Cause(
        "Another producer with the same transactional id began, or the transaction took longer than "
        "transaction.timeout.ms and the coordinator aborted it.",
        _TRANSACTION,
    ),
    "PRODUCER_FENCED": Cause(
        "Another producer with the same transactional id began. Each running producer needs an id of its own.",
        _TRANSACTION,
    ),
    "INVALID_TXN_STATE": Cause(
        "The producer used the transaction in the wrong state: it sent records before it added the partition, or "
        "committed an aborted transaction.",
        _TRANSACTION,
    ),
    "INVALID_PRODUCER_ID_MAPPING": Cause(
        "The coordinator forgot the transactional id, because it was not used for transactional.id.expiration.ms.",
        _TRANSACTION,
    ),
    "INVALID_TRANSACTION_TIMEOUT": Cause(
        "transaction.timeout.ms of the producer is larger than transaction.max.timeout.ms of the brokers.",
        ("kafka-tools explain transaction.max.timeout.ms",),
    ),
    "CONCURRENT_TRANSACTIONS": Cause(
        "The last transaction of this producer is still being completed. It stays so if a partition of it is offline.",
        (*_TRANSACTION, "kafka-topics -b $B --describe --unavailable-partitions"),
    ),
    "UNKNOWN_PRODUCER_ID": Cause(
        "The producer was silent for longer than producer.id.expiration.ms, or all its records were deleted.",
        _PRODUCERS,
    ),
    "SECURITY_DISABLED": Cause("The brokers have no authorizer, so that there are no ACLs."),
    "KAFKA_STORAGE_ERROR": Cause(
        "A log directory of the broker failed: a disk error, a full disk, or missing permissions.",
        ("kafka-log-dirs -b $B --describe",),
    ),
    "LOG_DIR_NOT_FOUND": Cause("The broker has no log directory with this path.", ("kafka-log-dirs -b $B --describe",)),
    "REASSIGNMENT_IN_PROGRESS": Cause(
        "A reassignment of the partition is not complete.", ("kafka-reassign-partitions -b $B --list",)
    ),
    "NO_REASSIGNMENT_IN_PROGRESS": Cause(
        "The reassignment is complete, or was cancelled.", ("kafka-reassign-partitions -b $B --list",)
    ),
    "DELEGATION_TOKEN_NOT_FOUND": Cause("The token expired, or belongs to another cluster.", _TOKENS),
    "DELEGATION_TOKEN_EXPIRED": Cause("Nobody renewed the token before its expiry time.", _TOKENS),
    "NON_EMPTY_GROUP": Cause("The group still has members. Stop them, or wait until their sessions end.", _GROUP),
    "GROUP_ID_NOT_FOUND": Cause(
        "The group never existed on this cluster, or its offsets expired (offsets.retention.minutes).",
        ("kafka-groups -b $B --list",),
    ),
    "FETCH_SESSION_ID_NOT_FOUND": Cause(
        "The broker evicted the fetch session. Clients begin a new one by themselves; many of these mean that "
        "max.incremental.fetch.session.cache.slots is too small.",
        ("kafka-configs -b $B --describe --all --broker ID",),
    ),
    "TOPIC_DELETION_DISABLED": Cause(
        "delete.topic.enable is false on the controllers.", ("kafka-configs -b $B --describe --all --broker ID",)
    ),
    "FENCED_LEADER_EPOCH": Cause("The leader moved. Clients look it up again by themselves.", _TOPIC),
    "UNKNOWN_LEADER_EPOCH": Cause("The broker has not heard of the last election yet.", _QUORUM),
    "UNSUPPORTED_COMPRESSION_TYPE": Cause(
        "The client (or an old request version) does not know the codec of the batches, usually zstd.",
        ("kafka-configs -b $B --describe --topic TOPIC",),
    ),
    "GROUP_MAX_SIZE_REACHED": Cause("The group has group.max.size members.", _GROUP),
    "FENCED_INSTANCE_ID": Cause("Two consumers use the same group.instance.id.", _GROUP),
    "ELIGIBLE_LEADERS_NOT_AVAILABLE": Cause(
        "All replicas that may lead are down. An unclean election loses the records that others do not have.",
        ("kafka-topics -b $B --describe --unavailable-partitions",),
    ),
    "PREFERRED_LEADER_NOT_AVAILABLE": Cause(
        "The preferred replica is down or not in sync.",
        ("kafka-topics -b $B --describe --under-replicated-partitions",),
    ),
    "ELECTION_NOT_NEEDED": Cause("The partition already has that leader."),
    "GROUP_SUBSCRIBED_TO_TOPIC": Cause("Members still read the topic, so that its offsets cannot be deleted.", _GROUP),
    "INVALID_RECORD": Cause(
        "A record breaks a rule of the topic: no key in a compacted topic, or a timestamp out of range.",
        ("kafka-configs -b $B --describe --all --topic TOPIC",),
    ),
    "UNSTABLE_OFFSET_COMMIT": Cause(
        "A transaction that contains offsets of the group is open. It stays so if its producer hangs.",
        ("kafka-transactions -b $B list", "kafka-transactions -b $B find-hanging --broker-id ID"),
    ),
    "THROTTLING_QUOTA_EXCEEDED": Cause(
        "The client made more changes than controller_mutation_rate allows.",
        ("kafka-configs -b $B --describe --user NAME",),
    ),
    "UNACCEPTABLE_CREDENTIAL": Cause(
        "The iterations are below 4096 (or above 16384), or the password is empty.", ("kafka-scram -b $B --describe",)
    ),
    "INCONSISTENT_CLUSTER_ID": Cause(
        "The client or broker was connected to another cluster before: an address was reused.",
        ("kafka-cluster cluster-id -b $B",),
    ),
    "DUPLICATE_BROKER_REGISTRATION": Cause(
        "Two brokers have the same node.id, or the old process of this one is still alive.", _NODES
    ),
    "TRANSACTIONAL_ID_NOT_FOUND": Cause(
        "No producer has used the id for transactional.id.expiration.ms.", ("kafka-transactions -b $B list",)
    ),
    "FEATURE_UPDATE_FAILED": Cause(
        "A node does not support the level, or another feature must be raised first.",
        ("kafka-features -b $B describe",),
    ),
    "FENCED_MEMBER_EPOCH": Cause(
        "The coordinator took the member's partitions away, usually because its heartbeats stopped. The member joins "
        "again by itself.",
        _GROUP,
    ),
    "STALE_MEMBER_EPOCH": Cause(
        "The member committed with an old epoch: an assignment changed meanwhile. It commits again by itself.", _GROUP
    ),
    "UNRELEASED_INSTANCE_ID": Cause(
        "Another member uses the same group.instance.id and has not left the group yet.", _GROUP
    ),
    "UNSUPPORTED_ASSIGNOR": Cause(
        "The brokers have no assignor with the name in group.remote.assignor.",
        ("kafka-tools explain group.consumer.assignors",),
    ),
    "TELEMETRY_TOO_LARGE": Cause("The client pushed more metrics than telemetry.max.bytes allows."),
}
