"""WriteTxnMarkers (27): end transactions in partitions, for coordinators and for tools (KIP-664).

Each marker and partition has its own code. v2: the transaction version for the check of a marker's epoch (KIP-1228).
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.transactions.markers import Marker
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.write_txn_markers import WriteTxnMarkersResponse
from kafka_tools.values import TopicPartition

VERSIONS = (0, 2)
AUTHORIZE = ()

Result = WriteTxnMarkersResponse.WritableTxnMarkerResult
TopicResult = Result.WritableTxnMarkerTopicResult
PartitionResult = TopicResult.WritableTxnMarkerPartitionResult


_UNUSABLE = error_codes.UNKNOWN_SERVER_ERROR


def handle(call: Call) -> Work[WriteTxnMarkersResponse]:
    if not any(map(call.allowed_on_cluster, (AclOperation.ALTER, AclOperation.CLUSTER_ACTION))):
        raise error_for(error_codes.CLUSTER_AUTHORIZATION_FAILED)
    codes: dict[int, dict[TopicPartition, int]] = {}
    for asked in call.request.markers:
        version = asked.transaction_version if call.version >= 2 else 0
        marker = Marker(
            asked.producer_id, asked.producer_epoch, asked.transaction_result, asked.coordinator_epoch, version
        )
        for topic in asked.topics:
            for number in topic.partition_indexes:
                yield
                at = TopicPartition(topic.name, number)
                # A marker without partitions is not answered, as in Kafka.
                codes.setdefault(asked.producer_id, {})[at] = _written(call, marker, at)
    response = WriteTxnMarkersResponse()
    for producer_id, answers in codes.items():
        topics: dict[str, WriteTxnMarkersResponse.WritableTxnMarkerResult.WritableTxnMarkerTopicResult] = {}
        for at, code in answers.items():
            yield
            topic = topics.setdefault(at.topic, TopicResult(name=at.topic))
            topic.partitions.append(PartitionResult(partition_index=at.partition, error_code=code))
        response.markers.append(Result(producer_id=producer_id, topics=list(topics.values())))
    return response


def _written(call: Call, marker: Marker, at: TopicPartition) -> int:
    if _is_unusable(marker) and call.broker.partitions.get(*at) is not None:
        return _UNUSABLE
    return call.broker.markers.write(marker, at)


def _is_unusable(marker: Marker) -> bool:
    """Whether no batch can contain the marker: it has no producer, no epoch, or an unknown version."""
    return marker.producer_id == -1 or marker.epoch == -1 or marker.version < 0
