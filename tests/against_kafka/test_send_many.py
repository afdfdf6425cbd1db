"""What ``send_many`` writes to a real broker is what ``send`` writes, byte for byte in the segments."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_tools.admin import AdminClient
from kafka_tools.admin.client import NewTopic
from kafka_tools.clients import Consumer, Producer
from kafka_tools.values import TopicPartition

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_the_segments_are_those_of_send(kafka_new: Any, codec: str) -> None:
    values = [bytes([number % 251]) * (number % 300) for number in range(2000)]
    records = [(b"key%d" % number if number % 3 else None, value) for number, value in enumerate(values)]
    times = [NOW_MS + number for number in range(len(records))]
    names = [f"send-{codec}", f"send-many-{codec}"]
    with AdminClient(kafka_new.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(name, 1, 1) for name in names])
    settings = {"compression_type": codec, "enable_idempotence": "false", "max_in_flight_requests_per_connection": 1}
    with Producer(kafka_new.bootstrap_servers, linger_ms=1000, **settings) as producer:
        for (key, value), time_ms in zip(records, times, strict=True):
            producer.send(names[0], value, key, [("h", b"1")], timestamp_ms=time_ms)
        producer.flush()
        runs = producer.send_many(names[1], records, [("h", b"1")], timestamp_ms=times).result()
    assert [(run.offset, list(run.indexes)) for run in runs] == [(run.indexes[0], list(run.indexes)) for run in runs]
    partition = TopicPartition(names[1], 0)
    with Consumer(kafka_new.bootstrap_servers) as consumer:
        consumer.assign([partition])
        consumer.seek_to_beginning()
        found: list[Any] = []
        while len(found) < len(records):
            found += consumer.poll(30.0)
    assert [(record.key, record.value) for record in found] == records
    one, many = ((kafka_new.partition_dir(name, 0) / f"{0:020}.log").read_bytes() for name in names)
    assert len(one) > 10_000
    assert many == one
