"""``kafka-tools produce`` on the bundled broker: what it writes, what it says of it, and what it refuses."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.fetched_data import ConsumedRecord
from kafka_tools.clients.producer import Producer
from kafka_tools.commands import running
from kafka_tools.values import TopicPartition

NUMBERS = count()


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture
def topic(broker: EmbeddedBroker) -> str:
    name = f"t{next(NUMBERS)}"
    with AdminClient(broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(name, 2, 1)]).raise_any()
    return name


@pytest.fixture
def run(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(name: str, *words: str) -> Ended:
        capsys.readouterr()
        status = running.run(cli.root, [name, "-b", broker.bootstrap_servers, *words], "kafka-tools")
        return Ended(status, *capsys.readouterr())

    return run


def written(broker: EmbeddedBroker, topic: str) -> list[ConsumedRecord]:
    """The records of both partitions, by partition and offset."""
    partitions = [TopicPartition(topic, number) for number in range(2)]
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign(partitions)
        found: list[ConsumedRecord] = []
        left = sum(consumer.end_offsets(partitions).values())
        while len(found) < left:
            found += consumer.poll(5)
    return sorted(found, key=lambda record: (record.partition, record.offset))


def test_one_record_and_where_it_is(run: Run, broker: EmbeddedBroker, topic: str) -> None:
    ended = run(
        "produce",
        topic,
        "-k",
        "k",
        "-v",
        "v",
        "-H",
        "a=b=c",
        "-H",
        "a=",
        "--partition",
        "1",
        "--timestamp",
        "2026-11-22",
    )
    assert (ended.status, ended.out, ended.err) == (0, f"{topic}-1@0 at 2026-11-22T00:00:00.000Z\n", "")
    (record,) = written(broker, topic)
    assert (record.key, record.value, record.headers) == (b"k", b"v", (("a", b"b=c"), ("a", b"")))


def test_tombstone_and_empty_differ(run: Run, broker: EmbeddedBroker, topic: str) -> None:
    assert run("produce", topic, "-k", "", "--tombstone", "--partition", "0").status == 0
    assert run("produce", topic, "-v", "", "--partition", "0").status == 0
    assert [(record.key, record.value) for record in written(broker, topic)] == [(b"", None), (None, b"")]


def test_what_messages_printed_goes_back_in_to_the_byte(
    run: Run, broker: EmbeddedBroker, topic: str, tmp_path: Path
) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        for number, value in enumerate((b"\xff\x00\n", None, b"", b'{"a": 1}', "é\u2028".encode(), b"'x", b"\x1b")):
            headers = [("h", b"\xfe"), ("h", None), ("é", b"")][: number % 4]
            for key in (None, b"", b"\x80", b"k"):
                producer.send(topic, value, key=key, headers=headers, partition=number % 2, timestamp_ms=1000 + number)
        producer.flush()
    before = written(broker, topic)
    file = tmp_path / "all.jsonl"
    file.write_text(run("messages", topic, "-o", "jsonl").out, encoding="utf-8")
    with AdminClient(broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(f"{topic}-copy", 2, 1)]).raise_any()
    ended = run("produce", f"{topic}-copy", "--input", str(file), "--keep-partitions")
    assert ended.status == 0, ended
    assert ended.err == "28 of 28 records written\n"
    after = [record._replace(topic=topic) for record in written(broker, f"{topic}-copy")]
    assert after == before


def test_csv(run: Run, broker: EmbeddedBroker, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_text('key,value,partition\nk,"a,""b""\nc",0\n,x,0\n', encoding="utf-8")
    assert run("produce", topic, "--input", str(file), "--input-format", "csv", "--keep-partitions").status == 0
    assert [(each.key, each.value) for each in written(broker, topic)] == [(b"k", b'a,"b"\nc'), (None, b"x")]


def test_standard_input(run: Run, broker: EmbeddedBroker, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"value":{"a":[1]}}\n\n{"key":"k"}')))
    ended = run("produce", topic, "--input", "-", "-o", "jsonl")
    assert len(ended.out.splitlines()) == 2
    assert {(each.key, each.value) for each in written(broker, topic)} == {(None, b'{"a":[1]}'), (b"k", None)}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("[]", "invalid line 2: expected a JSON object"),
        ('{"value":1,"value_encoding":"integer"}', "the encoding 'integer' does not contain all bytes"),
        ('{"value":"x","value_encoding":"base64"}', "invalid value in line 2: not base64"),
        ('{"vlaue":"x"}', "invalid line 2: unknown member 'vlaue'"),
        ('{"value":"x","headers":[{"value":"y"}]}', "invalid header in line 2: expected a name"),
        ('{"value":"x","partition":"0"}', "invalid partition in line 2: expected a whole number"),
        ('{"value":"\\ud800"}', "invalid value in line 2: not text"),
    ],
    ids=lambda value: None,
)
def test_invalid_line_ends_it_after_what_came_before(
    run: Run, broker: EmbeddedBroker, topic: str, tmp_path: Path, line: str, text: str
) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text(f'{{"value":"first"}}\n{line}\n{{"value":"third"}}\n', encoding="utf-8")
    ended = run("produce", topic, "--input", str(file))
    assert ended.status == 1
    assert text in ended.err
    assert ended.err.startswith("1 of 1 records written before the error\n")
    assert [each.value for each in written(broker, topic)] == [b"first"]


def test_misspelt_topic_is_not_created(run: Run, broker: EmbeddedBroker, topic: str) -> None:
    ended = run("produce", f"{topic}x", "-v", "v")
    assert ended.status == 1
    assert ended.err.startswith(f"kafka-tools: topic '{topic}x' does not exist\n  did you mean {topic}")
    assert ended.err.endswith("  pass --create to create the topic\n")
    with AdminClient(broker.bootstrap_servers) as admin:
        assert f"{topic}x" not in {each.name for each in admin.list_topics()}


def test_create(run: Run, topic: str) -> None:
    ended = run("produce", f"{topic}-new", "-v", "v", "--create", "-o", "json")
    assert (ended.status, ended.err) == (0, f"created topic {topic}-new with 1 partition\n")
    assert json.loads(ended.out)["data"][0]["offset"] == 0
    assert run("produce", f"{topic}-new", "-v", "v", "--create").err == ""


def test_record_that_is_refused_is_reported(run: Run, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"value":"a","partition":7}\n', encoding="utf-8")
    ended = run("produce", topic, "--input", str(file), "--keep-partitions")
    assert ended.status == 1
    assert "partition" in ended.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "exactly one of --value, --tombstone and --input is required"),
        (["-v", "x", "--tombstone"], "exactly one of --value, --tombstone and --input is required"),
        (["--input", "f", "-k", "x"], "--input and --key cannot be combined"),
        (["-v", "x", "--keep-partitions"], "--keep-partitions needs --input"),
        (["--input", "/no/such"], "--input /no/such: No such file or directory"),
        (["-v", "x", "--partition", "2"], "has no partition 2: it has partitions 0 to 1"),
    ],
    ids=lambda value: None,
)
def test_invalid_input_is_one_line(run: Run, topic: str, words: list[str], text: str) -> None:
    ended = run("produce", topic, *words)
    assert ended.status in (1, 2)
    assert text in ended.err
