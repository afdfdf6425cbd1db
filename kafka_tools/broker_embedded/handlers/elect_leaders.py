"""ElectLeaders (43): preferred (type 0) or unclean (type 1) election.

- With one broker every partition is led by its only replica: named partitions answer ELECTION_NOT_NEEDED.
- No partitions (null) means all; then only those for which something was done are listed: none.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.dispatch import Call, refuse
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.elect_leaders import ElectLeadersResponse

VERSIONS = (0, 2)
AUTHORIZE = (("ALTER", "CLUSTER"),)

PREFERRED, UNCLEAN = 0, 1

TopicResult = ElectLeadersResponse.ReplicaElectionResult


def handle(call: Call) -> ElectLeadersResponse:
    request, cluster = call.request, call.broker.cluster
    if call.version >= 1 and request.election_type not in (PREFERRED, UNCLEAN):
        raise refuse(error_codes.INVALID_REQUEST)
    response = ElectLeadersResponse()
    for topic in request.topic_partitions or ():
        results = []
        for number in topic.partitions:
            known = cluster.partition(topic.topic, number) is not None
            results.append(
                TopicResult.PartitionResult(
                    partition_id=number,
                    error_code=error_codes.ELECTION_NOT_NEEDED if known else error_codes.UNKNOWN_TOPIC_OR_PARTITION,
                    error_message="Leader election not needed for topic partition."
                    if known
                    else f"No such partition as {topic.topic}-{number}",
                )
            )
        response.replica_election_results.append(TopicResult(topic=topic.topic, partition_result=results))
    return response
