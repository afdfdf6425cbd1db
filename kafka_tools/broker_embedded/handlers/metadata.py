"""Metadata (3): brokers, topics, partitions and their leaders.

- v0 takes an empty list as all topics; from v1 on null is all and an empty list none.
- Topics that do not exist are made when auto.create.topics.enable and the request (v4) allow it.
- Without DESCRIBE a topic is TOPIC_AUTHORIZATION_FAILED, be it there or not; without CREATE one that would be made.
- v12: topics by id with a null name; an id that is unknown is UNKNOWN_TOPIC_ID.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.authorization import allowed_on_cluster, authorized_operations, cluster_operations
from kafka_tools.broker_embedded.cluster import Topic
from kafka_tools.broker_embedded.dispatch import Call
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.broker_embedded.topics import auto_create, name_problem
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.metadata import MetadataResponse
from kafka_tools.values import ZERO_UUID

VERSIONS = (0, 13)
AUTHORIZE = (("DESCRIBE", "TOPIC"),)

ResponseTopic = MetadataResponse.ResponseTopic


def handle(call: Call) -> Work[MetadataResponse]:
    request, cluster = call.request, call.broker.cluster
    wanted = request.topics
    if wanted is None or (call.version == 0 and not wanted):
        topics = []
        for topic in list(cluster.topics.values()):
            yield
            if call.allowed("DESCRIBE", "TOPIC", topic.name):
                topics.append(_describe(call, topic))
    else:
        topics = []
        seen: set[object] = set()
        for entry in wanted:
            key = entry.name if entry.name is not None else entry.topic_id
            yield
            if key not in seen:
                seen.add(key)
                topics.append(_by_id(call, entry) if entry.name is None else _by_name(call, entry.name))
    response = MetadataResponse(
        brokers=[
            MetadataResponse.ResponseBroker(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
            for node in call.nodes()
        ],
        cluster_id=cluster.cluster_id,
        controller_id=cluster.controller_id,
        topics=topics,
    )
    if 8 <= call.version <= 10 and request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = cluster_operations(call)
    return response


def _by_id(call: Call, entry: object) -> MetadataResponse.ResponseTopic:
    topic_id = entry.topic_id  # type: ignore[attr-defined]
    topic = call.broker.cluster.topics_by_id.get(topic_id)
    if topic is None or not call.allowed("DESCRIBE", "TOPIC", topic.name):
        code = error_codes.INVALID_REQUEST if topic_id == ZERO_UUID else error_codes.UNKNOWN_TOPIC_ID
        return ResponseTopic(error_code=code, name=None if call.version >= 12 else "", topic_id=topic_id)
    return _describe(call, topic)


def _by_name(call: Call, name: str) -> MetadataResponse.ResponseTopic:
    if not call.allowed("DESCRIBE", "TOPIC", name):
        return ResponseTopic(error_code=error_codes.TOPIC_AUTHORIZATION_FAILED, name=name)
    topic = call.broker.cluster.topic(name)
    if topic is None and _would_create(call):
        if not allowed_on_cluster(call, "CREATE") and not call.allowed("CREATE", "TOPIC", name):
            return ResponseTopic(error_code=error_codes.TOPIC_AUTHORIZATION_FAILED, name=name)
        try:
            topic = auto_create(call.broker, name)
        except BrokerError as error:
            return ResponseTopic(error_code=error.code.code, name=name)
    if topic is None:
        invalid = name_problem(name) is not None
        code = error_codes.INVALID_TOPIC_EXCEPTION if invalid else error_codes.UNKNOWN_TOPIC_OR_PARTITION
        return ResponseTopic(error_code=code, name=name)
    return _describe(call, topic)


def _would_create(call: Call) -> bool:
    if call.version >= 4 and not call.request.allow_auto_topic_creation:
        return False
    return bool(call.broker.configs.broker.get("auto.create.topics.enable"))


def _describe(call: Call, topic: Topic) -> MetadataResponse.ResponseTopic:
    partitions = [
        ResponseTopic.ResponsePartition(
            partition_index=number,
            leader_id=info.leader,
            leader_epoch=info.leader_epoch,
            replica_nodes=list(info.replicas),
            isr_nodes=list(info.isr),
        )
        for number, info in topic.partitions.items()
    ]
    described = ResponseTopic(name=topic.name, topic_id=topic.id, is_internal=topic.is_internal, partitions=partitions)
    if call.version >= 8 and call.request.include_topic_authorized_operations:
        described.topic_authorized_operations = authorized_operations(call, "TOPIC", topic.name)
    return described
