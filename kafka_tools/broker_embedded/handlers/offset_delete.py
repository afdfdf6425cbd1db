"""OffsetDelete (47): forget offsets of topics that the group no longer reads (KIP-496)."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.group_records import response_code_of_offset_append
from kafka_tools.broker_embedded.coordinators.offset_answers import put_together
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.offset_delete import OffsetDeleteResponse
from kafka_tools.values import TopicPartition

VERSIONS = (0, 0)
AUTHORIZE = ()

ResponseTopic = OffsetDeleteResponse.ResponseTopic
ResponsePartition = ResponseTopic.ResponsePartition


def handle(call: Call) -> Work[OffsetDeleteResponse]:
    request, cluster = call.request, call.broker.cluster
    if not call.allowed_on_group(AclOperation.DELETE, request.group_id):
        raise error_for(error_codes.GROUP_AUTHORIZATION_FAILED)
    if not request.group_id:
        raise error_for(error_codes.INVALID_GROUP_ID)
    refused: list[tuple[object, ResponseTopic]] = []
    asked: list[tuple[object, ResponseTopic]] = []
    wanted: list[TopicPartition] = []
    for topic in request.topics:
        code = _refusal(call, topic.name)
        out, to_group = ResponseTopic(name=topic.name, partitions=[]), ResponseTopic(name=topic.name, partitions=[])
        for partition in topic.partitions:
            yield
            index = partition.partition_index
            if code or cluster.partition(topic.name, index) is None:
                wrong = code or error_codes.UNKNOWN_TOPIC_OR_PARTITION
                out.partitions.append(ResponsePartition(partition_index=index, error_code=wrong))
            else:
                to_group.partitions.append(ResponsePartition(partition_index=index))
                wanted.append(TopicPartition(topic.name, index))
        if code or out.partitions:
            refused.append((topic.name, out))
        if to_group.partitions:
            asked.append((topic.name, to_group))
    try:
        codes = yield from call.broker.groups.offsets.delete(request.group_id, wanted)
    except BrokerError as error:
        return OffsetDeleteResponse(error_code=response_code_of_offset_append(error))
    for name, answered in asked:
        for each in answered.partitions:
            yield
            each.error_code = codes[TopicPartition(str(name), each.partition_index)]
    return OffsetDeleteResponse(topics=put_together(refused, asked))


def _refusal(call: Call, name: str) -> int:
    """The code for all partitions of a topic, or 0."""
    if not call.allowed_on_topic(AclOperation.READ, name):
        return error_codes.TOPIC_AUTHORIZATION_FAILED
    return error_codes.NONE if call.broker.cluster.topic(name) else error_codes.UNKNOWN_TOPIC_OR_PARTITION
