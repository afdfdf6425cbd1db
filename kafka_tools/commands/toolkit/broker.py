"""``kafka-tools broker run``: the bundled broker as a process.

One JSON line on stdout says that it is ready, with its addresses. Everything else goes to stderr.
"""

from __future__ import annotations

from typing import Any

import click

from kafka_tools.commands.options.command import CommandGroup, option
from kafka_tools.commands.options.values import key_value, read_text
from kafka_tools.errors import InputError, UsageError


def listen_address(text: str) -> str:
    """``host:port``, or ``:port`` for all addresses of this machine, unchanged. Raises a usage error for other
    texts."""
    from kafka_tools.values import parse_listener_address

    try:
        parse_listener_address(text)
    except InputError as error:
        raise click.BadParameter(str(error)) from error
    return text


def metrics_address(text: str) -> tuple[str, int]:
    """(host, port) of ``host:port`` or ``port``. Raises a usage error for other texts."""
    from kafka_tools.values import parse_listener_address

    try:
        host, port = parse_listener_address(text if ":" in text else f"127.0.0.1:{text}")
    except InputError as error:
        raise click.BadParameter(str(error)) from error
    return host or "0.0.0.0", port


@click.group("broker", cls=CommandGroup)
def command() -> None:
    """Run the bundled broker: real segment logs on disk, groups, configs, quotas."""


@command.command("run")
@click.argument("properties_file", metavar="[server.properties]", required=False, type=click.Path())
@option(
    "--listen",
    metavar="HOST:PORT",
    type=listen_address,
    help="Address to listen on, in plaintext. :PORT listens on every address; port 0 picks a free port.  "
    "[default: localhost:9092]",
)
@option(
    "--data-dir", metavar="DIR", help="Directory of the logs. Without it (and without log.dirs), logs are temporary."
)
@option(
    "--adopt", metavar="KAFKA_DIR,...",
    help="Copy the data of an Apache Kafka broker (KRaft, one node) from this directory to --data-dir before "
    "starting. Give all directories of a node that has several.",
)  # fmt: skip
@option(
    "--set", "overrides", metavar="KEY=VALUE", multiple=True, type=key_value,
    help="Broker config to set, for example --set num.partitions=3 or --set log.retention.ms=7d; overrides the "
    "file.",
)  # fmt: skip
@option(
    "--delegation-token-key", "token_key", metavar="FILE",
    help="Enable delegation tokens, with the secret key in this file; - reads standard input.",
)  # fmt: skip
@option(
    "--fsync", type=click.Choice(["kafka", "always"]), default="kafka", show_default=True,
    help="Flush to disk as flush.messages and flush.ms require (kafka), or before every acknowledgement (always), so "
    "that a power failure loses nothing.",
)  # fmt: skip
@option(
    "--lost-data-dir", "lost_data_dirs", metavar="DIRECTORY_ID", multiple=True,
    help="Start without this data directory. Its partitions start empty.",
)  # fmt: skip
@option(
    "--metrics-port", metavar="[HOST:]PORT", type=metrics_address,
    help="Address of a port that shows the broker's metrics to Prometheus, at /metrics. Without a host, the port is on "
    "127.0.0.1; port 0 picks a free port.",
)  # fmt: skip
@option("--release", metavar="VERSION", help="Kafka release whose APIs to advertise, for example 2.2.")
@option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True,
        help="Lowest level of log lines on stderr.")  # fmt: skip
@click.option("--debug", is_flag=True, hidden=True)
def run(properties_file: str | None, token_key: str | None, **given: Any) -> None:
    """Run a broker until SIGTERM or Ctrl-C.

    Once clients can connect, the broker prints one line of JSON on stdout: bootstrap_servers (the first listener),
    listeners (all of them), cluster_id, data_dir, data_dirs and pid. With --metrics-port, also metrics (its URL).
    """
    from kafka_tools.broker_embedded.broker import DEFAULTS_FOR_TESTS
    from kafka_tools.broker_embedded.configs.server_properties import with_overrides
    from kafka_tools.broker_embedded.process import log_to_stderr
    from kafka_tools.broker_embedded.process import run as serve

    set_here = dict(given["overrides"])
    if set_here:
        from kafka_tools.commands.options.units import with_numbers

        set_here = with_numbers("brokers", set_here, "--set", UsageError)
    log_to_stderr(given["log_level"])
    properties = dict(DEFAULTS_FOR_TESTS)
    if properties_file is not None:
        from kafka_tools.texts.properties import read_properties

        properties = read_properties(properties_file)
    if token_key is not None:
        secret = read_text(token_key, "delegation token key").strip()
        if not secret:
            raise InputError(f"delegation token key {token_key}: the file is empty")
        properties["delegation.token.secret.key"] = secret
    merged, dirs = with_overrides(properties, listen=given["listen"], data_dir=given["data_dir"], overrides=set_here)
    if given["adopt"] is not None and not dirs:
        raise UsageError("--adopt needs --data-dir, or a server.properties with log.dirs, as the target of the copy")
    options = {name: given[name] for name in ("release", "fsync", "adopt", "lost_data_dirs", "metrics_port")}
    serve(merged, dirs, ready=click.echo, **options)


@command.command("mend")
@click.argument("properties_file", metavar="[server.properties]", required=False, type=click.Path())
@option("--data-dir", metavar="DIR", help="Directories of the logs, separated by commas as in log.dirs.")
@option(
    "--lost-data-dir", "lost_data_dirs", metavar="DIRECTORY_ID", multiple=True,
    help="Repair the other directories without this lost data directory.",
)  # fmt: skip
@click.option("--debug", is_flag=True, hidden=True)
def mend(properties_file: str | None, data_dir: str | None, lost_data_dirs: tuple[str, ...], debug: bool) -> None:
    """Repair the cluster metadata in a data directory. Stop the broker first.

    Use it if the metadata is damaged or missing, or if it is mixed with a client's topic named __cluster_metadata.
    Metadata that is certainly the broker's own is kept, and every replaced file is moved aside. Partitions missing from
    the metadata are added again, with unlimited retention until you set it. Damaged records of __consumer_offsets and
    __transaction_state, and records that no broker writes, are removed.
    """
    from kafka_tools.broker_embedded.configs.server_properties import with_overrides
    from kafka_tools.broker_embedded.coordinators.mending import mend as mend_all
    from kafka_tools.clock import SystemClock
    from kafka_tools.commands.running import emit

    properties: dict[str, str] = {}
    if properties_file is not None:
        from kafka_tools.texts.properties import read_properties

        properties = read_properties(properties_file)
    _, dirs = with_overrides(properties, listen=None, data_dir=data_dir, overrides={})
    if not dirs:
        raise UsageError("--data-dir, or a server.properties with log.dirs, is required")
    mended = mend_all(dirs, SystemClock(), lost=lost_data_dirs)
    emit("\n".join(mended.lines()) + "\n")
