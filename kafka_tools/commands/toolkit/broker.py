"""``kafka-tools broker run``: the bundled broker as a process.

One JSON line on stdout says that it is ready and where; everything else goes to stderr.
"""

from __future__ import annotations

import click

from kafka_tools.commands.options.command import CommandGroup, option
from kafka_tools.commands.options.values import key_value, read_text
from kafka_tools.errors import InputError, UsageError


def listen_address(text: str) -> str:
    """``host:port``, or ``:port`` for every address of this machine, as it is; a usage error for anything else."""
    from kafka_tools.values import parse_listener_address

    try:
        parse_listener_address(text)
    except InputError as error:
        raise click.BadParameter(str(error)) from error
    return text


@click.group("broker", cls=CommandGroup)
def command() -> None:
    """Run the bundled broker: real segment logs on disk, groups, configs, quotas."""


@command.command("run")
@click.argument("properties_file", metavar="[server.properties]", required=False, type=click.Path())
@option(
    "--listen",
    metavar="HOST:PORT",
    type=listen_address,
    help="Where to listen, in plaintext; :PORT is every address, port 0 a free one.  [default: localhost:9092]",
)
@option("--data-dir", metavar="DIR", help="Where the logs live. Without it (and without log.dirs) they are temporary.")
@option(
    "--adopt", metavar="KAFKA_DIR,...",
    help="Before the start, copy what a broker of Apache Kafka (KRaft, one node) left in this directory to --data-dir; "
    "of a node with several log directories give all.",
)  # fmt: skip
@option(
    "--set", "overrides", metavar="KEY=VALUE", multiple=True, type=key_value,
    help="A config of the broker, for example --set num.partitions=3 or --set log.retention.ms=7d; beats the file. May "
    "be repeated.",
)  # fmt: skip
@option(
    "--delegation-token-key", "token_key", metavar="FILE",
    help="Turn delegation tokens on; their secret key stands in this file, or comes from standard input (-).",
)  # fmt: skip
@option(
    "--fsync", type=click.Choice(["kafka", "always"]), default="kafka", show_default=True,
    help="When what is acknowledged is on the disk: as flush.messages and flush.ms say, or always, so that a loss of "
    "power loses nothing.",
)  # fmt: skip
@option(
    "--lost-data-dir", "lost_data_dirs", metavar="DIRECTORY_ID", multiple=True,
    help="Start without a data directory that the broker had: its partitions begin anew, without records. May be "
    "repeated.",
)  # fmt: skip
@option("--release", metavar="VERSION", help="Advertise what this Kafka release does, for example 2.2.")
@option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True,
        help="Lowest level of log lines on stderr.")  # fmt: skip
@click.option("--debug", is_flag=True, hidden=True)
def run(
    properties_file: str | None,
    listen: str | None,
    data_dir: str | None,
    adopt: str | None,
    overrides: tuple[tuple[str, str], ...],
    token_key: str | None,
    fsync: str,
    lost_data_dirs: tuple[str, ...],
    release: str | None,
    log_level: str,
    debug: bool,
) -> None:
    """Run a broker until SIGTERM or Ctrl-C.

    When clients can connect it prints one line of JSON on stdout: bootstrap_servers (the first listener), listeners
    (all of them), cluster_id, data_dir, data_dirs and pid.
    """
    from kafka_tools.broker_embedded.broker import DEFAULTS_FOR_TESTS
    from kafka_tools.broker_embedded.configs.server_properties import with_overrides
    from kafka_tools.broker_embedded.process import log_to_stderr
    from kafka_tools.broker_embedded.process import run as serve

    set_here = dict(overrides)
    if set_here:
        from kafka_tools.commands.options.units import with_numbers

        set_here = with_numbers("brokers", set_here, "--set", UsageError)
    log_to_stderr(log_level)
    properties = dict(DEFAULTS_FOR_TESTS)
    if properties_file is not None:
        from kafka_tools.texts.properties import read_properties

        properties = read_properties(properties_file)
    if token_key is not None:
        secret = read_text(token_key, "delegation token key").strip()
        if not secret:
            raise InputError(f"delegation token key {token_key}: the file is empty")
        properties["delegation.token.secret.key"] = secret
    merged, dirs = with_overrides(properties, listen=listen, data_dir=data_dir, overrides=set_here)
    if adopt is not None and not dirs:
        raise UsageError("--adopt needs --data-dir, or a server.properties with log.dirs: where the copy is to live")
    serve(
        merged, dirs, release=release, fsync=fsync, adopt=adopt, lost_data_dirs=lost_data_dirs, ready=click.echo,
    )  # fmt: skip


@command.command("mend")
@click.argument("properties_file", metavar="[server.properties]", required=False, type=click.Path())
@option("--data-dir", metavar="DIR", help="Where the logs live; several with commas, as in log.dirs.")
@option(
    "--lost-data-dir", "lost_data_dirs", metavar="DIRECTORY_ID", multiple=True,
    help="Mend without a data directory that the broker had and that is lost. May be repeated.",
)  # fmt: skip
@click.option("--debug", is_flag=True, hidden=True)
def mend(properties_file: str | None, data_dir: str | None, lost_data_dirs: tuple[str, ...], debug: bool) -> None:
    """Put the cluster's state in a data directory right, while no broker runs on it.

    For directories in which a client made a topic named __cluster_metadata (0.1.0 allowed it), or whose state is
    damaged or gone. What is certainly the broker's own is kept; what is replaced is moved aside, whole; partitions
    that the state does not know are made known again, and kept for ever until their retention is set. Partitions of
    __consumer_offsets and __transaction_state that are damaged, or have records that no broker writes, are written
    anew without them.
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
        raise UsageError("--data-dir, or a server.properties with log.dirs, is needed")
    mended = mend_all(dirs, SystemClock(), lost=lost_data_dirs)
    emit("\n".join(mended.lines()) + "\n")
