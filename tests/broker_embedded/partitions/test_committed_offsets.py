"""ListOffsets beside transactions: what either isolation level is told of every kind of timestamp, as Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_tools.protocol.enums import OffsetSpec
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from tests.broker_embedded.disk_broker import DiskBroker
from tests.broker_embedded.transactional_client import Client

FEW = {"transaction.state.log.num.partitions": "1"}
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
NONE = (-1, -1)
"""Offset and leader epoch where there is nothing to name."""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[DiskBroker]:
    made = DiskBroker(tmp_path / "data", FEW)
    made.create("t")
    yield made
    made.core.close()


def found(broker: DiskBroker, timestamp: int, isolation_level: int, version: int = 11) -> tuple[int, int]:
    """(offset, leader epoch) without an error; a timestamp comes with a record alone."""
    Topic = ListOffsetsRequest.Topic
    wanted = Topic(name="t", partitions=[Topic.Partition(partition_index=0, timestamp=timestamp)])
    request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation_level, topics=[wanted])
    answer = broker.call(request, version).topics[0].partitions[0]
    assert answer.error_code == 0
    is_record = answer.offset >= 0 and (timestamp >= 0 or timestamp == OffsetSpec.MAX_TIMESTAMP)
    assert answer.timestamp >= 0 if is_record else answer.timestamp == -1
    return answer.offset, answer.leader_epoch


def begun(broker: DiskBroker, *values: bytes) -> Client:
    client = Client(broker)
    assert (client.init(), client.add(0)) == (0, [0])
    client.produce(*values)
    return client


@pytest.mark.parametrize(
    ("timestamp", "uncommitted", "committed"),
    [
        (OffsetSpec.LATEST, (2, 0), (1, 0)),
        (OffsetSpec.EARLIEST, (0, 0), (0, 0)),
        (OffsetSpec.MAX_TIMESTAMP, (1, 0), NONE),
        (OffsetSpec.EARLIEST_LOCAL, (0, 0), (0, 0)),
        (OffsetSpec.LATEST_TIERED, NONE, NONE),
        (OffsetSpec.EARLIEST_PENDING_UPLOAD, NONE, NONE),
        (0, (0, 0), (0, 0)),
    ],
)
def test_offsets_beside_an_open_transaction(
    broker: DiskBroker, timestamp: int, uncommitted: tuple[int, int], committed: tuple[int, int]
) -> None:
    broker.produce("t", broker.batch(b"plain"))
    broker.advance(1)
    begun(broker, b"open")
    assert found(broker, timestamp, READ_UNCOMMITTED) == uncommitted
    assert found(broker, timestamp, READ_COMMITTED) == committed


@pytest.mark.parametrize("version", range(7, 12))
@pytest.mark.parametrize("commit", [True, False])
def test_the_newest_timestamp_is_told_once_its_transaction_is_over(
    broker: DiskBroker, commit: bool, version: int
) -> None:
    client = begun(broker, b"open")
    assert found(broker, OffsetSpec.MAX_TIMESTAMP, READ_COMMITTED, version) == NONE
    broker.advance(1)
    client.end(commit=commit)
    for isolation_level in (READ_UNCOMMITTED, READ_COMMITTED):
        newest = found(broker, OffsetSpec.MAX_TIMESTAMP, isolation_level, version)
        assert newest == (1, 0)  # of the marker
