"""AlterPartitionReassignments (45): move partitions to other brokers, or cancel a move (null replicas).

- Without topics the response is empty.
- With one broker, the only possible target is the present one: such a reassignment is complete immediately.
- Other targets are INVALID_REPLICA_ASSIGNMENT, a cancellation is NO_REASSIGNMENT_IN_PROGRESS.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.cluster.placement import check_assignment
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsResponse

VERSIONS = (0, 1)
AUTHORIZE = (AclOperation.ALTER,)

TopicResponse = AlterPartitionReassignmentsResponse.ReassignableTopicResponse


def handle(call: Call) -> Work[AlterPartitionReassignmentsResponse]:
    request = call.request
    if not request.topics:
        return AlterPartitionReassignmentsResponse(error_message="")
    response = AlterPartitionReassignmentsResponse(
        error_message=None, allow_replication_factor_change=request.allow_replication_factor_change
    )
    for topic in request.topics:
        answers = []
        for wanted in topic.partitions:
            yield
            answer = TopicResponse.ReassignablePartitionResponse(
                partition_index=wanted.partition_index, error_message=None
            )
            try:
                _check(call, topic.name, wanted.partition_index, wanted.replicas)
            except BrokerError as error:
                answer.error_code, answer.error_message = error.code.code, error.broker_message
            answers.append(answer)
        response.responses.append(TopicResponse(name=topic.name, partitions=answers))
    return response


def _check(call: Call, topic: str, number: int, replicas: list[int] | None) -> None:
    core = call.broker
    if core.cluster.topic(topic) is None:
        raise error_for(error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {topic}.")
    if core.cluster.partition(topic, number) is None:
        raise error_for(error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {topic}:{number}.")
    if replicas is None:
        raise error_for(error_codes.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
    check_assignment(core.cluster.brokers, [replicas])
