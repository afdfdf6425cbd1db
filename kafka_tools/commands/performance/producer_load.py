"""The load of ``kafka-producer-perf-test``: records leave on time, acknowledgements are counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kafka_tools.clock import Clock, SystemClock
from kafka_tools.commands import running
from kafka_tools.commands.performance.latencies import LatencyStats
from kafka_tools.commands.performance.pacing import SendSchedule
from kafka_tools.errors import KafkaToolsError
from kafka_tools.output.cells import Row, rounded
from kafka_tools.output.kafka import performance_text
from kafka_tools.output.rows import ItemError, Rows

if TYPE_CHECKING:
    from kafka_tools.clients.producer import Producer, RecordMetadata
    from kafka_tools.commands.performance.payloads import Keys, Source

MOST_CAUSES = 10
"""Maximum number of different errors that are kept. Records that fail for further reasons count for the last one."""


class ProducerLoad:
    """One run. ``is_quiet``: keep the rows, and print no lines."""

    def __init__(self, options: Mapping[str, Any], *, is_quiet: bool, clock: Clock | None = None) -> None:
        self._options = options
        self._is_quiet = is_quiet
        self._clock = clock or SystemClock()
        self._from_due = options["throughput"] > 0 and options["latency_from"] != "sent"
        duration_ms = options["transaction_duration_ms"]
        self._transaction_s = None if duration_ms is None else duration_ms / 1000
        self._transaction_start_s: float | None = None
        self._rows: list[Row] = []
        self._errors: dict[str, tuple[KafkaToolsError, int]] = {}

    def run(self, producer: Producer, values: Source, keys: Keys) -> None:
        """Write all records, wait for their acknowledgements, and print the last lines."""
        options, warmup = self._options, self._options["warmup_records"]
        self._announce()
        stats = self._stats(options["num_records"], "total")
        steady: LatencyStats | None = None
        if self._transaction_s is not None:
            producer.init_transactions()
        schedule = SendSchedule(options["throughput"], self._clock, producer.poll)

        def send(numbers: range, *counting: LatencyStats) -> None:
            self._send(producer, schedule, numbers, values, keys, counting)

        if warmup > 0:
            send(range(warmup), stats)
            steady = self._stats(options["num_records"] - warmup, "steady_state")
            stats.is_quiet = True
            send(range(warmup, options["num_records"]), stats, steady)
        else:
            send(range(options["num_records"]), stats)
        if self._transaction_start_s is not None:
            producer.commit_transaction()
        producer.flush()
        for each in (stats, steady):
            if each is not None:
                self._show(each.total(), performance_text.produced_total)

    def result(self, kind: str) -> Rows:
        """The rows of the run. Each cause of failed records is one error."""
        topic = self._options["topic"]
        return Rows(kind, self._rows, [ItemError.of(topic, error) for error, _ in self._errors.values()])

    @property
    def complaints(self) -> list[ItemError]:
        """The failures, with the number of their records."""
        return [
            ItemError(f"{count} record{'s' if count > 1 else ''} not delivered", None, str(error))
            for error, count in self._errors.values()
        ]

    def _announce(self) -> None:
        warmup = self._options["warmup_records"]
        if warmup > 0 and not self._is_quiet:
            running.emit(
                f"Warmup first {warmup} records. Steady state results will print after the complete test summary.\n"
            )
        if self._from_due:
            running.note(
                "Latencies count from the time at which each record was due at this throughput "
                "(--latency-from sent: from the time at which it was sent)."
            )

    def _stats(self, records: int, phase: str) -> LatencyStats:
        source = "due" if self._from_due else "sent"
        interval_ms = self._options["reporting_interval"]
        return LatencyStats(
            records, interval_ms, self._clock, phase=phase, latency_from=source, on_window=self._show_window
        )

    def _show_window(self, row: Row) -> None:
        steady = "steady_state_window"
        if row["phase"] == steady and not any(each["phase"] == steady for each in self._rows) and not self._is_quiet:
            running.emit(performance_text.PRODUCED_STEADY)
        self._show(row, performance_text.produced_window)

    def _show(self, row: Row, as_text: Any) -> None:
        self._rows.append(rounded(row))
        if not self._is_quiet:
            running.emit(as_text(row))

    def _send(
        self,
        producer: Producer,
        schedule: SendSchedule,
        numbers: range,
        values: Source,
        keys: Keys,
        stats: Sequence[LatencyStats],
    ) -> None:
        """Send the records with these numbers, each when it is due. ``stats`` count them."""
        topic, send, from_due = self._options["topic"], producer.send, self._from_due
        monotonic_s, wait_for, delivered = self._clock.monotonic_s, schedule.wait_for, self._delivered
        for number in numbers:
            value = values(number)
            begun_s = wait_for(number)
            if self._transaction_s is not None:
                self._begin_or_commit(producer)
            if not from_due:
                begun_s = monotonic_s()
            send(topic, value, keys(number), on_delivery=partial(delivered, stats, begun_s, len(value)))

    def _begin_or_commit(self, producer: Producer) -> None:
        """Before a record: commit a transaction that has lasted long enough, and begin one if none is open."""
        now_s, start_s = self._clock.monotonic_s(), self._transaction_start_s
        if start_s is not None and self._transaction_s is not None and now_s - start_s >= self._transaction_s:
            producer.commit_transaction()
            start_s = None
        if start_s is None:
            producer.begin_transaction()
            self._transaction_start_s = now_s

    def _delivered(
        self,
        stats: Sequence[LatencyStats],
        begun_s: float,
        size_bytes: int,
        _: RecordMetadata | None,
        error: KafkaToolsError | None,
    ) -> None:
        if error is not None:
            self._note_failure(error)
            return
        now_s = self._clock.monotonic_s()
        for each in stats:
            each.note((now_s - begun_s) * 1000, size_bytes, now_s)

    def _note_failure(self, error: KafkaToolsError) -> None:
        cause = str(error)
        if cause not in self._errors and len(self._errors) >= MOST_CAUSES:
            cause = next(reversed(self._errors))
        first, count = self._errors.get(cause, (error, 0))
        self._errors[cause] = (first, count + 1)
