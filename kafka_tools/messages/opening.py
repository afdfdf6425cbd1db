"""The topic to read, and a consumer that leaves no trace: it joins no group, commits nothing and creates no topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_tools.errors import BrokerError, InputError
from kafka_tools.protocol import error_codes

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.messages.selection import TopicRange
    from kafka_tools.net.config import ClientConfig

_GROUP_SETTINGS = {"group.id", "group.instance.id", "group.protocol", "group.remote.assignor"}


class UnknownTopic(InputError):
    """A topic that does not exist. The hint has similar names."""


def partition_count(admin: AdminClient, topic: str) -> int:
    """The number of partitions. Raises UnknownTopic, with similar names, for a topic that does not exist."""
    outcome = admin.describe_topics([topic])[topic]
    error = outcome.error
    if isinstance(error, BrokerError) and error.code.code == error_codes.UNKNOWN_TOPIC_OR_PARTITION:
        from kafka_tools.texts.near_names import did_you_mean

        known = [listing.name for listing in admin.list_topics()]
        raise UnknownTopic(
            f"topic '{topic}' does not exist",
            hint=did_you_mean([topic], known) or "kafka-topics --list shows the topics",
        )
    return len(outcome.get().partitions)


def chosen_partitions(selection: TopicRange, count: int) -> list[int]:
    """The partitions of a selection. Raises InputError for one that the topic does not have."""
    for number in selection.partitions:
        if number >= count:
            raise InputError(f"topic '{selection.topic}' has no partition {number}: it has partitions 0 to {count - 1}")
    return list(selection.partitions) or list(range(count))


def reading_config(config: ClientConfig, given: Mapping[str, str]) -> ClientConfig:
    """The settings of a consumer without a group. ``given`` overrides ``config``."""
    kept = {name: value for name, value in config.values.items() if name not in _GROUP_SETTINGS}
    fixed = {"allow.auto.create.topics": "false", "auto.offset.reset": "earliest", "enable.auto.commit": "false"}
    defaults = {"client.id": "kafka-tools-messages"}
    return type(config)({**defaults, **kept, **given, **fixed}, config.source)
