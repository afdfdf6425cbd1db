"""``kafka-console-share-consumer``: prints records of a topic, which it shares with the other members of a share group.

Options and text follow ``org.apache.kafka.tools.consumer.ConsoleShareConsumer`` of Kafka (KIP-932). Each record is
acknowledged after it has been printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running, standard_streams
from kafka_tools.commands.console.text_options import text_options
from kafka_tools.commands.options.command import Command, section
from kafka_tools.commands.options.connection import client_connection_options
from kafka_tools.commands.options.renamed import newer_of

if TYPE_CHECKING:
    from kafka_tools.clients.sharing.consumer import ShareConsumer
    from kafka_tools.clients.sharing.held_records import AcknowledgeType, SharedRecord
    from kafka_tools.commands.console.connection import Signals
    from kafka_tools.commands.console.record_text import Formatter
    from kafka_tools.net.config import ClientConfig

PROGRAM = "kafka-console-share-consumer"
reading_option = section("What to read")
LONGEST_WRITE_S = 2.0
"""Maximum time that printing delays Ctrl-C and SIGTERM: the reader of the output may have stopped reading."""
_DEPRECATED = "Option {} is deprecated and will be removed in a future version. Use {} instead."
_TOGETHER = "Options {} and {} cannot be specified together."
_GROUPS_DIFFER = (
    "The group ids provided in different places (directly using '--group', via '--command-property', or via "
    "'--command-config') do not match. Detected group ids: {}"
)


@click.command(PROGRAM, cls=Command)
@reading_option("--topic", required=True, metavar="TOPIC", help="Topic to read.")
@reading_option("--group", metavar="GROUP", help="Share group to join.  [default: console-share-consumer]")
@reading_option(
    "--max-messages",
    type=click.IntRange(-1, 2**31 - 1),
    metavar="N",
    help="Maximum number of records to read.  [default: no limit]",
)
@reading_option(
    "--timeout-ms",
    type=click.IntRange(-1, 2**31 - 1),
    metavar="MS",
    help="Stop when no record arrives for this time.  [default: wait forever]",
)
@reading_option("--release", is_flag=True, help="Release each record: the group delivers it again.")
@reading_option("--reject", is_flag=True, help="Reject each record: the group never delivers it again.")
@reading_option(
    "--reject-message-on-error", is_flag=True, help="Reject records that cannot be printed instead of stopping."
)
@text_options("print.delivery, ")
@client_connection_options("consumer", old_config="--consumer-config", old_property="--consumer-property")
def command(**options: Any) -> int:
    """Print the records of a topic that a share group delivers.

    The command acknowledges each record after it has printed it. It accepts the record by default. At the end,
    records that were delivered but not printed are released.
    """
    from kafka_tools.commands.console.connection import Signals, formatter_settings, open_exchange
    from kafka_tools.commands.console.record_text import make_formatter

    if options["reject"] and options["release"]:
        raise click.UsageError("At most one of --reject and --release may be specified.")
    config = _config(options)
    shown = newer_of(
        options["formatter_properties"],
        options["old_formatter_properties"],
        together=_TOGETHER.format("--property", "--formatter-property"),
        warning=_DEPRECATED.format("--property", "--formatter-property"),
    )
    formatter = make_formatter(options["formatter"], formatter_settings(options, dict(shown)))

    from kafka_tools.clients.sharing.consumer import ShareConsumer

    signals = Signals(LONGEST_WRITE_S).install()
    with open_exchange(config, options["trace"]) as exchange:
        return SharedPrinting(ShareConsumer(config, exchange=exchange), formatter, signals, options).run()


def _config(options: Mapping[str, Any]) -> ClientConfig:
    from kafka_tools.commands.console.connection import client_config

    properties = newer_of(
        options["command_property"],
        options["old_properties"],
        together=_TOGETHER.format("--consumer-property", "--command-property"),
        warning=_DEPRECATED.format("--consumer-property", "--command-property"),
    )
    file = newer_of(
        options["command_config"],
        options["old_config"],
        together=_TOGETHER.format("--consumer-config", "--command-config"),
        warning=_DEPRECATED.format("--consumer-config", "--command-config"),
    )
    given = {"share.acknowledgement.mode": "explicit"}
    defaults = {"client.id": "console-share-consumer"}
    config = client_config(options["bootstrap_server"], file, dict(properties), given, defaults)
    groups = {group for group in (options["group"], config.values.get("group.id")) if group}
    if len(groups) > 1:
        raise click.UsageError(_GROUPS_DIFFER.format(", ".join(repr(each) for each in sorted(groups))))
    return type(config)({**config.values, "group.id": (groups or {"console-share-consumer"}).pop()}, config.source)


class SharedPrinting:
    """Prints a share consumer's records on standard output, until it ends."""

    def __init__(
        self, consumer: ShareConsumer, formatter: Formatter, signals: Signals, options: Mapping[str, Any]
    ) -> None:
        self._consumer = consumer
        self._formatter = formatter
        self._signals = signals
        self._options = options
        most, timeout_ms = options["max_messages"], options["timeout_ms"]
        self._limit = float("inf") if most is None or most < 0 else most
        self._timeout_s = float("inf") if timeout_ms is None or timeout_ms < 0 else timeout_ms / 1000
        self._count = 0

    def run(self) -> int:
        """Print until the end. Returns the exit status."""
        try:
            with self._consumer:
                self._consumer.subscribe([self._options["topic"]])
                self._print_all()
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

    def _print_all(self) -> None:
        while self._count < self._limit:
            records = self._wait_for_records()
            if not records:
                return
            # Ctrl-C does not come between a record's text and its acknowledgement.
            with self._signals:
                self._print(records)

    def _wait_for_records(self) -> Sequence[SharedRecord]:
        """The next records; empty after the timeout. Raises BrokenPipeError if the reader closed the output."""
        from kafka_tools.clock import Deadline, SystemClock

        deadline = Deadline(SystemClock(), self._timeout_s)
        while True:
            records = self._consumer.poll(min(deadline.left_s(), standard_streams.READER_CHECK_S))
            if records or deadline.expired:
                return records
            standard_streams.require_reader()

    def _print(self, records: Sequence[SharedRecord]) -> None:
        """Print and acknowledge records. Those above the limit are released when the consumer leaves its group."""
        import sys

        from kafka_tools.clients.sharing.held_records import AcknowledgeType
        from kafka_tools.commands.console.record_text import as_shown
        from kafka_tools.errors import KafkaToolsError

        for record in records:
            if self._count >= self._limit:
                return
            self._count += 1
            try:
                sys.stdout.buffer.write(as_shown(self._formatter(record)))
            except KafkaToolsError as error:
                if not self._options["reject_message_on_error"]:
                    raise
                place = f"{record.topic}-{record.partition} at offset {record.offset}"
                running.note(f"Error processing message, rejecting this message: {place}: {error}")
                self._consumer.acknowledge(record, AcknowledgeType.REJECT)
                continue
            self._consumer.acknowledge(record, self._type(AcknowledgeType))
        # The reader of a pipe gets records immediately, not when a buffer is full.
        sys.stdout.flush()

    def _type(self, types: type[AcknowledgeType]) -> AcknowledgeType:
        if self._options["reject"]:
            return types.REJECT
        return types.RELEASE if self._options["release"] else types.ACCEPT
