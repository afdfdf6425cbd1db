"""DescribeQuorum (55): the metadata log and who keeps it: this broker alone (KIP-595, KIP-836).

- The only partition is ``__cluster_metadata-0``; another is UNKNOWN_TOPIC_OR_PARTITION.
- v2: no directory ids and no endpoints of controllers, as for a quorum whose voters are configured (KIP-853).
"""

from __future__ import annotations

from kafka_tools.broker_embedded.cluster_store import LEADER_EPOCH
from kafka_tools.broker_embedded.dispatch import Call
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.describe_quorum import DescribeQuorumResponse, ReplicaState

VERSIONS = (0, 2)
AUTHORIZE = (("DESCRIBE", "CLUSTER"),)

METADATA_TOPIC = "__cluster_metadata"
Topic = DescribeQuorumResponse.TopicData


def handle(call: Call) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(
        topics=[
            Topic(
                topic_name=topic.topic_name,
                partitions=[_partition(call, topic.topic_name, asked.partition_index) for asked in topic.partitions],
            )
            for topic in call.request.topics
        ]
    )


def _partition(call: Call, topic: str, number: int) -> DescribeQuorumResponse.TopicData.PartitionData:
    if (topic, number) != (METADATA_TOPIC, 0):
        known = error_codes.error(error_codes.UNKNOWN_TOPIC_OR_PARTITION)
        return Topic.PartitionData(partition_index=number, error_code=known.code, error_message=known.text)
    leader_id, now_ms = call.broker.cluster.controller_id, call.broker.clock.now_ms()
    end_offset = call.broker.store.end_offset
    leader = ReplicaState(
        replica_id=leader_id,
        log_end_offset=end_offset,
        # The leader is as far as itself at any time.
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
    return Topic.PartitionData(
        partition_index=number,
        leader_id=leader_id,
        leader_epoch=LEADER_EPOCH,
        high_watermark=end_offset,
        current_voters=[leader],
    )
