"""Creates the exception for the error code of a response.

The table lists the four families that callers distinguish by type. Every other code is a plain BrokerError, which still
says whether a retry may help.
"""

from __future__ import annotations

from kafka_tools.errors import AlreadyExists, AuthorizationFailed, BrokerError, InvalidRequest, NotFound
from kafka_tools.protocol import error_codes as codes

# fmt: off
_FAMILIES: dict[type[BrokerError], tuple[int, ...]] = {
    AuthorizationFailed: (
        codes.TOPIC_AUTHORIZATION_FAILED, codes.GROUP_AUTHORIZATION_FAILED, codes.CLUSTER_AUTHORIZATION_FAILED,
        codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, codes.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
        codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
    ),
    NotFound: (
        codes.UNKNOWN_TOPIC_OR_PARTITION, codes.UNKNOWN_TOPIC_ID, codes.LOG_DIR_NOT_FOUND, codes.LISTENER_NOT_FOUND,
        codes.GROUP_ID_NOT_FOUND, codes.TRANSACTIONAL_ID_NOT_FOUND, codes.DELEGATION_TOKEN_NOT_FOUND,
        codes.RESOURCE_NOT_FOUND, codes.BROKER_ID_NOT_REGISTERED, codes.UNKNOWN_CONTROLLER_ID, codes.VOTER_NOT_FOUND,
    ),
    AlreadyExists: (
        codes.TOPIC_ALREADY_EXISTS, codes.DUPLICATE_RESOURCE, codes.DUPLICATE_BROKER_REGISTRATION,
        codes.DUPLICATE_VOTER,
    ),
    InvalidRequest: (
        codes.INVALID_REQUEST, codes.INVALID_TOPIC_EXCEPTION, codes.INVALID_PARTITIONS,
        codes.INVALID_REPLICATION_FACTOR, codes.INVALID_REPLICA_ASSIGNMENT, codes.INVALID_CONFIG,
        codes.POLICY_VIOLATION, codes.INVALID_REQUIRED_ACKS, codes.INVALID_GROUP_ID, codes.INVALID_SESSION_TIMEOUT,
        codes.INVALID_TRANSACTION_TIMEOUT, codes.INVALID_PRINCIPAL_TYPE, codes.FENCED_INSTANCE_ID,
        codes.UNACCEPTABLE_CREDENTIAL, codes.INVALID_UPDATE_VERSION, codes.UNSUPPORTED_ENDPOINT_TYPE,
        codes.INVALID_REGISTRATION, codes.INVALID_REGULAR_EXPRESSION,
    ),
}
# fmt: on
_FAMILY_OF = {code: family for family, members in _FAMILIES.items() for code in members}
_HINTS = {
    codes.MISMATCHED_ENDPOINT_TYPE: (
        "give addresses of brokers to --bootstrap-server, and addresses of controllers to --bootstrap-controller"
    ),
}
"""Hints for errors that do not explain themselves to an operator."""


def broker_error(code: int, message: str | None = None, *, hint: str | None = None) -> BrokerError:
    """The error of a code that is not 0, with the broker's own message if it sent one."""
    return _FAMILY_OF.get(code, BrokerError)(codes.error(code), message, hint=hint or _HINTS.get(code))


def error_of(code: int, message: str | None = None) -> BrokerError | None:
    """None for success, else the error."""
    return None if code == codes.NONE else broker_error(code, message or None)


def has_code(error: BaseException | None, code: int) -> bool:
    """Whether ``error`` is a BrokerError with this code."""
    return isinstance(error, BrokerError) and error.code.code == code
