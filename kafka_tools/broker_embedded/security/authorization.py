"""Which operations exist on which kind of resource, and the bit fields in which responses list them.

Numbers and sets are those of Kafka's ``AclOperation`` and ``AclEntry.supportedOperations``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.protocol.enums import CLUSTER_NAME, OPERATIONS_NOT_ASKED, AclOperation

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.call import Call

OPERATIONS = {name: number for name, number in AclOperation.known().items() if name not in ("ANY", "ALL")}

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
