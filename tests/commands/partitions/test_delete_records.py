"""kafka-delete-records without a file: what is meant, how much goes, and who is told before that it will be refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count

import pytest

from kafka_tools.admin.calls.offsets import ListedOffset
from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.admin.outcomes import Outcome, Outcomes
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.producer import Producer
from kafka_tools.clock import Deadline, ManualClock
from kafka_tools.commands.partitions.deletion_plans import Before, offsets_of, parse_before
from kafka_tools.errors import UsageError
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.values import TopicPartition
from tests.admin.virtual_cluster import VirtualCluster
from tests.commands.hostile_tries import ended
from tests.commands.partitions.conftest import Run
from tests.net.virtual import SILENCE

NUMBERS = count()
NOW = 1_800_000_000_000


@pytest.fixture
def topic(broker: EmbeddedBroker) -> Iterator[str]:
    """A topic of three partitions with 10 records of 100 bytes in each of the first two."""
    name = f"trim-{next(NUMBERS)}"
    config = ClientConfig.load(broker.bootstrap_servers)
    with AdminClient(config) as admin, Producer(config) as producer:
        admin.create_topics([NewTopic(name, 3, 1)]).raise_any()
        for number in range(20):
            producer.send(name, b"v" * 100, partition=number % 2)
        producer.flush()
        yield name
        admin.delete_topics([name]).raise_any()


def test_before_is_an_offset_a_moment_or_the_end() -> None:
    assert parse_before("1200", NOW) == Before(1200)
    assert parse_before("end", NOW) == parse_before("-1", NOW) == Before(-1)
    assert parse_before("2 hours ago", NOW) == Before(None, NOW - 7_200_000)
    assert parse_before("1970-01-02", NOW) == Before(None, 86_400_000)
    for text in ("-2", "latest", "9" * 20, "9223372036854775808", "1.5", "2026-13-01"):
        with pytest.raises(UsageError, match="--before: "):
            parse_before(text, NOW)


def test_records_before_an_offset_go_and_how_many_is_said_first(run: Run, topic: str) -> None:
    asked = run("delete-records", "--topic", f"{topic}:0", "--before", 4)
    assert asked.status == 0
    assert asked.out == (
        "Executing records delete operation\nRecords delete operation completed:\n"
        f"partition: {topic}-0\tlow_watermark: 4\n"
    )
    assert asked.err.startswith(f"{topic}: 4 records of 1 partition to delete, about ")
    assert asked.err.endswith(" bytes (an estimate)\n")
    again = run("delete-records", "--topic", f"{topic}:0", "--before", 4)
    assert again.err == f"{topic}: 0 records of 1 partition to delete, about 0 bytes (an estimate)\n"


def test_all_that_is_committed_goes_with_end(run: Run, topic: str) -> None:
    rows = json.loads(run("delete-records", "--topic", topic, "--before", "end", "-o", "json").out)["data"]
    assert [(row["partition"], row["low_watermark"]) for row in rows] == [(0, 10), (1, 10), (2, 0)]


def test_a_moment_is_echoed_and_what_is_older_goes(run: Run, topic: str) -> None:
    early = run("delete-records", "--topic", topic, "--before", "2020-01-01")
    assert early.err.splitlines()[0] == "records before the first one at or after 2020-01-01T00:00:00.000Z"
    assert early.err.splitlines()[1].startswith(f"{topic}: 0 records of 3 partitions to delete")
    assert early.out.count("low_watermark: 0\n") == 3
    late = run("delete-records", "--topic", topic, "--before", "2100-01-01")
    assert late.out.count("low_watermark: 10\n") == 2


@pytest.mark.parametrize("moment", ["1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.998Z", "30000 days ago"])
def test_before_a_moment_without_records_nothing_goes_whatever_its_number_means(
    run: Run, topic: str, moment: str
) -> None:
    asked = run("delete-records", "--topic", topic, "--before", moment)
    assert (asked.status, asked.out.count("low_watermark: 0\n")) == (0, 3)


def test_a_record_that_arrives_after_a_moment_was_looked_up_stays() -> None:
    asked = []

    class Growing:
        """One partition, whose log grows by a record with every question."""

        def deadline(self, timeout_s: float = 30.0) -> Deadline:
            return Deadline(ManualClock(), timeout_s)

        def list_offsets(
            self, specs: dict[TopicPartition, int], deadline: Deadline | None = None
        ) -> Outcomes[TopicPartition, ListedOffset]:
            asked.append(set(specs.values()))
            found = {-1: 9 + len(asked), NOW: -1}
            return Outcomes((key, Outcome(ListedOffset(found[spec], -1, None))) for key, spec in specs.items())

    key = TopicPartition("t", 0)
    assert offsets_of(Growing(), [key], Before(None, NOW)) == ({key: 10}, [])  # type: ignore[arg-type]
    assert asked == [{-1}, {NOW}]


@pytest.mark.parametrize("before", ["5", "end"])
def test_what_is_told_first_takes_no_time_from_the_deletion(before: str) -> None:
    cluster = VirtualCluster()
    cluster.fault = lambda request, version, node: (
        SILENCE if isinstance(request, ListOffsetsRequest | DescribeConfigsRequest) else None
    )
    tried = ended(f"kafka-delete-records --topic t --before {before}", cluster, {})
    assert (tried.status, tried.complaint, "partition: t-0\tlow_watermark: " in tried.out) == (0, "", True)


def test_a_dry_run_shows_what_would_go_and_deletes_nothing(run: Run, topic: str) -> None:
    arguments = ("delete-records", "--topic", topic, "--before", 5, "--dry-run")
    for row in json.loads(run(*arguments, "-o", "json").out)["data"]:
        number = row["partition"]
        end = 10 if number < 2 else 0
        expected = {"log_start_offset": 0, "before_offset": 5, "log_end_offset": end, "records": 5 if end else 0}
        assert row.items() >= expected.items()
        assert (row["estimated_bytes"] > 300) == (number < 2)
    shown = run(*arguments)
    assert shown.status == 0
    assert shown.out.split()[:4] == ["TOPIC", "PARTITION", "LOG-START-OFFSET", "BEFORE-OFFSET"]
    assert f"{topic}-2: cannot delete before offset 5: it is beyond the end offset 0\n" in shown.err
    assert f"{topic}:0:0\n" in run("get-offsets", "--topic", topic, "--time", "earliest").out


def test_nothing_goes_where_the_offset_is_beyond_the_end(run: Run, topic: str) -> None:
    asked = run("delete-records", "--topic", topic, "--before", 99, "--dry-run", "-o", "json")
    assert [(row["records"], row["estimated_bytes"]) for row in json.loads(asked.out)["data"]] == [(0, 0)] * 3
    assert asked.err.startswith(f"{topic}: 0 records of 3 partitions to delete, about 0 bytes (an estimate)\n")
    assert f"{topic}-0: cannot delete before offset 99: it is beyond the end offset 10\n" in asked.err


def test_a_dry_run_of_a_file_shows_the_same(run: Run, topic: str, tmp_path) -> None:
    path = tmp_path / "offsets.json"
    path.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 1, "offset": -1}]}))
    (row,) = json.loads(run("delete-records", "--offset-json-file", path, "--dry-run", "-o", "json").out)["data"]
    assert (row["partition"], row["before_offset"], row["records"]) == (1, 10, 10)


def test_one_partition_of_three_that_fails_leaves_the_others_and_exits_1(run: Run, topic: str) -> None:
    asked = run("delete-records", "--topic", topic, "--before", 10)
    assert asked.status == 1
    assert asked.out.count("low_watermark: 10\n") == 2
    assert f"{topic}-2: cannot delete before offset 10: it is beyond the end offset 0\n" in asked.err
    assert f"kafka-delete-records: cannot delete records of {topic}-2: OFFSET_OUT_OF_RANGE" in asked.err
    unknown = run("delete-records", "--topic", topic, "--topic", "no-such-topic", "--before", 0)
    assert unknown.status == 1
    assert unknown.out.count("low_watermark: 10\n") == 2
    assert "cannot delete records of topic no-such-topic: UNKNOWN_TOPIC_OR_PARTITION" in unknown.err


@pytest.mark.parametrize("with_file", [True, False])
def test_a_topic_whose_policy_will_refuse_is_told_before_it_starts(
    broker: EmbeddedBroker, run: Run, tmp_path, with_file: bool
) -> None:
    name = f"compacted-{next(NUMBERS)}"
    create = ("--create", "--topic", name, "--config", "cleanup.policy=compact")
    assert run("topics", *create).status == 0
    path = tmp_path / "offsets.json"
    path.write_text(json.dumps({"partitions": [{"topic": name, "partition": 0, "offset": 0}]}))
    words = ("--offset-json-file", path) if with_file else ("--topic", name, "--before", 0)
    recorded = broker.faults.record("delete_records")
    dry = run("delete-records", *words, "--dry-run")
    assert dry.status == 0
    assert len(recorded) == 0
    warning = (
        f"warning: topic '{name}' has cleanup.policy=compact: brokers will refuse to delete its records "
        "(POLICY_VIOLATION)"
    )
    assert dry.err.splitlines()[0] == warning
    asked = run("delete-records", *words)
    assert asked.err.splitlines()[0] == warning
    assert asked.status == 1
    why = "POLICY_VIOLATION: records can only be deleted if the topic's cleanup.policy contains delete"
    assert f"cannot delete records of {name}-0: {why}\n" in asked.err
    assert run("configs", "--alter", "--topic", name, "--add-config", "cleanup.policy=[compact,delete]").status == 0
    assert "warning" not in run("delete-records", *words).err


def test_a_topic_without_a_policy_is_not_said_to_refuse(run: Run) -> None:
    name = f"kept-{next(NUMBERS)}"
    assert run("topics", "--create", "--topic", name, "--config", "cleanup.policy=").status == 0
    asked = run("delete-records", "--topic", name, "--before", 0)
    assert (asked.status, "warning" in asked.err) == (0, False)


def test_topics_of_kafkas_own_are_told_as_well(run: Run) -> None:
    asked = run("delete-records", "--topic", "__consumer_offsets:0", "--before", "end", "--dry-run")
    assert asked.err.splitlines()[0] == (
        "warning: topic '__consumer_offsets' is an internal topic of Kafka: brokers will refuse to delete its records"
    )


def test_sizes_that_are_not_told_leave_the_estimate_out(broker: EmbeddedBroker, run: Run, topic: str) -> None:
    with broker.faults.error("describe_log_dirs", "CLUSTER_AUTHORIZATION_FAILED", times=1):
        asked = run("delete-records", "--topic", topic, "--before", 3, "--dry-run", "-o", "json")
    assert asked.status == 0
    assert asked.err == (
        f"{topic}: 6 records of 3 partitions to delete\n{topic}-2: cannot delete before offset 3: it is beyond "
        "the end offset 0\n"
    )
    assert {row["estimated_bytes"] for row in json.loads(asked.out)["data"]} == {None}


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--topic", "t"),
        ("--before", "5"),
        ("--topic", "t", "--before", "5", "--offset-json-file", "f.json"),
        ("--offset-json-file", "f.json", "--before", "5"),
        ("--topic", "t", "--before", "soon"),
        ("--topic", "t:x", "--before", "5"),
    ],
)
def test_a_wrong_command_line_exits_2(run: Run, arguments: tuple[str, ...]) -> None:
    asked = run("delete-records", *arguments)
    assert (asked.status, asked.out) == (2, "")
