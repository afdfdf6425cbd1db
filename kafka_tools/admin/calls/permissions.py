"""ACL operations by name, and the bit field in which brokers tell what a principal may do (KIP-430)."""

from __future__ import annotations

OPERATIONS = {
    "ANY": 1,
    "ALL": 2,
    "READ": 3,
    "WRITE": 4,
    "CREATE": 5,
    "DELETE": 6,
    "ALTER": 7,
    "DESCRIBE": 8,
    "CLUSTER_ACTION": 9,
    "DESCRIBE_CONFIGS": 10,
    "ALTER_CONFIGS": 11,
    "IDEMPOTENT_WRITE": 12,
    "CREATE_TOKENS": 13,
    "DESCRIBE_TOKENS": 14,
    "TWO_PHASE_COMMIT": 15,
}
UNTOLD = -(2**31)


def operations_of(bits: int) -> tuple[str, ...] | None:
    """The operations in a bit field of authorised operations; None where the broker did not tell."""
    if bits == UNTOLD:
        return None
    return tuple(word for word, number in OPERATIONS.items() if bits >> number & 1)
