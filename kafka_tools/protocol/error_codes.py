"""Kafka's error codes: number, name, whether a retry may help, and one plain sentence.

Rows, not classes: a table costs nothing to import, and a code that this release does not know keeps
its number. Numbers and flags are those of the newest release (``org.apache.kafka.common.protocol.Errors``).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from kafka_tools import KAFKA_MINOR


class ErrorCode(NamedTuple):
    """One row. ``retriable``: the same request may succeed later; ``refresh_metadata``: find the node anew first."""

    code: int
    name: str
    retriable: bool
    refresh_metadata: bool
    text: str
    families: frozenset[str] = frozenset()
    """The families of the code, beyond Kafka's own flags; the properties below name them."""

    @property
    def topic_not_found(self) -> bool:
        """The node that was asked knows no such topic, partition or topic id; it may still be on its way there."""
        return _TOPIC in self.families

    @property
    def coordinator_moved(self) -> bool:
        """Another node is the coordinator now, or none is yet: it is looked up again."""
        return _COORDINATOR in self.families

    @property
    def node_is_stale(self) -> bool:
        """The client's metadata is stale (leader, controller or coordinator of the key): it looks the node up again."""
        return self.refresh_metadata or self.coordinator_moved or _STALE in self.families

    @property
    def not_begun(self) -> bool:
        """A change that is answered so was not begun: it may be asked for once more."""
        return _NOT_BEGUN in self.families

    @property
    def member_unknown(self) -> bool:
        """The group no longer has this member, or not in this generation: it joins anew."""
        return _MEMBER in self.families

    def __str__(self) -> str:
        return self.name


# fmt: off
_ROWS: tuple[tuple[int, str, bool, bool, str], ...] = (
    (-1, "UNKNOWN_SERVER_ERROR", False, False, "unexpected failure inside the server; its log has more"),
    (0, "NONE", False, False, "success"),
    (1, "OFFSET_OUT_OF_RANGE", False, False, "offset outside what the server keeps"),
    (2, "CORRUPT_MESSAGE", True, False, "bad CRC, bad size, null key on a compacted topic, or other corruption"),
    (3, "UNKNOWN_TOPIC_OR_PARTITION", True, True, "this server does not host this topic-partition"),
    (4, "INVALID_FETCH_SIZE", False, False, "fetch size not valid"),
    (5, "LEADER_NOT_AVAILABLE", True, True, "the topic-partition has no leader while one is being elected"),
    (6, "NOT_LEADER_OR_FOLLOWER", True, True, "this broker does not lead the topic-partition, or has no replica of it"),
    (7, "REQUEST_TIMED_OUT", True, False, "the request timed out"),
    (8, "BROKER_NOT_AVAILABLE", False, False, "the broker is not available"),
    (9, "REPLICA_NOT_AVAILABLE", True, True, "the replica of the topic-partition is not available"),
    (10, "MESSAGE_TOO_LARGE", False, False, "message above the server limit"),
    (11, "STALE_CONTROLLER_EPOCH", False, False, "controller has moved"),
    (12, "OFFSET_METADATA_TOO_LARGE", False, False, "offset metadata above limit"),
    (13, "NETWORK_EXCEPTION", True, True, "disconnected before the response"),
    (14, "COORDINATOR_LOAD_IN_PROGRESS", True, False, "the coordinator is still loading what it keeps"),
    (15, "COORDINATOR_NOT_AVAILABLE", True, False, "the coordinator is not available"),
    (16, "NOT_COORDINATOR", True, False, "this broker is not the coordinator"),
    (17, "INVALID_TOPIC_EXCEPTION", False, False,
     "the topic's name is not valid, or the topic is not open to this operation"),
    (18, "RECORD_LIST_TOO_LARGE", False, False, "batch above the segment size"),
    (19, "NOT_ENOUGH_REPLICAS", True, False, "refused: too few in sync"),
    (20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", True, False, "written but to too few in sync"),
    (21, "INVALID_REQUIRED_ACKS", False, False, "acks value not allowed"),
    (22, "ILLEGAL_GENERATION", False, False, "generation id not valid"),
    (23, "INCONSISTENT_GROUP_PROTOCOL", False, False, "incompatible or empty protocols"),
    (24, "INVALID_GROUP_ID", False, False, "group id not valid"),
    (25, "UNKNOWN_MEMBER_ID", False, False, "member not known"),
    (26, "INVALID_SESSION_TIMEOUT", False, False, "outside group.min/max.session.timeout.ms"),
    (27, "REBALANCE_IN_PROGRESS", False, False, "must rejoin"),
    (28, "INVALID_COMMIT_OFFSET_SIZE", False, False, "committed data size not valid"),
    (29, "TOPIC_AUTHORIZATION_FAILED", False, False, "the principal may not do this with the topic"),
    (30, "GROUP_AUTHORIZATION_FAILED", False, False, "the principal may not do this with the group"),
    (31, "CLUSTER_AUTHORIZATION_FAILED", False, False, "the principal may not do this with the cluster"),
    (32, "INVALID_TIMESTAMP", False, False, "timestamp out of range"),
    (33, "UNSUPPORTED_SASL_MECHANISM", False, False, "mechanism not offered"),
    (34, "ILLEGAL_SASL_STATE", False, False, "the request is not valid in this state of the SASL login"),
    (35, "UNSUPPORTED_VERSION", False, False, "the broker does not support this version of the API"),
    (36, "TOPIC_ALREADY_EXISTS", False, False, "a topic of this name exists already"),
    (37, "INVALID_PARTITIONS", False, False, "the number of partitions is below 1"),
    (38, "INVALID_REPLICATION_FACTOR", False, False,
     "the replication factor is below 1 or above the number of brokers that are available"),
    (39, "INVALID_REPLICA_ASSIGNMENT", False, False, "the replica assignment is not valid"),
    (40, "INVALID_CONFIG", False, False, "the configuration is not valid"),
    (41, "NOT_CONTROLLER", True, False, "this broker is not the controller"),
    (42, "INVALID_REQUEST", False, False,
     "the broker cannot take the request: it is malformed, or meant for another release; the broker's log has more"),
    (43, "UNSUPPORTED_FOR_MESSAGE_FORMAT", False, False,
     "the topic's message format (message.format.version) is too old for this"),
    (44, "POLICY_VIOLATION", False, False,
     "the request breaks a policy of the cluster (create.topic.policy.class.name, alter.config.policy.class.name)"),
    (45, "OUT_OF_ORDER_SEQUENCE_NUMBER", False, False, "sequence gap"),
    (46, "DUPLICATE_SEQUENCE_NUMBER", False, False, "sequence repeated"),
    (47, "INVALID_PRODUCER_EPOCH", False, False, "older epoch: fenced or expired"),
    (48, "INVALID_TXN_STATE", False, False, "not allowed in this transaction state"),
    (49, "INVALID_PRODUCER_ID_MAPPING", False, False, "producer id not that of the transactional id"),
    (50, "INVALID_TRANSACTION_TIMEOUT", False, False, "above transaction.max.timeout.ms"),
    (51, "CONCURRENT_TRANSACTIONS", True, False, "another operation on the transaction in progress"),
    (52, "TRANSACTION_COORDINATOR_FENCED", False, False, "marker from an old coordinator"),
    (53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", False, False,
     "the principal may not do this with the transactional id"),
    (54, "SECURITY_DISABLED", False, False, "security features are off: the brokers have no authorizer.class.name"),
    (55, "OPERATION_NOT_ATTEMPTED", False, False, "skipped after another failure in the batch"),
    (56, "KAFKA_STORAGE_ERROR", True, True, "disk error on a log file"),
    (57, "LOG_DIR_NOT_FOUND", False, False, "directory not configured"),
    (58, "SASL_AUTHENTICATION_FAILED", False, False, "authentication failed"),
    (59, "UNKNOWN_PRODUCER_ID", False, False, "producer state gone (e.g. retention)"),
    (60, "REASSIGNMENT_IN_PROGRESS", False, False, "a reassignment of the partition is in progress"),
    (61, "DELEGATION_TOKEN_AUTH_DISABLED", False, False,
     "delegation tokens are off: the brokers have no delegation.token.secret.key"),
    (62, "DELEGATION_TOKEN_NOT_FOUND", False, False, "there is no such delegation token"),
    (63, "DELEGATION_TOKEN_OWNER_MISMATCH", False, False,
     "the delegation token belongs to another principal, who did not name this one as a renewer"),
    (64, "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", False, False,
     "requests about delegation tokens are refused on PLAINTEXT and on TLS without a client certificate, and "
     "to a login with a delegation token"),
    (65, "DELEGATION_TOKEN_AUTHORIZATION_FAILED", False, False, "the principal may not do this with delegation tokens"),
    (66, "DELEGATION_TOKEN_EXPIRED", False, False, "the delegation token has expired"),
    (67, "INVALID_PRINCIPAL_TYPE", False, False, "this type of principal is not supported"),
    (68, "NON_EMPTY_GROUP", False, False, "the group is not empty"),
    (69, "GROUP_ID_NOT_FOUND", False, False, "the group id does not exist"),
    (70, "FETCH_SESSION_ID_NOT_FOUND", True, False, "session unknown"),
    (71, "INVALID_FETCH_SESSION_EPOCH", True, False, "session epoch wrong"),
    (72, "LISTENER_NOT_FOUND", True, True, "leader lacks the matching listener"),
    (73, "TOPIC_DELETION_DISABLED", False, False, "deleting topics is off (delete.topic.enable=false)"),
    (74, "FENCED_LEADER_EPOCH", True, True, "request epoch older than broker's"),
    (75, "UNKNOWN_LEADER_EPOCH", True, False, "request epoch newer than broker's"),
    (76, "UNSUPPORTED_COMPRESSION_TYPE", False, False, "client cannot read the compression"),
    (77, "STALE_BROKER_EPOCH", False, False, "broker epoch changed"),
    (78, "OFFSET_NOT_AVAILABLE", True, False, "high watermark not caught up after election"),
    (79, "MEMBER_ID_REQUIRED", False, False, "first join must repeat with the id given"),
    (80, "PREFERRED_LEADER_NOT_AVAILABLE", True, True, "preferred leader not available"),
    (81, "GROUP_MAX_SIZE_REACHED", False, False, "group is full"),
    (82, "FENCED_INSTANCE_ID", False, False, "fenced: another member uses the same group.instance.id"),
    (83, "ELIGIBLE_LEADERS_NOT_AVAILABLE", True, True, "no replica that may lead is alive"),
    (84, "ELECTION_NOT_NEEDED", True, True, "the wanted leader already leads"),
    (85, "NO_REASSIGNMENT_IN_PROGRESS", False, False, "no reassignment of this partition is under way"),
    (86, "GROUP_SUBSCRIBED_TO_TOPIC", False, False, "the group still subscribes to this topic"),
    (87, "INVALID_RECORD", False, False, "the record breaks a rule of the topic"),
    (88, "UNSTABLE_OFFSET_COMMIT", True, False, "offsets of an open transaction are pending"),
    (89, "THROTTLING_QUOTA_EXCEEDED", True, False, "the throttling quota is exceeded"),
    (90, "PRODUCER_FENCED", False, False, "fenced: a newer producer uses the same transactional id"),
    (91, "RESOURCE_NOT_FOUND", False, False, "no such resource"),
    (92, "DUPLICATE_RESOURCE", False, False, "the resource is given more than once"),
    (93, "UNACCEPTABLE_CREDENTIAL", False, False, "the credential is not acceptable"),
    (94, "INCONSISTENT_VOTER_SET", False, False, "the voter sets of sender and receiver differ"),
    (95, "INVALID_UPDATE_VERSION", False, False, "the partition state was changed meanwhile"),
    (96, "FEATURE_UPDATE_FAILED", False, False, "a finalized feature could not be updated"),
    (97, "PRINCIPAL_DESERIALIZATION_FAILURE", False, False, "the forwarded principal could not be read"),
    (98, "SNAPSHOT_NOT_FOUND", False, False, "no such metadata snapshot"),
    (99, "POSITION_OUT_OF_RANGE", False, False, "position outside the metadata snapshot"),
    (100, "UNKNOWN_TOPIC_ID", True, True, "no topic has this id"),
    (101, "DUPLICATE_BROKER_REGISTRATION", False, False, "a broker with this id is registered and alive"),
    (102, "BROKER_ID_NOT_REGISTERED", False, False, "no broker with this id is registered"),
    (103, "INCONSISTENT_TOPIC_ID", True, True, "the topic id of the log differs from the one in the request"),
    (104, "INCONSISTENT_CLUSTER_ID", False, False, "the cluster id differs from the one in the request"),
    (105, "TRANSACTIONAL_ID_NOT_FOUND", False, False, "no such transactional id"),
    (106, "FETCH_SESSION_TOPIC_ID_ERROR", True, False, "the fetch session mixes topic names and ids"),
    (107, "INELIGIBLE_REPLICA", False, False, "the replica may not join the in-sync set"),
    (108, "NEW_LEADER_ELECTED", False, False, "the change elected a new leader"),
    (109, "OFFSET_MOVED_TO_TIERED_STORAGE", False, False, "the offset is in tiered storage"),
    (110, "FENCED_MEMBER_EPOCH", False, False, "the member epoch is older than the coordinator's: rejoin"),
    (111, "UNRELEASED_INSTANCE_ID", False, False, "another member still holds this instance id"),
    (112, "UNSUPPORTED_ASSIGNOR", False, False, "the assignor is not offered"),
    (113, "STALE_MEMBER_EPOCH", False, False, "the member epoch is stale: learn the new one first"),
    (114, "MISMATCHED_ENDPOINT_TYPE", False, False, "sent to a broker what is for controllers, or the reverse"),
    (115, "UNSUPPORTED_ENDPOINT_TYPE", False, False, "this kind of endpoint is not known"),
    (116, "UNKNOWN_CONTROLLER_ID", False, False, "no controller has this id"),
    (117, "UNKNOWN_SUBSCRIPTION_ID", False, False, "the telemetry subscription is out of date: ask for it again"),
    (118, "TELEMETRY_TOO_LARGE", False, False, "more telemetry than the broker takes"),
    (119, "INVALID_REGISTRATION", False, False, "the registration is not acceptable"),
    (120, "TRANSACTION_ABORTABLE", False, False, "the transaction must be aborted"),
    (121, "INVALID_RECORD_STATE", False, False, "the record is not acquired in this way"),
    (122, "SHARE_SESSION_NOT_FOUND", True, False, "no such share session"),
    (123, "INVALID_SHARE_SESSION_EPOCH", True, False, "the share session epoch is wrong"),
    (124, "FENCED_STATE_EPOCH", False, False, "the share-group state epoch is older than the coordinator's"),
    (125, "INVALID_VOTER_KEY", False, False, "the voter key is not this node's"),
    (126, "DUPLICATE_VOTER", False, False, "this voter is in the voter set already"),
    (127, "VOTER_NOT_FOUND", False, False, "no such voter"),
    (128, "INVALID_REGULAR_EXPRESSION", False, False, "the regular expression is not valid"),
    (129, "REBOOTSTRAP_REQUIRED", False, False, "the client must bootstrap again"),
    (130, "STREAMS_INVALID_TOPOLOGY", False, False, "the topology is not valid"),
    (131, "STREAMS_INVALID_TOPOLOGY_EPOCH", False, False, "the topology epoch is not valid"),
    (132, "STREAMS_TOPOLOGY_FENCED", False, False, "the topology epoch is older than the group's"),
    (133, "SHARE_SESSION_LIMIT_REACHED", True, False, "the broker holds as many share sessions as it may"),
    (134, "GROUP_DELETION_FAILED", False, False, "the group could not be deleted; its message says why"),
    (135, "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED", False, False,
     "the broker could not take the description of the topology; its message says why"),
    (136, "CONTROLLER_ID_NOT_REGISTERED", False, False, "no controller with this id is registered"),
)

UNKNOWN_SERVER_ERROR = -1
NONE = 0
OFFSET_OUT_OF_RANGE = 1
CORRUPT_MESSAGE = 2
UNKNOWN_TOPIC_OR_PARTITION = 3
INVALID_FETCH_SIZE = 4
LEADER_NOT_AVAILABLE = 5
NOT_LEADER_OR_FOLLOWER = 6
REQUEST_TIMED_OUT = 7
BROKER_NOT_AVAILABLE = 8
REPLICA_NOT_AVAILABLE = 9
MESSAGE_TOO_LARGE = 10
STALE_CONTROLLER_EPOCH = 11
OFFSET_METADATA_TOO_LARGE = 12
NETWORK_EXCEPTION = 13
COORDINATOR_LOAD_IN_PROGRESS = 14
COORDINATOR_NOT_AVAILABLE = 15
NOT_COORDINATOR = 16
INVALID_TOPIC_EXCEPTION = 17
RECORD_LIST_TOO_LARGE = 18
NOT_ENOUGH_REPLICAS = 19
NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
INVALID_REQUIRED_ACKS = 21
ILLEGAL_GENERATION = 22
INCONSISTENT_GROUP_PROTOCOL = 23
INVALID_GROUP_ID = 24
UNKNOWN_MEMBER_ID = 25
INVALID_SESSION_TIMEOUT = 26
REBALANCE_IN_PROGRESS = 27
INVALID_COMMIT_OFFSET_SIZE = 28
TOPIC_AUTHORIZATION_FAILED = 29
GROUP_AUTHORIZATION_FAILED = 30
CLUSTER_AUTHORIZATION_FAILED = 31
INVALID_TIMESTAMP = 32
UNSUPPORTED_SASL_MECHANISM = 33
ILLEGAL_SASL_STATE = 34
UNSUPPORTED_VERSION = 35
TOPIC_ALREADY_EXISTS = 36
INVALID_PARTITIONS = 37
INVALID_REPLICATION_FACTOR = 38
INVALID_REPLICA_ASSIGNMENT = 39
INVALID_CONFIG = 40
NOT_CONTROLLER = 41
INVALID_REQUEST = 42
UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
POLICY_VIOLATION = 44
OUT_OF_ORDER_SEQUENCE_NUMBER = 45
DUPLICATE_SEQUENCE_NUMBER = 46
INVALID_PRODUCER_EPOCH = 47
INVALID_TXN_STATE = 48
INVALID_PRODUCER_ID_MAPPING = 49
INVALID_TRANSACTION_TIMEOUT = 50
CONCURRENT_TRANSACTIONS = 51
TRANSACTION_COORDINATOR_FENCED = 52
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
SECURITY_DISABLED = 54
OPERATION_NOT_ATTEMPTED = 55
KAFKA_STORAGE_ERROR = 56
LOG_DIR_NOT_FOUND = 57
SASL_AUTHENTICATION_FAILED = 58
UNKNOWN_PRODUCER_ID = 59
REASSIGNMENT_IN_PROGRESS = 60
DELEGATION_TOKEN_AUTH_DISABLED = 61
DELEGATION_TOKEN_NOT_FOUND = 62
DELEGATION_TOKEN_OWNER_MISMATCH = 63
DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
DELEGATION_TOKEN_EXPIRED = 66
INVALID_PRINCIPAL_TYPE = 67
NON_EMPTY_GROUP = 68
GROUP_ID_NOT_FOUND = 69
FETCH_SESSION_ID_NOT_FOUND = 70
INVALID_FETCH_SESSION_EPOCH = 71
LISTENER_NOT_FOUND = 72
TOPIC_DELETION_DISABLED = 73
FENCED_LEADER_EPOCH = 74
UNKNOWN_LEADER_EPOCH = 75
UNSUPPORTED_COMPRESSION_TYPE = 76
STALE_BROKER_EPOCH = 77
OFFSET_NOT_AVAILABLE = 78
MEMBER_ID_REQUIRED = 79
PREFERRED_LEADER_NOT_AVAILABLE = 80
GROUP_MAX_SIZE_REACHED = 81
FENCED_INSTANCE_ID = 82
ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
ELECTION_NOT_NEEDED = 84
NO_REASSIGNMENT_IN_PROGRESS = 85
GROUP_SUBSCRIBED_TO_TOPIC = 86
INVALID_RECORD = 87
UNSTABLE_OFFSET_COMMIT = 88
THROTTLING_QUOTA_EXCEEDED = 89
PRODUCER_FENCED = 90
RESOURCE_NOT_FOUND = 91
DUPLICATE_RESOURCE = 92
UNACCEPTABLE_CREDENTIAL = 93
INCONSISTENT_VOTER_SET = 94
INVALID_UPDATE_VERSION = 95
FEATURE_UPDATE_FAILED = 96
PRINCIPAL_DESERIALIZATION_FAILURE = 97
SNAPSHOT_NOT_FOUND = 98
POSITION_OUT_OF_RANGE = 99
UNKNOWN_TOPIC_ID = 100
DUPLICATE_BROKER_REGISTRATION = 101
BROKER_ID_NOT_REGISTERED = 102
INCONSISTENT_TOPIC_ID = 103
INCONSISTENT_CLUSTER_ID = 104
TRANSACTIONAL_ID_NOT_FOUND = 105
FETCH_SESSION_TOPIC_ID_ERROR = 106
INELIGIBLE_REPLICA = 107
NEW_LEADER_ELECTED = 108
OFFSET_MOVED_TO_TIERED_STORAGE = 109
FENCED_MEMBER_EPOCH = 110
UNRELEASED_INSTANCE_ID = 111
UNSUPPORTED_ASSIGNOR = 112
STALE_MEMBER_EPOCH = 113
MISMATCHED_ENDPOINT_TYPE = 114
UNSUPPORTED_ENDPOINT_TYPE = 115
UNKNOWN_CONTROLLER_ID = 116
UNKNOWN_SUBSCRIPTION_ID = 117
TELEMETRY_TOO_LARGE = 118
INVALID_REGISTRATION = 119
TRANSACTION_ABORTABLE = 120
INVALID_RECORD_STATE = 121
SHARE_SESSION_NOT_FOUND = 122
INVALID_SHARE_SESSION_EPOCH = 123
FENCED_STATE_EPOCH = 124
INVALID_VOTER_KEY = 125
DUPLICATE_VOTER = 126
VOTER_NOT_FOUND = 127
INVALID_REGULAR_EXPRESSION = 128
REBOOTSTRAP_REQUIRED = 129
STREAMS_INVALID_TOPOLOGY = 130
STREAMS_INVALID_TOPOLOGY_EPOCH = 131
STREAMS_TOPOLOGY_FENCED = 132
SHARE_SESSION_LIMIT_REACHED = 133
GROUP_DELETION_FAILED = 134
STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135
CONTROLLER_ID_NOT_REGISTERED = 136
# fmt: on

NOT_LEADER_FOR_PARTITION = NOT_LEADER_OR_FOLLOWER
"""The name until Kafka 2.5."""


_TOPIC, _COORDINATOR, _STALE, _NOT_BEGUN, _MEMBER = "topic", "coordinator", "stale", "not begun", "member"
_FAMILIES: dict[int, frozenset[str]] = {
    UNKNOWN_TOPIC_OR_PARTITION: frozenset({_TOPIC}),
    UNKNOWN_TOPIC_ID: frozenset({_TOPIC}),
    COORDINATOR_NOT_AVAILABLE: frozenset({_COORDINATOR, _NOT_BEGUN}),
    NOT_COORDINATOR: frozenset({_COORDINATOR, _NOT_BEGUN}),
    COORDINATOR_LOAD_IN_PROGRESS: frozenset({_NOT_BEGUN}),
    CONCURRENT_TRANSACTIONS: frozenset({_NOT_BEGUN}),
    THROTTLING_QUOTA_EXCEEDED: frozenset({_NOT_BEGUN}),
    NOT_CONTROLLER: frozenset({_STALE, _NOT_BEGUN}),
    UNKNOWN_LEADER_EPOCH: frozenset({_STALE}),
    UNKNOWN_MEMBER_ID: frozenset({_MEMBER}),
    ILLEGAL_GENERATION: frozenset({_MEMBER}),
}
"""Code -> the columns that only a few rows have."""


@cache
def _by_code() -> dict[int, ErrorCode]:
    return {row[0]: ErrorCode(*row, families=_FAMILIES.get(row[0], frozenset())) for row in _ROWS}


@cache
def _by_name() -> dict[str, ErrorCode]:
    table = {row.name: row for row in _by_code().values()}
    table["NOT_LEADER_FOR_PARTITION"] = table["NOT_LEADER_OR_FOLLOWER"]
    return table


def error(code: int) -> ErrorCode:
    """The row of a code. Never fails: an unknown code keeps its number and is not retriable."""
    found = _by_code().get(code)
    if found is not None:
        return found
    return ErrorCode(
        code, f"UNKNOWN_ERROR_CODE_{code}", False, False, f"an error code newer than Kafka {KAFKA_MINOR}: {code}"
    )


def by_name(name: str) -> ErrorCode:
    """The row of a name such as "NOT_COORDINATOR"; KeyError for a name that Kafka does not have."""
    return _by_name()[name]


def all_codes() -> tuple[ErrorCode, ...]:
    """Every row, by ascending code."""
    return tuple(_by_code().values())
