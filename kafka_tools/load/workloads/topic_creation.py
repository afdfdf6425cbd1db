"""Creates the topics of a workload. Source: Trogdor's ``WorkerUtils.createTopics``."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_tools.admin.calls.topic_changes import NewTopic
from kafka_tools.admin.client import AdminClient
from kafka_tools.errors import AlreadyExists, KafkaToolsError
from kafka_tools.load.specs.topic_ranges import TopicLayout, Topics


def create_topics(settings: Mapping[str, str], topics: Topics) -> None:
    """Create the topics that do not exist. Raises KafkaToolsError if a topic cannot be created, or exists with another
    number of partitions."""
    with AdminClient(settings) as admin:
        new = [_new_topic(name, layout) for name, layout in topics.items()]
        existing = []
        for name, error in admin.create_topics(new).failures().items():
            if not isinstance(error, AlreadyExists):
                raise KafkaToolsError(f"cannot create topic {name}: {error}", hint=error.hint)
            existing.append(name)
        described = admin.describe_topics(existing)
        for name in existing:
            found, wanted = len(described[name].get().partitions), topics[name].partitions
            if found != wanted:
                raise KafkaToolsError(f"topic {name} exists with {found} partitions, not {wanted}")


def _new_topic(name: str, layout: TopicLayout) -> NewTopic:
    configs: Mapping[str, str | None] = dict(layout.configs)
    if layout.assignment:
        return NewTopic(name, assignment=layout.assignment, configs=configs)
    return NewTopic(name, layout.partitions, layout.replication_factor, configs=configs)
