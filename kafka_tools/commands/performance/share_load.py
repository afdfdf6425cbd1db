"""The load of ``kafka-share-consumer-perf-test``: members of one share group, each in its own thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kafka_tools.clients.sharing.consumer import ShareConsumer
from kafka_tools.clock import Clock, SystemClock
from kafka_tools.commands import running
from kafka_tools.commands.console.connection import open_exchange
from kafka_tools.commands.performance.latencies import MIB
from kafka_tools.net.config import ClientConfig
from kafka_tools.output.cells import Row, rounded
from kafka_tools.output.kafka import performance_text
from kafka_tools.output.rows import Rows
from kafka_tools.texts.java_numbers import java_ratio

if TYPE_CHECKING:
    from kafka_tools.clients.sharing.held_records import SharedRecord
    from kafka_tools.metrics.names import MetricName

POLL_S = 0.1
CLOSE_S = 5.0


class ShareLoad:
    """One run. ``date`` formats milliseconds; ``is_quiet``: keep the rows, and print no lines."""

    def __init__(
        self, options: Mapping[str, Any], date: Callable[[int], str], *, is_quiet: bool, clock: Clock | None = None
    ) -> None:
        self._options = options
        self._date = date
        self._is_quiet = is_quiet
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._rows: list[Row] = []
        self._records = 0
        self._size_bytes = 0
        self._error: BaseException | None = None
        self._is_stopped = False
        self.metrics: list[Mapping[MetricName, object]] = []
        """Those of each member after the run, with --print-metrics."""

    def run(self, config: ClientConfig) -> None:
        """Read until there are enough records or none arrives for too long, and print the lines."""
        if not self._options["hide_header"] and not self._is_quiet:
            running.emit(performance_text.SHARED_HEADER)
        count = self._options["threads"]
        client_id = config.values["client.id"]
        names = [client_id] if count == 1 else [f"{client_id}-{number}" for number in range(1, count + 1)]
        start_ms = self._clock.now_ms()
        members = [ShareMember(self, number, name, start_ms) for number, name in enumerate(names, 1)]
        threads = [threading.Thread(target=member.run, args=(config,), daemon=True) for member in members]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        finally:
            self._is_stopped = True
        if self._error is not None:
            raise self._error
        end_ms = max(member.end_ms for member in members)
        for member in members:
            self.show(member.row("member", start_ms, end_ms), is_shown=self._options["show_consumer_stats"])
        self.metrics = [member.metrics for member in members if member.metrics]
        self._warn()
        total = self._row("total", 0, None, (start_ms, end_ms), self._records, (self._records, self._size_bytes))
        self.show(total | {"mb": self._size_bytes / MIB})

    def result(self, kind: str) -> Rows:
        """The rows of the run."""
        return Rows(kind, self._rows)

    @property
    def options(self) -> Mapping[str, Any]:
        return self._options

    @property
    def clock(self) -> Clock:
        return self._clock

    @property
    def is_done(self) -> bool:
        """Whether the members have read enough together, or one of them has failed."""
        return self._is_stopped or self._records >= self._options["num_records"]

    def add(self, records: int, size_bytes: int) -> None:
        """A member has read records."""
        with self._lock:
            self._records += records
            self._size_bytes += size_bytes

    def fail(self, error: BaseException) -> None:
        """A member has failed: the others end, too."""
        with self._lock:
            self._error = self._error or error
            self._is_stopped = True

    def show(self, row: Row, *, is_shown: bool = True) -> None:
        """Keep a row, and print its line."""
        with self._lock:
            self._rows.append(rounded(row))
            if is_shown and not self._is_quiet:
                running.emit(performance_text.shared_line(row, self._date))

    def _warn(self) -> None:
        if self._records < self._options["num_records"]:
            warning = (
                "WARNING: Exiting before consuming the expected number of records: timeout "
                f"({self._options['timeout']} ms) exceeded. You can use the --timeout option to increase the timeout."
            )
            running.note(warning) if self._is_quiet else running.emit(f"{warning}\n")

    def _row(
        self, phase: str, number: int, name: str | None, span_ms: tuple[int, int], records: int, read: tuple[int, int]
    ) -> Row:
        """``records``: since the start. ``read``: records and bytes whose rates are shown."""
        start_ms, end_ms = span_ms
        elapsed_s = (end_ms - start_ms) / 1000
        return {
            "phase": phase,
            "member": number or None,
            "client_id": name,
            "start_time_ms": start_ms,
            "end_time_ms": end_ms,
            "mb": 0.0,
            "mb_per_s": java_ratio(read[1] / MIB, elapsed_s),
            "records": records,
            "records_per_s": java_ratio(read[0], elapsed_s),
            "fetch_time_ms": end_ms - start_ms,
            "complete": self._records >= self._options["num_records"],
        }

    row_of = _row


class ShareMember:
    """One member of the group."""

    def __init__(self, load: ShareLoad, number: int, name: str, start_ms: int) -> None:
        self._load = load
        self._number = number
        self._name = name
        self._records = 0
        self._size_bytes = 0
        self.end_ms = start_ms
        self.metrics: Mapping[MetricName, object] = {}

    def run(self, config: ClientConfig) -> None:
        """Read until the load is done. Errors go to the load."""
        own = ClientConfig({**config.values, "client.id": self._name}, config.source)
        try:
            with open_exchange(own, self._load.options["trace"]) as exchange:
                consumer = ShareConsumer(own, exchange=exchange)
                try:
                    consumer.subscribe([self._load.options["topic"]])
                    if self._load.options["print_metrics"]:
                        consumer.metrics()  # starts to measure
                    self._read(consumer)
                    if self._load.options["print_metrics"]:
                        self.metrics = consumer.metrics()
                    consumer.commit()
                finally:
                    consumer.close(CLOSE_S)
        except Exception as error:  # noqa: BLE001 - the main thread raises it
            self._load.fail(error)

    def _read(self, consumer: ShareConsumer) -> None:
        options, clock = self._load.options, self._load.clock
        now_ms = consumed_ms = reported_ms = clock.now_ms()
        before = (0, 0)
        while not self._load.is_done and now_ms - consumed_ms <= options["timeout"]:
            records = consumer.poll(POLL_S)
            now_ms = clock.now_ms()
            if not records:
                continue
            consumed_ms = self.end_ms = now_ms
            self._count(records)
            if now_ms - reported_ms >= options["reporting_interval"]:
                self._load.show(
                    self.row("window", reported_ms, now_ms, before), is_shown=options["show_detailed_stats"]
                )
                reported_ms, before = now_ms, (self._records, self._size_bytes)
        self.end_ms = now_ms

    def row(self, phase: str, start_ms: int, end_ms: int, before: tuple[int, int] = (0, 0)) -> Row:
        """What this member has read, and the rates of what it read after ``before`` (records, bytes)."""
        read = (self._records - before[0], self._size_bytes - before[1])
        row = self._load.row_of(phase, self._number, self._name, (start_ms, end_ms), self._records, read)
        return row | {"mb": self._size_bytes / MIB}

    def _count(self, records: list[SharedRecord]) -> None:
        size_bytes = sum([len(record.key or b"") + len(record.value or b"") for record in records])
        self._records += len(records)
        self._size_bytes += size_bytes
        self._load.add(len(records), size_bytes)
