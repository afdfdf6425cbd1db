"""ElectLeaders (43): preferred (type 0) or unclean (type 1) election.

- With one broker, the only replica leads every partition: named partitions are ELECTION_NOT_NEEDED.
- A timeout of 0 or less is REQUEST_TIMED_OUT for all.
- Null partitions mean all. The response then lists every topic, with its changed partitions: none.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call, check_timeout
from kafka_tools.broker_embedded.refusals import bad_request, cut_to_fit
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation, ElectionType
from kafka_tools.protocol.messages.elect_leaders import ElectLeadersResponse

VERSIONS = (0, 2)
AUTHORIZE = (AclOperation.ALTER,)

TopicResult = ElectLeadersResponse.ReplicaElectionResult


def handle(call: Call) -> Work[ElectLeadersResponse]:
    check_timeout(call.request.timeout_ms)
    request, cluster = call.request, call.broker.cluster
    if call.version >= 1 and request.election_type not in ElectionType.words:
        raise bad_request(f"Unknown election type {request.election_type}")
    response = ElectLeadersResponse()
    if request.topic_partitions is None:
        response.replica_election_results = [TopicResult(topic=name) for name in cluster.topics]
        return response
    for topic in request.topic_partitions:
        results = []
        for number in topic.partitions:
            yield
            results.append(_result(call, topic.topic, number))
        response.replica_election_results.append(TopicResult(topic=topic.topic, partition_result=results))
    return response


def _result(call: Call, topic: str, number: int) -> ElectLeadersResponse.ReplicaElectionResult.PartitionResult:
    code = error_codes.UNKNOWN_TOPIC_OR_PARTITION
    if call.broker.cluster.topic(topic) is None:
        text = f"No such topic as {topic}"
    elif call.broker.cluster.partition(topic, number) is None:
        text = f"No such partition as {topic}-{number}"
    else:
        code, text = error_codes.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
    return TopicResult.PartitionResult(partition_id=number, error_code=code, error_message=cut_to_fit(text))
