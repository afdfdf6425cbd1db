"""``kafka-console-consumer``: prints records of topics on standard output.

Options, checks and text follow ``org.apache.kafka.tools.consumer.ConsoleConsumer`` of Kafka. The names before
KIP-1147 are accepted with a warning, as in Kafka. Without ``--group`` the command uses no group and reads every
partition directly. So brokers need no group, and there is no initial rebalance delay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from kafka_tools.commands import running, standard_streams
from kafka_tools.commands.console.connection import (
    Signals,
    client_config,
    formatter_settings,
    open_exchange,
    pick_renamed,
)
from kafka_tools.commands.console.text_options import text_options
from kafka_tools.commands.options.command import Command, section
from kafka_tools.commands.options.connection import console_connection_options

if TYPE_CHECKING:
    from kafka_tools.clients.consumer import Consumer
    from kafka_tools.clients.fetched_data import ConsumedRecord
    from kafka_tools.commands.console.absent_topic import AbsentTopic
    from kafka_tools.commands.console.record_text import Formatter
    from kafka_tools.errors import KafkaToolsError
    from kafka_tools.net.config import ClientConfig
    from kafka_tools.texts.name_patterns import NamePattern

reading_option = section("What to read")
LONGEST_WRITE_S = 2.0
"""Maximum time that printing delays Ctrl-C and SIGTERM: the reader of the output may have stopped reading."""
FIRST_LOOK_S = 2.0
"""The time without a record, at the start, after which missing topics are named on stderr."""


@click.command("kafka-console-consumer", cls=Command)
@reading_option("--topic", metavar="TOPIC", help="Topic to read.")
@reading_option(
    "--include",
    "--whitelist",
    "include",
    metavar="REGEX",
    help="Regular expression of the topics to read; it must match the whole name.",
)
@reading_option(
    "--partition",
    type=click.IntRange(0, 2**31 - 1),
    metavar="N",
    help="Partition to read. Reading starts at its end unless --offset or --from-beginning is given.",
)
@reading_option("--offset", metavar="OFFSET", help="Offset to start at: a number, 'earliest' or 'latest'.")
@reading_option(
    "--from-beginning", is_flag=True, help="Start at the oldest record if the group has no committed offset."
)
@reading_option("--group", metavar="GROUP", help="Group to join; offsets are committed for it.")
@reading_option("--max-messages", type=int, metavar="N", help="Maximum number of records to read.")
@reading_option(
    "--timeout-ms", type=int, metavar="MS", help="Stop when no record arrives for this time.  [default: wait forever]"
)
@reading_option(
    "--isolation-level",
    type=click.Choice(["read_committed", "read_uncommitted"]),
    help="Isolation level: read_committed leaves out records of aborted and open transactions.  [default: "
    "read_uncommitted]",
)
@reading_option(
    "--skip-message-on-error", is_flag=True, help="Skip records that cannot be printed instead of stopping."
)
@text_options()
@console_connection_options("consumer")
def command(**options: Any) -> int:
    """Print the records of topics.

    Reading stops at --max-messages, at --timeout-ms or when you interrupt it. The last line on stderr is then
    'Processed a total of N messages'.
    """
    from kafka_tools.commands.console.record_text import make_formatter

    _check(options)
    properties = dict(pick_renamed(options, "command_property", "old_properties", "--consumer-property"))
    file = pick_renamed(options, "command_config", "old_config", "--consumer.config")
    shown = dict(pick_renamed(options, "formatter_properties", "old_formatter_properties", "--property"))
    formatter = make_formatter(options["formatter"], formatter_settings(options, shown))
    config = _config(options, file, properties)

    from kafka_tools.clients.consumer import Consumer
    from kafka_tools.commands.console.absent_topic import AbsentTopic

    signals = Signals(LONGEST_WRITE_S).install()
    exchange = open_exchange(config, options["trace"])
    consumer = Consumer(config, exchange=exchange)
    absent = AbsentTopic(exchange, options["topic"] if consumer.settings.allow_auto_create_topics else None)
    return _Session(consumer, formatter, signals, options).run(absent)


def _check(options: Mapping[str, Any]) -> None:
    """Refuse the same combinations as Kafka's tool, in its words."""
    if (options["topic"] is None) == (options["include"] is None):
        raise click.UsageError("Exactly one of --include/--topic is required.")
    if options["include"] is not None:
        _pattern(options["include"])
    if options["partition"] is not None:
        if options["topic"] is None:
            raise click.UsageError("The topic is required when partition is specified.")
        if options["from_beginning"] and options["offset"] is not None:
            raise click.UsageError("Options from-beginning and offset cannot be specified together.")
    elif options["offset"] is not None:
        raise click.UsageError("The partition is required when offset is specified.")
    _start(options)


def _pattern(text: str) -> NamePattern:
    """The pattern of ``--include``."""
    import re

    from kafka_tools.texts.name_patterns import NamePattern

    try:
        return NamePattern(text)
    except re.error as error:
        raise click.UsageError(f"invalid regular expression in --include: {error}") from error


def _start(options: Mapping[str, Any]) -> int:
    """The start of ``--partition``: an offset, or EARLIEST or LATEST."""
    from kafka_tools.clients.positions import EARLIEST, LATEST
    from kafka_tools.values import number_below

    text = options["offset"]
    if text is None:
        return EARLIEST if options["from_beginning"] else LATEST
    if text.lower() in ("earliest", "latest"):
        return EARLIEST if text.lower() == "earliest" else LATEST
    offset = number_below(2**63, text)
    if offset is not None:
        return offset
    raise click.UsageError(
        f"The provided offset value '{text}' is incorrect. Valid values are 'earliest', 'latest', or a non-negative "
        "long."
    )


def _config(options: Mapping[str, Any], file: str | None, properties: dict[str, str]) -> ClientConfig:
    given = {"isolation.level": options["isolation_level"]} if options["isolation_level"] else {}
    reset = "earliest" if options["from_beginning"] else "latest"
    defaults = {"client.id": "console-consumer", "isolation.level": "read_uncommitted", "auto.offset.reset": reset}
    config = client_config(options["bootstrap_server"], file, properties, given, defaults)
    chosen = config.values["auto.offset.reset"]
    if options["from_beginning"] and chosen.lower() != "earliest":
        raise click.UsageError(
            f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={chosen}', please remove one option"
        )
    groups = {group for group in (options["group"], config.values.get("group.id")) if group}
    if len(groups) > 1:
        raise click.UsageError(
            "The group ids provided in different places (directly using '--group', via '--command-property', or via "
            f"'--command-config') do not match. Detected group ids: {', '.join(repr(each) for each in sorted(groups))}"
        )
    if groups and options["partition"] is not None:
        raise click.UsageError("Options group and partition cannot be specified together.")
    if not groups:
        return config
    return type(config)({**config.values, "group.id": groups.pop()}, config.source)


class _Session:
    """Prints a consumer's records on standard output, until it ends."""

    def __init__(self, consumer: Consumer, formatter: Formatter, signals: Signals, options: Mapping[str, Any]) -> None:
        self._consumer = consumer
        self._formatter = formatter
        self._signals = signals
        self._options = options
        self._limit = options["max_messages"] if options["max_messages"] is not None else -1
        timeout_ms = options["timeout_ms"]
        self._timeout_s = timeout_ms / 1000 if timeout_ms is not None and timeout_ms >= 0 else float("inf")
        self._count = 0

    def run(self, absent: AbsentTopic) -> int:
        """Print until the end. Returns the exit status."""
        try:
            with self._consumer:
                absent.look()
                self._subscribe()
                self._print_all(absent)
        except BrokenPipeError:
            raise
        except BaseException:
            self._report()
            raise
        self._report()
        return 0

    def _report(self) -> None:
        running.note(f"Processed a total of {self._count} messages")
        if self._options["enable_systest_events"]:
            print("shutdown_complete", flush=True)

    def _subscribe(self) -> None:
        from kafka_tools.clients.positions import EARLIEST, LATEST
        from kafka_tools.values import TopicPartition

        topic, number = self._options["topic"], self._options["partition"]
        if number is not None:
            chosen = TopicPartition(topic, number)
            self._consumer.assign([chosen])
            start = _start(self._options)
            if start == EARLIEST:
                self._consumer.seek_to_beginning([chosen])
            elif start == LATEST:
                self._consumer.seek_to_end([chosen])
            else:
                self._consumer.seek(chosen, start)
        elif topic is not None:
            self._consumer.subscribe([topic])
        else:
            self._consumer.subscribe(_pattern(self._options["include"]))

    def _print_all(self, absent: AbsentTopic) -> None:
        import sys

        out = sys.stdout.buffer
        wait_s = min(self._timeout_s, FIRST_LOOK_S)
        while self._limit < 0 or self._count < self._limit:
            records = self._wait_for_records(wait_s)
            absent.tell(self._consumer.unknown_topics())
            if not records and wait_s >= self._timeout_s:
                return  # --timeout-ms passed
            if not records:
                # Only this first wait is short, so that a misspelt topic is noticed.
                for topic in self._consumer.unknown_topics():
                    running.note(f"Topic '{topic}' does not exist; waiting for it.")
                for topic, number in self._consumer.unknown_partitions():
                    running.note(f"Topic '{topic}' has no partition {number}; waiting for it.")
                records = self._wait_for_records(self._timeout_s - wait_s)
                if not records:
                    return
            wait_s = self._timeout_s
            # Ctrl-C does not come between a record's text and its count.
            with self._signals:
                self._print(records, len(records) if self._limit < 0 else self._limit - self._count, out)

    def _wait_for_records(self, wait_s: float) -> Sequence[ConsumedRecord]:
        """The next records; empty after ``wait_s``. Raises BrokenPipeError if the reader closed the output."""
        from kafka_tools.clock import Deadline, SystemClock

        deadline = Deadline(SystemClock(), wait_s)
        while True:
            records = self._consumer.poll(min(deadline.left_s(), standard_streams.READER_CHECK_S))
            if records or deadline.expired:
                return records
            standard_streams.require_reader()

    def _print(self, records: Sequence[ConsumedRecord], limit: int, out: BinaryIO) -> None:
        """Print up to ``limit`` records. Those that were not printed do not count as consumed."""
        from kafka_tools.commands.console.record_text import as_shown

        printed = 0
        try:
            lines, error = self._lines(records[:limit])
            out.write(as_shown(b"".join(lines)))
            # The reader of a pipe gets records immediately, not when a buffer is full.
            out.flush()
            printed = len(lines)
        finally:
            self._count += printed
            self._give_back(records[printed:])
        if error is not None:
            raise error

    def _lines(self, records: Sequence[ConsumedRecord]) -> tuple[list[bytes], KafkaToolsError | None]:
        """The text of each record, up to one that cannot be printed, unless the command skips them."""
        from kafka_tools.errors import KafkaToolsError

        lines: list[bytes] = []
        for record in records:
            try:
                lines.append(self._formatter(record))
            except KafkaToolsError as error:
                if not self._options["skip_message_on_error"]:
                    return lines, error
                place = f"{record.topic}-{record.partition} at offset {record.offset}"
                running.note(f"Error processing message, skipping this message: {place}: {error}")
                lines.append(b"")
        return lines, None

    def _give_back(self, records: Sequence[ConsumedRecord]) -> None:
        from kafka_tools.values import TopicPartition

        assigned = set(self._consumer.assignment())
        for record in reversed(records):
            chosen = TopicPartition(record.topic, record.partition)
            if chosen in assigned:
                self._consumer.seek(chosen, record.offset)
