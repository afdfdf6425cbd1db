"""DescribeQuorum (55): the metadata log, whose only replica is on this broker (KIP-595, KIP-836).

- The only partition is ``__cluster_metadata-0``. A request with other or no partitions is UNKNOWN_TOPIC_OR_PARTITION.
- v2: no directory ids, as for a quorum whose voters are configured (KIP-853). The controller's endpoint is the listener
  that the client is connected to.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.cluster.store import LEADER_EPOCH
from kafka_tools.broker_embedded.refusals import default_message
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CLUSTER_METADATA, AclOperation
from kafka_tools.protocol.messages.describe_quorum import DescribeQuorumResponse, ReplicaState

VERSIONS = (0, 2)
AUTHORIZE = (AclOperation.DESCRIBE,)

Topic = DescribeQuorumResponse.TopicData


def handle(call: Call) -> DescribeQuorumResponse:
    asked = [(topic.topic_name, each.partition_index) for topic in call.request.topics for each in topic.partitions]
    known = asked == [(CLUSTER_METADATA, 0)] and len(call.request.topics) == 1
    response = DescribeQuorumResponse(
        topics=[
            Topic(
                topic_name=topic.topic_name,
                partitions=[_partition(call) if known else _unknown(each.partition_index) for each in topic.partitions],
            )
            for topic in call.request.topics
        ]
    )
    if known and call.version >= 2:
        Node = DescribeQuorumResponse.Node
        response.nodes = [
            Node(
                node_id=node.id,
                listeners=[Node.Listener(name=call.connection.listener, host=node.host, port=max(node.port, 0))],
            )
            for node in call.nodes()
        ]
    return response


def _unknown(number: int) -> DescribeQuorumResponse.TopicData.PartitionData:
    code = error_codes.UNKNOWN_TOPIC_OR_PARTITION
    return Topic.PartitionData(partition_index=number, error_code=code, error_message=default_message(code))


def _partition(call: Call) -> DescribeQuorumResponse.TopicData.PartitionData:
    leader_id, now_ms = call.broker.cluster.controller_id, call.broker.clock.now_ms()
    end_offset = call.broker.journal.end_offset
    leader = ReplicaState(
        replica_id=leader_id,
        log_end_offset=end_offset,
        # The leader is always caught up with itself.
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
    return Topic.PartitionData(
        partition_index=0,
        leader_id=leader_id,
        leader_epoch=LEADER_EPOCH,
        high_watermark=end_offset,
        current_voters=[leader],
    )
