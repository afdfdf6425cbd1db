"""Kafka's console producer and consumer, and ours, on the bundled broker and on real ones.

The same topic is read by both consumers and must give the same bytes; what either producer wrote, the other side reads.
"""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kafka_tools.broker_embedded.broker import EmbeddedBroker
from kafka_tools.clients.settings import CODECS
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.side_by_side import PATIENT_PRODUCER

SCRIPT = "import sys; del sys.argv[0]; from kafka_tools.scripts import main; main()"
"""A console script: its name, then its arguments."""

RELEASE = NEWEST
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
LINES = "".join(f"key {number}\tvalue {number} äöü\n" for number in range(200))
PARSE = ("--reader-property", "parse.key=true")
SHOW = (
    "--formatter-property", "print.key=true", "--formatter-property", "print.partition=true",
    "--formatter-property", "print.offset=true", "--formatter-property", "print.headers=true",
    "--formatter-property", "print.timestamp=true",
)  # fmt: skip

JavaTool = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def bundled() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config={"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker


@pytest.fixture(params=["bundled", "kafka_new", "kafka_39", "kafka_22", "kafka_11"])
def servers(request: pytest.FixtureRequest) -> str:
    """Where both tools work: Kafka's own clients need brokers of 2.1 and later."""
    return str(request.getfixturevalue(request.param).bootstrap_servers)


def ours(name: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Our console producer or consumer in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, f"kafka-console-{name}", *arguments],
        input=stdin, capture_output=True, text=True, timeout=120, encoding="utf-8",
    )  # fmt: skip


def topic() -> str:
    return f"console-{uuid.uuid4().hex[:8]}"


def read_arguments(servers: str, name: str, count: int) -> tuple[str, ...]:
    return (
        "--bootstrap-server", servers, "--topic", name, "--from-beginning", "--max-messages", str(count),
        "--timeout-ms", "60000",
    )  # fmt: skip


def check(run: subprocess.CompletedProcess[Any]) -> Any:
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("codec", CODECS)
def test_kafkas_console_clients_on_the_bundled_broker(bundled: EmbeddedBroker, java_tool: JavaTool, codec: str) -> None:
    servers, name = bundled.bootstrap_servers, topic()
    check(
        java_tool(
            RELEASE, PRODUCER, "--bootstrap-server", servers, "--topic", name, "--compression-codec", codec, *PARSE,
            *PATIENT_PRODUCER, stdin=LINES,
        )
    )  # fmt: skip
    shown = check(
        java_tool(RELEASE, CONSUMER, *read_arguments(servers, name, 200), "--formatter-property", "print.key=true")
    )
    assert shown == LINES
    grouped = check(
        java_tool(
            RELEASE, CONSUMER, *read_arguments(servers, name, 200), "--group", f"group-{name}",
            "--formatter-property", "print.key=true",
        )
    )  # fmt: skip
    assert grouped == LINES


@pytest.mark.parametrize("broker", ["bundled", "kafka_new", "kafka_39", "kafka_22"])
def test_both_consumers_print_the_same_bytes(request: pytest.FixtureRequest, java_tool: JavaTool, broker: str) -> None:
    servers, name = request.getfixturevalue(broker).bootstrap_servers, topic()
    lines = "a:1,b:2\tkey\tvalue\nc:\tNIL\tNIL\nd:NIL\t\t\n"
    properties = (*PARSE, "--reader-property", "parse.headers=true", "--reader-property", "null.marker=NIL")
    written = ours("producer", "--bootstrap-server", servers, "--topic", name, *properties, stdin=lines)
    assert (written.returncode, written.stdout, written.stderr) == (0, "", "")
    check(
        java_tool(
            RELEASE,
            PRODUCER,
            "--bootstrap-server",
            servers,
            "--topic",
            name,
            *properties,
            *PATIENT_PRODUCER,
            stdin=lines,
        )
    )
    theirs = java_tool(RELEASE, CONSUMER, *read_arguments(servers, name, 6), *SHOW)
    mine = ours("consumer", *read_arguments(servers, name, 6), *SHOW)
    assert check(mine) == check(theirs)
    assert "Processed a total of 6 messages" in theirs.stderr
    assert mine.stderr == "Processed a total of 6 messages\n"
    # Both producers wrote the same records: only offset and time differ.
    columns = [line.split("\t", 3)[3] for line in mine.stdout.splitlines()]
    assert columns[:3] == columns[3:]


@pytest.mark.parametrize("codec", CODECS)
def test_our_records_are_read_by_every_release(servers: str, codec: str) -> None:
    name = topic()
    written = ours(
        "producer", "--bootstrap-server", servers, "--topic", name, "--compression-codec", codec, *PARSE, stdin=LINES
    )
    if codec == "zstd" and written.returncode:
        assert "does not support zstd, which is new in Kafka 2.1" in written.stderr
        return
    assert (written.returncode, written.stderr) == (0, "")
    shown = ours("consumer", *read_arguments(servers, name, 200), "--formatter-property", "print.key=true")
    assert check(shown) == LINES
    grouped = ours(
        "consumer",
        *read_arguments(servers, name, 200),
        "--group",
        f"group-{name}",
        "--formatter-property",
        "print.key=true",
    )
    assert check(grouped) == LINES


def test_internal_topic_as_json_is_kafkas(kafka_new: Any, java_tool: JavaTool) -> None:
    servers, name = kafka_new.bootstrap_servers, topic()
    check(ours("producer", "--bootstrap-server", servers, "--topic", name, stdin="1\n2\n"))
    check(ours("consumer", *read_arguments(servers, name, 2), "--group", f"group-{name}"))
    arguments = (
        "--bootstrap-server", servers, "--topic", "__consumer_offsets", "--from-beginning", "--timeout-ms", "5000",
        "--isolation-level", "read_committed", "--formatter",
    )  # fmt: skip
    formatters = [f"org.apache.kafka.tools.consumer.{kind}MessageFormatter" for kind in ("Offsets", "GroupMetadata")]
    with ThreadPoolExecutor() as threads:  # each consumer waits for 5 s at the end of the topic
        started = [threads.submit(ours, "consumer", *arguments, formatter) for formatter in formatters]
        java = [check(java_tool(RELEASE, CONSUMER, *arguments, formatter)) for formatter in formatters]
    for theirs, ours_ended in zip(java, started, strict=True):
        mine = check(ours_ended.result())
        documents = (text.replace("}}{", "}}\n{").splitlines() for text in (mine, theirs))
        found, wanted = ([line for line in lines if name in line] for lines in documents)
        assert found
        # Java's reader is a group itself and so writes here; what our group left is the same for both.
        assert found == wanted


@pytest.mark.req("SYS-2")
def test_texts_in_other_encodings_are_read_as_by_kafka(bundled: EmbeddedBroker, java_tool: JavaTool) -> None:
    name = topic()
    address = ("--bootstrap-server", bundled.bootstrap_servers, "--topic", name)
    check(ours("producer", *address, "--reader-property", "parse.key=true", stdin="kä\tvä\nab\tcd\n"))
    text = "org.apache.kafka.common.serialization.StringDeserializer"
    properties = (
        f"key.deserializer={text}", f"value.deserializer={text}", "print.key=true",
        "key.deserializer.key.deserializer.encoding=ISO-8859-1", "key.deserializer.deserializer.encoding=UTF-16",
        "value.deserializer.deserializer.encoding=UTF-16",
    )  # fmt: skip
    shown = [part for each in properties for part in ("--formatter-property", each)]
    arguments = (*read_arguments(bundled.bootstrap_servers, name, 2), *shown)
    assert check(ours("consumer", *arguments)) == check(java_tool(RELEASE, CONSUMER, *arguments))
