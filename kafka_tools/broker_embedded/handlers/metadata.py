"""Metadata (3): brokers, topics, partitions and their leaders.

- v0: an empty list means all topics. From v1 on, null means all topics, and an empty list no topics.
- Missing topics are created if auto.create.topics.enable and the request (v4) allow it. This response has
  UNKNOWN_TOPIC_OR_PARTITION, and a later one has the topic.
- TOPIC_AUTHORIZATION_FAILED without DESCRIBE, whether the topic exists or not, and without CREATE if it would be
  created.
- v12: topics by id with a null name; an unknown id is UNKNOWN_TOPIC_ID.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.cluster.topic_names import name_problem
from kafka_tools.broker_embedded.handlers._rights import authorized_operations, cluster_operations
from kafka_tools.broker_embedded.refusals import bad_request
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.cluster_image.topics import Topic
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CLUSTER_METADATA, INTERNAL_TOPICS, AclOperation, AclResourceType
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.values import ZERO_UUID

VERSIONS = (0, 13)
AUTHORIZE = ()

ResponseTopic = MetadataResponse.ResponseTopic


def handle(call: Call) -> Work[MetadataResponse]:
    request, cluster = call.request, call.broker.cluster
    wanted = request.topics
    if wanted is None or (call.version == 0 and not wanted):
        topics = []
        for topic in list(cluster.topics.values()):
            yield
            if call.allowed_on_topic(AclOperation.DESCRIBE, topic.name):
                topics.append(_describe(call, topic))
    else:
        topics = yield from _named(call, wanted)
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


def _named(call: Call, wanted: Sequence[MetadataRequest.RequestTopic]) -> Work[list[MetadataResponse.ResponseTopic]]:
    """The requested topics, each once. If the request contains an id, its names are ignored."""
    ids = dict.fromkeys(entry.topic_id for entry in wanted if entry.topic_id != ZERO_UUID) if call.version >= 10 else {}
    names = dict.fromkeys(entry.name for entry in wanted)
    if call.version < 12 and (ids or None in names):
        raise bad_request()  # v10 and v11 have ids in the layout, but must not use them
    found = []
    for topic_id in ids:
        yield
        found.append(_by_id(call, topic_id))
    for name in names if not ids else ():
        yield
        if name is None:
            found.append(ResponseTopic(error_code=error_codes.INVALID_REQUEST, name=None))
        else:
            found.append(_by_name(call, name))
    return found


def _by_id(call: Call, topic_id: UUID) -> MetadataResponse.ResponseTopic:
    topic = call.broker.cluster.topics_by_id.get(topic_id)
    if topic is None:
        return ResponseTopic(error_code=error_codes.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
    if not call.allowed_on_topic(AclOperation.DESCRIBE, topic.name):  # an id is not secret, unlike the name
        return ResponseTopic(error_code=error_codes.TOPIC_AUTHORIZATION_FAILED, name=None, topic_id=topic_id)
    return _describe(call, topic)


def _by_name(call: Call, name: str) -> MetadataResponse.ResponseTopic:
    if not call.allowed_on_topic(AclOperation.DESCRIBE, name):
        return ResponseTopic(error_code=error_codes.TOPIC_AUTHORIZATION_FAILED, name=name)
    topic = call.broker.cluster.topic(name)
    if topic is None and name != CLUSTER_METADATA and _would_create(call):
        if not call.allowed_on_cluster(AclOperation.CREATE) and not call.allowed_on_topic(AclOperation.CREATE, name):
            return ResponseTopic(error_code=error_codes.TOPIC_AUTHORIZATION_FAILED, name=name)
        if name_problem(name) is None:
            call.broker.topics.auto_create_soon(name)
    if topic is None:
        invalid = name_problem(name) is not None
        code = error_codes.INVALID_TOPIC_EXCEPTION if invalid else error_codes.UNKNOWN_TOPIC_OR_PARTITION
        unknown = ResponseTopic(error_code=code, name=name, is_internal=name in INTERNAL_TOPICS)
        if _asks_for_operations(call):
            unknown.topic_authorized_operations = authorized_operations(call, AclResourceType.TOPIC, name)
        return unknown
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
    if _asks_for_operations(call):
        described.topic_authorized_operations = authorized_operations(call, AclResourceType.TOPIC, topic.name)
    return described


def _asks_for_operations(call: Call) -> bool:
    return call.version >= 8 and bool(call.request.include_topic_authorized_operations)
