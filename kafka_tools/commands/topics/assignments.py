"""``--replica-assignment``: the brokers of each partition of a topic."""

from __future__ import annotations

from kafka_tools.errors import UsageError
from kafka_tools.values import parse_integer


def parse_replica_assignment(text: str) -> list[list[int]]:
    """``0:1,1:2`` -> the broker ids of each partition, in order. Raises UsageError for other texts (TopicCommand)."""
    partitions: list[list[int]] = []
    for at, part in enumerate(text.split(",")):
        try:
            replicas = [parse_integer(each) for each in part.split(":")]
        except ValueError:
            raise UsageError(
                f"invalid --replica-assignment '{part}': expected broker ids such as 0:1 (partition {at})"
            ) from None
        if len(set(replicas)) != len(replicas):
            raise UsageError(f"--replica-assignment: partition {at} names a broker twice: {part}")
        if partitions and len(replicas) != len(partitions[0]):
            raise UsageError(f"--replica-assignment: partition {at} has a different replication factor: {part}")
        if not all(0 <= broker < 2**31 for broker in replicas):
            raise UsageError(
                f"--replica-assignment: invalid broker id in partition {at}: expected 0 to {2**31 - 1}: {part}"
            )
        partitions.append(replicas)
    return partitions
