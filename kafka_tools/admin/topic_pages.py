"""Describe topics page by page (DescribeTopicPartitions, KIP-966), so that no response grows without bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_tools.admin import driver
from kafka_tools.admin.calls.topics import (
    DescribeTopicPage,
    PartitionDescription,
    TopicDescription,
    TopicKey,
    partition_of,
    take_topic,
)
from kafka_tools.admin.driver import Progress
from kafka_tools.admin.lookups import ClusterAccess
from kafka_tools.admin.outcomes import Outcome
from kafka_tools.clock import Deadline
from kafka_tools.errors import UnsupportedVersion, WireError

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsResponse


def describe_by_pages(
    names: Sequence[str], page_size: int, cluster: ClusterAccess, deadline: Deadline
) -> dict[TopicKey, Outcome[TopicDescription]]:
    """Name -> outcome for the names with a final result; the caller requests the others with Metadata."""
    told: dict[str, DescribeTopicPartitionsResponse.ResponseTopic] = {}
    partitions: dict[str, list[PartitionDescription]] = {}
    progress: Progress[TopicKey, TopicDescription] = Progress()
    # A page continues at the cursor; brokers process the names in order.
    rest = sorted(names)
    cursor = None
    while rest:
        try:
            page = driver.ask(DescribeTopicPage(rest, cursor, page_size), cluster, deadline)
        except UnsupportedVersion:
            # This is another broker than before, during an upgrade: the rest comes from Metadata.
            if cursor is not None:
                told.pop(cursor.topic_name, None)
            break
        for topic in page.topics:
            if topic.name is None:
                raise WireError(
                    "describe topics: the broker returned a topic without a name", api="DescribeTopicPartitions"
                )
            told[topic.name] = topic
            partitions.setdefault(topic.name, []).extend(map(partition_of, topic.partitions))
        if page.next_cursor is None:
            break
        before = (cursor.topic_name, cursor.partition_index) if cursor is not None else ("", -1)
        cursor = page.next_cursor
        if (cursor.topic_name, cursor.partition_index) <= before:
            raise WireError(
                "describe topics: the broker's next page does not start after the current page",
                api="DescribeTopicPartitions",
            )
        rest = [name for name in rest if name >= cursor.topic_name]
    for name, topic in told.items():
        take_topic(name, topic, partitions[name], progress)
    found: dict[TopicKey, Outcome[TopicDescription]] = {
        name: Outcome(description) for name, description in progress.completed.items()
    }
    found.update({name: Outcome(None, error) for name, error in progress.failed.items()})
    return found
