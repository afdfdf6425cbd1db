"""CreateTopics (19): create topics; each succeeds or fails alone.

- A name that is listed twice is INVALID_REQUEST, and no such topic is created.
- num_partitions or replication_factor -1 mean the broker's defaults; with an assignment both must be -1.
- v1: validate_only checks everything and creates nothing.
- v5: the response contains the topic's configs.
- A timeout of 0 or less is REQUEST_TIMED_OUT for each, and nothing is created.
- v6: a client over its controller_mutation_rate gets THROTTLING_QUOTA_EXCEEDED.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from kafka_tools.broker_embedded.call import Call, check_timeout
from kafka_tools.broker_embedded.cluster.placement import Assignment, check_assignment, place
from kafka_tools.broker_embedded.cluster.topic_names import check_new_name, check_not_the_brokers_own
from kafka_tools.broker_embedded.configs.describe import describe_new_topic
from kafka_tools.broker_embedded.configs.validation import validate_topic
from kafka_tools.broker_embedded.partitions.topic_changes import check_total
from kafka_tools.broker_embedded.refusals import bad_request, error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse

VERSIONS = (0, 7)
AUTHORIZE = ()
STRICT_MUTATIONS = 6

Result = CreateTopicsResponse.CreatableTopicResult


def handle(call: Call) -> Work[CreateTopicsResponse]:
    check_timeout(call.request.timeout_ms)
    times = Counter(topic.name for topic in call.request.topics)
    results: list[CreateTopicsResponse.CreatableTopicResult] = []
    seen: set[str] = set()
    made: set[str] = set()
    default = call.broker.configs.broker.integer("num.partitions")
    check_total(
        len(topic.assignments) or (default if topic.num_partitions == -1 else topic.num_partitions)
        for topic in call.request.topics
        if times[topic.name] == 1 and _may_create(call, topic.name)
    )
    for topic in call.request.topics:
        yield
        if topic.name in seen:
            continue
        seen.add(topic.name)
        try:
            if times[topic.name] > 1:
                raise bad_request("Duplicate topic name.")
            yield from call.broker.topics.settled(topic.name)
            results.append((yield from _create(call, topic, made)))
            made.add(topic.name)
        except BrokerError as error:
            results.append(Result(name=topic.name, error_code=error.code.code, error_message=error.broker_message))
    return CreateTopicsResponse(topics=results)


def _may_create(call: Call, name: str) -> bool:
    return call.allowed_on_cluster(AclOperation.CREATE) or call.allowed_on_topic(AclOperation.CREATE, name)


def _create(
    call: Call, topic: CreateTopicsRequest.CreatableTopic, made: Collection[str]
) -> Work[CreateTopicsResponse.CreatableTopicResult]:
    """Create one topic. As in Kafka, its name may collide with ``made``, the topics that this request created."""
    core = call.broker
    check_not_the_brokers_own(topic.name)
    if not _may_create(call, topic.name):
        raise error_for(error_codes.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
    check_new_name(core.cluster, topic.name, core.topics.others(made))
    configs = {config.name: config.value for config in topic.configs}
    validate_topic(core.configs, configs)
    texts = {name: value for name, value in configs.items() if value is not None}
    assignment = _assignment(call, topic)
    core.throttling.pay_mutations(call, len(assignment), strict_since=STRICT_MUTATIONS)
    result = Result(
        name=topic.name, error_message=None, num_partitions=len(assignment), replication_factor=len(assignment[0])
    )
    may_see = call.version < 5 or call.allowed_on_topic(AclOperation.DESCRIBE_CONFIGS, topic.name)
    if not may_see:
        denied = error_codes.TOPIC_AUTHORIZATION_FAILED
        result = Result(name=topic.name, error_message=None, topic_config_error_code=denied)
    if call.version >= 1 and call.request.validate_only:
        result.topic_id = core.topics.new_id()  # unused, but Kafka returns an id
    else:
        created = yield from core.topics.create(topic.name, assignment, texts)
        result.topic_id = created.id
    result.configs = [
        Result.CreatableTopicConfigs(
            name=entry.name,
            value=entry.value,
            read_only=entry.read_only,
            config_source=entry.source,
            is_sensitive=entry.sensitive,
        )
        for entry in (describe_new_topic(core.configs, texts) if may_see else ())
    ]
    return result


def _assignment(call: Call, topic: CreateTopicsRequest.CreatableTopic) -> Assignment:
    core = call.broker
    if not topic.assignments:
        broker = core.configs.broker
        partitions = broker.integer("num.partitions") if topic.num_partitions == -1 else topic.num_partitions
        factor = topic.replication_factor
        if factor == -1:
            factor = min(broker.integer("default.replication.factor"), len(core.cluster.brokers))
        return place(core.cluster.brokers, partitions, factor)
    if topic.replication_factor != -1:
        raise bad_request("A manual partition assignment was specified, but replication factor was not set to -1.")
    if topic.num_partitions != -1:
        raise bad_request("A manual partition assignment was specified, but numPartitions was not set to -1.")
    by_number: dict[int, list[int]] = {}
    for entry in topic.assignments:
        if entry.partition_index in by_number:
            raise error_for(
                error_codes.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {entry.partition_index}",
            )
        check_assignment(core.cluster.brokers, [*list(by_number.values())[:1], list(entry.broker_ids)])
        by_number[entry.partition_index] = list(entry.broker_ids)
    if sorted(by_number) != list(range(len(by_number))):
        raise error_for(
            error_codes.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        )
    return [by_number[number] for number in range(len(by_number))]
