"""``kafka-tools produce``: writes one record, or those of a file, and says where each of them is."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from kafka_tools.commands import running
from kafka_tools.commands.live_names import topic_names
from kafka_tools.commands.options.command import Command, section
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.commands.options.values import key_value

if TYPE_CHECKING:
    from kafka_tools.clients.producing.delivery import RecordMetadata
    from kafka_tools.errors import KafkaToolsError
    from kafka_tools.messages.given_records import GivenRecord
    from kafka_tools.net.config import ClientConfig
    from kafka_tools.output.rows import ItemError

KIND = "produced"
MOST_COMPLAINTS = 10
"""Maximum number of failed records that are reported one by one. Others are only counted."""
_SHOWN_AT_ONCE = 1000
one = section("One record")
many = section("Records of a file")


@click.command(name="produce", cls=Command)
@click.argument("topic", metavar="TOPIC", shell_complete=topic_names)
@one("-k", "--key", metavar="KEY", allow_empty=True, help="Key.  [default: null]")
@one("-v", "--value", metavar="VALUE", allow_empty=True, help="Value.")
@one(
    "-H",
    "--header",
    "headers",
    type=key_value,
    multiple=True,
    metavar="NAME=VALUE",
    help="Header.",
)
@one("--tombstone", is_flag=True, help="Null as value, which deletes the key from a compacted topic.")
@one("--partition", type=click.IntRange(0, 2**31 - 1), metavar="N", help="Partition.  [default: from the key]")
@one("--timestamp", metavar="TIME", help="Time of the record: 2026-11-22T10:30, or milliseconds.  [default: now]")
@many(
    "--input",
    "file",
    metavar="FILE",
    help="Records as kafka-tools messages -o jsonl prints them, one a line; - is standard input.",
)
@many("--input-format", type=click.Choice(["jsonl", "csv"]), help="Format of --input.  [default: jsonl]")
@many("--keep-partitions", is_flag=True, help="Write each record to the partition that the file names.")
@many("--new-timestamps", is_flag=True, help="Use the current time instead of the times in the file.")
@one("--create", is_flag=True, help="Create the topic, with the defaults of the brokers, if it does not exist.")
@connection_options()
@output_options(KIND)
def command(topic: str, connection: ConnectionOptions, output_format: str | None, **options: Any) -> int:
    r"""Write a record to a topic, or the records of a file. It prints the partition and offset of each.

    \b
    Examples:
      kafka-tools produce -b localhost:9092 orders -k k1 -v '{"a":1}' -H trace=t1
      kafka-tools produce -b localhost:9092 users -k u7 --tombstone
      kafka-tools produce -b localhost:9092 copy --input orders.jsonl
    """
    _check(options)
    return _Session(topic, connection, output_format, options).run()


def _check(options: Mapping[str, Any]) -> None:
    from kafka_tools.errors import UsageError

    of_one = [
        name
        for name in ("key", "value", "headers", "tombstone", "partition", "timestamp")
        if options[name] not in (None, (), False)
    ]
    if options["file"] is not None and of_one:
        raise UsageError(f"--input and --{of_one[0].removesuffix('s')} cannot be combined: give one of them")
    if options["file"] is None:
        for name in ("input_format", "keep_partitions", "new_timestamps"):
            if options[name]:
                raise UsageError(f"--{name.replace('_', '-')} needs --input")
        if (options["value"] is None) != options["tombstone"]:
            raise UsageError("exactly one of --value, --tombstone and --input is required")


class _Session:
    """One call: sends, prints where each record is, and counts those that failed."""

    def __init__(self, topic: str, connection: ConnectionOptions, form: str | None, options: Mapping[str, Any]) -> None:
        self._topic = topic
        self._connection = connection
        self._form = form
        self._options = options
        self._rows: list[dict[str, Any]] = []
        self._errors: list[ItemError] = []
        self._sent = self._written = 0
        self._timestamp_ms: int | None = None
        if options["timestamp"] is not None:
            from kafka_tools.clock import SystemClock
            from kafka_tools.errors import InputError, UsageError
            from kafka_tools.texts.moments import moment_ms

            try:
                self._timestamp_ms = moment_ms(options["timestamp"], SystemClock().now_ms())
            except InputError as error:
                raise UsageError(f"--timestamp: {error}") from error

    def run(self) -> int:
        from kafka_tools.clients.producer import Producer
        from kafka_tools.commands.console.connection import open_exchange
        from kafka_tools.errors import KafkaToolsError

        config = self._producer_config()
        self._require_topic()
        failure: KafkaToolsError | None = None
        with open_exchange(config, self._connection.trace) as exchange:
            producer = Producer(config, exchange=exchange)
            try:
                for record in self._records():
                    self._send(producer, record)
            except KafkaToolsError as error:
                failure = error  # the records before it are delivered
            finally:
                producer.flush()
                producer.close()
        self._show_at_once(0)
        if failure is not None:
            running.note(f"{self._written:,} of {self._sent:,} records written before the error")
            raise failure
        return self._end()

    def _producer_config(self) -> ClientConfig:
        from kafka_tools.errors import ConfigError

        config = self._connection.client_config()
        if config.get("transactional.id"):
            raise ConfigError(
                "cannot set transactional.id: records are not written in transactions",
                hint="leave the setting out for this command",
            )
        timeout_ms = self._connection.timeout_ms
        linger_ms = 0 if self._options["file"] is None else min(5, timeout_ms - 1)
        times = {
            "linger.ms": linger_ms,
            "request.timeout.ms": timeout_ms - linger_ms,
            "delivery.timeout.ms": timeout_ms,
            "max.block.ms": timeout_ms,
        }
        # The times depend on each other, so they are not mixed with those of the caller.
        ours = {} if times.keys() & config.values.keys() else {name: str(value) for name, value in times.items()}
        return type(config)({"client.id": "kafka-tools-produce", **ours, **config.values}, config.source)

    def _require_topic(self) -> None:
        from kafka_tools.admin.client import NewTopic
        from kafka_tools.errors import InputError
        from kafka_tools.messages.opening import UnknownTopic, partition_count
        from kafka_tools.shown_text import counted

        with self._connection.admin() as admin:
            try:
                count = partition_count(admin, self._topic)
            except UnknownTopic as error:
                if not self._options["create"]:
                    error.hint = f"{error.hint}\npass --create to create the topic"
                    raise
                admin.create_topics([NewTopic(self._topic)]).raise_any()
                count = partition_count(admin, self._topic)
                running.note(f"created topic {self._topic} with {counted(count, 'partition', 'partitions')}")
        number = self._options["partition"]
        if number is not None and number >= count:
            raise InputError(f"topic '{self._topic}' has no partition {number}: it has partitions 0 to {count - 1}")

    def _records(self) -> Iterator[GivenRecord]:
        from kafka_tools.messages.given_records import GivenRecord, records_of_csv, records_of_json_lines

        options = self._options
        if options["file"] is None:
            key, value, time_ms = _encoded(options["key"]), _encoded(options["value"]), self._timestamp_ms
            headers = tuple((name, value.encode()) for name, value in options["headers"])
            yield GivenRecord(key, value, headers, options["partition"], time_ms)
            return
        with _opened(options["file"]) as stream:
            yield from (records_of_csv if options["input_format"] == "csv" else records_of_json_lines)(stream)

    def _send(self, producer: Any, record: GivenRecord) -> None:
        from kafka_tools.output.rows import ItemError

        self._sent += 1
        item = f"record {self._sent}"

        def delivered(place: RecordMetadata | None, error: KafkaToolsError | None) -> None:
            if error is not None or place is None:
                self._errors.append(ItemError.of(item, error or RuntimeError("no answer")))
                return
            self._written += 1
            offset, time_ms = (None if each < 0 else each for each in (place.offset, place.timestamp_ms))
            self._rows.append(
                {"topic": place.topic, "partition": place.partition, "offset": offset, "timestamp_ms": time_ms}
            )

        from_file = self._options["file"] is not None
        partition = record.partition if not from_file or self._options["keep_partitions"] else None
        time = None if self._options["new_timestamps"] else record.timestamp_ms
        producer.send(
            self._topic, record.value, record.key, record.headers, partition=partition, timestamp_ms=time,
            on_delivery=delivered,
        )  # fmt: skip
        self._show_at_once(_SHOWN_AT_ONCE)

    def _show_at_once(self, least: int) -> None:
        """Print the places of records that arrived, in the forms whose lines do not depend on later records."""
        if len(self._rows) <= least or self._form not in (None, "jsonl", "name"):
            return
        from kafka_tools.output import rows as forms
        from kafka_tools.values import moment_text

        rows, self._rows = self._rows, []
        if self._form is not None:
            forms.show(forms.Rows(KIND, rows), self._form)
            return
        for row in rows:
            at = "" if row["timestamp_ms"] is None else f" at {moment_text(row['timestamp_ms'])}"
            offset = "" if row["offset"] is None else f"@{row['offset']}"
            running.emit(f"{running.shown(row['topic'])}-{row['partition']}{offset}{at}\n")

    def _end(self) -> int:
        from kafka_tools.output.rows import Rows

        if self._options["file"] is not None:
            running.note(f"{self._written:,} of {self._sent:,} records written")
        shown = self._form if self._form not in (None, "jsonl", "name") else None
        status = running.finish(
            Rows(KIND, self._rows, self._errors), shown, "could not write", self._errors[:MOST_COMPLAINTS]
        )
        return status


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


@contextlib.contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    from kafka_tools.errors import InputError

    if path == "-":
        yield sys.stdin.buffer
        return
    with contextlib.ExitStack() as opened:
        try:
            stream = opened.enter_context(open(path, "rb"))
        except OSError as error:
            raise InputError(f"--input {path}: {error.strerror or error}") from error
        yield stream
