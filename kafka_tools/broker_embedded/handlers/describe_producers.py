"""DescribeProducers (61): the producer state of partitions (KIP-664)."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.configs.validation import check_topic_name
from kafka_tools.broker_embedded.handlers._repeats import Repeats
from kafka_tools.broker_embedded.refusals import default_error
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.describe_producers import DescribeProducersResponse

VERSIONS = (0, 0)
AUTHORIZE = ()

Answer = DescribeProducersResponse.TopicResponse.PartitionResponse


def handle(call: Call) -> Work[DescribeProducersResponse]:
    response = DescribeProducersResponse()
    named: dict[str, Repeats] = {}  # a partition may have very many producers
    for topic in call.request.topics:
        answers, numbers = [], named.setdefault(topic.name, Repeats())
        for number in topic.partition_indexes:
            yield
            if numbers.too_many(number):
                continue
            answer = Answer(partition_index=number, error_message=None)
            try:
                _check_topic(call, topic.name)
                answer.active_producers = yield from _producers(call, topic.name, number)
            except BrokerError as error:
                answer.error_code, answer.error_message = error.code.code, error.broker_message
            answers.append(answer)
        response.topics.append(DescribeProducersResponse.TopicResponse(name=topic.name, partitions=answers))
    return response


def _check_topic(call: Call, name: str) -> None:
    check_topic_name(name)
    if not call.allowed_on_topic(AclOperation.READ, name):
        raise default_error(error_codes.TOPIC_AUTHORIZATION_FAILED)
    if call.broker.cluster.topic(name) is None:
        raise default_error(error_codes.UNKNOWN_TOPIC_OR_PARTITION)


def _producers(
    call: Call, topic: str, number: int
) -> Work[list[DescribeProducersResponse.TopicResponse.PartitionResponse.ProducerState]]:
    """The producers of a partition, in slices, since there may be a hundred thousand."""
    found = []
    for producer_id, entry in list(call.broker.partitions.led(topic, number).log.producers.entries.items()):
        yield
        found.append(
            Answer.ProducerState(
                producer_id=producer_id,
                producer_epoch=entry.epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.transaction_start,
            )
        )
    return found
