"""A record written and read back, with the times."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kafka_tools.clock import Clock, Deadline
from kafka_tools.errors import DeadlineExceeded, KafkaToolsError
from kafka_tools.health.finding import ERROR, INFO, Diagnosis

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.net.config import ClientConfig

TOPIC = "kafka-tools-doctor"
"""The topic of the round trip. It is deleted afterwards if it did not exist before."""


def round_trip(admin: AdminClient, config: ClientConfig, clock: Clock, limit_s: float) -> Diagnosis:
    """Write one record to ``TOPIC`` and read it back. The finding is of severity info if that succeeds."""
    from kafka_tools.admin.client import NewTopic
    from kafka_tools.clients import Consumer, Producer
    from kafka_tools.values import TopicPartition

    deadline = Deadline(clock, limit_s)
    began_s = clock.monotonic_s()
    step = "create the topic"
    is_new = False
    try:
        if TOPIC not in {topic.name for topic in admin.list_topics(deadline=deadline)}:
            admin.create_topics([NewTopic(TOPIC, 1)], deadline=deadline).raise_any()
            is_new = True
        step = "write a record"
        sent = os.urandom(16)
        with Producer(config) as producer:
            written = producer.send(TOPIC, sent, partition=0).result(deadline.left_s())
        written_s = clock.monotonic_s()
        step = "read the record"
        with Consumer(config) as consumer:
            place = TopicPartition(TOPIC, written.partition)
            consumer.assign([place])
            consumer.seek(place, written.offset)
            while not any(record.value == sent for record in consumer.poll(0.1)):
                deadline.check("the record to be read")
        read_s = clock.monotonic_s()
    except KafkaToolsError as error:
        late = isinstance(error, DeadlineExceeded)
        return Diagnosis(
            "round trip", ERROR, f"cannot {step} of the round trip", str(error),
            "the cluster is too slow" if late else "", "kafka-topics -b $B --describe --topic " + TOPIC,
        )  # fmt: skip
    finally:
        if is_new:
            admin.delete_topics([TOPIC])
    times = f"written in {(written_s - began_s) * 1000:.0f} ms, read in {(read_s - written_s) * 1000:.0f} ms"
    return Diagnosis("round trip", INFO, "a record was written and read back", times)
