"""``kafka-console-producer``: each line of standard input becomes a record.

Options and defaults follow ``org.apache.kafka.tools.ConsoleProducer`` of Kafka; the names before KIP-1147 are
accepted with a warning, as there. Unlike Kafka's tool it exits with 1 when a record could not be delivered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.console.connection import (
    Signals,
    client_config,
    open_exchange,
    pick_renamed,
)
from kafka_tools.commands.options.command import Command, option, section
from kafka_tools.commands.options.connection import console_connection_options
from kafka_tools.commands.options.values import key_value
from kafka_tools.errors import ConfigError, InputError
from kafka_tools.protocol.enums import CODECS

if TYPE_CHECKING:
    from kafka_tools.clients.producer import Producer
    from kafka_tools.clients.producing.batch import PendingRecord
    from kafka_tools.commands.console.line_reader import LineReader
    from kafka_tools.errors import KafkaToolsError
    from kafka_tools.values import TopicPartition

PROGRAM = "kafka-console-producer"
sending_option = section("Sending")
reading_option = section("Reading")
JAVA_READER = "org.apache.kafka.tools.LineMessageReader"
READ_BYTES = 1 << 16
LONGEST_LINE_BYTES = 64 * 1024 * 1024
"""Maximum length of a line, or twice ``max.request.size`` if that is larger. Longer lines must be a mistake."""
MAX_COMPLAINTS = 10
"""Maximum number of failed records that are reported one by one. Others are only counted."""

_DEFAULTS = {
    "linger.ms": "1000",
    "acks": "-1",
    "request.timeout.ms": "1500",
    "retries": "3",
    "retry.backoff.ms": "100",
    "send.buffer.bytes": "102400",
    "buffer.memory": "33554432",
    "batch.size": "16384",
    "metadata.max.age.ms": "300000",
    "max.block.ms": "60000",
    "client.id": "console-producer",
}
"""Kafka's tool has these defaults instead of the producer's own. A config file or property overrides them."""


def _setting_option(name: str, setting: str, metavar: str) -> Callable[[Any], Any]:
    """An option for a setting of the producer that is a number; its parameter has the name of the setting."""
    text = f"Producer setting {setting}.  [default: {_DEFAULTS[setting]}]"
    return sending_option(name, _parameter(setting), type=int, metavar=metavar, help=text)


def _parameter(setting: str) -> str:
    return setting.replace(".", "_")


@click.command(PROGRAM, cls=Command)
@option("--topic", required=True, metavar="TOPIC", help="Topic to write to.")
@sending_option("--sync", is_flag=True, help="Wait for the acknowledgement of each record before sending the next.")
@sending_option(
    "--compression-codec",
    "compression_type",
    is_flag=False,
    flag_value="gzip",
    type=click.Choice(CODECS),
    help="Compression of batches.  [default without a value: gzip]",
)
@_setting_option("--batch-size", "batch.size", "BYTES")
@sending_option(
    "--max-partition-memory-bytes", "old_batch_size", type=int, metavar="BYTES", help="Older name of --batch-size."
)
@_setting_option("--timeout", "linger.ms", "MS")
@sending_option(
    "--request-required-acks", "acks", metavar="ACKS", help="Producer setting acks: 0, 1, -1 or all.  [default: -1]"
)
@_setting_option("--request-timeout-ms", "request.timeout.ms", "MS")
@_setting_option("--message-send-max-retries", "retries", "N")
@_setting_option("--retry-backoff-ms", "retry.backoff.ms", "MS")
@_setting_option("--metadata-expiry-ms", "metadata.max.age.ms", "MS")
@_setting_option("--max-block-ms", "max.block.ms", "MS")
@_setting_option("--max-memory-bytes", "buffer.memory", "BYTES")
@_setting_option("--socket-buffer-size", "send.buffer.bytes", "BYTES")
@reading_option(
    "--reader-property",
    "reader_properties",
    type=key_value,
    multiple=True,
    metavar="KEY=VALUE",
    help="Property of the line reader, for example parse.key=true. Keys: parse.key, key.separator, parse.headers, "
    "headers.delimiter, headers.separator, headers.key.separator, null.marker, ignore.error.",
)
@reading_option("--reader-config", metavar="FILE", help="Properties file for the line reader.")
@reading_option(
    "--property",
    "old_reader_properties",
    type=key_value,
    multiple=True,
    metavar="KEY=VALUE",
    help="Older name of --reader-property.",
)
@reading_option(
    "--line-reader",
    default=JAVA_READER,
    metavar="CLASS",
    help="Class that reads the lines; only Kafka's LineMessageReader is supported.",
)
@console_connection_options("producer", "--broker-list")
def command(**options: Any) -> int:
    """Write the lines of standard input to a topic, one record each.

    With --reader-property parse.key=true, each line is KEY<tab>VALUE. With parse.headers=true, each line starts with
    its headers: h1:v1,h2:v2<tab>.
    """
    from kafka_tools.commands.console.line_reader import LineReader
    from kafka_tools.texts.properties import read_properties

    if options["line_reader"] not in (JAVA_READER, "kafka.tools.ConsoleProducer$LineMessageReader"):
        raise click.UsageError(
            f"unsupported --line-reader '{options['line_reader']}', which is Java code: use {JAVA_READER}"
        )
    if options["old_batch_size"] is not None:
        running.note(
            "Warning: --max-partition-memory-bytes is deprecated and will be removed in Apache Kafka 5.0. "
            "Use --batch-size instead."
        )
        # In Kafka's tool the old name wins, too.
        options["batch_size"] = options["old_batch_size"]
    properties = pick_renamed(options, "command_property", "old_properties", "--producer-property")
    file = pick_renamed(options, "command_config", "old_config", "--producer.config")
    reader_properties = pick_renamed(options, "reader_properties", "old_reader_properties", "--property")
    typed = {name: options.get(_parameter(name)) for name in (*_DEFAULTS, "compression.type")}
    given = {name: str(value) for name, value in typed.items() if value is not None}
    config = client_config(options["bootstrap_server"], file, dict(properties), given, _DEFAULTS)
    if config.get("transactional.id"):
        raise ConfigError(
            "cannot set transactional.id: lines are not written in transactions",
            hint="leave the setting out for this command",
        )
    of_file = read_properties(options["reader_config"], "reader config") if options["reader_config"] else {}
    reader = LineReader(of_file | dict(reader_properties))

    from kafka_tools.clients.producer import Producer

    signals = Signals().install()
    failures = _Failures()
    with open_exchange(config, options["trace"]) as exchange:
        producer = Producer(config, exchange=exchange, on_failure=failures.note_record)
        try:
            # In Kafka's reader, too, a property can name another topic.
            topic = dict(reader_properties).get("topic", options["topic"])
            _send_lines(producer, reader, topic, options["sync"], signals, failures)
        finally:
            # Lines that were read before an error or Ctrl-C are delivered, as in Kafka's tool.
            producer.close()
    return failures.report()


def _send_lines(
    producer: Producer, reader: LineReader, topic: str, sync: bool, signals: Signals, failures: _Failures
) -> None:
    """Send standard input with the producer, until it ends."""
    import os
    import sys

    from kafka_tools.clients.producer import RecordTooLarge
    from kafka_tools.commands.console.line_reader import LineSplitter

    splitter, longest = LineSplitter(), max(LONGEST_LINE_BYTES, 2 * producer.settings.max_request_size_bytes)
    descriptor = sys.stdin.fileno()
    prompts = sys.stdin.isatty() and sys.stdout.isatty()
    while True:
        if prompts:
            print(">", end="", flush=True)
        _wait_for_input(producer, descriptor)
        data = os.read(descriptor, READ_BYTES)
        lines = splitter.feed(data) if data else splitter.end()
        if sync:
            for line in lines:
                value, key, headers = reader.parse(line)
                producer.send(topic, value, key, headers).result()
        else:
            # Ctrl-C does not lose lines that were read.
            with signals:
                for line in lines:
                    value, key, headers = reader.parse(line)
                    try:
                        producer.send(topic, value, key, headers)
                    except RecordTooLarge as error:
                        failures.note(topic, key, value, error)
        if not data:
            return
        if splitter.begun_bytes > longest:
            raise InputError(
                f"line {reader.line_number + 1} of the input is longer than {longest} bytes",
                hint="max.request.size limits the size of a record; check that the input is a file of lines",
            )


def _wait_for_input(producer: Producer, descriptor: int) -> None:
    """Run the producer until input is available."""
    import select

    while True:
        wait_s = producer.wait_s()
        if select.select([descriptor], [], [], 0 if wait_s < float("inf") else None)[0]:
            return
        producer.poll(min(max(wait_s, 0.001), 0.02) if wait_s else 0.02)


class _Failures:
    """Records that were not delivered: the first few are reported one by one, all are counted."""

    def __init__(self) -> None:
        self._count = 0

    def note_record(self, topic_partition: TopicPartition, record: PendingRecord, error: KafkaToolsError) -> None:
        _, key, value, _ = record
        self.note(topic_partition.topic, key, value, error)

    def note(self, topic: str, key: bytes | None, value: bytes | None, error: KafkaToolsError) -> None:
        self._count += 1
        if self._count <= MAX_COMPLAINTS:
            running.complain(
                PROGRAM,
                f"Error when sending message to topic {topic} with key: {_size(key)}, value: {_size(value)} "
                f"with error: {error}",
                error.hint,
            )

    def report(self) -> int:
        """Print the number of failures if not all were reported. Returns the exit status."""
        if self._count > MAX_COMPLAINTS:
            running.complain(PROGRAM, f"{self._count} records were not delivered")
        return running.FAILED if self._count else 0


def _size(data: bytes | None) -> str:
    return "null" if data is None else f"{len(data)} bytes"
