"""``kafka-topics --create --clone-from``: a topic like another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_tools.commands import running
from kafka_tools.errors import KafkaToolsError
from kafka_tools.protocol.enums import ConfigSource

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient, NewTopic

_OF_ITS_REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
"""Configs that name partitions and brokers of the topic itself."""


def like(admin: AdminClient, source: str, topic: NewTopic) -> NewTopic:
    """``topic`` with the partitions, replication factor and configs of ``source``, unless it has its own.

    Configs are those set on the source topic, not those of its brokers. Prints the copied values on stderr.
    """
    from kafka_tools.commands.topics.rows import describe

    with running.about(source):
        described = describe(admin, admin.describe_topics([source]), [])
        if described.errors:
            raise KafkaToolsError(f"cannot clone topic '{source}': {described.errors[0].message}")
        (row,) = described.rows
        configs = _own_configs(admin, source) | dict(topic.configs or {})
    if topic.assignment is None:
        topic = topic._replace(
            partitions=topic.partitions if topic.partitions > 0 else row["partition_count"],
            replication_factor=topic.replication_factor if topic.replication_factor > 0 else row["replication_factor"],
        )
    _tell(source, topic, configs)
    return topic._replace(configs=configs)


def _own_configs(admin: AdminClient, source: str) -> dict[str, str | None]:
    from kafka_tools.admin.client import ConfigResource

    resource = ConfigResource("topic", source)
    of_topic = ConfigSource.words[ConfigSource.DYNAMIC_TOPIC_CONFIG]
    return {
        entry.name: entry.value
        for entry in admin.describe_configs([resource])[resource].get()
        if entry.source == of_topic and entry.name not in _OF_ITS_REPLICAS
    }


def _tell(source: str, topic: NewTopic, configs: Mapping[str, str | None]) -> None:
    size = (
        ""
        if topic.assignment is not None
        else (f"{topic.partitions} partitions, replication factor {topic.replication_factor}, ")
    )
    listed = ", ".join(f"{name}={value}" for name, value in sorted(configs.items())) or "no configs"
    running.note(f"copied from {source}: {size}{listed}")
