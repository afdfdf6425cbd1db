"""The commands that read in a share group, against scripted brokers in virtual time."""

from __future__ import annotations

import json
import re
import shlex
import signal
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafka_tools.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from tests.clients.sharing.scripted_broker import SharedTopic
from tests.net.virtual import without_chance

ACCEPTED, REJECTED = 1, 3
CONSOLE, VERIFIABLE, PERFORMANCE = "console-share-consumer", "verifiable-share-consumer", "share-consumer-perf-test"


class Ran(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """The commands install handlers, as in a process of their own."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.fixture
def topic() -> Iterator[SharedTopic]:
    found = SharedTopic(b"a", b"b", b"c")
    with found.network.in_use(), without_chance():
        yield found


@pytest.fixture
def run(topic: SharedTopic, capsys: pytest.CaptureFixture[str]) -> Run:
    def called(name: str, line: str) -> Ran:
        words = ["-b", "kafka1:9092,kafka2:9092", "--topic", "t", *shlex.split(line)]
        return Ran(running.run(cli.load(name), words, f"kafka-{name}"), *capsys.readouterr())

    return called


def test_printed_records_are_accepted(run: Run, topic: SharedTopic) -> None:
    ran = run(CONSOLE, "--timeout-ms 2000 --formatter-property print.delivery=true")
    assert ran == (0, "Delivery:1\ta\nDelivery:1\tb\nDelivery:1\tc\n", "Processed a total of 3 messages\n")
    assert topic.final == {0: ACCEPTED, 1: ACCEPTED, 2: ACCEPTED}


def test_records_above_the_limit_are_released(run: Run, topic: SharedTopic) -> None:
    assert run(CONSOLE, "--max-messages 2 --group other").out == "a\nb\n"
    assert topic.final == {0: ACCEPTED, 1: ACCEPTED}
    assert 2 not in topic.acquired


def test_records_can_be_rejected_or_released(run: Run, topic: SharedTopic) -> None:
    assert run(CONSOLE, "--max-messages 3 --release").out == "a\nb\nc\n"
    assert topic.final == {}
    assert run(CONSOLE, "--max-messages 3 --reject").out == "a\nb\nc\n"
    assert topic.final == {0: REJECTED, 1: REJECTED, 2: REJECTED}


def test_a_record_that_cannot_be_printed_ends_it_or_is_rejected(run: Run, topic: SharedTopic) -> None:
    topic.values[1] = b"\0\0\0\1"
    numbers = "--value-deserializer org.apache.kafka.common.serialization.IntegerDeserializer"
    ran = run(CONSOLE, f"--max-messages 3 {numbers}")
    assert ran.status == 1
    assert "Size of data received by IntegerDeserializer is not 4" in ran.err
    assert topic.final == {}
    ran = run(CONSOLE, f"--max-messages 3 --reject-message-on-error {numbers}")
    assert (ran.status, ran.out) == (0, "1\n")
    assert "Error processing message, rejecting this message: t-0 at offset 0" in ran.err
    assert topic.final == {0: REJECTED, 1: ACCEPTED, 2: REJECTED}


def test_older_names_of_console_options_warn_as_in_kafka(run: Run) -> None:
    options = "--consumer-property client.id=x --property print.offset=true"
    ran = run(CONSOLE, f"--max-messages 1 {options} --enable-systest-events")
    assert ran.out == "Offset:0\ta\nshutdown_complete\n"
    told = "Option {} is deprecated and will be removed in a future version. Use {} instead."
    assert ran.err.splitlines()[:2] == [
        told.format("--consumer-property", "--command-property"),
        told.format("--property", "--formatter-property"),
    ]


def events_of(ran: Ran) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert all(list(event)[:2] == ["timestamp", "name"] and event.pop("timestamp") for event in events)
    return events


def test_what_a_share_consumer_does_is_told(run: Run, topic: SharedTopic) -> None:
    events = events_of(run(VERIFIABLE, "--group-id g --max-messages 3 --verbose --acknowledgement-mode sync"))
    place = {"topic": "t", "partition": 0}
    told = [
        {"name": "startup_complete"},
        *(
            {"name": "record_data", "key": None, "value": value, **place, "offset": offset}
            for offset, value in enumerate("abc")
        ),
        {"name": "records_consumed", "count": 3, "partitions": [{**place, "count": 3, "offsets": [0, 1, 2]}]},
        {
            "name": "offsets_acknowledged",
            "count": 3,
            "partitions": [{**place, "count": 3, "offsets": [0, 1, 2]}],
            "success": True,
        },
        {"name": "shutdown_complete"},
        {"name": "shutdown_requested"},
    ]
    assert [json.dumps(event) for event in events] == [json.dumps(event) for event in told]


def test_acknowledgements_follow_the_pattern_and_renewed_records_come_again(run: Run, topic: SharedTopic) -> None:
    line = "--group-id g --max-messages 4 --acknowledgement-mode sync --ack-pattern renew,accept,reject"
    done = [event for event in events_of(run(VERIFIABLE, line)) if event["name"] == "offsets_acknowledged"]
    assert [event["ackTypeCounts"] for event in done] == [{"RENEW": 1, "ACCEPT": 1, "REJECT": 1}, {"ACCEPT": 1}]
    assert list(done[0]) == ["name", "count", "partitions", "success", "ackTypeCounts"]
    assert topic.final == {0: ACCEPTED, 1: ACCEPTED, 2: REJECTED}


def test_an_acknowledgement_that_fails_is_an_event(run: Run, topic: SharedTopic) -> None:
    topic.codes[ShareAcknowledgeRequest] = [error_codes.INVALID_RECORD_STATE]
    events = events_of(run(VERIFIABLE, "--group-id g --max-messages 3 --acknowledgement-mode sync"))
    (failed, *_) = (event for event in events if event["name"] == "offsets_acknowledged")
    assert list(failed) == ["name", "count", "partitions", "success", "error"]
    assert failed["success"] is False
    assert "INVALID_RECORD_STATE" in failed["error"]


def test_the_reset_strategy_is_set_first(run: Run, topic: SharedTopic, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, set_to = topic.answer, []

    def answered(request: Any, version: int, node: Any) -> Any:
        if not isinstance(request, IncrementalAlterConfigsRequest):
            return answer(request, version, node)
        (resource,) = request.resources
        set_to.append((resource.resource_name, resource.configs[0].name, resource.configs[0].value))
        Response = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
        done = Response(resource_type=resource.resource_type, resource_name=resource.resource_name)
        return IncrementalAlterConfigsResponse(responses=[done])

    for node in topic.nodes:
        node.answer = answered
    events = events_of(run(VERIFIABLE, "--group-id g --max-messages 3 --offset-reset-strategy earliest"))
    assert events[1] == {"name": "offset_reset_strategy_set", "offsetResetStrategy": "earliest"}
    assert set_to == [("g", "share.auto.offset.reset", "earliest")]


MOMENT = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}"


def test_rates_are_those_of_the_group_and_of_its_members(run: Run) -> None:
    ran = run(PERFORMANCE, "--messages 3 --show-consumer-stats --show-detailed-stats --reporting-interval 1")
    header, window, member, total = ran.out.splitlines()
    assert (ran.status, ran.err) == (0, "Warning: --messages is deprecated. Use --num-records instead.\n")
    assert header == (
        "start.time, end.time, data.consumed.in.MB, MB.sec, nMsg.sec, data.consumed.in.nMsg, fetch.time.ms"
    )
    figures = rf"{MOMENT}, {MOMENT}, 0\.0000, \d+\.\d{{4}}, \d+\.\d{{4}}, 3, \d+"
    assert re.fullmatch(rf"{figures} for share consumer 1", window)
    started = "Share consumer 1 having client id perf-share-consumer-client consumption metrics- "
    assert re.fullmatch(started + figures, member)
    assert re.fullmatch(figures, total)


def test_metrics_of_each_member_are_printed_at_the_end(run: Run) -> None:
    ran = run(PERFORMANCE, "--num-records 3 --hide-header --print-metrics")
    assert ran.status == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[1] == ""
    assert lines[2].split() == ["Metric", "Name", "Value"]
    name = "consumer-share-fetch-manager-metrics:records-consumed-total:{client-id=perf-share-consumer-client}"
    assert [line.split(" : ") for line in lines if line.startswith(name)] == [
        [name.ljust(lines[2].index("Value") - 3), "3.000"]
    ]
    refused = run(PERFORMANCE, "--num-records 3 --print-metrics -o json")
    assert refused.status == 2
    assert "--print-metrics prints text: leave out -o" in refused.err
    both = run(PERFORMANCE, "--num-records 0 --threads 2 --hide-header --print-metrics").out
    assert [f"perf-share-consumer-client-{number}" in both for number in (1, 2)] == [True, True]


def test_members_without_records_stop(run: Run) -> None:
    ran = run(PERFORMANCE, "--num-records 9 --timeout 2000 --hide-header")
    warning, total = ran.out.splitlines()
    assert warning.startswith("WARNING: Exiting before consuming the expected number of records: timeout (2000 ms)")
    assert ", 3, " in total
    assert ran.status == 0


def test_an_error_of_a_member_ends_the_command(run: Run, topic: SharedTopic) -> None:
    for node in topic.nodes:
        node.refuses = lambda: True
    ran = run(PERFORMANCE, "--num-records 9 -o json")
    assert ran.status == 1
    assert "cannot connect to" in json.loads(ran.out)["errors"][0]["message"]


@pytest.mark.parametrize(
    "name, line, message",
    [
        (CONSOLE, "--release --reject", "At most one of --reject and --release may be specified."),
        (CONSOLE, "--group a --command-property group.id=b", "Detected group ids: 'a', 'b'"),
        (
            CONSOLE,
            "--consumer-property a.b=1 --command-property a.b=1",
            "Options --consumer-property and --command-property cannot be specified together.",
        ),
        (VERIFIABLE, "", "Missing option '--group-id'"),
        (VERIFIABLE, "--group-id g --ack-pattern accept", "requires --acknowledgement-mode to be 'sync' or 'async'"),
        (
            VERIFIABLE,
            "--group-id g --ack-pattern renew,renew --acknowledgement-mode sync",
            "must contain at least one non-RENEW type",
        ),
        (VERIFIABLE, "--group-id g --ack-pattern keep --acknowledgement-mode sync", "invalid --ack-pattern 'keep'"),
        (PERFORMANCE, "", "Missing option '--num-records'."),
        (PERFORMANCE, "--num-records 1 --threads 0", "'--threads': 0 is not in the range"),
    ],
)
def test_command_lines_that_are_refused(run: Run, name: str, line: str, message: str) -> None:
    ran = run(name, line)
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err
