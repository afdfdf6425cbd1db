"""DeleteTopics (20): delete topics, each on its own; the files go a little later.

- v6: by name or by id; a topic that is named both ways, or twice, is INVALID_REQUEST.
- v5: a client over its controller_mutation_rate gets THROTTLING_QUOTA_EXCEEDED.
- delete.topic.enable=false: TOPIC_DELETION_DISABLED, before v3 INVALID_REQUEST.
"""

from __future__ import annotations

from collections import Counter

from kafka_tools.broker_embedded.dispatch import Call, refuse
from kafka_tools.broker_embedded.topics import delete_topic
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsResponse
from kafka_tools.values import ZERO_UUID

VERSIONS = (0, 6)
AUTHORIZE = (("DELETE", "TOPIC"),)
STRICT_MUTATIONS = 5

Result = DeleteTopicsResponse.DeletableTopicResult


def handle(call: Call) -> DeleteTopicsResponse:
    if not call.broker.configs.broker.get("delete.topic.enable"):
        raise refuse(error_codes.TOPIC_DELETION_DISABLED if call.version >= 3 else error_codes.INVALID_REQUEST)
    if call.version >= 6:
        return DeleteTopicsResponse(responses=_by_state(call))
    times = Counter(call.request.topic_names)
    return DeleteTopicsResponse(responses=[_delete(call, name, times[name]) for name in times])


def _by_state(call: Call) -> list[DeleteTopicsResponse.DeletableTopicResult]:
    cluster = call.broker.cluster
    results = []
    times: Counter[str] = Counter()
    for state in call.request.topics:
        if state.name is not None and state.topic_id != ZERO_UUID:
            results.append(
                Result(
                    name=state.name,
                    topic_id=state.topic_id,
                    error_code=error_codes.INVALID_REQUEST,
                    error_message="You may not specify both topic name and topic id.",
                )
            )
        elif state.name is not None:
            times[state.name] += 1
        elif state.topic_id == ZERO_UUID:
            results.append(
                Result(
                    name=None,
                    error_code=error_codes.INVALID_REQUEST,
                    error_message="Neither topic name nor id were specified.",
                )
            )
        elif state.topic_id in cluster.topics_by_id:
            times[cluster.topics_by_id[state.topic_id].name] += 1
        else:
            results.append(
                Result(
                    name=None,
                    topic_id=state.topic_id,
                    error_code=error_codes.UNKNOWN_TOPIC_ID,
                    error_message="This server does not host this topic ID.",
                )
            )
    return results + [_delete(call, name, times[name]) for name in times]


def _delete(call: Call, name: str, times: int) -> DeleteTopicsResponse.DeletableTopicResult:
    topic = call.broker.cluster.topic(name)
    result = Result(name=name, topic_id=topic.id if topic else ZERO_UUID)
    try:
        if times > 1:
            raise refuse(error_codes.INVALID_REQUEST, "Duplicate topic name.")
        if topic is None:
            raise refuse(error_codes.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
        if not call.allowed("DELETE", "TOPIC", name):
            raise refuse(error_codes.TOPIC_AUTHORIZATION_FAILED)
        call.broker.throttling.pay_mutations(call, len(topic.partitions), strict_since=STRICT_MUTATIONS)
        delete_topic(call.broker, topic)
    except BrokerError as error:
        result.error_code, result.error_message = error.code.code, error.broker_message
    return result
