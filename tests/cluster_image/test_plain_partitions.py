"""Plain partition records: what is taken undecoded is what decoding would have taken, and nothing else is."""

from __future__ import annotations

import random
import uuid

import pytest

from kafka_tools.cluster_image import plain_partitions
from kafka_tools.cluster_image.image import ClusterImage
from kafka_tools.cluster_image.plain_partitions import MOST_IDS, LazyPartitions, plain_key
from kafka_tools.cluster_image.topics import Topics
from kafka_tools.protocol.codec import encode
from kafka_tools.protocol.stored.cluster_metadata import (
    RECORDS,
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kafka_tools.records.framing import framed

TOPIC = uuid.UUID(int=7 << 64)
DIRECTORY = uuid.UUID(int=9)


def value_of(version: int = 2, **fields: object) -> bytes:
    given = {"partition_id": 3, "topic_id": TOPIC, "replicas": [1, 2], "isr": [1], "leader": 1} | fields
    return bytes((1, 3, version)) + encode(PartitionRecord(**given), version)


def decoded(value: bytes) -> PartitionRecord:
    record, _ = framed(value, RECORDS)
    assert isinstance(record, PartitionRecord)
    return record


def kept(value: bytes) -> PartitionRecord:
    partitions = LazyPartitions()
    partitions.keep_plain(3, value)
    return partitions[3]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_usual_record_is_plain(version: int) -> None:
    directories = {"directories": [DIRECTORY] * 2} if version else {}
    for value in (value_of(version), value_of(version, adding_replicas=[2], **directories)):
        assert plain_key(value) == (3, TOPIC.bytes)
        assert kept(value) == decoded(value)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\x01\x03",
        value_of()[:-1],
        value_of() + b"\x00",
        b"\x00" + value_of()[1:],
        bytes((1, 3, 3)) + value_of()[3:],
        value_of(leader_recovery_state=1),
        value_of(eligible_leader_replicas=[2]),
        value_of(directories=[DIRECTORY]),
        value_of(replicas=list(range(MOST_IDS + 1))),
    ],
)
def test_any_other_record_is_decoded(value: bytes) -> None:
    assert plain_key(value) is None


def test_whatever_is_taken_for_plain_can_be_decoded_and_replayed() -> None:
    random_bytes = random.Random(43)
    seen = 0
    for _ in range(4_000):
        version = random_bytes.randrange(3)
        ids = [[random_bytes.randrange(-2, 9) for _ in range(random_bytes.randrange(8))] for _ in range(4)]
        fields = dict(zip(("replicas", "isr", "adding_replicas", "removing_replicas"), ids, strict=True))
        directories = [DIRECTORY] * random_bytes.choice([0, len(ids[0]), 1])
        value = bytearray(value_of(version, **fields, **({"directories": directories} if version else {})))
        for _ in range(random_bytes.randrange(3)):
            value[random_bytes.randrange(len(value))] = random_bytes.choice([0, 1, 2, 3, 127, 128, 255])
        key = plain_key(bytes(value))
        if key is not None:
            seen += 1
            record = decoded(bytes(value))
            assert key == (record.partition_id, record.topic_id.bytes)
            topics = Topics()
            topics.add(TopicRecord(name="t", topic_id=record.topic_id))
            topics.set_partition(record)
            assert kept(bytes(value)) == record
    assert seen > 1_000


def test_plain_records_are_decoded_when_somebody_looks_at_them(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr(plain_partitions, "framed", lambda *given: made.append(given) or framed(*given))
    image = ClusterImage()
    assert not image.replay_plain(value_of())  # of a topic that is not there: refused by whoever decodes it
    image.replay(TopicRecord(name="t", topic_id=TOPIC))
    assert all(image.replay_plain(value_of(partition_id=number)) for number in range(100))
    assert image.replay_plain(value_of(partition_id=5, leader=2))
    image.replay(ClearElrRecord(topic_name="t"))
    assert not made
    partitions = image.topics.topic(TOPIC).partitions
    assert len(partitions) == 100
    assert partitions[5].leader == 2
    image.replay(PartitionChangeRecord(partition_id=6, topic_id=TOPIC, leader=2))
    assert (partitions[6].leader, partitions[6].leader_epoch) == (2, 0)
    assert len(made) == 2
    image.replay(RemoveTopicRecord(topic_id=TOPIC))
    assert not image.replay_plain(value_of())
