"""Kafka's words that travel as numbers, each once: the number, Kafka's spelling, and the class they come from.

Members are plain ints, so that messages and loops over many batches can use them directly, and importing them is cheap.
A number of a newer broker is not a member: ``AclOperation.word(99)`` is ``UNKNOWN(99)``. Words that Kafka itself sends
as strings (group types and states, internal topics) are strings here; any other string is ``unknown_word``. Sources are
the classes of ``org.apache.kafka`` 4.3.1 named beside each; tests/against_kafka/test_enums.py compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar


class Words:
    """A family of words: each class attribute in capitals is a word and its number."""

    numbers: ClassVar[Mapping[str, int]]
    """Kafka's spelling -> number, including UNKNOWN if Kafka has it."""
    words: ClassVar[Mapping[int, str]]
    """Number -> Kafka's spelling."""

    def __init_subclass__(cls) -> None:
        found = {name: number for name, number in vars(cls).items() if name.isupper()}
        cls.numbers = MappingProxyType(found)
        cls.words = MappingProxyType({number: name for name, number in found.items()})

    @classmethod
    def word(cls, number: int) -> str:
        """Kafka's spelling of a number; ``UNKNOWN(99)`` for an unknown number."""
        return cls.words.get(number) or f"UNKNOWN({number})"

    @classmethod
    def number(cls, word: str) -> int | None:
        """The number of a ``word``, also of ``UNKNOWN(99)``; None for any other text."""
        digits = word.removeprefix("UNKNOWN(").removesuffix(")")
        if digits.removeprefix("-").isdecimal() and len(digits) <= 5 and cls.word(int(digits)) == word:
            return int(digits)
        return cls.numbers.get(word)

    @classmethod
    def known(cls) -> dict[str, int]:
        """The valid words, without UNKNOWN."""
        return {name: number for name, number in cls.numbers.items() if name != "UNKNOWN"}


def unknown_word(text: str | None) -> str:
    """The output for a text without a member in its family: ``Unknown`` as in Kafka's tools, and the text."""
    return f"Unknown({text})" if text else "Unknown"


class Texts:
    """A family of words that Kafka sends as text: each class attribute in capitals is one."""

    all: ClassVar[tuple[str, ...]]
    """Every text, in Kafka's order."""

    def __init_subclass__(cls) -> None:
        cls.all = tuple(text for name, text in vars(cls).items() if name.isupper())


# Configs


class ConfigResourceType(Words):
    """The kind of resource that configs belong to (``common.config.ConfigResource.Type``)."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(Words):
    """The source of a value (``clients.admin.ConfigEntry.ConfigSource``; numbers of ``DescribeConfigsResponse``)."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class ConfigType(Words):
    """The type of a value (``clients.admin.ConfigEntry.ConfigType``; numbers of ``DescribeConfigsResponse``)."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigOperation(Words):
    """The operation of an incremental change (``clients.admin.AlterConfigOp.OpType``, KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


# Access control


class AclResourceType(Words):
    """The type of an ACL's resource (``common.resource.ResourceType``)."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(Words):
    """The kind of match between an ACL and resource names (``common.resource.PatternType``, KIP-290)."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(Words):
    """The operation that an ACL allows or denies (``common.acl.AclOperation``)."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermission(Words):
    """Allow or deny (``common.acl.AclPermissionType``)."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


ACL_OPERATIONS: Mapping[int, tuple[int, ...]] = {
    AclResourceType.TOPIC: (
        AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.DESCRIBE, AclOperation.DELETE,
        AclOperation.ALTER, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS,
    ),
    AclResourceType.GROUP: (
        AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE, AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    AclResourceType.CLUSTER: (
        AclOperation.CREATE, AclOperation.CLUSTER_ACTION, AclOperation.DESCRIBE, AclOperation.ALTER,
        AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS, AclOperation.IDEMPOTENT_WRITE,
    ),
    AclResourceType.TRANSACTIONAL_ID: (
        AclOperation.DESCRIBE, AclOperation.WRITE, AclOperation.TWO_PHASE_COMMIT,
    ),
    AclResourceType.DELEGATION_TOKEN: (AclOperation.DESCRIBE,),
    AclResourceType.USER: (AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS),
}  # fmt: skip
"""Type of resource -> its operations, except ALL (``AclEntry.supportedOperations``)."""
CLUSTER_NAME = "kafka-cluster"
"""The name of the only resource of the type CLUSTER (``common.resource.Resource.CLUSTER_NAME``)."""
OPERATIONS_NOT_ASKED = -(2**31)
"""The bit field of authorised operations if the request does not ask for them (KIP-430)."""


# Coordinators, groups and transactions


class CoordinatorType(Words):
    """Key types of FindCoordinator (``FindCoordinatorRequest.CoordinatorType``)."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


class IsolationLevel(Words):
    """Whether a consumer reads uncommitted transactions (``common.IsolationLevel``)."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class GroupType(Texts):
    """The type of a group (``common.GroupType``); requests may spell it in any case."""

    CONSUMER = "Consumer"
    CLASSIC = "Classic"
    SHARE = "Share"
    STREAMS = "Streams"


class CoordinatorGroupType(Texts):
    """The type of a group in coordinators and in names of configs (``coordinator.group.Group.GroupType``)."""

    CONSUMER = "consumer"
    CLASSIC = "classic"
    SHARE = "share"
    STREAMS = "streams"


CONSUMER_PROTOCOL_TYPE = "consumer"
"""The protocol type of classic groups of consumers (``ConsumerProtocol.PROTOCOL_TYPE``)."""


class GroupState(Texts):
    """States of groups of all types (``common.GroupState``)."""

    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    NOT_READY = "NotReady"


class TransactionState(Texts):
    """States of a transaction; the index in ``all`` is the number in ``__transaction_state``
    (``coordinator.transaction.TransactionState``).
    """

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"


CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE = INTERNAL_TOPICS = (
    "__consumer_offsets",
    "__transaction_state",
    "__share_group_state",
)
"""Topics that only brokers write (``common.internals.Topic``)."""
CLUSTER_METADATA = "__cluster_metadata"
"""The log of the controllers, which clients do not see as a topic."""
REMOTE_LOG_METADATA = "__remote_log_metadata"
"""The topic of tiered storage's default metadata manager. Brokers treat it as an ordinary topic."""


# Records


class Codec(Words):
    """Compression codecs (``common.record.internal.CompressionType``); configs spell them in lower case."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


CODECS = tuple(name.lower() for name in Codec.numbers)
"""Codecs as configs and tools spell them; the index is the number."""


class TimestampType(Words):
    """The origin of a timestamp (``common.record.TimestampType``)."""

    NO_TIMESTAMP_TYPE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


TIMESTAMP_TYPES: Mapping[int, str] = {
    TimestampType.NO_TIMESTAMP_TYPE: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}
"""Number -> the text of tools, and of ``message.timestamp.type``."""

CODEC_BITS = 0x07
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40
"""The attributes of a batch (``common.record.internal.DefaultRecordBatch``). Messages of magic 1 have the first two,
and messages of magic 0 only the codec."""


class ControlRecordType(Words):
    """Types of control records (``common.record.internal.ControlRecordType``)."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6
    UNKNOWN = -1


# Offsets that ListOffsets takes for a timestamp


class OffsetSpec(Words):
    """Special timestamps of ListOffsets (``ListOffsetsRequest``; KIP-734, KIP-405, KIP-1005, KIP-1023)."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


# Others


class ElectionType(Words):
    """The kind of a leader election (``common.ElectionType``, KIP-460)."""

    PREFERRED = 0
    UNCLEAN = 1


class QuotaMatch(Words):
    """The kind of match of a component of a quota filter (``DescribeClientQuotasRequest``, KIP-546)."""

    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2  # any entity of the type that is not its default


class FeatureUpgradeType(Words):
    """The kind of change of a feature level (``clients.admin.FeatureUpdate.UpgradeType``, KIP-584)."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class TopologyDescriptionStatus(Words):
    """Whether a streams group's topology is described (``clients.admin`` ``StreamsGroupTopologyDescriptionStatus``,
    KIP-1331)."""

    NOT_REQUESTED = 0
    NOT_STORED = 1
    ERROR = 2
    AVAILABLE = 3


class TopologyNodeType(Words):
    """Nodes in the description of a topology (KIP-1331)."""

    SOURCE = 1
    PROCESSOR = 2
    SINK = 3


class EndpointType(Words):
    """The nodes whose endpoints DescribeCluster returns (``clients.admin`` ``EndpointType``, KIP-919)."""

    UNKNOWN = 0
    BROKER = 1
    CONTROLLER = 2
