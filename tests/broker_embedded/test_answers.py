"""Details of answers in which the bundled broker once differed from Kafka.

Found, and compared with the real broker on generated requests, by ``tests/against_kafka/compare_answers``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kafka_tools.broker_embedded.security.acls import AUTHORIZERS
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kafka_tools.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kafka_tools.protocol.messages.create_acls import CreateAclsRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_acls import DeleteAclsRequest
from kafka_tools.protocol.messages.describe_acls import DescribeAclsRequest
from kafka_tools.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest
from kafka_tools.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kafka_tools.protocol.messages.elect_leaders import ElectLeadersRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.values import ZERO_UUID
from tests.broker_embedded.disk_broker import DiskBroker

DEFAULT_TEXT = "This most likely occurs because of a request being malformed by the client library"
TOO_SMALL = "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
UNKNOWN_ID = UUID(int=77)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[DiskBroker]:
    found = DiskBroker(tmp_path, {"authorizer.class.name": AUTHORIZERS[0], "super.users": "User:ANONYMOUS"})
    found.create("t")
    yield found
    found.core.close()


def topic(name: str, partitions: int = 1, **configs: str | None) -> CreateTopicsRequest.CreatableTopic:
    Topic = CreateTopicsRequest.CreatableTopic
    found = Topic(name=name, num_partitions=partitions, replication_factor=1)
    found.configs = [
        Topic.CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()
    ]
    return found


def create(broker: DiskBroker, *topics: Any, version: int = 7, **rest: Any) -> dict[str, Any]:
    answer = broker.call(CreateTopicsRequest(topics=list(topics), **rest), version)
    return {result.name: result for result in answer.topics}


def test_a_topic_that_was_made_has_no_message_and_one_that_was_not_an_empty_list_of_configs(broker: DiskBroker) -> None:
    results = create(broker, topic("new"), topic("t"), topic("a b"))
    assert results["new"].error_message is None
    assert [results[name].configs for name in ("t", "a b")] == [[], []]
    assert create(broker, topic("other"), version=1)["other"].error_message is None


def test_a_topic_that_is_only_validated_is_answered_with_its_configs_as_written_and_an_id(broker: DiskBroker) -> None:
    result = create(broker, topic("new", min_cleanable_dirty_ratio="1"), validate_only=True)["new"]
    assert result.topic_id != ZERO_UUID
    assert {"min.cleanable.dirty.ratio": "1", "retention.ms": "604800000"}.items() <= {
        config.name: config.value for config in result.configs
    }.items()
    assert broker.core.cluster.topic("new") is None


def test_names_that_differ_in_dots_may_be_made_by_one_request_and_not_by_two(broker: DiskBroker) -> None:
    assert {result.error_code for result in create(broker, topic("a.b"), topic("a_b")).values()} == {0}
    assert create(broker, topic("t."))["t."].error_code == 0
    assert create(broker, topic("t_"))["t_"].error_message == "Topic 't_' collides with existing topic: t."


def test_too_many_partitions_fail_the_whole_request(broker: DiskBroker) -> None:
    results = create(broker, topic("small"), topic("large", 10_000))
    assert {(result.error_code, result.error_message, result.num_partitions) for result in results.values()} == {
        (codes.POLICY_VIOLATION, "Excessively large number of partitions per request.", -1)
    }
    assert broker.core.cluster.topic("small") is None


def test_acls_are_answered_with_kafkas_messages(broker: DiskBroker) -> None:
    creation = CreateAclsRequest.AclCreation(
        resource_type=2, resource_name="t", resource_pattern_type=3, principal="User:a", host="*", operation=3,
        permission_type=3,
    )  # fmt: skip
    (created,) = broker.call(CreateAclsRequest(creations=[creation]), 3).results
    creation.operation = 1
    (wrong,) = broker.call(CreateAclsRequest(creations=[creation]), 3).results
    everything: dict[str, Any] = {
        "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1, "principal_filter": None,
        "host_filter": None, "operation": 1, "permission_type": 1,
    }  # fmt: skip
    described = broker.call(DescribeAclsRequest(**everything), 3)
    unknown = broker.call(DescribeAclsRequest(**everything | {"operation": 99}), 3)
    filters = [DeleteAclsRequest.Filter(**everything | change) for change in ({}, {"operation": 99})]
    filters.append(DeleteAclsRequest.Filter(**everything | {"pattern_type_filter": 99}))
    deleted, bad_entry, bad_pattern = broker.call(DeleteAclsRequest(filters=filters), 3).filter_results
    assert created.error_message == described.error_message == ""
    assert deleted.error_message is None and deleted.matching_acls[0].error_message is None
    assert (unknown.error_code, unknown.resources) == (0, [])  # a number that nobody knows matches nothing
    assert wrong.error_message == "Invalid operation ANY"
    assert (bad_entry.error_message, bad_pattern.error_message) == ("Unknown entryFilter.", "Unknown patternFilter.")


def produce(broker: DiskBroker, *batches: bytes | None, acks: int = -1, version: int = 9) -> list[Any]:
    Data = ProduceRequest.TopicProduceData
    rows = [Data.PartitionProduceData(index=0, records=batch) for batch in batches]
    request = ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[Data(name="t", partition_data=rows)])
    (answer,) = broker.call(request, version).responses
    return list(answer.partition_responses)


def test_produce_errors_tell_the_log_start_once_the_log_was_looked_at(broker: DiskBroker) -> None:
    produce(broker, broker.batch(b"a", producer_id=5, producer_epoch=0, base_sequence=0))
    (gap,) = produce(broker, broker.batch(b"a", producer_id=5, producer_epoch=0, base_sequence=7))
    assert (gap.error_code, gap.base_offset, gap.log_start_offset) == (codes.OUT_OF_ORDER_SEQUENCE_NUMBER, -1, 0)
    (acks,) = produce(broker, broker.batch(b"a"), acks=2)
    assert (acks.error_code, acks.base_offset, acks.log_start_offset) == (codes.INVALID_REQUIRED_ACKS, -1, -1)


def test_a_repeated_batch_is_answered_with_the_time_of_the_first_one(broker: DiskBroker) -> None:
    batch = broker.batch(b"a", producer_id=5, producer_epoch=0, base_sequence=0)
    (first,), now_ms = produce(broker, batch), broker.clock.now_ms()
    (again,) = produce(broker, batch)
    assert (first.base_offset, first.log_append_time_ms) == (0, -1)
    assert (again.base_offset, again.log_append_time_ms) == (0, now_ms)


def test_of_a_partition_that_is_named_twice_the_last_records_count(broker: DiskBroker) -> None:
    (answer,) = produce(broker, broker.batch(b"a"), broker.batch(b"b", b"c"))
    assert (answer.error_code, answer.base_offset) == (0, 0)
    assert broker.core.partitions.get("t", 0).log.log_end_offset == 2  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("timestamp", "version", "code"), [(-7, 11, 35), (-100, 4, 35), (-3, 6, 35), (-3, 0, 35), (-1, 11, 0)]
)
def test_times_that_mean_nothing_are_an_unsupported_version(
    broker: DiskBroker, timestamp: int, version: int, code: int
) -> None:
    Topic = ListOffsetsRequest.Topic
    wanted = Topic.Partition(partition_index=0, timestamp=timestamp)
    (answer,) = broker.call(ListOffsetsRequest(topics=[Topic(name="t", partitions=[wanted])]), version).topics
    assert answer.partitions[0].error_code == code


def test_a_partition_asked_for_twice_is_answered_once(broker: DiskBroker) -> None:
    Topic = ListOffsetsRequest.Topic
    rows = [Topic.Partition(partition_index=0, timestamp=time) for time in (-1, -2)]
    (answer,) = broker.call(ListOffsetsRequest(topics=[Topic(name="t", partitions=rows)]), 7).topics
    assert [row.error_code for row in answer.partitions] == [codes.INVALID_REQUEST]


def test_an_unknown_type_of_election_is_told_to_every_partition(broker: DiskBroker) -> None:
    Topic = ElectLeadersRequest.TopicPartitions
    answer = broker.call(
        ElectLeadersRequest(election_type=5, topic_partitions=[Topic(topic="t", partitions=[0, 9])]), 2
    )
    (topic,) = answer.replica_election_results
    assert [(row.partition_id, row.error_code, row.error_message) for row in topic.partition_result] == [
        (number, codes.INVALID_REQUEST, "Unknown election type 5") for number in (0, 9)
    ]


def fetch(broker: DiskBroker, name: str, **asked: int) -> Any:
    Topic = FetchRequest.Topic
    wanted = Topic.Partition(partition=0, partition_max_bytes=1000, **asked)
    request = FetchRequest(max_wait_ms=0, max_bytes=1000, topics=[Topic(topic=name, partitions=[wanted])])
    return broker.call(request, 12).responses[0].partitions[0]


def test_aborted_transactions_are_left_out_where_reading_failed(broker: DiskBroker) -> None:
    beyond = fetch(broker, "t", fetch_offset=9)
    unknown_epoch = fetch(broker, "t", current_leader_epoch=50)
    missing = fetch(broker, "missing")
    assert (beyond.error_code, beyond.aborted_transactions) == (1, None)
    assert (unknown_epoch.error_code, unknown_epoch.aborted_transactions) == (75, None)
    assert (missing.error_code, missing.aborted_transactions) == (3, [])


def test_an_epoch_that_the_log_does_not_know_is_an_offset_out_of_range(broker: DiskBroker) -> None:
    produce(broker, broker.batch(b"a"))
    assert fetch(broker, "t", fetch_offset=0, last_fetched_epoch=40).error_code == codes.OFFSET_OUT_OF_RANGE


def metadata(broker: DiskBroker, version: int, *entries: tuple[str | None, UUID]) -> Any:
    topics = [MetadataRequest.RequestTopic(name=name, topic_id=topic_id) for name, topic_id in entries]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False, include_topic_authorized_operations=True)
    return broker.call(request, version)


def test_one_id_in_a_metadata_request_means_that_only_ids_are_meant(broker: DiskBroker) -> None:
    known = broker.core.cluster.topics["t"].id
    answer = metadata(broker, 12, ("missing", ZERO_UUID), ("t", known), (None, UNKNOWN_ID))
    assert [(row.name, row.error_code) for row in answer.topics] == [("t", 0), (None, codes.UNKNOWN_TOPIC_ID)]
    for version in (10, 11):  # ids are in the layout, and may not be used
        refused = metadata(broker, version, ("t", known))
        assert [(row.name, row.error_code) for row in refused.topics] == [("t", codes.INVALID_REQUEST)]
        assert refused.brokers == []


def test_what_may_be_done_with_a_topic_is_told_of_one_that_is_not_there_too(broker: DiskBroker) -> None:
    (known, unknown) = metadata(broker, 12, ("t", ZERO_UUID), ("missing", ZERO_UUID)).topics
    assert unknown.error_code == codes.UNKNOWN_TOPIC_OR_PARTITION
    assert unknown.topic_authorized_operations == known.topic_authorized_operations > 0
    Topic = DescribeTopicPartitionsRequest.TopicRequest
    request = DescribeTopicPartitionsRequest(topics=[Topic(name="t"), Topic(name="missing")])
    paged = {row.name: row.topic_authorized_operations for row in broker.call(request, 0).topics}
    assert paged == dict.fromkeys(("t", "missing"), known.topic_authorized_operations)


def test_the_topic_of_a_cursor_must_be_asked_for(broker: DiskBroker) -> None:
    Request = DescribeTopicPartitionsRequest
    request = Request(topics=[Request.TopicRequest(name="t")], cursor=Request.Cursor(topic_name="a", partition_index=0))
    assert [row.error_code for row in broker.call(request, 0).topics] == [codes.INVALID_REQUEST]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("log.cleaner.threads", "3", "Log cleaner threads cannot be increased to more than double the current value 1"),
        ("log.cleaner.threads", "200", TOO_SMALL),
        ("log.cleaner.dedupe.buffer.size", "1000", TOO_SMALL),
    ],
)
def test_bounds_of_the_cleaner(broker: DiskBroker, name: str, value: str, message: str) -> None:
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    resource = Resource(resource_type=4, resource_name="", configs=[Resource.AlterableConfig(name=name, value=value)])
    (answer,) = broker.call(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
    assert (answer.error_code, answer.error_message) == (codes.INVALID_REQUEST, message)


def test_of_an_entity_type_that_is_named_twice_the_last_name_counts(broker: DiskBroker) -> None:
    Entry = AlterClientQuotasRequest.EntryData
    entity = [Entry.EntityData(entity_type="user", entity_name=name) for name in ("a", "b")]
    entry = Entry(entity=entity, ops=[Entry.OpData(key="producer_byte_rate", value=1e6)])
    (answer,) = broker.call(AlterClientQuotasRequest(entries=[entry]), 1).entries
    assert (answer.error_code, [part.entity_name for part in answer.entity]) == (0, ["b"])


def test_a_filter_of_quotas_that_is_refused_has_no_list_of_entries(broker: DiskBroker) -> None:
    Component = DescribeClientQuotasRequest.ComponentData
    answer = broker.call(DescribeClientQuotasRequest(components=[Component(entity_type="")]), 1)
    assert (answer.error_code, answer.entries) == (codes.INVALID_REQUEST, None)


def test_a_resource_type_that_nobody_knows_spoils_the_whole_request(broker: DiskBroker) -> None:
    resources = [
        DescribeConfigsRequest.Resource(resource_type=kind, resource_name="t", configuration_keys=None)
        for kind in (2, 99)
    ]
    answers = broker.call(DescribeConfigsRequest(resources=resources), 4).results
    assert [row.error_code for row in answers] == [codes.INVALID_REQUEST] * 2
    assert all(row.error_message.startswith(DEFAULT_TEXT) for row in answers)


def test_reassignments_of_no_topic_are_answered_with_nothing_of_the_request(broker: DiskBroker) -> None:
    request = AlterPartitionReassignmentsRequest(topics=[], allow_replication_factor_change=False)
    answer = broker.call(request, 1)
    assert (answer.error_code, answer.error_message, answer.responses) == (0, "", [])
    assert answer.allow_replication_factor_change is True
