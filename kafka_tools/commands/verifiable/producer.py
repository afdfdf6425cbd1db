"""``kafka-verifiable-producer``: sends increasing numbers, and prints a JSON line for each acknowledgement.

Options, events and their members follow ``org.apache.kafka.tools.VerifiableProducer`` of Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, section
from kafka_tools.commands.options.connection import client_connection_options
from kafka_tools.commands.options.renamed import newer_of

if TYPE_CHECKING:
    from kafka_tools.clients.producer import Producer, RecordMetadata
    from kafka_tools.clock import Clock
    from kafka_tools.commands.verifiable.stopping import Stop
    from kafka_tools.errors import KafkaToolsError
    from kafka_tools.net.config import ClientConfig

PROGRAM = "kafka-verifiable-producer"
records_option = section("Records")
INT32 = click.IntRange(-(2**31), 2**31 - 1)


@click.command(PROGRAM, cls=Command)
@records_option("--topic", required=True, metavar="TOPIC", help="Topic to write to.")
@records_option(
    "--max-messages",
    type=INT32,
    default=-1,
    metavar="N",
    help="Number of records to send; -1 means until the process is stopped.  [default: -1]",
)
@records_option(
    "--throughput",
    type=INT32,
    default=-1,
    metavar="N",
    help="Maximum number of records per second; -1 means no limit.  [default: -1]",
)
@records_option(
    "--acks",
    type=click.Choice(["0", "1", "-1"]),
    default="-1",
    help="Acknowledgements to wait for: none, the leader's, or those of all in-sync replicas.  [default: -1]",
)
@records_option(
    "--message-create-time",
    type=click.IntRange(-1, 2**63 - 1),
    default=-1,
    metavar="MS",
    help="Timestamp of the first record. Later records have the time that has passed since then added.  [default: "
    "the current time]",
)
@records_option("--value-prefix", type=INT32, metavar="N", help="Prefix of each value, before a dot.")
@records_option(
    "--repeating-keys",
    type=click.IntRange(1, 2**31 - 1),
    metavar="N",
    help="Use the keys 0 to N - 1 in turn.  [default: no keys]",
)
@client_connection_options("producer", "--broker-list", old_config="--producer.config")
def command(**options: Any) -> int:
    """Send increasing numbers, and print a JSON line for each of them.

    After Ctrl-C or SIGTERM, the records that were sent are acknowledged before the command ends.
    """
    if options["throughput"] == 0:
        raise click.UsageError("invalid --throughput: expected a number above 0, or -1 for no limit")
    config = _config(options)

    from kafka_tools.clients.producer import Producer
    from kafka_tools.clock import SystemClock
    from kafka_tools.commands.console.connection import open_exchange
    from kafka_tools.commands.verifiable.stopping import Stop

    stop = Stop()
    with open_exchange(config, options["trace"]) as exchange:
        sending = VerifiedSends(options, SystemClock())
        producer = Producer(config, exchange=exchange)
        try:
            sending.run(producer, stop)
        finally:
            sending.end(producer)
    return stop.status or (running.FAILED if sending.failed else 0)


def _config(options: Mapping[str, Any]) -> ClientConfig:
    from kafka_tools.commands.console.connection import client_config

    file = newer_of(
        options["command_config"],
        options["old_config"],
        together="Options --producer.config and --command-config are mutually exclusive.",
        warning="Option --producer.config has been deprecated and will be removed in a future version. "
        "Use --command-config instead.",
    )
    defaults = {"acks": options["acks"], "retries": "0"}
    return client_config(options["bootstrap_server"], file, dict(options["command_property"]), {}, defaults)


class VerifiedSends:
    """Sends the records of one run, and prints its events."""

    def __init__(self, options: Mapping[str, Any], clock: Clock) -> None:
        from kafka_tools.commands.verifiable.events import Events

        self._options = options
        self._clock = clock
        self._events = Events(clock)
        self._start_s = clock.monotonic_s()
        self._sent = 0
        self._acked = 0
        self.failed = 0

    def run(self, producer: Producer, stop: Stop) -> None:
        """Send all records. Failures of records are events."""
        from itertools import count

        from kafka_tools.commands.performance.pacing import SendSchedule
        from kafka_tools.errors import KafkaToolsError, NetworkError

        def serve(timeout_s: float) -> None:
            try:
                producer.poll(timeout_s)
            except NetworkError:
                # No broker answers. Each record that cannot be sent has its own event.
                self._clock.sleep(timeout_s)

        self._events.tell("startup_complete")
        most, keys, prefix = (self._options[name] for name in ("max_messages", "repeating_keys", "value_prefix"))
        schedule = SendSchedule(self._options["throughput"], self._clock, serve)
        for number in range(most) if most >= 0 else count():
            schedule.wait_for(number)
            if stop.is_requested:
                return
            value = str(number) if prefix is None else f"{prefix}.{number}"
            key = None if keys is None else str(number % keys)
            self._sent += 1
            try:
                producer.send(
                    self._options["topic"],
                    value.encode(),
                    None if key is None else key.encode(),
                    timestamp_ms=self._timestamp_ms(),
                    on_delivery=partial(self._delivered, key, value),
                )
            except KafkaToolsError as error:
                self._delivered(key, value, None, error)

    def end(self, producer: Producer) -> None:
        """Wait for what was sent, and print the totals."""
        producer.close()
        self._events.tell("shutdown_complete")
        elapsed_ms = (self._clock.monotonic_s() - self._start_s) * 1000
        from kafka_tools.texts.java_numbers import java_ratio

        self._events.tell(
            "tool_data",
            sent=self._sent,
            acked=self._acked,
            target_throughput=self._options["throughput"],
            avg_throughput=1000.0 * java_ratio(self._acked, elapsed_ms),
        )

    def _timestamp_ms(self) -> int | None:
        start_ms: int = self._options["message_create_time"]
        return None if start_ms < 0 else start_ms + int((self._clock.monotonic_s() - self._start_s) * 1000)

    def _delivered(
        self, key: str | None, value: str, metadata: RecordMetadata | None, error: KafkaToolsError | None
    ) -> None:
        topic = self._options["topic"]
        if error is not None or metadata is None:
            from kafka_tools.commands.verifiable.events import exception_of

            self.failed += 1
            assert error is not None
            failure = {"exception": exception_of(error), "message": str(error)}
            self._events.tell("producer_send_error", topic=topic, key=key, value=value, **failure)
            return
        self._acked += 1
        place = {"offset": metadata.offset, "topic": metadata.topic, "partition": metadata.partition}
        self._events.tell("producer_send_success", key=key, value=value, **place)
