"""XXH3 beside values that hash4j 0.22.0, which Kafka 4.3.1 uses, gave for the same bytes."""

from __future__ import annotations

from struct import pack

import pytest

from kafka_tools.broker_embedded.coordinators.consumer.xxh3 import xxh3_64

KNOWN = {
    0: 3244421341483603138,
    1: 1433843135270481901,
    3: -6266602912829716452,
    4: 7895465118229274323,
    8: 6941064856527638883,
    9: -72226354546400344,
    16: -5131753158909839995,
    17: 8163341949877205007,
    100: -5362810412169982817,
    128: 7440608504995537343,
    129: -4150982730466284604,
    240: 7229805477010515663,
    241: -8364630114420064745,
    512: -756038794506822371,
    1024: -7241394453710343503,
    1025: -9192937061388044938,
    3000: -3994278647677818051,
}


@pytest.mark.parametrize("length", KNOWN)
def test_hash_is_the_one_of_kafka(length: int) -> None:
    assert xxh3_64(bytes((7 * at + 3) % 256 for at in range(length))) == KNOWN[length]


def test_hash_of_a_stream_is_that_of_its_bytes() -> None:
    """What ``putByte(0).putLong(..).putLong(-2).putString("fooé").putInt(3).putInt(0).putInt(1).putInt(2)`` gave."""
    text = "fooé"
    stream = b"\0" + pack("<qq", 0x0102030405060708, -2) + text.encode("utf-16-le") + pack("<5i", len(text), 3, 0, 1, 2)
    assert xxh3_64(stream) == -1954632304732069355
