"""The brokers that host a partition's replicas: chosen round robin, or by a manual assignment.

Rules and texts are those of Kafka's ``ReplicationControlManager``.
"""

from __future__ import annotations

from collections.abc import Collection

from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.protocol import error_codes

Assignment = list[list[int]]
"""Replicas (broker ids, the leader first) by partition number."""


def place(brokers: Collection[int], partitions: int, replication_factor: int, *, first: int = 0) -> Assignment:
    """Assign partitions to brokers round robin, in the order of ids from index ``first``. BrokerError if too few."""
    nodes = sorted(brokers)
    if replication_factor <= 0:
        raise error_for(
            error_codes.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if partitions <= 0:
        raise error_for(
            error_codes.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
        )  # fmt: skip
    if replication_factor > len(nodes):
        raise error_for(
            error_codes.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): The target replication factor of "
            f"{replication_factor} cannot be reached because only {len(nodes)} broker(s) are registered or some "
            "brokers have all their log directories cordoned.",
        )
    return [
        [nodes[(first + number + copy) % len(nodes)] for copy in range(replication_factor)]
        for number in range(partitions)
    ]


def check_assignment(brokers: Collection[int], assignment: Assignment) -> None:
    """BrokerError if a manual assignment names a broker twice, an unknown one, or has another number of replicas."""
    for replicas in assignment:
        if not replicas:
            raise error_for(
                error_codes.INVALID_REPLICA_ASSIGNMENT,
                "The manual partition assignment includes an empty replica list.",
            )
        in_order = sorted(replicas)
        for before, broker in zip([None, *in_order], in_order, strict=False):
            if broker not in brokers:
                raise error_for(
                    error_codes.INVALID_REPLICA_ASSIGNMENT,
                    f"The manual partition assignment includes broker {broker}, but no such broker is registered.",
                )
            if broker == before:
                raise error_for(
                    error_codes.INVALID_REPLICA_ASSIGNMENT,
                    f"The manual partition assignment includes the broker {broker} more than once.",
                )
        if len(replicas) != len(assignment[0]):
            raise error_for(
                error_codes.INVALID_REPLICA_ASSIGNMENT,
                "The manual partition assignment includes a partition with "
                f"{len(replicas)} replica(s), but this is not consistent with previous partitions, which have "
                f"{len(assignment[0])} replica(s).",
            )
