"""DeleteTopics (20): delete topics; each succeeds or fails alone; the files are deleted later.

- v6: by name or by id; a topic that is named both ways, or twice, is INVALID_REQUEST.
- v5: a client over its controller_mutation_rate gets THROTTLING_QUOTA_EXCEEDED.
- A topic that the caller may not describe is TOPIC_AUTHORIZATION_FAILED, whether it exists or not.
- A timeout of 0 or less is REQUEST_TIMED_OUT for each, and nothing is deleted.
- delete.topic.enable=false: TOPIC_DELETION_DISABLED, before v3 INVALID_REQUEST.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from kafka_tools.broker_embedded.call import Call, check_timeout
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.cluster_image.topics import Topic
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsResponse
from kafka_tools.values import ZERO_UUID

VERSIONS = (0, 6)
AUTHORIZE = ()
STRICT_MUTATIONS = 5

Result = DeleteTopicsResponse.DeletableTopicResult
_DENIED = "Topic authorization failed."


def handle(call: Call) -> Work[DeleteTopicsResponse]:
    check_timeout(call.request.timeout_ms)
    if not call.broker.configs.broker.get("delete.topic.enable"):
        raise error_for(error_codes.TOPIC_DELETION_DISABLED if call.version >= 3 else error_codes.INVALID_REQUEST)
    if call.version < 6:
        return DeleteTopicsResponse(responses=(yield from _by_name(call, Counter(call.request.topic_names), {})))
    results, names, ids = _sorted_out(call.request.topics)
    by_id, twice = yield from _by_id(call, ids, names)
    by_name = yield from _by_name(call, names, twice)
    return DeleteTopicsResponse(responses=[*results, *by_id, *by_name])


def _sorted_out(states: Sequence[Any]) -> tuple[list[Result], Counter[str], Counter[UUID]]:
    """The error responses to invalid entries, the names, and the ids."""
    wrong: list[Result] = []
    names: Counter[str] = Counter()
    ids: Counter[UUID] = Counter()
    for state in states:
        if state.name is not None and state.topic_id != ZERO_UUID:
            wrong.append(_refused(state.name, state.topic_id, "You may not specify both topic name and topic id."))
        elif state.name is not None:
            names[state.name] += 1
        elif state.topic_id == ZERO_UUID:
            wrong.append(_refused(None, ZERO_UUID, "Neither topic name nor id were specified."))
        else:
            ids[state.topic_id] += 1
    return wrong, names, ids


def _by_id(call: Call, ids: Counter[UUID], names: Counter[str]) -> Work[tuple[list[Result], dict[str, UUID]]]:
    """Delete topics by id; returns the responses, and the topics that are also named by name, which are not deleted."""
    results: list[Result] = []
    twice: dict[str, UUID] = {}
    for topic_id, times in ids.items():
        yield
        found = call.broker.cluster.topics_by_id.get(topic_id)
        if found is not None:
            yield from call.broker.topics.settled(found.name)
        topic = call.broker.cluster.topics_by_id.get(topic_id)
        if times > 1:
            results.append(_refused(None, topic_id, "Duplicate topic id."))
        elif topic is None:
            text = "This server does not host this topic ID."
            results.append(_refused(None, topic_id, text, error_codes.UNKNOWN_TOPIC_ID))
        elif not _may(call, AclOperation.DELETE, topic.name):
            known = topic.name if _may(call, AclOperation.DESCRIBE, topic.name) else None
            results.append(_refused(known, topic_id, _DENIED, error_codes.TOPIC_AUTHORIZATION_FAILED))
        elif names[topic.name] == 1:
            twice[topic.name] = topic_id
        else:
            results.append((yield from _delete(call, topic)))
    return results, twice


def _by_name(call: Call, names: Counter[str], twice: Mapping[str, UUID]) -> Work[list[Result]]:
    results = []
    for name, times in names.items():
        yield
        yield from call.broker.topics.settled(name)
        topic = call.broker.cluster.topic(name)
        if times > 1:
            results.append(_refused(name, ZERO_UUID, "Duplicate topic name."))
        elif not _may(call, AclOperation.DESCRIBE, name):  # do not reveal whether it exists
            results.append(_refused(name, ZERO_UUID, _DENIED, error_codes.TOPIC_AUTHORIZATION_FAILED))
        elif name in twice:
            text = "The provided topic name maps to an ID that was already supplied."
            results.append(_refused(name, twice[name], text))
        elif topic is None:
            text = "This server does not host this topic-partition."
            results.append(_refused(name, ZERO_UUID, text, error_codes.UNKNOWN_TOPIC_OR_PARTITION))
        elif not _may(call, AclOperation.DELETE, name):
            results.append(_refused(name, ZERO_UUID, _DENIED, error_codes.TOPIC_AUTHORIZATION_FAILED))
        else:
            results.append((yield from _delete(call, topic)))
    return results


def _may(call: Call, operation: int, name: str) -> bool:
    return call.allowed_on_cluster(AclOperation.DELETE) or call.allowed_on_topic(operation, name)


def _refused(name: str | None, topic_id: UUID, text: str, code: int = error_codes.INVALID_REQUEST) -> Result:
    return Result(name=name, topic_id=topic_id, error_code=code, error_message=text)


def _delete(call: Call, topic: Topic) -> Work[Result]:
    result = Result(name=topic.name, topic_id=topic.id)
    try:
        call.broker.throttling.pay_mutations(call, len(topic.partitions), strict_since=STRICT_MUTATIONS)
        yield from call.broker.topics.delete(topic)
    except BrokerError as error:
        result.error_code, result.error_message = error.code.code, error.broker_message
    return result
