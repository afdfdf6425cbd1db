"""Kafka's default partitioner: the hash of every client, and stickiness without keys."""

from __future__ import annotations

from random import Random

import pytest

from kafka_tools.clients.producing.partitioner import StickyPartitioner, murmur2, partition_for_key


@pytest.mark.parametrize(
    ("data", "hashed"),
    [
        # The pairs of Kafka's UtilsTest.testMurmur2.
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_hash_is_that_of_kafkas_java_client(data: bytes, hashed: int) -> None:
    assert murmur2(data) == hashed & 0xFFFFFFFF


@pytest.mark.req("DESIGN-6")
def test_key_goes_to_the_partition_of_the_positive_hash() -> None:
    assert partition_for_key(b"21", 7) == (-973932308 & 0x7FFFFFFF) % 7
    assert partition_for_key(b"", 1) == 0


def test_every_key_length_hashes_like_kafka_python() -> None:
    from kafka.partitioner.default import murmur2 as theirs

    for length in range(40):
        data = bytes(range(100, 100 + length))
        assert murmur2(data) == theirs(data) & 0xFFFFFFFF


@pytest.mark.req("DESIGN-6")
def test_records_without_key_stick_until_about_a_batch_is_written() -> None:
    sticky = StickyPartitioner(100, Random(1))
    first = [sticky.choose([0, 1, 2], 50) for _ in range(2)]
    assert first[0] == first[1]
    assert sticky.choose([0, 1, 2], 50) != first[0]


def test_records_without_key_leave_a_partition_that_lost_its_leader() -> None:
    sticky = StickyPartitioner(1000, Random(1))
    chosen = sticky.choose([0, 1], 10)
    assert sticky.choose([1 - chosen], 10) == 1 - chosen
    assert sticky.choose([1 - chosen], 10) == 1 - chosen
