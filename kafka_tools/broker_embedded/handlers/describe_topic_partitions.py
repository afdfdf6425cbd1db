"""DescribeTopicPartitions (75): topics and partitions page by page (KIP-966).

- Topics are answered in the order of their names; no names means all topics.
- A page ends after response_partition_limit partitions, at most max.request.partition.size.limit; the cursor
  says where the next one begins.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.authorization import authorized_operations
from kafka_tools.broker_embedded.cluster import Topic
from kafka_tools.broker_embedded.dispatch import Call, refuse
from kafka_tools.broker_embedded.topics import name_problem
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsResponse

VERSIONS = (0, 0)
AUTHORIZE = (("DESCRIBE", "TOPIC"),)

ResponseTopic = DescribeTopicPartitionsResponse.ResponseTopic


def handle(call: Call) -> DescribeTopicPartitionsResponse:
    request, cluster = call.request, call.broker.cluster
    if request.response_partition_limit <= 0:
        raise refuse(error_codes.INVALID_REQUEST, "Number of partitions to return must be greater than 0.")
    limit = min(
        request.response_partition_limit, call.broker.configs.broker.integer("max.request.partition.size.limit")
    )
    cursor = request.cursor
    all_topics = not request.topics
    names = sorted(cluster.topics) if all_topics else sorted({topic.name for topic in request.topics})
    if cursor is not None:
        if cursor.partition_index < 0:
            raise refuse(error_codes.INVALID_REQUEST, "DescribeTopicPartitionsRequest cursor partition must be valid.")
        names = [name for name in names if name >= cursor.topic_name]
    response = DescribeTopicPartitionsResponse()
    for name in names:
        if not call.allowed("DESCRIBE", "TOPIC", name):
            if not all_topics:
                response.topics.append(ResponseTopic(error_code=error_codes.TOPIC_AUTHORIZATION_FAILED, name=name))
            continue
        topic = cluster.topic(name)
        if topic is None:
            invalid = name_problem(name) is not None
            code = error_codes.INVALID_TOPIC_EXCEPTION if invalid else error_codes.UNKNOWN_TOPIC_OR_PARTITION
            response.topics.append(ResponseTopic(error_code=code, name=name))
            continue
        first = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        numbers = [number for number in sorted(topic.partitions) if number >= first]
        if limit <= 0:
            response.next_cursor = DescribeTopicPartitionsResponse.Cursor(topic_name=name, partition_index=first)
            break
        response.topics.append(_describe(call, topic, numbers[:limit]))
        if len(numbers) > limit:
            response.next_cursor = DescribeTopicPartitionsResponse.Cursor(
                topic_name=name, partition_index=numbers[limit]
            )
            break
        limit -= len(numbers)
    return response


def _describe(call: Call, topic: Topic, numbers: list[int]) -> DescribeTopicPartitionsResponse.ResponseTopic:
    return ResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.is_internal,
        topic_authorized_operations=authorized_operations(call, "TOPIC", topic.name),
        partitions=[
            ResponseTopic.ResponsePartition(
                partition_index=number,
                leader_id=topic.partitions[number].leader,
                leader_epoch=topic.partitions[number].leader_epoch,
                replica_nodes=list(topic.partitions[number].replicas),
                isr_nodes=list(topic.partitions[number].isr),
                eligible_leader_replicas=[],
                last_known_elr=[],
            )
            for number in numbers
        ],
    )
