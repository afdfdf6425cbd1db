"""What a call may do: with the cluster, with its ACLs, about delegation tokens; and the bit fields that say so.

Numbers and sets are those of Kafka's ``AclOperation`` and ``AclEntry.supportedOperations``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.refusals import refuse
from kafka_tools.broker_embedded.security.acls import OPERATIONS, Acls
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CLUSTER_NAME, OPERATIONS_NOT_ASKED

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.call import Call

SUPPORTED = {
    "TOPIC": ("READ", "WRITE", "CREATE", "DESCRIBE", "DELETE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"),
    "GROUP": ("READ", "DESCRIBE", "DELETE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"),
    "CLUSTER": (
        "CREATE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "ALTER", "DESCRIBE",
    ),
    "TRANSACTIONAL_ID": ("DESCRIBE", "WRITE", "TWO_PHASE_COMMIT"),
    "DELEGATION_TOKEN": ("DESCRIBE",),
    "USER": ("CREATE_TOKENS", "DESCRIBE_TOKENS"),
}  # fmt: skip

NOT_ASKED = OPERATIONS_NOT_ASKED
"""What the field holds when the request did not ask for it."""


def cluster_operations(call: Call) -> int:
    """The bit field of what the caller may do with the cluster; 0 for a caller that may not even describe it."""
    return authorized_operations(call, "CLUSTER", CLUSTER_NAME) if allowed_on_cluster(call, "DESCRIBE") else 0


def allowed_on_cluster(call: Call, operation: str) -> bool:
    """Whether the caller may do this with the cluster."""
    return call.allowed(operation, "CLUSTER", CLUSTER_NAME)


def authorized_operations(call: Call, resource_type: str, name: str) -> int:
    """The bit field of what the caller may do with a resource."""
    return sum(
        1 << OPERATIONS[operation]
        for operation in SUPPORTED[resource_type]
        if call.allowed(operation, resource_type, name)
    )


def acls_of(call: Call) -> Acls:
    """The cluster's entries. BrokerError (SECURITY_DISABLED) without an authorizer."""
    acls = call.broker.acls
    if not acls.enabled:
        raise refuse(error_codes.SECURITY_DISABLED, "No Authorizer is configured.")
    return acls


def token_requests_allowed(call: Call) -> bool:
    """Whether this connection may ask about tokens: not one without a name, nor one that logged in with a token."""
    connection = call.connection
    if connection.token_authenticated or connection.protocol == "PLAINTEXT":
        return False
    return connection.protocol != "SSL" or call.principal != "User:ANONYMOUS"


def require_token_requests(call: Call) -> None:
    """BrokerError unless ``token_requests_allowed``."""
    if not token_requests_allowed(call):
        raise refuse(error_codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
