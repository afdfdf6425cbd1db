"""The console producer and consumer as processes, against the bundled broker."""

from __future__ import annotations

import fcntl
import itertools
import os
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_tools.broker_embedded.broker import EmbeddedBroker

SCRIPT = "import sys; del sys.argv[0]; from kafka_tools.scripts import main; main()"
"""A console script: its name, then its arguments."""

_numbers = itertools.count()
TIMEOUT_S = 60


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with EmbeddedBroker(config={"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def topic() -> str:
    return f"console-{next(_numbers)}"


def program(name: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", SCRIPT, f"kafka-console-{name}", *arguments]


def run(name: str, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(program(name, *arguments), input=stdin, capture_output=True, timeout=TIMEOUT_S)


def produce(servers: str, topic: str, data: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return run("producer", "--bootstrap-server", servers, "--topic", topic, *arguments, stdin=data)


def consume(servers: str, topic: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return run("consumer", "--bootstrap-server", servers, "--topic", topic, *arguments)


def wrote(servers: str, topic: str, data: bytes, *arguments: str) -> None:
    done = produce(servers, topic, data, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_lines_come_out_as_they_went_in(servers: str, topic: str) -> None:
    data = b"".join(b"line %d \xff\xfe\n" % number for number in range(5000))
    wrote(servers, topic, data)
    done = consume(servers, topic, "--from-beginning", "--max-messages", "5000")
    assert done.stdout == data
    assert (done.returncode, done.stderr) == (0, b"Processed a total of 5000 messages\n")


def test_records_steer_no_terminal(servers: str, topic: str) -> None:
    wrote(servers, topic, b"\x1b[2J\x9b31m\xff \xc2\x85\xe2\x80\xae\tgr\xc3\xb6\xc3\x9f\x07e\n")
    screen, terminal = os.openpty()
    try:
        done = subprocess.run(
            program(
                "consumer", "--bootstrap-server", servers, "--topic", topic, "--from-beginning", "--max-messages=1"
            ),
            stdout=terminal,
            stderr=subprocess.PIPE,
            timeout=TIMEOUT_S,
            env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        )
        shown = os.read(screen, 4096).decode()
    finally:
        os.close(screen)
        os.close(terminal)
    assert (done.returncode, done.stderr) == (0, b"Processed a total of 1 messages\n")
    assert shown == "\\x1b[2J\\x9b31m\\xff \\x85\\u202e\tgr\u00f6\u00df\\x07e\r\n"


@pytest.mark.parametrize("codec", [(), ("gzip",), ("snappy",), ("lz4",), ("zstd",)])
def test_compression_codec_with_and_without_value(servers: str, topic: str, codec: tuple[str, ...]) -> None:
    wrote(servers, topic, b"a\nb\n", "--compression-codec", *codec, "--sync")
    assert consume(servers, topic, "--from-beginning", "--max-messages", "2").stdout == b"a\nb\n"


def test_a_line_may_be_as_long_as_a_request(servers: str, topic: str) -> None:
    line = b"x" * 900_000
    wrote(servers, topic, line + b"\nend\n")
    assert consume(servers, topic, "--from-beginning", "--max-messages", "2").stdout == line + b"\nend\n"


def test_record_that_cannot_be_delivered_is_reported_and_the_others_arrive(servers: str, topic: str) -> None:
    done = produce(servers, topic, b"a\n" + b"x" * 2_000_000 + b"\nb\n")
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"kafka-console-producer: Error when sending message to topic {topic} with key: null, value: 2000000 bytes "
        "with error: The message is 2000082 bytes when serialized which is larger than 1048576".encode()
    )
    assert consume(servers, topic, "--from-beginning", "--max-messages", "2").stdout == b"a\nb\n"


def test_line_without_an_end_is_not_held_for_ever(servers: str, topic: str) -> None:
    done = produce(servers, topic, b"a\n" + bytes((64 << 20) + (1 << 17)))
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"kafka-console-producer: line 2 of the input is longer than 67108864 bytes\n")
    assert consume(servers, topic, "--from-beginning", "--max-messages", "1").stdout == b"a\n"


def test_line_that_cannot_be_parsed_ends_it_after_what_came_before(servers: str, topic: str) -> None:
    done = produce(servers, topic, b"k\tv\nbad\nk\tw\n", "--reader-property", "parse.key=true")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"kafka-console-producer: No key separator found on line number 2: 'bad'\n"
    assert consume(servers, topic, "--from-beginning", "--timeout-ms", "3000").stdout == b"v\n"


def test_topic_of_the_reader_wins_as_in_kafka(servers: str, topic: str, tmp_path: Path) -> None:
    wrote(servers, topic, b"first\n", "--reader-property", f"topic={topic}-other")
    file = tmp_path / "reader.properties"
    file.write_text(f"topic={topic}-third\n")
    wrote(servers, topic, b"second\n", "--reader-config", str(file))
    more = ("--from-beginning", "--max-messages", "1")
    assert consume(servers, f"{topic}-other", *more).stdout == b"first\n"
    assert consume(servers, topic, *more).stdout == b"second\n"


def test_no_transaction_is_promised(servers: str, topic: str) -> None:
    done = produce(servers, topic, b"x\n", "--command-property", "transactional.id=mine")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().splitlines() == [
        "kafka-console-producer: cannot set transactional.id: lines are not written in transactions",
        "  leave the setting out for this command",
    ]


def test_older_names_of_options_warn_and_work(servers: str, topic: str, tmp_path: Path) -> None:
    settings = tmp_path / "client.properties"
    settings.write_text("client.id=mine\n")
    done = run(
        "producer", "--broker-list", servers, "--topic", topic, "--property", "parse.key=true",
        "--producer-property", "acks=1", "--producer.config", str(settings), stdin=b"k\tv\n",
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr.decode().splitlines() == [
        "Warning: --producer-property is deprecated and will be removed in a future version. "
        "Use --command-property instead.",
        "Warning: --producer.config is deprecated and will be removed in a future version. "
        "Use --command-config instead.",
        "Warning: --property is deprecated and will be removed in a future version. Use --reader-property instead.",
    ]
    done = consume(servers, topic, "--from-beginning", "--max-messages", "1", "--property", "print.key=true")
    assert done.stdout == b"k\tv\n"
    both = consume(servers, topic, "--property", "print.key=true", "--formatter-property", "print.key=true")
    assert both.returncode == 2
    assert b"Options --formatter-property and --property cannot be specified together." in both.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "Exactly one of --include/--topic is required."),
        (("--topic", "t", "--include", "t"), "Exactly one of --include/--topic is required."),
        (("--include", "["), "invalid regular expression in --include: unterminated character set at position 0"),
        (("--include", "t", "--partition", "0"), "The topic is required when partition is specified."),
        (("--topic", "t", "--offset", "5"), "The partition is required when offset is specified."),
        (
            ("--topic", "t", "--partition", "0", "--offset", "5", "--from-beginning"),
            "Options from-beginning and offset cannot be specified together.",
        ),
        (
            ("--topic", "t", "--partition", "0", "--offset", "-5"),
            "The provided offset value '-5' is incorrect. Valid values are 'earliest', 'latest', or a non-negative "
            "long.",
        ),
        (
            ("--topic", "t", "--partition", "0", "--group", "g"),
            "Options group and partition cannot be specified together.",
        ),
        (
            ("--topic", "t", "--group", "g", "--command-property", "group.id=h"),
            "The group ids provided in different places (directly using '--group', via '--command-property', or via "
            "'--command-config') do not match. Detected group ids: 'g', 'h'",
        ),
        (
            ("--topic", "t", "--from-beginning", "--command-property", "auto.offset.reset=latest"),
            "Can't simultaneously specify --from-beginning and 'auto.offset.reset=latest', please remove one option",
        ),
        (("--topic", "t", "--formatter-property", "print.kye=true"), "unknown formatter property 'print.kye'"),
        (
            ("--topic", "t", "--formatter", "OffsetsMessageFormatter", "--formatter-property", "print.kye=true"),
            "unknown formatter property 'print.kye'",
        ),
    ],
)
def test_what_kafka_refuses_is_refused_in_its_words(arguments: tuple[str, ...], text: str) -> None:
    done = run("consumer", "--bootstrap-server", "127.0.0.1:1", *arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().splitlines()[0] == f"kafka-console-consumer: {text}"


@pytest.mark.parametrize(("name", "more"), [("producer", ("--topic", "t")), ("consumer", ("--topic", "t"))])
def test_bootstrap_server_is_required_and_must_answer(name: str, more: tuple[str, ...]) -> None:
    missing = run(name, *more)
    assert (missing.returncode, missing.stdout) == (2, b"")
    assert b"--bootstrap-server is required" in missing.stderr
    silent = run(name, "--bootstrap-server", "127.0.0.1:1", *more, stdin=b"x\n")
    assert (silent.returncode, silent.stdout) == (1, b"")
    assert b"127.0.0.1:1" in silent.stderr
    assert b"Traceback" not in silent.stderr


def test_partition_and_offset(servers: str, topic: str) -> None:
    wrote(servers, topic, b"a\nb\nc\n")
    arguments = ("--partition", "0", "--timeout-ms", "3000")
    assert consume(servers, topic, *arguments, "--offset", "1", "--max-messages", "1").stdout == b"b\n"
    assert consume(servers, topic, *arguments, "--offset", "earliest", "--max-messages", "3").stdout == b"a\nb\nc\n"
    latest = consume(servers, topic, "--partition", "0", "--timeout-ms", "500")
    assert (latest.stdout, latest.stderr) == (b"", b"Processed a total of 0 messages\n")


@pytest.mark.req("CONS-2")
def test_group_goes_on_behind_the_last_record_that_was_printed(servers: str, topic: str) -> None:
    wrote(servers, topic, b"".join(b"%d\n" % number for number in range(10)))
    group = ("--group", f"group-{topic}", "--from-beginning")
    assert consume(servers, topic, *group, "--max-messages", "3").stdout == b"0\n1\n2\n"
    assert consume(servers, topic, *group, "--max-messages", "2").stdout == b"3\n4\n"
    assert consume(servers, topic, *group, "--timeout-ms", "3000").stdout == b"5\n6\n7\n8\n9\n"


def test_topic_that_does_not_exist_is_named(servers: str, topic: str) -> None:
    arguments = ("--timeout-ms", "3000", "--command-property", "allow.auto.create.topics=false")
    done = consume(servers, topic, *arguments)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode().splitlines() == [
        f"Topic '{topic}' does not exist; waiting for it.",
        "Processed a total of 0 messages",
    ]


@pytest.mark.parametrize("more", [(), ("--partition", "0")])
def test_topic_that_is_created_by_reading_it_is_named(servers: str, topic: str, more: tuple[str, ...]) -> None:
    done = consume(servers, topic, "--timeout-ms", "3000", *more)
    warning, created, total = done.stderr.decode().splitlines()
    assert warning.startswith(
        f"warning: topic '{topic}' does not exist. Brokers with auto.create.topics.enable create it "
    )
    assert (created, total) == (
        f"Topic '{topic}' was created, because this command reads it.", "Processed a total of 0 messages"
    )  # fmt: skip
    assert consume(servers, topic, "--timeout-ms", "500").stderr == b"Processed a total of 0 messages\n"


def test_partition_that_does_not_exist_is_named(servers: str, topic: str) -> None:
    wrote(servers, topic, b"a\n")
    done = consume(servers, topic, "--partition", "77", "--offset", "0", "--timeout-ms", "3000")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode().splitlines() == [
        f"Topic '{topic}' has no partition 77; waiting for it.",
        "Processed a total of 0 messages",
    ]


def test_topics_by_pattern(servers: str, topic: str) -> None:
    for suffix in ("a", "b"):
        wrote(servers, f"{topic}-{suffix}", suffix.encode() + b"\n")
    wrote(servers, f"not-{topic}-c", b"c\n")
    done = run(
        "consumer", "--bootstrap-server", servers, "--include", f"{topic}-.", "--from-beginning", "--max-messages", "2"
    )
    assert sorted(done.stdout.splitlines()) == [b"a", b"b"]


def test_reader_that_goes_away_ends_it_quietly(servers: str, topic: str) -> None:
    wrote(servers, topic, b"line\n" * 20_000)
    arguments = program("consumer", "--bootstrap-server", servers, "--topic", topic, "--from-beginning")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == b"line\n"
        process.stdout.close()
        assert process.wait(TIMEOUT_S) == 141
        assert process.stderr.read() == b""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_consumer_stops_cleanly_on_signals(servers: str, topic: str, number: int, status: int) -> None:
    wrote(servers, topic, b"a\n")
    arguments = program(
        "consumer", "--bootstrap-server", servers, "--topic", topic, "--from-beginning", "--group", f"group-{topic}"
    )
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        # A record comes through the pipe at once, not when a buffer is full.
        assert process.stdout.readline() == b"a\n"
        os.kill(process.pid, number)
        assert process.wait(TIMEOUT_S) == status
        assert process.stderr.read() == b"Processed a total of 1 messages\n"
    again = consume(servers, topic, "--group", f"group-{topic}", "--from-beginning", "--timeout-ms", "1500")
    assert again.stdout == b"", "what was printed was committed"


def test_consumer_stops_while_nobody_takes_its_output(servers: str, topic: str) -> None:
    wrote(servers, topic, b"".join(b"%0100d\n" % number for number in range(20_000)))
    consumer = subprocess.Popen(
        program(
            "consumer", "--bootstrap-server", servers, "--topic", topic, "--from-beginning", "--group", f"g-{topic}"
        ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert consumer.stdout is not None and consumer.stderr is not None
        least = fcntl.fcntl(consumer.stdout, fcntl.F_GETPIPE_SZ) - 4096
        deadline = time.monotonic() + TIMEOUT_S
        while _unread(consumer.stdout.fileno()) < least and time.monotonic() < deadline:
            time.sleep(0.01)
        consumer.send_signal(signal.SIGTERM)
        assert consumer.wait(TIMEOUT_S) == 143
        counted = consumer.stderr.read()
    finally:
        consumer.kill()
        consumer.communicate()
    # What came to nobody is not committed.
    rest = consume(servers, topic, "--group", f"g-{topic}", "--from-beginning", "--max-messages", "1").stdout
    assert counted == b"Processed a total of %d messages\n" % int(rest)


def test_producer_sends_a_line_while_it_waits_for_the_next_one(servers: str, topic: str) -> None:
    wrote(servers, topic, b"first\n")
    arguments = program("producer", "--bootstrap-server", servers, "--topic", topic, "--timeout", "1")
    with subprocess.Popen(arguments, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"second\n")
        process.stdin.flush()
        assert consume(servers, topic, "--from-beginning", "--max-messages", "2").stdout == b"first\nsecond\n"
        process.stdin.write(b"last without end")
        process.stdin.close()
        assert process.wait(TIMEOUT_S) == 0
    assert consume(servers, topic, "--from-beginning", "--max-messages", "3").stdout.endswith(b"last without end\n")


def test_producer_delivers_what_it_has_read_when_it_is_stopped(servers: str, topic: str) -> None:
    arguments = program("producer", "--bootstrap-server", servers, "--topic", topic, "--timeout", "60000")
    wrote(servers, topic, b"first\n")
    with subprocess.Popen([*arguments, "--trace"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stderr is not None
        process.stdin.write(b"second\n")
        process.stdin.flush()
        # The line was read once its topic is looked up.
        while b"response.received" not in (line := process.stderr.readline()) or b"MetadataResponse" not in line:
            assert line
        process.stdin.write(b"third\n")
        process.stdin.flush()
        while _unread(process.stdin.fileno()):
            os.sched_yield()
        # It has read the third line, so the second is in the producer's hands.
        os.kill(process.pid, signal.SIGTERM)
        process.stderr.read()
        assert process.wait(TIMEOUT_S) == 143
    arguments = ("--from-beginning", "--max-messages", "2", "--timeout-ms", "10000")
    assert consume(servers, topic, *arguments).stdout == b"first\nsecond\n"


def _unread(pipe: int) -> int:
    """Bytes in a pipe that nobody has read yet."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]


def test_properties_of_a_formatter_without_any_are_told(servers: str, topic: str) -> None:
    wrote(servers, topic, b"x\n")
    shown = ("--formatter", "NoOpMessageFormatter", "--formatter-property", "print.key=true")
    done = consume(servers, topic, "--from-beginning", "--max-messages", "1", "--key-deserializer", "L", *shown)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode().splitlines() == [
        "Warning: NoOpMessageFormatter has no properties; ignored: key.deserializer, print.key",
        "Processed a total of 1 messages",
    ]


def test_record_that_cannot_be_printed_stops_or_is_skipped(servers: str, topic: str) -> None:
    wrote(servers, topic, b"12345678\nbad\n12345678\n")
    arguments = ("--from-beginning", "--max-messages", "3", "--value-deserializer", "LongDeserializer")
    stopped = consume(servers, topic, *arguments)
    assert (stopped.returncode, stopped.stdout) == (1, b"3544952156018063160\n")
    assert b"Size of data received by LongDeserializer is not 8: it is 3" in stopped.stderr
    skipped = consume(servers, topic, *arguments, "--skip-message-on-error")
    assert (skipped.returncode, skipped.stdout) == (0, b"3544952156018063160\n" * 2)
    assert b"skipping this message" in skipped.stderr
