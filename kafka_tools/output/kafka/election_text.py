"""The lines of ``kafka-leader-election`` (LeaderElectionCommand), in the order in which Java walks its hash tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_tools.output.kafka.java_words import exception_name, hash_order, partition_hash
from kafka_tools.values import TopicPartition


def result(election_type: str, elected: Sequence[TopicPartition], needless: Sequence[TopicPartition]) -> str:
    """The partitions with a new leader, and those that needed no election. Empty lists print nothing."""
    text = ""
    if elected:
        text += f"Successfully completed leader election ({election_type}) for partitions {_listed(elected)}\n"
    if needless:
        text += f"Valid replica already elected for partitions {_listed(needless)}\n"
    return text


def failures(election_type: str, failed: Mapping[TopicPartition, Exception]) -> list[str]:
    """A line for each failed partition, with the exception of Java's client for the error."""
    return [
        f"Error completing leader election ({election_type}) for partition: {key}: {_exception(failed[key])}"
        for key in hash_order(failed, partition_hash)
    ]


def _listed(partitions: Sequence[TopicPartition]) -> str:
    return ", ".join(map(str, hash_order(partitions, partition_hash)))


def _exception(error: Exception) -> str:
    code = getattr(error, "code", None)
    if code is None:
        return str(error)
    return f"{exception_name(code.name)}: {getattr(error, 'broker_message', None) or code.text}"
