"""OffsetDelete (47): forget offsets of topics that the group no longer reads (KIP-496)."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.group_records import response_code_of_offset_append
from kafka_tools.broker_embedded.refusals import refuse
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.offset_delete import OffsetDeleteResponse
from kafka_tools.values import TopicPartition

VERSIONS = (0, 0)
AUTHORIZE = (("DELETE", "GROUP"),)


def handle(call: Call) -> OffsetDeleteResponse:
    request, cluster = call.request, call.broker.cluster
    if not call.allowed("DELETE", "GROUP", request.group_id):
        raise refuse(error_codes.GROUP_AUTHORIZATION_FAILED)
    if not request.group_id:
        raise refuse(error_codes.INVALID_GROUP_ID)
    codes: dict[TopicPartition, int] = {}
    for topic in request.topics:
        allowed = call.allowed("READ", "TOPIC", topic.name)
        for partition in topic.partitions:
            at = TopicPartition(topic.name, partition.partition_index)
            if not allowed:
                codes[at] = error_codes.TOPIC_AUTHORIZATION_FAILED
            elif cluster.partition(*at) is None:
                codes[at] = error_codes.UNKNOWN_TOPIC_OR_PARTITION
    wanted = [
        at
        for topic in request.topics
        for at in (TopicPartition(topic.name, partition.partition_index) for partition in topic.partitions)
        if at not in codes
    ]
    try:
        codes |= call.broker.groups.offsets.delete(request.group_id, wanted)
    except BrokerError as error:
        return OffsetDeleteResponse(error_code=response_code_of_offset_append(error))
    response = OffsetDeleteResponse()
    for topic in request.topics:
        answered = response.ResponseTopic(name=topic.name)
        answered.partitions = [
            answered.ResponsePartition(
                partition_index=partition.partition_index,
                error_code=codes[TopicPartition(topic.name, partition.partition_index)],
            )
            for partition in topic.partitions
        ]
        response.topics.append(answered)
    return response
