"""``kafka-producer-perf-test``: writes records as fast as asked, and shows rates and latencies.

Options and lines follow ``org.apache.kafka.tools.ProducerPerformance`` of Kafka. With a throughput, latencies count
from the time at which each record was due (``pacing``); Kafka's tool counts from the time at which it left. Records
that could not be delivered end the command with status 1.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import section
from kafka_tools.commands.options.connection import client_connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.commands.options.renamed import newer_of
from kafka_tools.commands.performance.options import SeveralValues, check_print_metrics, print_metrics

if TYPE_CHECKING:
    from kafka_tools.commands.performance.payloads import Keys, Source
    from kafka_tools.net.config import ClientConfig

PROGRAM = "kafka-producer-perf-test"
records_option = section("Records")
keys_option = section("Keys")
transaction_option = section("Transactions")
measuring_option = section("Measuring")
INT32_MAX = 2**31 - 1
_REMOVED = "Option {} has been deprecated and will be removed in a future version. Use {} instead."


@click.command(PROGRAM, cls=SeveralValues)
@records_option("--topic", required=True, metavar="TOPIC", help="Topic to write to.")
@records_option(
    "--num-records", required=True, type=click.IntRange(1, 2**63 - 1), metavar="N", help="Number of records to write."
)
@records_option("--record-size", type=click.IntRange(1, INT32_MAX), metavar="BYTES", help="Size of each value.")
@records_option(
    "--payload-file", metavar="FILE", help="UTF-8 text file of values. Each record gets one of them at random."
)
@records_option("--payload-monotonic", is_flag=True, help="Use increasing numbers from 0 as values.")
@records_option(
    "--payload-delimiter",
    metavar="REGEX",
    default="\\n",
    help="Regular expression that separates the values in --payload-file.  [default: \\n]",
)
@keys_option(
    "--key-distribution",
    type=click.Choice(["none", "range", "random", "zipf"]),
    default="none",
    help="Keys of the records: none, the numbers of --record-key-range in turn, at random, or at random with a few "
    "frequent keys (zipf).  [default: none]",
)
@keys_option("--record-key-range", type=click.IntRange(1, INT32_MAX), metavar="N", help="Use the keys 0 to N - 1.")
@keys_option(
    "--key-skew",
    type=click.FloatRange(0, 10),
    metavar="X",
    help="Exponent of zipf: key k is (k + 1)^X times rarer than key 0.  [default: 1]",
)
@keys_option(
    "--random-seed",
    type=click.IntRange(-(2**63), 2**63 - 1),
    default=0,
    metavar="N",
    help="Seed of random values and keys.  [default: 0]",
)
@transaction_option(
    "--transactional-id",
    metavar="ID",
    help="Write in transactions with this id.  [default with --transaction-duration-ms: performance-producer- and a "
    "random UUID]",
)
@transaction_option(
    "--transaction-duration-ms",
    type=click.IntRange(1, 2**63 - 1),
    metavar="MS",
    help="Write in transactions, and commit each after this time.  [default with a transactional id: 3000]",
)
@measuring_option(
    "--throughput",
    required=True,
    type=float,
    metavar="N",
    help="Maximum number of records per second; -1 means no limit.",
)
@measuring_option(
    "--latency-from",
    type=click.Choice(["due", "sent"]),
    help="Measure latencies from the time at which a record was due, or from the time at which it was sent. Without "
    "a limit they are the same.  [default: due]",
)
@measuring_option(
    "--warmup-records",
    type=click.IntRange(-(2**63), 2**63 - 1),
    default=0,
    metavar="N",
    help="Number of records at the start that the statistics of the steady state leave out.  [default: 0]",
)
@measuring_option(
    "--reporting-interval",
    type=click.IntRange(1, 2**63 - 1),
    default=5000,
    metavar="MS",
    help="Interval between lines of progress.  [default: 5000]",
)
@measuring_option("--print-metrics", is_flag=True, help="Print the client's metrics at the end. Not with -o.")
@client_connection_options("producer", old_config="--producer.config", old_property="--producer-props")
@output_options("producer-performance")
def command(output_format: str | None, **options: Any) -> int:
    """Write records, and show rates and latencies.

    \b
    Example:
      kafka-producer-perf-test -b localhost:9092 --topic load --num-records 100000
        --record-size 1000 --throughput 5000
    """
    _check(options)
    check_print_metrics(options["print_metrics"], output_format)
    config = _config(options)
    values = _values(options, is_quiet=output_format is not None)
    keys = _keys(options)

    from kafka_tools.clients.producer import Producer
    from kafka_tools.commands.console.connection import open_exchange
    from kafka_tools.commands.performance.producer_load import ProducerLoad

    if config.get("transactional.id") and options["transaction_duration_ms"] is None:
        options["transaction_duration_ms"] = 3000
    load = ProducerLoad(options, is_quiet=output_format is not None)
    with open_exchange(config, options["trace"]) as exchange, Producer(config, exchange=exchange) as producer:
        if options["print_metrics"]:
            producer.metrics()  # starts to measure
        load.run(producer, values, keys)
        metrics = producer.metrics() if options["print_metrics"] else {}
    status = running.finish(load.result("producer-performance"), output_format, complaints=load.complaints)
    print_metrics(metrics)
    return status


def _check(options: Mapping[str, Any]) -> None:
    """Refuse what Kafka's tool refuses, in its words."""
    payloads = ("record_size", "payload_file", "payload_monotonic")
    if sum(options[name] not in (None, False) for name in payloads) != 1:
        raise click.UsageError("Give exactly one of --record-size, --payload-file or --payload-monotonic.")
    if options["warmup_records"] >= options["num_records"]:
        raise click.UsageError(
            "The value for --warmup-records must be strictly fewer than the number of records in the test, "
            "--num-records."
        )
    if options["throughput"] == 0 or options["throughput"] != options["throughput"]:
        raise click.UsageError("invalid --throughput: expected a number above 0, or -1 for no limit")
    has_range = options["record_key_range"] is not None
    if options["key_distribution"] != "none" and not has_range:
        raise click.UsageError("--record-key-range is required unless --key-distribution is 'none'.")
    if options["key_distribution"] == "none" and has_range:
        raise click.UsageError("--key-distribution must not be 'none' when --record-key-range is specified.")
    if options["key_skew"] is not None and options["key_distribution"] != "zipf":
        raise click.UsageError("--key-skew can only be used with --key-distribution zipf.")
    if options["key_distribution"] == "zipf":
        from kafka_tools.commands.performance.payloads import MOST_SKEWED_KEYS

        if options["record_key_range"] > MOST_SKEWED_KEYS:
            raise click.UsageError(f"invalid --record-key-range: zipf takes at most {MOST_SKEWED_KEYS}")


def _config(options: Mapping[str, Any]) -> ClientConfig:
    from kafka_tools.commands.console.connection import client_config

    properties = newer_of(
        options["command_property"],
        options["old_properties"],
        together="--command-property and --producer-props cannot be specified together.",
        warning=_REMOVED.format("--producer-props", "--command-property"),
    )
    file = newer_of(
        options["command_config"],
        options["old_config"],
        together="--command-config and --producer.config cannot be specified together.",
        warning=_REMOVED.format("--producer.config", "--command-config"),
    )
    given, defaults = {}, {"client.id": "perf-producer-client"}
    if options["transactional_id"] is not None:
        given["transactional.id"] = options["transactional_id"]
    elif options["transaction_duration_ms"] is not None:
        import uuid

        defaults["transactional.id"] = f"performance-producer-{uuid.uuid4()}"
    return client_config(options["bootstrap_server"], file, dict(properties), given, defaults)


def _values(options: Mapping[str, Any], is_quiet: bool) -> Source:
    from random import Random

    from kafka_tools.commands.performance import payloads

    random = Random(options["random_seed"])
    if options["record_size"] is not None:
        return payloads.letters(options["record_size"], random)
    if options["payload_monotonic"]:
        return payloads.monotonic
    path = options["payload_file"]
    if not is_quiet:
        running.emit(f"Reading payloads from: {os.path.abspath(path)}\n")
    delimiter = "\n" if options["payload_delimiter"] == "\\n" else options["payload_delimiter"]
    values = payloads.read_payloads(path, delimiter)
    if not is_quiet:
        running.emit(f"Number of records read: {len(values)}\n")
    return payloads.one_of(values, random)


def _keys(options: Mapping[str, Any]) -> Keys:
    from random import Random

    from kafka_tools.commands.performance import payloads

    skew = 1.0 if options["key_skew"] is None else options["key_skew"]
    # Another sequence than that of the values, from the same seed.
    random = Random(f"keys {options['random_seed']}")
    return payloads.keys(options["key_distribution"], options["record_key_range"] or 0, skew, random)
