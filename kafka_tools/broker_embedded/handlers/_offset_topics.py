"""The topic of a committed offset, which newer versions of OffsetCommit and TxnOffsetCommit name by its id."""

from __future__ import annotations

from typing import Any

from kafka_tools.broker_embedded.call import Call
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation


def known_topic(call: Call, topic: Any, by_id: bool) -> tuple[str, int]:
    """The topic's name, or the code for all of its partitions."""
    cluster = call.broker.cluster
    name: str = topic.name
    if by_id:
        found = cluster.topics_by_id.get(topic.topic_id)
        if found is None:
            return "", error_codes.UNKNOWN_TOPIC_ID
        name = found.name
    if not call.allowed_on_topic(AclOperation.READ, name):
        return name, error_codes.TOPIC_AUTHORIZATION_FAILED
    return name, error_codes.NONE if cluster.topic(name) else error_codes.UNKNOWN_TOPIC_OR_PARTITION
