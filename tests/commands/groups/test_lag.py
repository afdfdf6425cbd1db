"""kafka-consumer-groups --describe with options about lag: sums, order, limits, rates, --watch and --until-zero."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient, CommittedOffset, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.producer import Producer
from kafka_tools.clock import SystemClock
from kafka_tools.commands import running
from kafka_tools.commands.groups.lag import sums
from kafka_tools.commands.groups.lag.looking import LagLook
from kafka_tools.values import TopicPartition
from tests.live_members import LASTING, poll_until_assigned


class Ended(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.out)["data"]
        return found

    @property
    def lines(self) -> list[list[str]]:
        return [line.split() for line in self.out.splitlines()]


Run = Callable[..., Ended]
BOTH = ("--group", "billing", "--group", "idle")


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    """orders has 4 + 2 records, other 3. billing lags by 3 and 2 in orders and by 0 in other, idle by 3 in other."""
    with EmbeddedBroker() as broker:
        address = broker.bootstrap_servers
        with AdminClient(address) as admin, Producer(address) as producer:
            admin.create_topics([NewTopic("orders", 2, 1), NewTopic("other", 1, 1)]).raise_any()
            for topic, partition, records in (("orders", 0, 4), ("orders", 1, 2), ("other", 0, 3)):
                for number in range(records):
                    producer.send(topic, b"v", partition=partition, timestamp_ms=1_700_000_000_000 + number)
            producer.flush()
            offsets = {("orders", 0): 1, ("orders", 1): 0, ("other", 0): 3}
            billing = {TopicPartition(*key): CommittedOffset(offset) for key, offset in offsets.items()}
            admin.alter_group_offsets("billing", billing).raise_any()
            admin.alter_group_offsets("idle", {TopicPartition("other", 0): CommittedOffset(0)}).raise_any()
        yield broker


@pytest.fixture
def run(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(*arguments: str) -> Ended:
        capsys.readouterr()
        words = ["--describe", *arguments, "-b", broker.bootstrap_servers]
        return Ended(running.run(cli.load("consumer-groups"), words, "kafka-consumer-groups"), *capsys.readouterr())

    return ended


def shown(ended: Ended, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in ended.rows]


def test_sums_by_topic_and_group(run: Run) -> None:
    by_topic = run("--all-groups", "--lag-by", "topic", "-o", "json")
    assert shown(by_topic, "group", "topic", "partition", "partitions", "with_lag", "lag") == [
        ("billing", "orders", None, 2, 2, 5),
        ("billing", "other", None, 1, 0, 0),
        ("idle", "other", None, 1, 1, 3),
    ]
    assert shown(by_topic, "oldest_unread_ms") == [(1_700_000_000_000,), (None,), (1_700_000_000_000,)]
    assert by_topic.rows[1]["age_ms"] == 0
    summary = json.loads(by_topic.out)["summary"]
    assert summary | {"age_ms": 0} == {
        "groups": 2, "partitions": 4, "with_lag": 3, "lag": 8, "blocked": 0, "age_ms": 0,
    }  # fmt: skip
    by_group = run("--all-groups", "--lag-by", "group", "-o", "json")
    assert shown(by_group, "group", "topic", "partitions", "lag") == [("billing", None, 3, 5), ("idle", None, 1, 3)]


def test_sums_by_member(run: Run, broker: EmbeddedBroker) -> None:
    settings = {"group.id": "live", "client.id": "app", "auto.offset.reset": "earliest", **LASTING}
    with AdminClient(broker.bootstrap_servers) as admin:
        admin.alter_group_offsets("live", {TopicPartition("orders", 0): CommittedOffset(2)}).raise_any()
    with Consumer({"bootstrap.servers": broker.bootstrap_servers, **settings}) as consumer:
        consumer.subscribe(["orders"])
        poll_until_assigned(consumer)
        (row,) = run("--group", "live", "--lag-by", "member", "-o", "json").rows
    assert (row["client_id"], row["partitions"], row["with_lag"], row["lag"]) == ("app", 2, 2, 2)
    assert row["consumer_id"] and row["host"]
    assert row["age_ms"] is None, "one of the partitions has no committed offset"
    assert "age unknown for 1 partition" in row["note"] and "orders-1: no committed offset" in row["note"]


def test_the_table_and_the_answer_in_words(run: Run) -> None:
    ended = run(*BOTH, "--lag-by", "topic", "--sort", "lag")
    assert ended.lines[0] == [
        "GROUP", "TOPIC", "PARTITIONS", "WITH-LAG", "LAG", "BLOCKED", "OLDEST-UNREAD", "AGE", "NOTE",
    ]  # fmt: skip
    assert [line[:5] for line in ended.lines[1:]] == [
        ["billing", "orders", "2", "2", "5"],
        ["idle", "other", "1", "1", "3"],
        ["billing", "other", "1", "0", "0"],
    ]
    assert ended.lines[1][6] == "2023-11-14T22:13:20.000Z"
    assert re.fullmatch(r"\d+d(\d+h)?", ended.lines[1][7])
    assert "lag: 8 records in 3 of 4 partitions of 2 groups" in ended.err


def test_rows_without_lag_are_left_out(run: Run) -> None:
    ended = run(*BOTH, "--lag-by", "topic", "--only-with-lag", "-o", "json")
    assert shown(ended, "group", "lag") == [("billing", 5), ("idle", 3)]


@pytest.mark.parametrize(
    "words, status, groups",
    [
        (["--min-lag", "4"], 1, ["billing"]),
        (["--min-lag", "5"], 1, ["billing"]),
        (["--min-lag", "6"], 0, []),
        (["--max-age", "1d"], 1, ["billing", "idle"]),
        (["--max-age", "36500d"], 0, []),
        (["--max-age", "36500d", "--min-lag", "3"], 1, ["billing", "idle"]),
    ],
)
def test_limits_end_with_status_1(words: list[str], status: int, groups: list[str], run: Run) -> None:
    ended = run(*BOTH, "--lag-by", "group", *words, "-o", "json")
    assert ended.status == status
    assert [row["group"] for row in ended.rows] == groups
    told = run(*BOTH, "--lag-by", "group", *words)
    assert f"{len(groups)} of 2 beyond the limit; lag: 8 records" in told.err


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """Functions to call one after another, each during a pause between two looks."""
    turns: list[Callable[[], object]] = []

    def sleep(clock: SystemClock, seconds: float) -> None:
        if seconds == 5 and turns:
            turns.pop(0)()

    monkeypatch.setattr(SystemClock, "sleep", sleep)
    return turns


def commit(broker: EmbeddedBroker, group: str, topic: str, offset: int) -> Callable[[], object]:
    def committed() -> None:
        with AdminClient(broker.bootstrap_servers) as admin:
            admin.alter_group_offsets(group, {TopicPartition(topic, 0): CommittedOffset(offset)}).raise_any()

    return committed


def test_rates_need_two_looks(run: Run, broker: EmbeddedBroker, meanwhile: list[Callable[[], object]]) -> None:
    commit(broker, "moving", "other", 0)()
    meanwhile.append(commit(broker, "moving", "other", 2))
    (row,) = run("--group", "moving", "--rates", "-o", "json").rows
    assert row["lag"] == 1 and row["read_per_s"] > 0 and row["write_per_s"] == 0 and row["catch_up_ms"] > 0
    (row,) = run("--group", "moving", "--lag-by", "group", "-o", "json").rows
    assert (row["read_per_s"], row["catch_up_ms"]) == (None, None)


def test_watch_prints_every_look_until_there_is_no_lag(
    run: Run, broker: EmbeddedBroker, meanwhile: list[Callable[[], object]]
) -> None:
    commit(broker, "watched", "other", 0)()
    meanwhile += [commit(broker, "watched", "other", 2), commit(broker, "watched", "other", 3)]
    ended = run("--group", "watched", "--lag-by", "topic", "--watch", "--until-zero", "-o", "jsonl")
    assert ended.status == 0
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert [row["lag"] for row in rows] == [3, 1, 0]
    assert [row["read_per_s"] is None for row in rows] == [True, False, False]
    assert rows[-1]["catch_up_ms"] == 0
    commit(broker, "watched", "other", 2)()
    meanwhile.append(commit(broker, "watched", "other", 3))
    tables = run("--group", "watched", "--lag-by", "topic", "--watch", "--until-zero").out.split("\n\n")
    assert [table.split().count("watched") for table in tables] == [1, 1]
    assert "READ-PER-S" not in tables[0] and "CATCH-UP" in tables[1]


def test_until_zero_waits_and_prints_the_last_look(
    run: Run, broker: EmbeddedBroker, meanwhile: list[Callable[[], object]]
) -> None:
    commit(broker, "waiting", "other", 1)()
    meanwhile.append(commit(broker, "waiting", "other", 3))
    ended = run("--group", "waiting", "--until-zero", "-o", "json")
    assert ended.status == 0
    assert [row["lag"] for row in ended.rows] == [0]
    assert ended.err.startswith("lag 2\n")


@pytest.mark.parametrize(
    "words, reason",
    [
        (["--lag-by", "topic", "--members"], "--members cannot be combined with options about lag"),
        (["--lag-by", "topic", "--verbose"], "--verbose cannot be combined with options about lag"),
        (["--watch", "-o", "json"], "--watch cannot be combined with -o json"),
        (["--watch", "--min-lag", "1"], "--min-lag cannot be combined with --watch."),
        (["--until-zero", "--max-age", "1s"], "--max-age cannot be combined with --until-zero."),
        (["--rates", "--watch"], "--rates and --watch cannot be combined"),
        (["--watch", "99"], "--watch needs at least 100 ms."),
        (["--lag-by", "topic", "-o", "prometheus"], "-o prometheus has a sample for each partition."),
    ],
)
def test_options_that_cannot_be_combined(words: list[str], reason: str, run: Run) -> None:
    ended = run("--group", "billing", *words)
    assert ended.status == 2
    assert reason in ended.err


def test_samples_for_prometheus(run: Run, broker: EmbeddedBroker) -> None:
    commit(broker, 'q"\\\n', "other", 1)()
    text = run("--all-groups", "-o", "prometheus").out
    assert "# HELP kafka_consumergroup_lag Offsets from the committed one to the end.\n" in text
    assert text.count("# TYPE kafka_consumergroup_lag gauge\n") == 1
    assert 'kafka_consumergroup_lag{consumergroup="billing",topic="orders",partition="0"} 3\n' in text
    assert 'kafka_consumergroup_lag{consumergroup="q\\"\\\\\\n",topic="other",partition="0"} 2\n' in text
    assert text.count('kafka_topic_partition_current_offset{topic="other",partition="0"} 3\n') == 1
    parser = pytest.importorskip("prometheus_client.parser")
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    assert {sample.labels["consumergroup"] for sample in families["kafka_consumergroup_lag"].samples} >= {
        "billing", 'q"\\\n',
    }  # fmt: skip
    ages = {sample.labels["topic"]: sample.value for sample in families["kafka_consumergroup_lag_seconds"].samples}
    assert ages["orders"] > 86_400


def test_prometheus_is_a_form_of_descriptions_only(run: Run) -> None:
    ended = run("--group", "billing", "--members", "-o", "prometheus")
    assert ended.status == 2 and "--members cannot be combined" in ended.err


def part(number: int, **values: Any) -> dict[str, Any]:
    row = {
        "group": "g", "topic": "t", "partition": number, "consumer_id": None, "host": None, "client_id": None,
        "partitions": 1, "with_lag": 1, "current_offset": 0, "log_end_offset": 10, "last_stable_offset": 10,
        "lag": 10, "blocked": 0, "oldest_unread_ms": 1000, "age_ms": 9000, "note": None,
    }  # fmt: skip
    return row | values


def test_a_group_that_falls_behind_never_catches_up() -> None:
    before = LagLook(0, 0.0, [part(0)], [])
    now = LagLook(10_000, 10.0, [part(0, current_offset=5, log_end_offset=30, lag=25)], [])
    (row,) = sums.summed(now, before, "topic")
    assert (row["read_per_s"], row["write_per_s"], row["catch_up_ms"]) == (0.5, 2.0, None)
    now = LagLook(10_000, 10.0, [part(0, current_offset=30, log_end_offset=40, lag=10)], [])
    (row,) = sums.summed(now, before, "topic")
    assert (row["read_per_s"], row["write_per_s"], row["catch_up_ms"]) == (3.0, 3.0, None)
    now = LagLook(10_000, 10.0, [part(0, current_offset=30, log_end_offset=35, lag=5)], [])
    (row,) = sums.summed(now, before, "topic")
    assert row["catch_up_ms"] == 10_000


def test_an_unknown_age_makes_the_sum_unknown_and_tells_what_is_known() -> None:
    gone = part(1, age_ms=None, oldest_unread_ms=None, note="age unknown: record 0 was deleted")
    (row,) = sums.summed(LagLook(601_000, 1.0, [part(0), gone, part(2, blocked=4)], []), None, "topic")
    assert (row["age_ms"], row["oldest_unread_ms"], row["lag"], row["blocked"]) == (None, None, 30, 4)
    assert row["note"] == (
        "age unknown for 1 partition (at least 10 min): t-1: record 0 was deleted; "
        "open transactions hold back 4 records of 1 partition from read_committed"
    )


def test_the_order_puts_the_unknown_first() -> None:
    rows = [{"group": name, "lag": lag, "age_ms": age, "blocked": 0} for name, lag, age in
            (("a", 1, 5), ("b", 9, None), ("c", 5, 7), ("d", None, 1))]  # fmt: skip
    assert [row["group"] for row in sums.ordered(rows, "lag")] == ["d", "b", "c", "a"]
    assert [row["group"] for row in sums.ordered(rows, "age")] == ["b", "c", "a", "d"]
