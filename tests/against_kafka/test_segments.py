"""Where Kafka begins a segment, what it writes beside it, and what its retention leaves: ours does the same.

Topics of random configs get batches of random size, at random times; the files of both brokers are compared.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.records.build import build_batch
from tests.against_kafka.harness import RealKafka, Setup, eventually
from tests.against_kafka.jars import NEWEST
from tests.broker_embedded.wire_client import WireClient, make_topics

DAY_MS = 86_400_000
MIB = 1 << 20
OFTEN = {"log.retention.check.interval.ms": "500", "log.initial.task.delay.ms": "100", "log.cleaner.backoff.ms": "500"}
SEED = 4


@pytest.fixture(scope="module")
def kafka(real_kafka: Callable[[Setup], RealKafka]) -> RealKafka:
    return real_kafka(Setup(NEWEST, properties=tuple(OFTEN.items())))


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(data_dir=tmp_path_factory.mktemp("segments") / "data", config=OFTEN) as running:
        yield running


def batches_of(seed: int, now_ms: int, days: int) -> list[bytes]:
    """Batches that end up in several segments, the first ones of so many days ago."""
    chance = random.Random(seed)
    made = []
    time_ms = now_ms - days * DAY_MS
    for _ in range(chance.randint(10, 25)):
        time_ms = min(now_ms, time_ms + chance.choice((0, 1, 60_000, 3_600_000, DAY_MS // 2)))
        rows = [
            (time_ms - chance.choice((0, 0, 5_000)), b"key %d" % chance.randrange(5), chance.randbytes(size), ())
            for size in [chance.choice((10, 1_000, 40_000, 300_000)) for _ in range(chance.randint(1, 3))]
        ]
        made.append(build_batch(rows))
    return made


def produce(client: WireClient, topic: str, batch: bytes) -> None:
    TopicData = ProduceRequest.TopicProduceData
    data = TopicData(name=topic, partition_data=[TopicData.PartitionProduceData(records=batch)])
    request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data])
    while (code := client.call(request, 9).responses[0].partition_responses[0].error_code) in (3, 6):
        pass  # it has no leader yet
    assert not code


def fill(address: str, topics: Mapping[str, Mapping[str, str]], now_ms: int, days: int) -> None:
    with WireClient(address) as client:
        make_topics(client, topics)
        for number, topic in enumerate(topics):
            for batch in batches_of(SEED * 1000 + number, now_ms, days):
                produce(client, topic, batch)


def segments(directory: Path) -> dict[str, int]:
    """The files of the segments and their sizes; of the last one the log alone, as its indexes are not written yet."""
    logs = sorted(path for path in directory.iterdir() if path.suffix == ".log")
    found = {logs[-1].name: logs[-1].stat().st_size}
    for log in logs[:-1]:
        for suffix in (".log", ".index", ".timeindex"):
            found[log.stem + suffix] = log.with_suffix(suffix).stat().st_size
    return found


def configs_that_roll(seed: int) -> dict[str, str]:
    chance = random.Random(seed)
    configs = {"segment.bytes": str(MIB), "retention.ms": "-1"}
    if chance.random() < 0.5:
        configs["segment.ms"] = str(chance.choice((60_000, 3_600_000, DAY_MS)))
    if chance.random() < 0.4:
        configs["segment.index.bytes"] = str(chance.choice((24, 36, 60, 100)))
        configs["index.interval.bytes"] = str(chance.choice((0, 1, 5_000)))
    if chance.random() < 0.3:
        configs["preallocate"] = "true"
    if chance.random() < 0.3:
        configs |= {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1"}
        configs |= {"min.compaction.lag.ms": "1000", "max.compaction.lag.ms": str(chance.choice((60_000, DAY_MS)))}
    return configs


def test_segments_begin_where_kafkas_do(kafka: RealKafka, ours: EmbeddedBroker) -> None:
    run = uuid.uuid4().hex[:8]
    topics = {f"{run}-{number}": configs_that_roll(number) for number in range(16)}
    now_ms = ours.call(lambda core: core.clock.now_ms())
    for broker in (kafka, ours):
        fill(broker.bootstrap_servers, topics, now_ms, days=9)
    several = 0
    for topic, configs in topics.items():
        if "compact" in configs.values():
            continue
        theirs, mine = segments(kafka.partition_dir(topic, 0)), segments(Path(ours.data_dir) / f"{topic}-0")
        assert mine == theirs, (topic, configs)
        several += len(mine) > 4
    assert several > 5


def earliest(address: str, topics: Mapping[str, Mapping[str, str]]) -> dict[str, int]:
    Topic = ListOffsetsRequest.Topic
    asked = [Topic(name=name, partitions=[Topic.Partition(timestamp=-2)]) for name in topics]
    with WireClient(address) as client:
        answer = client.call(ListOffsetsRequest(topics=asked), 7)
    return {topic.name: topic.partitions[0].offset for topic in answer.topics}


def configs_that_delete(seed: int) -> dict[str, str]:
    chance = random.Random(seed)
    configs = {"segment.bytes": str(MIB), "cleanup.policy": chance.choice(("delete", "delete", "compact,delete"))}
    configs |= {"retention.ms": "-1", "min.cleanable.dirty.ratio": "1"}
    if chance.random() < 0.7:
        configs["retention.ms"] = str(chance.choice((1, 2, 4, 6, 8)) * DAY_MS + DAY_MS // 4)
    if chance.random() < 0.6:
        configs["retention.bytes"] = str(chance.choice((0, 1, MIB, 3 * MIB // 2, 4 * MIB)))
    if chance.random() < 0.3:
        configs["segment.ms"] = str(DAY_MS)
    return configs


def test_retention_leaves_what_kafkas_leaves(kafka: RealKafka, ours: EmbeddedBroker) -> None:
    run = uuid.uuid4().hex[:8]
    topics = {f"{run}-{number}": configs_that_delete(number) for number in range(14)}
    now_ms = ours.call(lambda core: core.clock.now_ms())
    for broker in (kafka, ours):
        fill(broker.bootstrap_servers, topics, now_ms, days=9)

    def settled() -> None:
        theirs, mine = (earliest(broker.bootstrap_servers, topics) for broker in (kafka, ours))
        assert mine == theirs

    eventually(settled)
    assert sum(map(bool, earliest(ours.bootstrap_servers, topics).values())) > 4
