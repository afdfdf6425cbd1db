"""CreatePartitions (37): add partitions to topics; each topic succeeds or fails alone; validate_only changes nothing.

- A timeout of 0 or less is REQUEST_TIMED_OUT for each, and nothing is added.
- v3: a client over its controller_mutation_rate gets THROTTLING_QUOTA_EXCEEDED.
"""

from __future__ import annotations

from collections import Counter

from kafka_tools.broker_embedded.call import Call, check_timeout
from kafka_tools.broker_embedded.cluster.placement import check_assignment, place
from kafka_tools.broker_embedded.partitions.topic_changes import check_total
from kafka_tools.broker_embedded.refusals import bad_request, error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse

VERSIONS = (0, 3)
AUTHORIZE = ()
STRICT_MUTATIONS = 3


def handle(call: Call) -> Work[CreatePartitionsResponse]:
    check_timeout(call.request.timeout_ms)
    times = Counter(topic.name for topic in call.request.topics)
    results = []
    for name, topic in {topic.name: topic for topic in call.request.topics}.items():
        yield
        result = CreatePartitionsResponse.TopicResult(name=name, error_message=None)
        try:
            if times[name] > 1:
                raise bad_request("Duplicate topic name.")
            yield from call.broker.topics.settled(name)
            yield from _grow(call, topic)
        except BrokerError as error:
            result.error_code, result.error_message = error.code.code, error.broker_message
        results.append(result)
    return CreatePartitionsResponse(results=results)


def _grow(call: Call, wanted: CreatePartitionsRequest.Topic) -> Work[None]:
    core = call.broker
    topic = core.cluster.topic(wanted.name)
    if not call.allowed_on_topic(AclOperation.ALTER, wanted.name):
        raise error_for(error_codes.TOPIC_AUTHORIZATION_FAILED)
    if topic is None:
        raise error_for(error_codes.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
    now = len(topic.partitions)
    if wanted.count == now:
        raise error_for(error_codes.INVALID_PARTITIONS, f"Topic already has {now} partition(s).")
    if wanted.count < now:
        raise error_for(
            error_codes.INVALID_PARTITIONS,
            f"The topic {wanted.name} currently has {now} partition(s); {wanted.count} would not be an increase.",
        )
    added = wanted.count - now
    check_total([added])
    factor = len(topic.partitions[0].replicas)
    if wanted.assignments is None:
        assignment = place(core.cluster.brokers, added, factor, first=now)
    else:
        assignment = [list(entry.broker_ids) for entry in wanted.assignments]
        if len(assignment) != added:
            raise error_for(
                error_codes.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {added} additional partition(s), but only {len(assignment)} assignment(s) "
                "were specified.",
            )
        check_assignment(core.cluster.brokers, [list(topic.partitions[0].replicas), *assignment])
    core.throttling.pay_mutations(call, added, strict_since=STRICT_MUTATIONS)
    if not call.request.validate_only:
        yield from core.topics.add_partitions(topic, assignment)
