"""``kafka-tools messages``: the records of a topic by range, time, key or filter. It leaves no trace on the cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running, standard_streams
from kafka_tools.commands.live_names import topic_names
from kafka_tools.commands.options.command import Command, section
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.commands.options.values import duration_ms

if TYPE_CHECKING:
    from kafka_tools.clients.consumer import Consumer
    from kafka_tools.clients.fetched_data import ConsumedRecord
    from kafka_tools.messages.filters import FilterPart
    from kafka_tools.messages.reading import RangeReader, Span
    from kafka_tools.messages.selection import TopicRange
    from kafka_tools.output.rows import ItemError
    from kafka_tools.values import TopicPartition

KIND = "messages"
COUNTS = "message-counts"
MOST_LAST = 100_000
"""Largest number of --last: these records are in memory."""
_PROGRESS_AFTER_S = 1.0
_AT_ONCE = ("jsonl", "name")
"""Forms of -o whose lines do not depend on later messages."""
_DECODERS = ("auto", "text", "json", "integer", "hex", "base64")
reading = section("What to read")
showing = section("How to show it")


@click.command(name="messages", cls=Command)
@click.argument("selection", metavar="TOPIC[:P][@FROM[..TO]]", shell_complete=topic_names)
@reading(
    "--last",
    type=click.IntRange(1, MOST_LAST),
    metavar="N",
    help="Only the newest N matching messages of all partitions, in order of time.",
)
@reading("--limit", type=click.IntRange(1, 2**63 - 1), metavar="N", help="Stop after N matching messages.")
@reading(
    "--key",
    metavar="KEY",
    allow_empty=True,
    help="Only messages with this key. The command reads only the partition that Kafka's partitioner chooses.",
)
@reading(
    "--all-partitions", is_flag=True, help="Read all partitions with --key, because another partitioner may be in use."
)
@reading(
    "--where",
    multiple=True,
    metavar="FILTER",
    help="Only messages that match: PATH OP VALUE, such as value.customer.id=7, header.trace~^a or time>=1h. Several "
    "filters must all match.",
)
@reading("--count", is_flag=True, help="Count messages instead of showing them. Without filters, count offsets.")
@reading(
    "--count-by",
    type=duration_ms,
    metavar="SPAN",
    help="Count messages for each span of time: 1h, 10m. Without filters, count offsets.",
)
@reading("--read", "read", is_flag=True, help="Read all messages to count them exactly.")
@reading("--follow", is_flag=True, help="Continue with new messages at the end, until Ctrl-C.")
@reading(
    "--isolation-level",
    type=click.Choice(["read_committed", "read_uncommitted"]),
    default="read_uncommitted",
    show_default=True,
    help="Isolation level. read_committed leaves out messages of aborted and open transactions.",
)
@showing("--key-decoder", type=click.Choice(_DECODERS), help="Decoder of keys.  [default: auto]")
@showing("--value-decoder", type=click.Choice(_DECODERS), help="Decoder of values.  [default: auto]")
@showing("--header-decoder", type=click.Choice(_DECODERS), help="Decoder of values of headers.  [default: auto]")
@showing(
    "--template",
    metavar="TEXT",
    help=r"Line of a message, with {topic}, {partition}, {offset}, {time}, {timestamp}, {key}, {value}, {headers} and "
    r"{header.NAME}; \n and \t are line end and tab.",
)
@connection_options()
@output_options({"": KIND, "count": COUNTS, "count_by": COUNTS})
def command(selection: str, connection: ConnectionOptions, output_format: str | None, **options: Any) -> int:
    r"""Show messages of a topic: a range, the newest, or those that match. It stops at the end of the topic.

    FROM and TO are offsets (digits) or times (2026-11-22T10:30, 2h for two hours ago). TO itself is not included. The
    command joins no group, commits nothing and creates no topic.

    \b
    Examples:
      kafka-tools messages -b localhost:9092 orders --last 10
      kafka-tools messages -b localhost:9092 orders@2h..1h --where value.status=failed -o jsonl
      kafka-tools messages -b localhost:9092 orders --key k-77
    """
    from kafka_tools.clock import SystemClock
    from kafka_tools.commands.console.message_text import line_of
    from kafka_tools.errors import UsageError
    from kafka_tools.messages.filters import key_part, parse_part
    from kafka_tools.messages.selection import parse_selection

    line = line_of(output_format, options["template"])
    if options["template"] is not None and output_format is not None:
        raise UsageError("--template and --output cannot be combined: give one of them")
    if options["follow"] and line is None and output_format not in _AT_ONCE:
        raise UsageError(f"--follow cannot be used with -o {output_format}, which needs all messages: use -o jsonl")
    if options["follow"] and "..".join(selection.split("..")[1:]):
        raise UsageError("--follow cannot be used with an end of the range")
    if options["last"] and options["limit"]:
        raise UsageError("--last and --limit cannot be combined: give one of them")
    if options["all_partitions"] and options["key"] is None:
        raise UsageError("--all-partitions needs --key")
    _check_counts(options)
    clock = SystemClock()
    chosen = parse_selection(selection, clock.now_ms())
    parts = [parse_part(text, clock.now_ms()) for text in options["where"]]
    if options["key"] is not None:
        parts.append(key_part(options["key"]))
    return _Session(chosen, parts, connection, output_format, options).run()


def _check_counts(options: Mapping[str, Any]) -> None:
    from kafka_tools.errors import UsageError

    counts = [name for name in ("count", "count_by") if options[name]]
    if len(counts) > 1:
        raise UsageError("--count and --count-by cannot be combined: give one of them")
    if options["read"] and not counts:
        raise UsageError("--read needs --count or --count-by")
    for name in ("last", "limit", "follow", "template"):
        if counts and options[name]:
            raise UsageError(f"--{name} cannot be used with --{counts[0].replace('_', '-')}")


class _Session:
    """One call: reads, prints, and says at the end what it read."""

    def __init__(
        self, chosen: TopicRange, parts: Sequence[FilterPart], connection: ConnectionOptions, form: str | None,
        options: Mapping[str, Any],
    ) -> None:  # fmt: skip
        from kafka_tools.clock import SystemClock
        from kafka_tools.commands.console.message_text import line_of
        from kafka_tools.messages.decoders import Decoders
        from kafka_tools.output.progress import StatusLine

        self._chosen = chosen
        self._connection = connection
        self._form = form
        self._options = options
        self._clock = SystemClock()
        self._decoders = Decoders(
            chosen.topic, options["key_decoder"], options["value_decoder"], options["header_decoder"]
        )
        self._parts = parts
        self._line = line_of(form, options["template"])
        self._is_at_once = self._line is not None or form in _AT_ONCE
        self._rows: list[dict[str, Any]] = []
        self._read = self._matched = self._partition_count = 0
        self._status = StatusLine(sys.stderr, self._clock)
        self._began_s = self._clock.monotonic_s()

    def run(self) -> int:
        from kafka_tools.clients.consumer import Consumer
        from kafka_tools.messages.filters import RecordFilter
        from kafka_tools.messages.opening import partition_count, reading_config
        from kafka_tools.messages.reading import RangeReader, Span, spans_of

        config = self._connection.client_config()
        with self._connection.admin() as admin:
            count = partition_count(admin, self._chosen.topic)
        partitions = self._partitions(count)
        self._partition_count = len(partitions)
        wanted = RecordFilter(self._parts, self._decoders, self._chosen.start.moment_ms, self._chosen.end.moment_ms)
        given = {
            "isolation.level": self._options["isolation_level"],
            "default.api.timeout.ms": str(self._connection.timeout_ms),
        }
        exchange = self._exchange(reading_config(config, given))
        with Consumer(exchange.config, exchange=exchange) as consumer:
            idle_s = self._connection.timeout_s
            reader = RangeReader(consumer, wanted, self._clock, idle_s, self._tally)
            spans = spans_of(consumer, self._chosen, partitions)
            try:
                if self._options["count"] or self._options["count_by"]:
                    return self._count(reader, consumer, spans)
                if self._options["last"]:
                    self._take(reader.newest(spans, self._options["last"]))
                    follow = {key: Span(span.end or 0, None) for key, span in spans.items()}
                else:
                    follow = {key: Span(span.start, None) for key, span in spans.items()}
                    if not self._options["follow"]:
                        self._take(reader.read(spans))
                if self._options["follow"] and not self._is_full():
                    self._take(reader.read(follow))
            except KeyboardInterrupt:
                self._report(reader)
                raise
        return self._end(reader)

    def _exchange(self, config: Any) -> Any:
        from kafka_tools.commands.console.connection import open_exchange

        return open_exchange(config, self._connection.trace)

    def _partitions(self, count: int) -> list[int]:
        from kafka_tools.clients.producing.partitioner import partition_for_key
        from kafka_tools.messages.opening import chosen_partitions

        chosen = chosen_partitions(self._chosen, count)
        key = self._options["key"]
        if key is None or self._options["all_partitions"] or self._chosen.partitions:
            return chosen
        number = partition_for_key(key.encode(), count)
        running.note(
            f"only partition {number} is read, where the default partitioner puts this key; --all-partitions reads all"
        )
        return [number]

    def _count(self, reader: RangeReader, consumer: Consumer, spans: Mapping[TopicPartition, Span]) -> int:
        """Count from offsets if that is enough, else by reading."""
        from kafka_tools.messages.counting import by_offsets, by_offsets_and_time, by_reading
        from kafka_tools.output.rows import Rows
        from kafka_tools.values import moment_text

        span_ms = self._options["count_by"]
        exact = bool(self._options["read"] or self._parts)
        if exact:
            counts = dict(by_reading(self._watched(reader.read(spans)), span_ms))
        elif span_ms is None:
            counts = {0: by_offsets(spans)}
        else:
            counts = by_offsets_and_time(consumer, spans, span_ms, max(0, self._chosen.start.moment_ms or 0))
        if span_ms is None:
            counts = {0: sum(counts.values())}
        rows: list[dict[str, Any]] = [
            {
                "topic": self._chosen.topic,
                "start_time_ms": None if span_ms is None else start,
                "end_time_ms": None if span_ms is None else start + span_ms,
                "messages": number,
                "exact": exact,
            }
            for start, number in sorted(counts.items())
        ]
        if self._form is None:
            for row in rows:
                at = "" if span_ms is None else f"{moment_text(row['start_time_ms'])} "
                running.emit(f"{at}{row['messages']}\n")
        if exact:
            self._report(reader)
        else:
            running.note(
                "counted from offsets, without reading: compaction, deletions and transactions leave gaps; "
                "--read counts messages"
            )
        return running.finish(Rows(COUNTS, rows, self._errors(reader)), self._form, "cannot read all of")

    def _watched(self, batches: Iterator[list[ConsumedRecord]]) -> Iterator[list[ConsumedRecord]]:
        for records in batches:
            self._matched += len(records)
            self._show_progress()
            yield records

    def _tally(self, records: int) -> None:
        self._read += records

    def _is_full(self) -> bool:
        limit = self._options["limit"]
        return limit is not None and self._matched >= limit

    def _take(self, batches: Iterator[list[ConsumedRecord]]) -> None:
        from kafka_tools.messages.decoders import row_of

        for records in batches:
            if self._options["limit"] is not None:
                records = records[: self._options["limit"] - self._matched]
            self._matched += len(records)
            rows = [row_of(record, self._decoders) for record in records]
            if rows and self._is_at_once:
                self._show(rows)
            elif rows:
                self._rows += rows
            else:
                standard_streams.require_reader()
                self._show_progress()
            if self._is_full():
                return

    def _show(self, rows: Sequence[dict[str, Any]]) -> None:
        """Print rows now, so that the reader of a pipe gets them."""
        from kafka_tools.output import rows as forms

        self._status.clear()
        if self._line is not None:
            sys.stdout.write("".join(map(self._line, rows)))
        else:
            forms.show(forms.Rows(KIND, rows), str(self._form))
        sys.stdout.flush()

    def _show_progress(self) -> None:
        if sys.stderr.isatty() and self._clock.monotonic_s() - self._began_s > _PROGRESS_AFTER_S:
            self._status.show(f"{self._read:,} read, {self._matched:,} match")

    def _errors(self, reader: RangeReader) -> list[ItemError]:
        from kafka_tools.output.rows import ItemError

        return [
            ItemError(str(key), None, f"stopped at offset {offset}: no message for {self._connection.timeout_s:g} s")
            for key, offset in sorted(reader.incomplete.items())
        ]

    def _report(self, reader: RangeReader) -> None:
        self._status.clear()
        complete = self._partition_count - len(reader.incomplete)
        end = (
            "stopped at --limit" if self._is_full()
            else f"{complete} of {self._partition_count} partitions complete"
        )  # fmt: skip
        running.note(f"{self._read:,} read, {self._matched:,} match, {end}")

    def _end(self, reader: RangeReader) -> int:
        from kafka_tools.output.rows import Rows

        self._report(reader)
        errors = self._errors(reader)
        return running.finish(
            Rows(KIND, self._rows, errors), None if self._is_at_once else self._form, "cannot read all of"
        )
