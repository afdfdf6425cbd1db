"""Java's influence on the output of Kafka's tools: the order of hash tables, and the names of exceptions.

Tools print some collections in the iteration order of a ``java.util.HashMap``, which depends on the keys. The number
of buckets is a power of two and doubles when the table is three quarters full (``java_hashing.in_buckets``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from kafka_tools.texts.java_hashing import in_buckets, string_hash
from kafka_tools.values import TopicPartition

K = TypeVar("K")
USUAL_PLACES = 16
"""The number of buckets of a table that was created without a size."""

_IRREGULAR = {
    "CORRUPT_MESSAGE": "errors.CorruptRecordException",
    "REQUEST_TIMED_OUT": "errors.TimeoutException",
    "MESSAGE_TOO_LARGE": "errors.RecordTooLargeException",
    "STALE_CONTROLLER_EPOCH": "errors.ControllerMovedException",
    "OFFSET_METADATA_TOO_LARGE": "errors.OffsetMetadataTooLarge",
    "RECORD_LIST_TOO_LARGE": "errors.RecordBatchTooLargeException",
    "TOPIC_AUTHORIZATION_FAILED": "errors.TopicAuthorizationException",
    "GROUP_AUTHORIZATION_FAILED": "errors.GroupAuthorizationException",
    "CLUSTER_AUTHORIZATION_FAILED": "errors.ClusterAuthorizationException",
    "TOPIC_ALREADY_EXISTS": "errors.TopicExistsException",
    "INVALID_CONFIG": "errors.InvalidConfigurationException",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "errors.OutOfOrderSequenceException",
    "DUPLICATE_SEQUENCE_NUMBER": "errors.DuplicateSequenceException",
    "INVALID_PRODUCER_ID_MAPPING": "errors.InvalidPidMappingException",
    "INVALID_TRANSACTION_TIMEOUT": "errors.InvalidTxnTimeoutException",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "errors.TransactionalIdAuthorizationException",
    "SASL_AUTHENTICATION_FAILED": "errors.SaslAuthenticationException",
    "DELEGATION_TOKEN_AUTH_DISABLED": "errors.DelegationTokenDisabledException",
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED": "errors.UnsupportedByAuthenticationException",
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED": "errors.DelegationTokenAuthorizationException",
    "NON_EMPTY_GROUP": "errors.GroupNotEmptyException",
    "INVALID_RECORD": "InvalidRecordException",
    "PRINCIPAL_DESERIALIZATION_FAILURE": "errors.PrincipalDeserializationException",
    "INVALID_REGULAR_EXPRESSION": "errors.InvalidRegularExpression",
}
"""Error codes whose exceptions have other names."""
_PACKAGE = "org.apache.kafka.common"


def partition_hash(partition: TopicPartition) -> int:
    """``TopicPartition.hashCode`` as an unsigned number."""
    return (31 * (31 + partition.partition) + string_hash(partition.topic)) & 0xFFFFFFFF


def places(wanted: int) -> int:
    """The number of buckets of a table created for ``wanted`` keys (``HashMap.tableSizeFor``)."""
    return 1 << max(wanted - 1, 0).bit_length()


def hash_order(keys: Iterable[K], hash_of: Callable[[K], int], table: int = USUAL_PLACES) -> list[K]:
    """``keys``, inserted in this order into a table of ``table`` buckets, in its iteration order."""
    given = list(dict.fromkeys(keys))
    while len(given) > table * 3 // 4:
        table *= 2

    return in_buckets(given, hash_of, table)


def exception_name(error: str) -> str:
    """The exception class of Java's client for the name of an error code."""
    words = error.removesuffix("_ERROR").removesuffix("_EXCEPTION").split("_")
    regular = f"errors.{''.join(word.capitalize() for word in words)}Exception"
    return f"{_PACKAGE}.{_IRREGULAR.get(error, regular)}"
