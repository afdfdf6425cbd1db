"""Where a coordinator's records go, and producer ids."""

from __future__ import annotations

import pytest

from kafka_tools.broker_embedded.coordinators.runtime import GROUP_CODES, OFFSET_CODES, mapped_code, partition_for
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.stored.cluster_metadata import ProducerIdsRecord
from tests.broker_embedded.memory_broker import MemoryBroker


@pytest.mark.req("GC-2")
@pytest.mark.parametrize(
    ("key", "java_hash"),
    [
        ("", 0),
        ("a", 97),
        ("shop-simple", -210591639),
        ("console-consumer-12345", 158455506),
        ("polygenelubricants", -(1 << 31)),
        ("gr\u00fcn \U0001f600", 425129798),
    ],
)
def test_a_groups_partition_follows_javas_string_hash(key: str, java_hash: int) -> None:
    """Hashes from ``String.hashCode`` of Java 17."""
    for partitions in (1, 3, 50):
        expected = 0 if java_hash == -(1 << 31) else abs(java_hash) % partitions
        assert partition_for(key, partitions) == expected


def init(broker: MemoryBroker, version: int = 5, **fields: object) -> tuple[int, int, int]:
    response = broker.call(InitProducerIdRequest(**{"transactional_id": None, **fields}), version)
    return response.error_code, response.producer_id, response.producer_epoch


@pytest.mark.req("PID-1", "PID-10")
def test_producer_ids_come_from_blocks_of_1000_and_are_never_given_twice() -> None:
    broker = MemoryBroker()
    assert [init(broker) for _ in range(3)] == [(0, 0, 0), (0, 1, 0), (0, 2, 0)]
    for _ in range(997):
        init(broker)
    assert init(broker) == (0, 1000, 0)
    blocks = [record.next_producer_id for record in broker.store.records if isinstance(record, ProducerIdsRecord)]
    assert blocks == [1000, 2000]
    broker.restart()
    assert init(broker) == (0, 2000, 0)


@pytest.mark.req("PID-6")
def test_when_all_producer_ids_are_used_up_it_is_said_so() -> None:
    broker = MemoryBroker()
    broker.core.journal.commit([ProducerIdsRecord(next_producer_id=(1 << 63) - 1000)])
    with pytest.raises(BrokerError, match=r"Have exhausted all pids\."):
        broker.core.producer_ids.next_id()


@pytest.mark.parametrize("version", range(6))
def test_producers_without_transactions_are_served_in_every_version(version: int) -> None:
    assert init(MemoryBroker(), version) == (0, 0, 0)


def test_half_an_identity_is_refused() -> None:
    broker = MemoryBroker()
    assert init(broker, producer_id=5) == (codes.INVALID_REQUEST, -1, -1)
    assert init(broker, producer_id=5, producer_epoch=0) == (0, 0, 0)


@pytest.mark.req("GC-7", "GC-8")
@pytest.mark.parametrize(
    ("append", "group", "offsets"),
    [
        (codes.UNKNOWN_TOPIC_OR_PARTITION, codes.COORDINATOR_NOT_AVAILABLE, codes.COORDINATOR_NOT_AVAILABLE),
        (codes.NOT_ENOUGH_REPLICAS, codes.COORDINATOR_NOT_AVAILABLE, codes.COORDINATOR_NOT_AVAILABLE),
        (codes.NOT_ENOUGH_REPLICAS_AFTER_APPEND, codes.COORDINATOR_NOT_AVAILABLE, codes.COORDINATOR_NOT_AVAILABLE),
        (codes.NOT_LEADER_OR_FOLLOWER, codes.NOT_COORDINATOR, codes.NOT_COORDINATOR),
        (codes.REQUEST_TIMED_OUT, codes.REBALANCE_IN_PROGRESS, codes.REQUEST_TIMED_OUT),
        (codes.MESSAGE_TOO_LARGE, codes.UNKNOWN_SERVER_ERROR, codes.INVALID_COMMIT_OFFSET_SIZE),
        (codes.RECORD_LIST_TOO_LARGE, codes.UNKNOWN_SERVER_ERROR, codes.INVALID_COMMIT_OFFSET_SIZE),
        (codes.INVALID_FETCH_SIZE, codes.UNKNOWN_SERVER_ERROR, codes.INVALID_COMMIT_OFFSET_SIZE),
        (codes.CORRUPT_MESSAGE, codes.CORRUPT_MESSAGE, codes.CORRUPT_MESSAGE),
    ],
)
def test_a_failed_append_becomes_the_code_that_clients_know(append: int, group: int, offsets: int) -> None:
    error = error_for(append)
    assert mapped_code(error, GROUP_CODES) == group
    assert mapped_code(error, OFFSET_CODES) == offsets


@pytest.mark.req("GC-3")
def test_the_topics_own_partition_count_decides_once_it_exists() -> None:
    broker = MemoryBroker({"offsets.topic.num.partitions": "3"})
    broker.create_topic("__consumer_offsets", 7)
    assert broker.core.groups.store.partition("a") == 97 % 7
    fresh = MemoryBroker({"offsets.topic.num.partitions": "3"})
    whole(fresh.core.groups.log.ensured())
    assert fresh.core.groups.store.partition("a") == 97 % 3
