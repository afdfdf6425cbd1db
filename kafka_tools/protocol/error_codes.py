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
        """The node does not know the topic, partition or topic id. It may learn it later."""
        return _TOPIC in self.families

    @property
    def coordinator_moved(self) -> bool:
        """Another node is the coordinator now, or there is none yet. The client looks it up again."""
        return _COORDINATOR in self.families

    @property
    def node_is_stale(self) -> bool:
        """The client's metadata is stale (leader, controller or coordinator of the key): it looks the node up again."""
        return self.refresh_metadata or self.coordinator_moved or _STALE in self.families

    @property
    def not_begun(self) -> bool:
        """The node did not begin the change, so the client may request it again."""
        return _NOT_BEGUN in self.families

    @property
    def member_unknown(self) -> bool:
        """The group no longer has this member, or not in this generation. The member joins again."""
        return _MEMBER in self.families

    def __str__(self) -> str:
        return self.name


_RETRIABLE, _REFRESH = "retriable", "refresh metadata"
_TOPIC, _COORDINATOR, _STALE, _NOT_BEGUN, _MEMBER = "topic", "coordinator", "stale", "not begun", "member"
_ROWS: dict[int, tuple[str, frozenset[str]]] = {}


def _code(code: int, text: str, *families: str) -> int:
    """Declare an error code. The constant's name is the name of the code."""
    _ROWS[code] = text, frozenset(families)
    return code


UNKNOWN_SERVER_ERROR = _code(-1, "the server failed unexpectedly; see its log")
NONE = _code(0, "success")
OFFSET_OUT_OF_RANGE = _code(1, "the offset is outside the range that the server has")
CORRUPT_MESSAGE = _code(
    2, "the batch is corrupt (CRC, size), or a record without a key was sent to a compacted topic", _RETRIABLE
)
UNKNOWN_TOPIC_OR_PARTITION = _code(3, "this server does not host this topic-partition", _RETRIABLE, _REFRESH, _TOPIC)
INVALID_FETCH_SIZE = _code(4, "the fetch size is not valid")
LEADER_NOT_AVAILABLE = _code(5, "the topic-partition has no leader; an election is in progress", _RETRIABLE, _REFRESH)
NOT_LEADER_OR_FOLLOWER = _code(
    6, "this broker is not the leader of the topic-partition, or has no replica of it", _RETRIABLE, _REFRESH
)
REQUEST_TIMED_OUT = _code(7, "the request timed out", _RETRIABLE)
BROKER_NOT_AVAILABLE = _code(8, "the broker is not available")
REPLICA_NOT_AVAILABLE = _code(9, "the replica of the topic-partition is not available", _RETRIABLE, _REFRESH)
MESSAGE_TOO_LARGE = _code(10, "the message is larger than the server allows")
STALE_CONTROLLER_EPOCH = _code(11, "the controller has moved")
OFFSET_METADATA_TOO_LARGE = _code(12, "the metadata of the committed offset is larger than offset.metadata.max.bytes")
NETWORK_EXCEPTION = _code(13, "the connection ended before the response", _RETRIABLE, _REFRESH)
COORDINATOR_LOAD_IN_PROGRESS = _code(14, "the coordinator is still loading its state", _RETRIABLE, _NOT_BEGUN)
COORDINATOR_NOT_AVAILABLE = _code(15, "the coordinator is not available", _RETRIABLE, _COORDINATOR, _NOT_BEGUN)
NOT_COORDINATOR = _code(16, "this broker is not the coordinator", _RETRIABLE, _COORDINATOR, _NOT_BEGUN)
INVALID_TOPIC_EXCEPTION = _code(17, "the topic's name is not valid, or the topic does not allow this operation")
RECORD_LIST_TOO_LARGE = _code(18, "the batch is larger than a segment of the log")
NOT_ENOUGH_REPLICAS = _code(19, "the topic-partition has too few in-sync replicas; nothing was written", _RETRIABLE)
NOT_ENOUGH_REPLICAS_AFTER_APPEND = _code(20, "the message was written, but to too few in-sync replicas", _RETRIABLE)
INVALID_REQUIRED_ACKS = _code(21, "the value of acks is not valid")
ILLEGAL_GENERATION = _code(22, "the generation id differs from the group's", _MEMBER)
INCONSISTENT_GROUP_PROTOCOL = _code(23, "the member's protocol type or protocols do not match the group's")
INVALID_GROUP_ID = _code(24, "the group id is not valid")
UNKNOWN_MEMBER_ID = _code(25, "the coordinator does not know the member", _MEMBER)
INVALID_SESSION_TIMEOUT = _code(
    26, "the session timeout is not between group.min.session.timeout.ms and group.max.session.timeout.ms"
)
REBALANCE_IN_PROGRESS = _code(27, "the group is rebalancing; the member must rejoin")
INVALID_COMMIT_OFFSET_SIZE = _code(28, "the committed data is too large")
TOPIC_AUTHORIZATION_FAILED = _code(29, "the principal may not do this with the topic")
GROUP_AUTHORIZATION_FAILED = _code(30, "the principal may not do this with the group")
CLUSTER_AUTHORIZATION_FAILED = _code(31, "the principal may not do this with the cluster")
INVALID_TIMESTAMP = _code(32, "the timestamp is out of range")
UNSUPPORTED_SASL_MECHANISM = _code(33, "the server does not offer this SASL mechanism")
ILLEGAL_SASL_STATE = _code(34, "the request is not valid in this state of the SASL login")
UNSUPPORTED_VERSION = _code(35, "the broker does not support this version of the API")
TOPIC_ALREADY_EXISTS = _code(36, "a topic with this name already exists")
INVALID_PARTITIONS = _code(37, "the number of partitions is below 1")
INVALID_REPLICATION_FACTOR = _code(
    38, "the replication factor is below 1 or above the number of brokers that are available"
)
INVALID_REPLICA_ASSIGNMENT = _code(39, "the replica assignment is not valid")
INVALID_CONFIG = _code(40, "the configuration is not valid")
NOT_CONTROLLER = _code(41, "this broker is not the controller", _RETRIABLE, _STALE, _NOT_BEGUN)
INVALID_REQUEST = _code(
    42, "the broker refused the request: it is malformed, or for another release; see the broker's log"
)
UNSUPPORTED_FOR_MESSAGE_FORMAT = _code(
    43, "the topic's message format (message.format.version) is too old for the request"
)
POLICY_VIOLATION = _code(
    44, "the request breaks a policy of the cluster (create.topic.policy.class.name, alter.config.policy.class.name)"
)
OUT_OF_ORDER_SEQUENCE_NUMBER = _code(45, "the sequence number is not the next one")
DUPLICATE_SEQUENCE_NUMBER = _code(46, "the sequence number was already used")
INVALID_PRODUCER_EPOCH = _code(
    47, "the producer's epoch is older than the current one: the producer is fenced or its transaction timed out"
)
INVALID_TXN_STATE = _code(48, "the transaction's state does not allow this operation")
INVALID_PRODUCER_ID_MAPPING = _code(49, "the producer id does not belong to the transactional id")
INVALID_TRANSACTION_TIMEOUT = _code(50, "the transaction timeout is larger than transaction.max.timeout.ms")
CONCURRENT_TRANSACTIONS = _code(51, "another operation on the transaction is in progress", _RETRIABLE, _NOT_BEGUN)
TRANSACTION_COORDINATOR_FENCED = _code(52, "the marker is from a coordinator that has been replaced")
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = _code(53, "the principal may not do this with the transactional id")
SECURITY_DISABLED = _code(54, "security features are off: the brokers have no authorizer.class.name")
OPERATION_NOT_ATTEMPTED = _code(55, "the operation was skipped after another one in the request failed")
KAFKA_STORAGE_ERROR = _code(56, "a log file or its disk failed", _RETRIABLE, _REFRESH)
LOG_DIR_NOT_FOUND = _code(57, "the log directory is not configured on the broker")
SASL_AUTHENTICATION_FAILED = _code(58, "authentication failed")
UNKNOWN_PRODUCER_ID = _code(
    59, "the broker no longer has the state of this producer (its records may have been deleted)"
)
REASSIGNMENT_IN_PROGRESS = _code(60, "a reassignment of the partition is in progress")
DELEGATION_TOKEN_AUTH_DISABLED = _code(61, "delegation tokens are off: the brokers have no delegation.token.secret.key")
DELEGATION_TOKEN_NOT_FOUND = _code(62, "the delegation token does not exist")
DELEGATION_TOKEN_OWNER_MISMATCH = _code(
    63, "the delegation token belongs to another principal, who did not name this one as a renewer"
)
DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = _code(
    64,
    "the broker refuses requests about delegation tokens on PLAINTEXT, on TLS without a client certificate, and "
    "after a login with a delegation token",
)
DELEGATION_TOKEN_AUTHORIZATION_FAILED = _code(65, "the principal may not do this with delegation tokens")
DELEGATION_TOKEN_EXPIRED = _code(66, "the delegation token has expired")
INVALID_PRINCIPAL_TYPE = _code(67, "this type of principal is not supported")
NON_EMPTY_GROUP = _code(68, "the group is not empty")
GROUP_ID_NOT_FOUND = _code(69, "the group id does not exist")
FETCH_SESSION_ID_NOT_FOUND = _code(70, "the fetch session does not exist", _RETRIABLE)
INVALID_FETCH_SESSION_EPOCH = _code(71, "the epoch of the fetch session is wrong", _RETRIABLE)
LISTENER_NOT_FOUND = _code(72, "the leader has no listener of this name", _RETRIABLE, _REFRESH)
TOPIC_DELETION_DISABLED = _code(73, "deleting topics is off (delete.topic.enable=false)")
FENCED_LEADER_EPOCH = _code(74, "the leader epoch in the request is older than the broker's", _RETRIABLE, _REFRESH)
UNKNOWN_LEADER_EPOCH = _code(75, "the leader epoch in the request is newer than the broker's", _RETRIABLE, _STALE)
UNSUPPORTED_COMPRESSION_TYPE = _code(76, "the client does not support the topic's compression type")
STALE_BROKER_EPOCH = _code(77, "the broker epoch has changed")
OFFSET_NOT_AVAILABLE = _code(78, "the high watermark is not known yet after the election", _RETRIABLE)
MEMBER_ID_REQUIRED = _code(79, "the member must repeat the first join with the id in the response")
PREFERRED_LEADER_NOT_AVAILABLE = _code(80, "the preferred leader is not available", _RETRIABLE, _REFRESH)
GROUP_MAX_SIZE_REACHED = _code(81, "the group is full")
FENCED_INSTANCE_ID = _code(82, "another member uses the same group.instance.id")
ELIGIBLE_LEADERS_NOT_AVAILABLE = _code(83, "no live replica is eligible to become the leader", _RETRIABLE, _REFRESH)
ELECTION_NOT_NEEDED = _code(84, "the requested leader is already the leader", _RETRIABLE, _REFRESH)
NO_REASSIGNMENT_IN_PROGRESS = _code(85, "no reassignment of this partition is in progress")
GROUP_SUBSCRIBED_TO_TOPIC = _code(86, "the group still subscribes to this topic")
INVALID_RECORD = _code(87, "the broker's validation rejected the record")
UNSTABLE_OFFSET_COMMIT = _code(88, "offsets of an open transaction are pending", _RETRIABLE)
THROTTLING_QUOTA_EXCEEDED = _code(89, "the throttling quota is exceeded", _RETRIABLE, _NOT_BEGUN)
PRODUCER_FENCED = _code(90, "a newer producer uses the same transactional id")
RESOURCE_NOT_FOUND = _code(91, "the resource does not exist")
DUPLICATE_RESOURCE = _code(92, "the resource is given more than once")
UNACCEPTABLE_CREDENTIAL = _code(93, "the credential is not acceptable")
INCONSISTENT_VOTER_SET = _code(94, "the voter sets of sender and receiver differ")
INVALID_UPDATE_VERSION = _code(95, "another request changed the partition's state")
FEATURE_UPDATE_FAILED = _code(96, "a finalized feature could not be updated")
PRINCIPAL_DESERIALIZATION_FAILURE = _code(97, "the forwarded principal could not be read")
SNAPSHOT_NOT_FOUND = _code(98, "the metadata snapshot does not exist")
POSITION_OUT_OF_RANGE = _code(99, "the position is outside the metadata snapshot")
UNKNOWN_TOPIC_ID = _code(100, "no topic has this id", _RETRIABLE, _REFRESH, _TOPIC)
DUPLICATE_BROKER_REGISTRATION = _code(101, "a broker with this id is registered and alive")
BROKER_ID_NOT_REGISTERED = _code(102, "no broker with this id is registered")
INCONSISTENT_TOPIC_ID = _code(103, "the topic id of the log differs from the one in the request", _RETRIABLE, _REFRESH)
INCONSISTENT_CLUSTER_ID = _code(104, "the cluster id differs from the one in the request")
TRANSACTIONAL_ID_NOT_FOUND = _code(105, "the transactional id does not exist")
FETCH_SESSION_TOPIC_ID_ERROR = _code(106, "the fetch session mixes topic names and ids", _RETRIABLE)
INELIGIBLE_REPLICA = _code(107, "the replica is not allowed to join the in-sync set")
NEW_LEADER_ELECTED = _code(108, "the change elected a new leader")
OFFSET_MOVED_TO_TIERED_STORAGE = _code(109, "the offset is in tiered storage")
FENCED_MEMBER_EPOCH = _code(110, "the member epoch is older than the coordinator's; the member must rejoin")
UNRELEASED_INSTANCE_ID = _code(111, "another member still has this instance id")
UNSUPPORTED_ASSIGNOR = _code(112, "the coordinator does not offer the assignor")
STALE_MEMBER_EPOCH = _code(113, "the member epoch is stale; the member must get the current one first")
MISMATCHED_ENDPOINT_TYPE = _code(114, "the request was sent to a broker but is for controllers, or the reverse")
UNSUPPORTED_ENDPOINT_TYPE = _code(115, "the type of endpoint is not known")
UNKNOWN_CONTROLLER_ID = _code(116, "no controller has this id")
UNKNOWN_SUBSCRIPTION_ID = _code(117, "the telemetry subscription is out of date; the client must request it again")
TELEMETRY_TOO_LARGE = _code(118, "the client sent more telemetry than the broker accepts")
INVALID_REGISTRATION = _code(119, "the registration is not acceptable")
TRANSACTION_ABORTABLE = _code(120, "the transaction must be aborted")
INVALID_RECORD_STATE = _code(121, "the record's acquisition state does not allow this")
SHARE_SESSION_NOT_FOUND = _code(122, "the share session does not exist", _RETRIABLE)
INVALID_SHARE_SESSION_EPOCH = _code(123, "the share session epoch is wrong", _RETRIABLE)
FENCED_STATE_EPOCH = _code(124, "the share-group state epoch is older than the coordinator's")
INVALID_VOTER_KEY = _code(125, "the voter key is not this node's")
DUPLICATE_VOTER = _code(126, "the voter is already in the voter set")
VOTER_NOT_FOUND = _code(127, "the voter does not exist")
INVALID_REGULAR_EXPRESSION = _code(128, "the regular expression is not valid")
REBOOTSTRAP_REQUIRED = _code(129, "the client must bootstrap again")
STREAMS_INVALID_TOPOLOGY = _code(130, "the topology is not valid")
STREAMS_INVALID_TOPOLOGY_EPOCH = _code(131, "the topology epoch is not valid")
STREAMS_TOPOLOGY_FENCED = _code(132, "the topology epoch is older than the group's")
SHARE_SESSION_LIMIT_REACHED = _code(133, "the broker has reached its limit of share sessions", _RETRIABLE)
GROUP_DELETION_FAILED = _code(134, "the group could not be deleted; its message says why")
STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = _code(
    135, "the broker could not store the description of the topology; its message says why"
)
CONTROLLER_ID_NOT_REGISTERED = _code(136, "no controller with this id is registered")

NOT_LEADER_FOR_PARTITION = NOT_LEADER_OR_FOLLOWER
"""The name until Kafka 2.5."""


@cache
def _by_code() -> dict[int, ErrorCode]:
    names = {code: name for name, code in reversed(globals().items()) if type(code) is int}  # the first name counts
    return {
        code: ErrorCode(code, names[code], _RETRIABLE in families, _REFRESH in families, text, families)
        for code, (text, families) in _ROWS.items()
    }


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
