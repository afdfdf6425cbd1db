"""kafka-replica-verification: what is compared, and the run against three nodes in virtual time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.commands.partitions.replica_comparison import MOST_DIFFERENCES, ComparedPartition, FetchedReplica
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.records.batches import batches
from kafka_tools.records.build import BatchBuilder
from kafka_tools.values import TopicPartition
from tests.admin.virtual_cluster import VirtualCluster
from tests.net.virtual import VirtualNode

T0 = TopicPartition("t", 0)
KEY = "t-0"


def batch(base_offset: int, count: int = 1, value: bytes = b"v") -> bytes:
    builder = BatchBuilder()
    for _ in range(count):
        builder.append(1000, None, value)
    return builder.build(base_offset=base_offset)


def crc(data: bytes) -> int:
    (view,) = batches(memoryview(data))
    return view.crc


SAME = batch(0, 2) + batch(2) + batch(3)


def test_equal_batches_move_the_partition_on() -> None:
    part = ComparedPartition(T0, (1, 2, 3), 0, 4)
    assert part.compare({replica: FetchedReplica(4, SAME) for replica in (1, 2, 3)}) == []
    assert (part.offset, part.batches, part.lag, part.is_done) == (4, 3, 0, True)


def test_batches_above_a_high_watermark_wait() -> None:
    part = ComparedPartition(T0, (1, 2), 0, None)
    part.compare({1: FetchedReplica(4, SAME), 2: FetchedReplica(3, SAME)})
    assert (part.offset, part.batches, part.lag) == (3, 2, 1)
    part.compare({1: FetchedReplica(4, SAME), 2: FetchedReplica(3, batch(0, 2))})
    assert not part.is_done


def test_nothing_is_compared_before_all_replicas_have_answered() -> None:
    part = ComparedPartition(T0, (1, 2), 0, 4)
    assert part.compare({1: FetchedReplica(4, batch(0, 4))}) == []
    assert part.offset == 0


def test_another_checksum_is_a_difference_and_the_next_batch_is_compared() -> None:
    part = ComparedPartition(T0, (1, 2, 3), 0, 4)
    other = batch(0, 2) + batch(2, value=b"w") + batch(3)
    (found,) = part.compare({1: FetchedReplica(4, SAME), 2: FetchedReplica(4, SAME), 3: FetchedReplica(4, other)})
    assert found.text(T0) == (
        f"partition t-0 has unmatched checksum at offset 2; replica 1's checksum {crc(batch(2))}; "
        f"replica 3's checksum {crc(batch(2, value=b'w'))}"
    )
    assert (part.offset, part.is_done, part.row()["result"]) == (4, True, "different")


def test_batches_that_end_elsewhere_end_the_comparison() -> None:
    part = ComparedPartition(T0, (1, 2), 0, 4)
    (found,) = part.compare({1: FetchedReplica(4, SAME), 2: FetchedReplica(4, batch(0, 2) + batch(2, 2))})
    assert found.text(T0) == "partition t-0: replica 1's offset 2 doesn't match replica 2's offset 3"
    assert (part.offset, part.is_misaligned, part.is_done) == (2, True, True)


def test_differences_are_all_counted_and_the_first_ones_kept() -> None:
    part = ComparedPartition(T0, (1, 2), 0, 500)
    ours = b"".join(batch(offset) for offset in range(500))
    theirs = b"".join(batch(offset, value=b"w") for offset in range(500))
    assert len(part.compare({1: FetchedReplica(500, ours), 2: FetchedReplica(500, theirs)})) == 500
    assert part.row()["difference_count"] == 500
    assert len(part.row()["differences"]) == MOST_DIFFERENCES


class Ran(NamedTuple):
    status: int
    out: str
    err: str
    cluster: VirtualCluster


Logs = dict[int, Any]
"""Node id -> the records of its replica, or an error code."""


@pytest.fixture
def verify(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def called(logs: Logs, *arguments: str, replicas: tuple[int, ...] = (1, 2, 3)) -> Ran:
        cluster = VirtualCluster()

        def answer(request: Any, version: int, node: VirtualNode) -> Any:
            if isinstance(request, MetadataRequest | DescribeTopicPartitionsRequest):
                response = cluster.truth(request, version)
                for topic in response.topics:
                    for partition in topic.partitions:
                        partition.replica_nodes = list(replicas)
                return response
            if isinstance(request, ListOffsetsRequest) and request.topics[0].partitions[0].timestamp == 0:
                response = cluster.truth(request, version)
                response.topics[0].partitions[0].offset = 0
                return response
            return fetched(request, version, logs[node.id]) if isinstance(request, FetchRequest) else None

        cluster.fault = answer
        with cluster.network.in_use():
            words = ["-b", cluster.bootstrap, *arguments]
            status = running.run(cli.load("replica-verification"), words, "kafka-replica-verification")
        return Ran(status, *capsys.readouterr(), cluster)

    return called


def fetched(request: FetchRequest, version: int, log: Any) -> FetchResponse:
    """The replica's records, if the request is one of the debugging replica."""
    assert (request.replica_state.replica_id if version >= 15 else request.replica_id) == -2
    Topic = FetchResponse.FetchableTopicResponse
    (topic,) = request.topics
    code, records = (log, b"") if isinstance(log, int) else (0, log)
    data = Topic.PartitionData(partition_index=0, error_code=code, high_watermark=5, records=records)
    return FetchResponse(responses=[Topic(topic=topic.topic, topic_id=topic.topic_id, partitions=[data])])


ALL = SAME + batch(4)
STARTED = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}: verification process is started"


def test_equal_replicas_end_with_status_0(verify: Callable[..., Ran]) -> None:
    ran = verify({1: ALL, 2: ALL, 3: ALL}, "--once", "--time", "0")
    first, last = ran.out.splitlines()
    assert (ran.status, ran.err) == (0, "")
    assert re.fullmatch(STARTED, first)
    assert last.endswith(": max lag is 0 for partition t-0 at offset 5 among 1 partitions")


def test_different_replicas_end_with_status_1(verify: Callable[..., Ran]) -> None:
    other = SAME + batch(4, value=b"w")
    ran = verify({1: ALL, 2: ALL, 3: other}, "--once", "--time", "0", "-o", "json")
    assert (ran.status, ran.err) == (1, "")
    (row,) = json.loads(ran.out)["data"]
    assert (row["result"], row["verified_offset"], row["batches"]) == ("different", 5, 4)
    assert [each["kind"] for each in row["differences"]] == ["checksum"]
    ran = verify({1: ALL, 2: ALL, 3: other}, "--once", "--time", "0")
    assert ran.status == 1
    assert "partition t-0 has unmatched checksum at offset 4; replica 1's checksum" in ran.out.splitlines()[1]


def test_without_once_a_different_offset_ends_it_as_in_kafka(verify: Callable[..., Ran]) -> None:
    ran = verify({1: ALL, 2: batch(0, 5), 3: ALL}, "--time", "0")
    assert (ran.status, ran.err) == (1, "")
    assert "partition t-0: replica 1's offset 1 doesn't match replica 2's offset 4" in ran.out.splitlines()[1]


def test_a_replica_that_cannot_be_read_is_named(verify: Callable[..., Ran]) -> None:
    logs = {1: ALL, 2: error_codes.OFFSET_OUT_OF_RANGE, 3: ALL}
    ran = verify(logs, "--once", "--time", "0", "--timeout", "20s", "-o", "json")
    assert ran.status == 1
    document = json.loads(ran.out)
    assert document["data"] == []
    (error,) = document["errors"]
    assert error["item"] == KEY
    assert error["message"].startswith("replica 2: OFFSET_OUT_OF_RANGE")
    assert ran.err.startswith("kafka-replica-verification: cannot verify t-0: replica 2: OFFSET_OUT_OF_RANGE")


def test_a_replica_without_a_broker_is_named(verify: Callable[..., Ran]) -> None:
    ran = verify({1: ALL, 2: ALL, 3: ALL}, "--once", "--time", "0", "--timeout", "20s", replicas=(1, 2, 7))
    assert ran.status == 1
    assert "cannot verify t-0: replica 7: its broker is not running" in ran.err


def test_damaged_records_are_named(verify: Callable[..., Ran]) -> None:
    damaged = bytearray(ALL)
    damaged[16] = 9  # magic
    ran = verify({1: ALL, 2: bytes(damaged), 3: ALL}, "--once", "--time", "0", "--timeout", "20s")
    assert ran.status == 1
    assert "cannot verify t-0: " in ran.err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("-o", "json"), "-o can only be used with --once"),
        (("--time", "oops"), "Malformed time argument oops."),
        (("--topics-include", "("), "invalid regular expression '('"),
    ],
)
def test_command_lines_that_are_refused(verify: Callable[..., Ran], arguments: tuple[str, ...], message: str) -> None:
    ran = verify({}, *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err


def test_no_matching_topic_is_an_error(verify: Callable[..., Ran]) -> None:
    ran = verify({}, "--topics-include", "other")
    assert ran.status == 1
    assert "No topics found. --topics-include" in ran.err
