"""``kafka-tools messages`` on the bundled broker: which records it shows, in which form, and what it leaves alone."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.group import OffsetAndMetadata
from kafka_tools.clients.producer import Producer
from kafka_tools.clients.producing.partitioner import partition_for_key
from kafka_tools.commands import running
from kafka_tools.errors import InputError
from kafka_tools.messages.counting import by_offsets_and_time
from kafka_tools.messages.reading import spans_of
from kafka_tools.messages.selection import TopicRange
from kafka_tools.values import TopicPartition

START_MS = 1_764_246_000_000  # 2025-11-27T12:20:00Z
COUNT = 600


class Ended(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def values(self) -> list[Any]:
        return [row["value"] for row in self.rows]


Messages = Callable[..., Ended]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    """``orders``: a record each second over three partitions; every 50th has a header. ``odd``: bytes of all kinds."""
    with EmbeddedBroker() as broker:
        with AdminClient(broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("orders", 3, 1), NewTopic("odd", 1, 1), NewTopic("empty", 2, 1)]).raise_any()
        with Producer(broker.bootstrap_servers, batch_size=512) as producer:
            for number in range(COUNT):
                value = json.dumps({"id": number, "status": "failed" if number % 100 == 7 else "ok"})
                headers = [("trace", b"t%d" % number)] if number % 50 == 0 else []
                producer.send(
                    "orders", value.encode(), key=b"k-%d" % number, headers=headers,
                    timestamp_ms=START_MS + number * 1000,
                )  # fmt: skip
            for key, data in (
                (None, b"\xff\x00"), (b"gone", None), (b"\x00\x00\x00\x07", b"7"), (b"esc", b"\x1b[2J\nx"),
                (b"deep", b"[" * 5000), (b"list", b'{"a":[{"b":null},{"b":"x y"}]}'),
            ):  # fmt: skip
                producer.send("odd", data, key=key, headers=[("h", b"\xfe"), ("h", None)])
            producer.flush()
        yield broker


@pytest.fixture
def messages(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> Messages:
    def run(*words: str, form: str | None = "jsonl") -> Ended:
        capsys.readouterr()
        output = ["-o", form] if form else []
        status = running.run(cli.root, ["messages", "-b", broker.bootstrap_servers, *words, *output], "kafka-tools")
        captured = capsys.readouterr()
        return Ended(status, captured.out, captured.err)

    return run


def ids(ended: Ended) -> list[int]:
    return [json.loads(value)["id"] for value in ended.values]


def test_reads_all_and_says_how_many(messages: Messages) -> None:
    ended = messages("orders")
    assert ended.status == 0
    assert sorted(ids(ended)) == list(range(COUNT))
    assert ended.err == f"{COUNT} read, {COUNT} match, 3 of 3 partitions complete\n"


def test_last_are_the_newest_of_all_partitions_in_order_of_time(messages: Messages) -> None:
    assert ids(messages("orders", "--last", "7")) == list(range(COUNT - 7, COUNT))


def test_last_reads_back_until_enough_match(messages: Messages) -> None:
    ended = messages("orders", "--last", "3", "--where", "value.status=failed")
    assert ids(ended) == [307, 407, 507]


def test_last_reads_only_the_end_of_the_log(messages: Messages) -> None:
    read = int(messages("orders", "--last", "1").err.split()[0])
    assert 1 <= read <= 300  # of 600: the last hundred of each partition


def test_range_of_offsets(messages: Messages) -> None:
    rows = messages("orders:1@5..8").rows
    assert [(row["partition"], row["offset"]) for row in rows] == [(1, 5), (1, 6), (1, 7)]


def test_range_of_time(messages: Messages) -> None:
    ended = messages("orders@2025-11-27T12:20:10..2025-11-27T12:20:15")
    assert sorted(ids(ended)) == [10, 11, 12, 13, 14]


def test_range_past_the_end_is_empty(messages: Messages) -> None:
    ended = messages("orders@100000")
    assert (ended.status, ended.out) == (0, "")
    assert ended.err == "0 read, 0 match, 3 of 3 partitions complete\n"


def test_key_reads_only_its_partition_and_says_so(messages: Messages) -> None:
    ended = messages("orders", "--key", "k-77")
    number = partition_for_key(b"k-77", 3)
    assert [(row["key"], row["partition"]) for row in ended.rows] == [("k-77", number)]
    assert ended.err.startswith(f"only partition {number} is read, where the default partitioner puts this key;")
    assert ended.err.endswith(" read, 1 match, 1 of 1 partitions complete\n")


def test_key_in_all_partitions(messages: Messages) -> None:
    ended = messages("orders", "--key", "k-77", "--all-partitions")
    assert len(ended.rows) == 1
    assert ended.err == f"{COUNT} read, 1 match, 3 of 3 partitions complete\n"


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (["value.id=250"], [250]),
        (["value.id>=598"], [598, 599]),
        (["value.status=failed", "value.id<200"], [7, 107]),
        (["key~^k-59[0-2]$"], [590, 591, 592]),
        (["key=k-3"], [3]),
        (["key!~^k"], []),
        (["header.trace=t150"], [150]),
        (["header.trace~^t5", "value.id>0"], [50, 500, 550]),
        (["time>=2025-11-27T12:29:58"], [598, 599]),
        (["value.none=1"], []),
        (["value.none!=1"], []),
        (['value=\'{"id": 5, "status": "ok"}\''], [5]),
    ],
    ids=lambda value: None,
)
def test_filters(messages: Messages, filters: list[str], expected: list[int]) -> None:
    ended = messages("orders", *[word for text in filters for word in ("--where", text)])
    assert sorted(ids(ended)) == expected
    assert ended.err == f"{COUNT} read, {len(expected)} match, 3 of 3 partitions complete\n"


def test_records_of_columns_keep_their_headers(messages: Messages) -> None:
    rows = messages("orders", "--where", "value.id=50").rows
    assert [each["headers"] for each in rows] == [[{"name": "trace", "value": "t50", "encoding": "text"}]]


def test_text_that_lost_bytes_is_marked(messages: Messages) -> None:
    row = messages("odd:0@0..1", "--value-decoder", "text").rows[0]
    assert (row["value"], row["value_encoding"]) == ("\ufffd\0", "replaced")


def test_paths_go_through_lists_and_null(messages: Messages) -> None:
    assert [row["key"] for row in messages("odd", "--where", "value.a[1].b=x y").rows] == ["list"]
    assert [row["key"] for row in messages("odd", "--where", "value.a[0].b=null").rows] == ["list"]
    assert [row["key"] for row in messages("odd", "--where", "value=null").rows] == ["gone"]


def test_path_finds_escaped_text(messages: Messages, broker: EmbeddedBroker) -> None:
    with AdminClient(broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic("escaped", 1, 1)]).raise_any()
    with Producer(broker.bootstrap_servers) as producer:
        for value in (b'{"a":"\\u0066ailed"}', b'{"a":"failed"}', b'{"a":"ok"}', b'{"b":"failed"}'):
            producer.send("escaped", value)
        producer.flush()
    assert [row["offset"] for row in messages("escaped", "--where", "value.a=failed").rows] == [0, 1]


def test_bytes_stay_exact(messages: Messages) -> None:
    rows = messages("odd").rows
    assert base64.b64decode(rows[0]["value"]) == b"\xff\x00"
    assert (rows[0]["key"], rows[0]["key_encoding"], rows[0]["value_encoding"]) == (None, None, "base64")
    assert (rows[1]["value"], rows[1]["value_encoding"]) == (None, None)
    assert rows[2]["key"].encode() == b"\0\0\0\7"
    assert rows[3]["value"].encode() == b"\x1b[2J\nx"
    assert rows[0]["headers"] == [
        {"name": "h", "value": "/g==", "encoding": "base64"},
        {"name": "h", "value": None, "encoding": None},
    ]


def test_decoders(messages: Messages) -> None:
    rows = messages("odd", "--key-decoder", "integer", "--value-decoder", "json", "--header-decoder", "hex").rows
    assert (rows[2]["key"], rows[2]["key_encoding"]) == (7, "integer")
    assert (rows[2]["value"], rows[2]["value_encoding"]) == (7, "json")
    assert rows[4]["value_encoding"] == "text"  # too deep
    assert rows[5]["value"] == {"a": [{"b": None}, {"b": "x y"}]}
    assert rows[0]["headers"][0] == {"name": "h", "value": "fe", "encoding": "hex"}


@pytest.mark.parametrize("form", [None, "table", "wide", "csv", "tsv", "json", "jsonl", "yaml"])
def test_messages_steer_no_terminal(messages: Messages, form: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if form in ("csv", "tsv"):  # on a pipe, these keep the characters for programs
        assert "\x1b" in messages("odd", form=form).out
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    out = messages("odd", form=form).out
    assert "esc" in out
    assert "\x1b" not in out


def test_default_text(messages: Messages) -> None:
    ended = messages("orders", "--key", "k-50", form=None)
    number = partition_for_key(b"k-50", 3)
    assert ended.out.startswith(f"2025-11-27T12:20:50.000Z {number}@")
    assert ended.out.endswith(' k-50 {"id": 50, "status": "ok"} (1 header)\n')


def test_template(messages: Messages) -> None:
    ended = messages("orders", "--key", "k-50", "--template", r"{key}\t{header.trace}\n{{{time}}}", form=None)
    assert ended.out == "k-50\tt50\n{2025-11-27T12:20:50.000Z}\n"


def test_limit_stops(messages: Messages) -> None:
    ended = messages("orders", "--limit", "5")
    assert len(ended.rows) == 5
    assert ended.err.endswith(" read, 5 match, stopped at --limit\n")


def test_count_from_offsets_reads_nothing_and_says_so(messages: Messages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Consumer, "_poll", None)
    ended = messages("orders", "--count", form=None)
    assert (ended.status, ended.out) == (0, f"{COUNT}\n")
    assert ended.err.startswith("counted from offsets, without reading: ")
    assert messages("orders:0@5..9", "--count", form=None).out == "4\n"


def test_count_by_time_from_offsets_is_that_of_reading(messages: Messages) -> None:
    whole = "orders@2025-11-27T12:21..2025-11-27T12:29:30"
    by_offsets = messages(whole, "--count-by", "2m").rows
    read = messages(whole, "--count-by", "2m", "--read").rows
    assert [(row["start_time_ms"], row["messages"], row["exact"]) for row in read] == [
        (START_MS + 120_000 * number, {0: 60, 4: 90}.get(number, 120), True) for number in range(5)
    ]
    assert messages("orders", "--count-by", "20d", "--where", "value.status=failed", form=None).out.endswith(" 6\n")
    assert [row["messages"] for row in by_offsets] == [row["messages"] for row in read]
    assert not any(row["exact"] for row in by_offsets)


def test_count_of_matches_is_exact(messages: Messages) -> None:
    ended = messages("orders", "--count", "--where", "value.status=failed", form=None)
    assert (ended.out, ended.err) == ("6\n", f"{COUNT} read, 6 match, 3 of 3 partitions complete\n")


def test_too_many_spans_are_refused(broker: EmbeddedBroker) -> None:
    with Consumer(broker.bootstrap_servers) as consumer:
        spans = spans_of(consumer, TopicRange("orders"), [0, 1, 2])
        with pytest.raises(InputError, match="more than 10 spans of time have messages"):
            by_offsets_and_time(consumer, spans, 1000, 0, most=10)


def test_follow_shows_what_comes_after_the_end(messages: Messages, broker: EmbeddedBroker) -> None:
    with AdminClient(broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic("followed", 1, 1)]).raise_any()
    with Producer(broker.bootstrap_servers) as producer:
        producer.send("followed", b"old")
        producer.flush()
        late = iter(["new"])
        whole = Consumer.poll

        def poll(self: Consumer, timeout_s: float) -> Any:
            found = whole(self, timeout_s)
            if not found:
                for word in late:
                    producer.send("followed", word.encode())
                    producer.flush()
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Consumer, "poll", poll)
            ended = messages("followed", "--follow", "--limit", "2")
    assert ended.values == ["old", "new"]


def test_internal_topics_are_documents(messages: Messages, broker: EmbeddedBroker) -> None:
    with Consumer(broker.bootstrap_servers, group_id="billing") as consumer:
        consumer.assign([TopicPartition("orders", 0)])
        consumer.commit({TopicPartition("orders", 0): OffsetAndMetadata(42)})
    with Consumer(broker.bootstrap_servers, group_id="other") as consumer:
        consumer.assign([TopicPartition("orders", 0)])
        consumer.commit({TopicPartition("orders", 0): OffsetAndMetadata(1)})
    rows = messages("__consumer_offsets", "--where", "key.group=billing", "--where", "key.type=1").rows
    assert [(row["key"]["group"], row["value"]["offset"]) for row in rows] == [("billing", 42)]
    assert rows[0]["key_encoding"] == "internal"


def test_misspelt_topic_is_not_created_and_similar_names_are_shown(messages: Messages, broker: EmbeddedBroker) -> None:
    ended = messages("order")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == "kafka-tools: topic 'order' does not exist\n  did you mean orders?\n"
    with AdminClient(broker.bootstrap_servers) as admin:
        assert "order" not in {each.name for each in admin.list_topics()}


def test_leaves_no_group_behind(messages: Messages, broker: EmbeddedBroker) -> None:
    with AdminClient(broker.bootstrap_servers) as admin:
        before = {each.group_id for each in admin.list_groups()}
        messages("orders", "--command-property", "group.id=intruder")
        assert {each.group_id for each in admin.list_groups()} == before


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["orders:x"], "invalid partition in 'orders:x'"),
        (["orders:9"], "topic 'orders' has no partition 9: it has partitions 0 to 2"),
        (["orders@8..5"], "invalid range in 'orders@8..5': it ends before it starts"),
        (["orders@yesterday"], "invalid bound 'yesterday': expected an offset, or 2026-11-22"),
        (["orders", "--where", "foo=1"], "invalid filter 'foo=1': expected PATH OP VALUE"),
        (["orders", "--where", "key~("], "missing closing )"),
        (["orders", "--where", "header=1"], "expected the name of a header"),
        (["orders", "--last", "2", "--limit", "1"], "--last and --limit cannot be combined"),
        (["orders", "--template", "{foo}"], "invalid field 'foo' in --template"),
        (["orders", "--follow", "-o", "json"], "--follow cannot be used with -o json"),
        (["orders", "--read"], "--read needs --count or --count-by"),
        (["orders", "--count", "--last", "3"], "--last cannot be used with --count"),
        (["orders", "--count", "--count-by", "1h"], "--count and --count-by cannot be combined"),
        (["orders", "--all-partitions"], "--all-partitions needs --key"),
    ],
    ids=lambda value: None,
)
def test_invalid_input_is_one_line(messages: Messages, words: list[str], text: str) -> None:
    ended = messages(*words, form=None)
    assert ended.status in (1, 2)
    assert ended.out == ""
    assert text in ended.err
