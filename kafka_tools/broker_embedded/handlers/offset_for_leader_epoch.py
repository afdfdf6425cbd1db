"""OffsetForLeaderEpoch (23): the end offset of a leader epoch, so that a client can detect lost records (KIP-320).

- The response for an unknown epoch has epoch -1 and offset -1.
- v2: the client's current leader epoch is checked.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochResponse

VERSIONS = (0, 4)
AUTHORIZE = ()

Result = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult


def handle(call: Call) -> Work[OffsetForLeaderEpochResponse]:
    response = OffsetForLeaderEpochResponse()
    sees_all = call.allowed_on_cluster(AclOperation.CLUSTER_ACTION)
    for topic in call.request.topics:
        results = []
        for wanted in topic.partitions:
            yield
            result = Result.EpochEndOffset(partition=wanted.partition)
            try:
                if not sees_all and not call.allowed_on_topic(AclOperation.DESCRIBE, topic.topic):
                    raise error_for(error_codes.TOPIC_AUTHORIZATION_FAILED)
                partition = call.broker.partitions.led(topic.topic, wanted.partition, wanted.current_leader_epoch)
                result.leader_epoch, result.end_offset = partition.log.epochs.end_offset(
                    wanted.leader_epoch, partition.log.log_end_offset
                )
            except BrokerError as error:
                result.error_code = error.code.code
            results.append(result)
        response.topics.append(Result(topic=topic.topic, partitions=results))
    return response
