"""DescribeTopicPartitions (75): topics and partitions page by page (KIP-966).

- Topics are sorted by name; no names means all topics.
- A page ends after response_partition_limit partitions, at least one and at most max.request.partition.size.limit;
  the cursor is the start of the next page. Topics that the caller may not describe come last, on every page.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.cluster.topic_names import name_problem
from kafka_tools.broker_embedded.handlers._rights import authorized_operations
from kafka_tools.broker_embedded.refusals import bad_request
from kafka_tools.broker_embedded.slices import Work, to_thread
from kafka_tools.cluster_image.topics import Topic
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import INTERNAL_TOPICS, AclOperation, AclResourceType
from kafka_tools.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)

VERSIONS = (0, 0)
AUTHORIZE = ()

ResponseTopic = DescribeTopicPartitionsResponse.ResponseTopic

_MANY_NAMES = 10_000


def handle(call: Call) -> Work[DescribeTopicPartitionsResponse]:
    request, cluster = call.request, call.broker.cluster
    most = call.broker.configs.broker.integer("max.request.partition.size.limit")
    left = max(min(request.response_partition_limit, most), 1)
    all_topics = not request.topics
    start = request.cursor.topic_name if request.cursor is not None else ""
    wanted = list(cluster.topics) if all_topics else [topic.name for topic in request.topics]
    if len(wanted) < _MANY_NAMES:
        names = _in_order(wanted, start)
    else:
        names = yield from to_thread(lambda: _in_order(wanted, start))
    if request.cursor is not None:
        _check_cursor(request.cursor, names, all_topics)
    response = DescribeTopicPartitionsResponse()
    allowed = {}
    for name in names:
        yield
        allowed[name] = call.allowed_on_topic(AclOperation.DESCRIBE, name)
    denied = [] if all_topics else [name for name in names if not allowed[name]]
    for name in names:
        yield
        if not allowed[name]:
            continue
        if left == 0:
            response.next_cursor = DescribeTopicPartitionsResponse.Cursor(topic_name=name, partition_index=0)
            break
        topic = cluster.topic(name)
        if topic is None:
            response.topics.append(_unknown(call, name))
            continue
        first = request.cursor.partition_index if name == start else 0
        numbers = [number for number in sorted(topic.partitions) if number >= first]
        response.topics.append(_describe(call, topic, numbers[:left]))
        if len(numbers) > left:
            response.next_cursor = DescribeTopicPartitionsResponse.Cursor(
                topic_name=name, partition_index=numbers[left]
            )
            break
        left -= len(numbers)
    code = error_codes.TOPIC_AUTHORIZATION_FAILED
    response.topics += [ResponseTopic(error_code=code, name=name) for name in denied]
    return response


def _in_order(names: Sequence[str], start: str) -> list[str]:
    """The distinct names from ``start`` on, sorted."""
    return sorted({name for name in names if name >= start})


def _check_cursor(cursor: DescribeTopicPartitionsRequest.Cursor, names: Sequence[str], all_topics: bool) -> None:
    if not all_topics and cursor.topic_name not in names:
        raise bad_request(
            f"DescribeTopicPartitionsRequest topic list should contain the cursor topic: {cursor.topic_name}"
        )
    if cursor.partition_index < 0:
        raise bad_request("DescribeTopicPartitionsRequest cursor partition must be valid.")


def _unknown(call: Call, name: str) -> DescribeTopicPartitionsResponse.ResponseTopic:
    invalid = name_problem(name) is not None
    return ResponseTopic(
        error_code=error_codes.INVALID_TOPIC_EXCEPTION if invalid else error_codes.UNKNOWN_TOPIC_OR_PARTITION,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=authorized_operations(call, AclResourceType.TOPIC, name),
    )


def _describe(call: Call, topic: Topic, numbers: list[int]) -> DescribeTopicPartitionsResponse.ResponseTopic:
    return ResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.is_internal,
        topic_authorized_operations=authorized_operations(call, AclResourceType.TOPIC, topic.name),
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
