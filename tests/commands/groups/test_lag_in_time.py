"""Lag in time beside the truth: logs of records whose times the test chose, and a group at every offset of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient, CommittedOffset, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.producer import Producer
from kafka_tools.commands import running
from kafka_tools.commands.first_records import first_records
from kafka_tools.values import TopicPartition

START_MS = 1_700_000_000_000
MINUTE_MS = 60_000


class Log(NamedTuple):
    """A partition: offset -> timestamp of the records that are there, and the first and the last offset."""

    times: dict[int, int]
    start: int
    end: int

    def oldest_unread(self, offset: int) -> tuple[int, int] | None:
        """(offset, timestamp) of the first record at or after ``offset``."""
        return min(((each, time) for each, time in self.times.items() if each >= offset), default=None)


def plain(broker: EmbeddedBroker, topic: str, **settings: Any) -> dict[int, int]:
    """Twelve records in batches of three, an hour apart, the third of each batch older than the second."""
    times = {}
    with Producer(broker.bootstrap_servers, **settings) as producer:
        for number in range(12):
            shift_ms = -90 * MINUTE_MS if number % 3 == 2 else 0
            moment = START_MS + number * 60 * MINUTE_MS + shift_ms
            sent = producer.send(topic, b"v" * 100, b"k%d" % (number % 3), partition=0, timestamp_ms=moment)
            times[number] = moment
            if number % 3 == 2:
                producer.flush()
        producer.wait_for(sent)
    return times


def stamped(broker: EmbeddedBroker, topic: str) -> dict[int, int]:
    """The times are those of the appends, seconds apart, and not those of the producer."""
    times = {}
    with Producer(broker.bootstrap_servers) as producer:
        for number in range(4):
            for _ in range(2):
                sent = producer.send(topic, b"v", partition=0, timestamp_ms=START_MS)
            times[2 * number] = times[2 * number + 1] = sent.result().timestamp_ms
            broker.advance(7)
    assert min(times.values()) > START_MS
    return times


def transactional(broker: EmbeddedBroker, topic: str) -> dict[int, int]:
    """Offsets 2 and 5 are markers: of a commit and of an abort. Offset 7 belongs to a transaction that stays open."""
    times = {}
    producer = Producer(broker.bootstrap_servers, transactional_id=f"tx-{topic}", linger_ms=0)
    producer.init_transactions()
    for offsets, end in (((0, 1), "commit"), ((3, 4), "abort"), ((6, 7), None)):
        producer.begin_transaction()
        for offset in offsets:
            times[offset] = START_MS + offset * MINUTE_MS
            producer.send(topic, b"v", partition=0, timestamp_ms=times[offset])
        producer.flush()
        if end is not None:
            producer.commit_transaction() if end == "commit" else producer.abort_transaction()
    OPEN.append(producer)
    return times


OPEN: list[Producer] = []


def kept(broker: EmbeddedBroker, topic: str) -> set[int]:
    """The offsets of the records that a consumer reads."""
    key = TopicPartition(topic, 0)
    found = set()
    with Consumer(broker.bootstrap_servers, isolation_level="read_uncommitted") as consumer:
        consumer.assign([key])
        consumer.seek_to_beginning([key])
        (end,) = consumer.end_offsets([key]).values()
        while consumer.position(key) < end:
            found |= {record.offset for record in consumer.poll(1.0)}
    return found


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config={"log.cleaner.backoff.ms": "100"}) as broker:
        yield broker
        for producer in OPEN:
            producer.close()


def made(broker: EmbeddedBroker, admin: AdminClient, topic: str) -> Log:
    key = TopicPartition(topic, 0)
    configs = {
        "append-time": {"message.timestamp.type": "LogAppendTime"},
        "compacted": {"cleanup.policy": "compact", "segment.ms": "60000", "min.cleanable.dirty.ratio": "0.01"},
    }
    if topic not in (each.name for each in admin.list_topics()):
        admin.create_topics([NewTopic(topic, 1, 1, configs=configs.get(topic, {}))]).raise_any()
    if topic == "append-time":
        return Log(stamped(broker, topic), 0, 8)
    if topic == "transactional":
        return Log(transactional(broker, topic), 0, 8)
    times = plain(broker, topic, compression_type="gzip" if topic == "compressed" else "none")
    if topic == "deleted":
        admin.delete_records({key: 5}).raise_any()
        return Log({offset: time for offset, time in times.items() if offset >= 5}, 5, 12)
    if topic == "compacted":
        with Producer(broker.bootstrap_servers) as producer:
            times[12] = START_MS + 100 * 60 * MINUTE_MS
            producer.wait_for(producer.send(topic, b"v", b"last", partition=0, timestamp_ms=times[12]))
        for _ in range(100):
            broker.advance(60)
            left = kept(broker, topic)
            if len(left) < 13:
                break
        assert left == {9, 10, 11, 12}, "the last record of each key, and the active segment"
        return Log({offset: time for offset, time in times.items() if offset in left}, 0, 13)
    return Log(times, 0, 12)


def described(
    broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str], *words: str, status: int = 0
) -> dict[str, Any]:
    line = ["--describe", "-b", broker.bootstrap_servers, *words, "-o", "json"]
    capsys.readouterr()
    assert running.run(cli.load("consumer-groups"), line, "kafka-consumer-groups") == status
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize("topic", ["plain", "compressed", "append-time", "transactional", "deleted", "compacted"])
def test_the_oldest_unread_record_of_a_group_at_any_offset(
    topic: str, broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    key = TopicPartition(topic, 0)
    with AdminClient(broker.bootstrap_servers) as admin:
        log = made(broker, admin, topic)
        for offset in range(log.end + 2):
            admin.alter_group_offsets(f"{topic}-{offset:02}", {key: CommittedOffset(offset)}).raise_any()
    document = described(broker, capsys, "--topic", topic, "--lag-by", "partition")
    assert [row["current_offset"] for row in document["data"]] == list(range(log.end + 2))
    for row in document["data"]:
        offset, truth = row["current_offset"], log.oldest_unread(row["current_offset"])
        assert row["lag"] == log.end - offset
        if offset < log.start:
            assert row["age_ms"] is None and row["oldest_unread_ms"] is None
            assert row["note"] == f"age unknown: record {offset} was deleted: the log starts at {log.start}"
        elif offset > log.end:
            assert row["age_ms"] is None
            assert row["note"] == f"age unknown: offset {offset} is after the end of the log ({log.end})"
        elif truth is None:
            assert (row["age_ms"], row["oldest_unread_ms"]) == (0, None)
        else:
            assert row["oldest_unread_ms"] == truth[1]
            assert row["age_ms"] == row["looked_at_ms"] - truth[1]
            assert (f"the next record is at {truth[0]}" in (row["note"] or "")) == (truth[0] != offset)


def test_lag_behind_an_open_transaction_is_told(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    key = TopicPartition("held", 0)
    with AdminClient(broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic("held", 1, 1)]).raise_any()
        transactional(broker, "held")
        for offset in (5, 6, 7, 8):
            admin.alter_group_offsets(f"held-{offset}", {key: CommittedOffset(offset)}).raise_any()
    rows = described(broker, capsys, "--topic", "held", "--sort", "name")["data"]
    assert [(row["lag"], row["blocked"], row["last_stable_offset"]) for row in rows] == [
        (3, 2, 6), (2, 2, 6), (1, 1, 6), (0, 0, 8),
    ]  # fmt: skip
    assert "an open transaction holds back 2 records from read_committed (last stable offset 6)" in rows[0]["note"]


def test_records_without_a_time_have_an_unknown_age(broker: EmbeddedBroker) -> None:
    with AdminClient(broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic("timeless", 1, 1)]).raise_any()
        outcomes = first_records(admin, {TopicPartition("timeless", 0): 0, TopicPartition("nowhere", 0): 0})
    assert outcomes[TopicPartition("timeless", 0)].get() is None
    assert outcomes[TopicPartition("nowhere", 0)].error is not None


def test_a_batch_larger_than_its_share_of_a_response_is_read(
    broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = [TopicPartition("large", number) for number in range(3)]
    with AdminClient(broker.bootstrap_servers) as admin, Producer(broker.bootstrap_servers, linger_ms=0) as producer:
        admin.create_topics([NewTopic("large", 3, 1)]).raise_any()
        for key in keys:
            moment = START_MS + key.partition
            sent = producer.send("large", b"v" * 200_000, partition=key.partition, timestamp_ms=moment)
            producer.wait_for(sent)
        found = first_records(admin, dict.fromkeys(keys, 0)).raise_any().succeeded()
    assert [each and each.timestamp for each in found.values()] == [START_MS, START_MS + 1, START_MS + 2]


def test_reading_that_is_not_allowed_is_a_reason(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    with AdminClient(broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic("secret", 1, 1)]).raise_any()
        admin.alter_group_offsets("spy", {TopicPartition("secret", 0): CommittedOffset(0)}).raise_any()
    with Producer(broker.bootstrap_servers) as producer:
        producer.wait_for(producer.send("secret", b"v", partition=0))
    broker.faults.error("Fetch", "TOPIC_AUTHORIZATION_FAILED", times=1)
    (row,) = described(broker, capsys, "--group", "spy", "--lag-by", "partition")["data"]
    assert (row["lag"], row["age_ms"]) == (1, None)
    assert row["note"] == "age unknown: reading needs READ on topic secret"
