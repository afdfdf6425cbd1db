"""The verifiable clients as processes on the bundled broker: events, their members and order, and how they end."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients import Consumer
from kafka_tools.clock import ManualClock
from kafka_tools.commands.verifiable.events import Events, exception_of
from kafka_tools.errors import BrokerError, DeadlineExceeded, KafkaToolsError, NetworkError
from kafka_tools.protocol import error_codes

SCRIPT = "import sys; del sys.argv[0]; from kafka_tools.scripts import main; main()"
TIMEOUT_S = 60
_numbers = itertools.count()
Event = dict[str, Any]


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with EmbeddedBroker(config={"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def topic() -> str:
    return f"verified-{next(_numbers)}"


def start(name: str, *arguments: str) -> subprocess.Popen[str]:
    line = [sys.executable, "-c", SCRIPT, f"kafka-verifiable-{name}", *arguments]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")


def run(name: str, *arguments: str) -> tuple[int, list[Event], str]:
    """(status, events, stderr) of a run that ends by itself."""
    process = start(name, *arguments)
    out, err = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, [event_of(line) for line in out.splitlines()], err


def event_of(line: str) -> Event:
    """An event without its time, which is the first member."""
    line = line.rstrip("\n")
    event: Event = json.loads(line)
    assert list(event)[:2] == ["timestamp", "name"]
    assert line == json.dumps(event, separators=(",", ":"), ensure_ascii=False), "compact, as Jackson writes it"
    assert event.pop("timestamp") > 1_700_000_000_000
    return event


def stop(process: subprocess.Popen[str], number: int) -> tuple[int, list[Event]]:
    process.send_signal(number)
    assert process.stdout is not None
    assert process.stderr is not None
    events = [event_of(line) for line in process.stdout]
    process.stderr.close()
    process.stdout.close()
    return process.wait(TIMEOUT_S), events


def test_each_record_is_told_with_its_place(servers: str, topic: str) -> None:
    options = ("--max-messages", "3", "--repeating-keys", "2", "--value-prefix", "7")
    status, events, err = run("producer", "--bootstrap-server", servers, "--topic", topic, *options)
    assert (status, err) == (0, "")
    first, *sent, shutdown, totals = events
    assert (first, shutdown) == ({"name": "startup_complete"}, {"name": "shutdown_complete"})
    assert [json.dumps(event) for event in sent] == [
        json.dumps({"name": "producer_send_success", "key": key, "value": value, "offset": offset, "topic": topic,
                    "partition": 0})
        for offset, (key, value) in enumerate((("0", "7.0"), ("1", "7.1"), ("0", "7.2")))
    ]  # fmt: skip
    average = totals.pop("avg_throughput")
    assert totals == {"name": "tool_data", "sent": 3, "acked": 3, "target_throughput": -1}
    assert list(events[-1]) == ["name", "sent", "acked", "target_throughput"]
    assert average > 0


def test_a_record_that_fails_is_an_event_and_the_status_is_1(servers: str, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "producer.properties"
    file.write_text("max.request.size=5\n")
    options = ("--topic", topic, "--max-messages", "1", "--producer.config", str(file))
    status, events, err = run("producer", "--bootstrap-server", servers, *options)
    assert status == 1
    assert err == (
        "Option --producer.config has been deprecated and will be removed in a future version. "
        "Use --command-config instead.\n"
    )
    failed = events[1]
    message = failed.pop("message")
    assert message.endswith("larger than 5, which is the value of the max.request.size configuration.")
    assert json.dumps(failed) == json.dumps(
        {"name": "producer_send_error", "topic": topic, "key": None, "value": "0",
         "exception": "class org.apache.kafka.common.errors.RecordTooLargeException"}
    )  # fmt: skip


def test_timestamps_start_where_they_are_told_to(servers: str, topic: str) -> None:
    options = ("--topic", topic, "--max-messages", "2", "--message-create-time", "1000000")
    assert run("producer", "--bootstrap-server", servers, *options)[0] == 0
    with Consumer(servers, auto_offset_reset="earliest") as consumer:
        consumer.subscribe([topic])
        assert all(1_000_000 <= record.timestamp_ms < 2_000_000 for record in consumer.poll(30))


@pytest.mark.parametrize("number, expected", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stopped_producer_tells_its_totals(servers: str, topic: str, number: int, expected: int) -> None:
    process = start("producer", "--bootstrap-server", servers, "--topic", topic, "--throughput", "50")
    assert process.stdout is not None
    begun = [event_of(process.stdout.readline()) for _ in range(3)]
    status, events = stop(process, number)
    assert status == expected
    sent = [event for event in begun + events if event["name"] == "producer_send_success"]
    assert [int(event["value"]) for event in sent] == list(range(len(sent)))
    assert [event["name"] for event in events[-2:]] == ["shutdown_complete", "tool_data"]
    assert events[-1]["acked"] == events[-1]["sent"] == len(sent)


def test_without_brokers_each_record_fails_and_the_producer_goes_on(free_port: Any, topic: str) -> None:
    options = ("--topic", topic, "--max-messages", "2", "--throughput", "10")
    status, events, _ = run("producer", "--bootstrap-server", f"localhost:{free_port()}", *options)
    assert status == 1
    failed = [event for event in events if event["name"] == "producer_send_error"]
    assert [event["exception"] for event in failed] == ["class org.apache.kafka.common.errors.TimeoutException"] * 2


def filled(servers: str, topic: str, count: int) -> None:
    assert run("producer", "--bootstrap-server", servers, "--topic", topic, "--max-messages", str(count))[0] == 0


def test_what_a_consumer_does_is_told(servers: str, topic: str) -> None:
    filled(servers, topic, 5)
    options = ("--topic", topic, "--group-id", f"group-{topic}", "--max-messages", "3", "--verbose")
    status, events, err = run("consumer", "--bootstrap-server", servers, *options)
    assert (status, err) == (0, "")
    place = {"topic": topic, "partition": 0}
    told = [
        {"name": "startup_complete"},
        {"name": "partitions_assigned", "partitions": [place]},
        *({"name": "record_data", "key": None, "value": str(offset), **place, "offset": offset} for offset in range(3)),
        {"name": "records_consumed", "count": 5, "partitions": [{**place, "count": 3, "minOffset": 0, "maxOffset": 2}]},
        {"name": "offsets_committed", "offsets": [{**place, "offset": 3}], "success": True},
        {"name": "partitions_revoked", "partitions": [place]},
        {"name": "shutdown_complete"},
        {"name": "shutdown_requested"},
    ]
    assert [json.dumps(event) for event in events] == [json.dumps(event) for event in told]
    # The next run of the group continues where this one has committed.
    options = ("--topic", topic, "--group-id", f"group-{topic}", "--max-messages", "2", "--enable-autocommit")
    _, events, _ = run("consumer", "--bootstrap-server", servers, *options)
    assert events[2]["partitions"] == [{**place, "count": 2, "minOffset": 3, "maxOffset": 4}]
    assert "offsets_committed" not in [event["name"] for event in events]


@pytest.mark.parametrize("number, expected", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stopped_consumer_leaves_its_group(servers: str, topic: str, number: int, expected: int) -> None:
    filled(servers, topic, 1)
    process = start("consumer", "--bootstrap-server", servers, "--topic", topic, "--group-id", f"group-{topic}")
    assert process.stdout is not None
    assert [event_of(process.stdout.readline())["name"] for _ in range(4)][-1] == "offsets_committed"
    status, events = stop(process, number)
    assert status == expected
    assert [event["name"] for event in events] == ["shutdown_requested", "partitions_revoked", "shutdown_complete"]


def test_a_failed_commit_is_an_event(topic: str) -> None:
    with EmbeddedBroker(config={"group.initial.rebalance.delay.ms": "0"}) as broker:
        filled(broker.bootstrap_servers, topic, 1)
        broker.faults.error("OffsetCommit", "OFFSET_METADATA_TOO_LARGE")
        options = ("--topic", topic, "--group-id", "g", "--max-messages", "1")
        _, events, _ = run("consumer", "--bootstrap-server", broker.bootstrap_servers, *options)
    (commit,) = (event for event in events if event["name"] == "offsets_committed")
    assert list(commit) == ["name", "offsets", "error", "success"]
    assert commit["success"] is False
    assert "OFFSET_METADATA_TOO_LARGE" in commit["error"]


def test_a_consumer_whose_reader_has_gone_ends(servers: str, topic: str) -> None:
    filled(servers, topic, 1)
    process = start("consumer", "--bootstrap-server", servers, "--topic", topic, "--group-id", f"group-{topic}")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(TIMEOUT_S) == 141
    assert process.stderr is not None
    process.stderr.close()


@pytest.mark.parametrize(
    "name, arguments, message",
    [
        ("producer", ("--topic", "t"), "--bootstrap-server is required"),
        ("producer", ("--topic", "t", "--throughput", "0"), "invalid --throughput"),
        ("producer", ("--topic", "t", "--repeating-keys", "0"), "'--repeating-keys': 0 is not in the range"),
        ("producer", ("--topic", "t", "--acks", "2"), "'2' is not one of"),
        (
            "producer",
            ("--topic", "t", "--producer.config", "a", "--command-config", "b"),
            "Options --producer.config and --command-config are mutually exclusive.",
        ),
        ("consumer", ("--topic", "t"), "Missing option '--group-id'"),
        ("consumer", ("--topic", "t", "--group-id", "g", "--reset-policy", "x"), "'x' is not one of"),
        (
            "consumer",
            ("--topic", "t", "--group-id", "g", "--consumer.config", "a", "--command-config", "b"),
            "Options --consumer.config and --command-config are mutually exclusive.",
        ),
    ],
)
def test_command_lines_that_are_refused(
    name: str, arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from kafka_tools import cli
    from kafka_tools.commands import running

    assert running.run(cli.load(f"verifiable-{name}"), arguments, f"kafka-verifiable-{name}") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


@pytest.mark.parametrize(
    "error, name",
    [
        (BrokerError(error_codes.error(error_codes.NOT_LEADER_OR_FOLLOWER)), "errors.NotLeaderOrFollowerException"),
        (BrokerError(error_codes.error(error_codes.REQUEST_TIMED_OUT)), "errors.TimeoutException"),
        (DeadlineExceeded("late"), "errors.TimeoutException"),
        (NetworkError("gone"), "errors.TimeoutException"),
        (KafkaToolsError("other"), "KafkaException"),
    ],
)
def test_errors_have_the_names_of_kafkas_exceptions(error: Exception, name: str) -> None:
    assert exception_of(error) == f"class org.apache.kafka.common.{name}"


def test_numbers_are_written_as_jackson_writes_them(capsys: pytest.CaptureFixture[str]) -> None:
    Events(ManualClock(5)).tell("x", a=1e8, b=float("nan"), c=0.5, d="\u00fc\n", e=True, f=[None])
    assert capsys.readouterr().out == (
        '{"timestamp":5,"name":"x","a":1.0E8,"b":"NaN","c":0.5,"d":"\u00fc\\n","e":true,"f":[null]}\n'
    )
