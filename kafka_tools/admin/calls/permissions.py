"""The bit field of authorized operations in brokers' responses (KIP-430)."""

from __future__ import annotations

from kafka_tools.protocol.enums import OPERATIONS_NOT_ASKED, AclOperation


def operations_of(bits: int) -> tuple[str, ...] | None:
    """The operations in a bit field of authorized operations; None if the broker did not return them."""
    if bits == OPERATIONS_NOT_ASKED:
        return None
    known = [word for word, number in AclOperation.known().items() if bits >> number & 1]
    later = [number for number in range(32) if bits >> number & 1 and number not in AclOperation.words]
    return (*known, *map(AclOperation.word, later))
