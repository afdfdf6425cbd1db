"""``kafka-storage``: log directories of servers of a KRaft cluster (KIP-631, KIP-853, KIP-900; Kafka's StorageTool).

It contacts no broker: it reads a server.properties and reads or writes the directories in it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, CommandGroup, option, section
from kafka_tools.errors import ConfigError, InputError, UsageError

if TYPE_CHECKING:
    from kafka_tools.commands.logs.formatting.settings import ServerSettings
    from kafka_tools.commands.logs.formatting.voters import InitialVoter

_config_option = option(
    "-c", "--config", metavar="FILE", required=True, type=click.Path(), help="Path of the server.properties file."
)
_release_option = partial(option, "-r", "--release-version", metavar="VERSION")
_feature_option = partial(option, "-f", "--feature", metavar="NAME=LEVEL", multiple=True, help="Feature and its level.")
_voters_option = section("First voters of the metadata quorum")


@click.group(name="kafka-storage", cls=CommandGroup)
def command() -> None:
    """Format the log directories of a KRaft server and show their state."""


@command.command(name="info", cls=Command)
@_config_option
def info(config: str) -> int:
    """Show the log directories and their problems."""
    from kafka_tools.commands.logs.formatting.info import describe, newer_levels
    from kafka_tools.commands.logs.formatting.settings import read_settings

    settings = read_settings(config)
    text, problems = describe(settings.log_dirs, is_kraft=bool(settings.roles))
    running.emit(text)
    for remark in newer_levels(settings.log_dirs):
        running.note(remark)
    return running.FAILED if problems else 0


@command.command(name="format", cls=Command)
@_config_option
@option("-t", "--cluster-id", metavar="ID", required=True, help="Id of the cluster, the same for all its servers.")
@option(
    "-S",
    "--add-scram",
    metavar="MECHANISM=[NAME=VALUE,...]",
    multiple=True,
    help="SCRAM credential that the new cluster starts with: SCRAM-SHA-256=[name=alice,password=...]. "
    "iterations=8192 and salt=BASE64 are optional; saltedpassword=BASE64 replaces the password.",
)
@option("-g", "--ignore-formatted", is_flag=True, help="Leave formatted directories alone instead of failing.")
@_release_option(
    help="Release whose feature levels the new cluster starts with: 4.1 or 3.9-IV0, at least 3.3-IV3. Directories "
    "are not forward-compatible: with any level, servers need Kafka 4.4 or newer.  [default: the newest]",
)
@_feature_option()
@_voters_option(
    "-s",
    "--standalone",
    is_flag=True,
    help="Create a quorum of this controller alone. controller.quorum.voters must not be set.",
)
@_voters_option(
    "-N",
    "--no-initial-controllers",
    is_flag=True,
    help="Create no quorum: this server joins an existing one. controller.quorum.voters must not be set.",
)
@_voters_option(
    "-I",
    "--initial-controllers",
    metavar="ID@HOST:PORT:DIRECTORY,...",
    help="Create a quorum of these controllers. Pass the same list on all servers. Example: "
    "0@example.com:8082:JEXY6aqzQY-32P5TStzaFg",
)
def format_(
    config: str,
    cluster_id: str,
    add_scram: tuple[str, ...],
    ignore_formatted: bool,
    release_version: str | None,
    feature: tuple[str, ...],
    standalone: bool,
    no_initial_controllers: bool,
    initial_controllers: str | None,
) -> int:
    """Format the log directories of a server for its first start.

    \b
    Example:
      kafka-storage format --config server.properties --standalone --cluster-id $(kafka-storage random-uuid)
    """
    from kafka_tools.clock import SystemClock
    from kafka_tools.commands.logs.formatting.formatting import FormatRequest, format_directories
    from kafka_tools.commands.logs.formatting.levels import effective_levels, parse_levels
    from kafka_tools.commands.logs.formatting.scram_arguments import parse_scram_argument
    from kafka_tools.commands.logs.formatting.settings import read_settings
    from kafka_tools.protocol.feature_levels import metadata_level
    from kafka_tools.shown_text import one_line

    if standalone + no_initial_controllers + (initial_controllers is not None) > 1:
        raise UsageError("--standalone, --no-initial-controllers and --initial-controllers cannot be combined")
    settings = read_settings(config)
    if not settings.roles:
        raise ConfigError(
            "The kafka configuration file appears to be for a legacy cluster. Formatting is only supported for "
            "clusters in KRaft mode."
        )
    wanted = parse_levels(feature)
    voters = _voters(settings, standalone, no_initial_controllers, initial_controllers)
    if not settings.controller_listener:
        raise ConfigError(f"{config}: You must specify the name of the initial controller listener.")
    levels = effective_levels(
        wanted, release_version, dynamic_quorum=not settings.static_voters, unstable=settings.unstable
    )
    credentials = [parse_scram_argument(text) for text in add_scram]
    if credentials and levels["metadata.version"] < _SCRAM_SINCE:
        raise InputError("SCRAM is only supported in metadata.version 3.5-IV2 or later.")
    request = FormatRequest(settings, cluster_id, levels, credentials, voters, ignore_formatted)
    unreadable = format_directories(request, lambda line: running.emit(f"{one_line(line)}\n"), SystemClock().now_ms())
    if "controller" in settings.roles and levels["metadata.version"] < metadata_level(_FIRST_THAT_READS):
        running.note(_NOT_FOR_OLDER)
    for directory, reason in unreadable:
        running.complain("kafka-storage format", f"cannot read {directory}: {reason}")
    return running.FAILED if unreadable else 0


_SCRAM_SINCE = 11
"""metadata.version 3.5-IV2."""
_FIRST_THAT_READS = "4.4-IV0"
"""The metadata.version of the first release that finds the records of a new cluster where formatting writes them."""
_NOT_FOR_OLDER = (
    "Warning: start Kafka 4.4 or newer on these directories. Older releases do not find the feature "
    "levels and credentials in them. For an older release, format the directories with its own "
    "kafka-storage."
)


def _voters(
    settings: ServerSettings, standalone: bool, no_initial_controllers: bool, initial_controllers: str | None
) -> dict[int, InitialVoter]:
    """The first voters in the log; empty if they are configured, or added later."""
    from kafka_tools.commands.logs.formatting.ids import new_id
    from kafka_tools.commands.logs.formatting.voters import InitialVoter, parse_voters
    from kafka_tools.values import parse_uuid

    if settings.static_voters and (standalone or initial_controllers is not None):
        raise ConfigError(
            "You cannot specify controller.quorum.voters and format the node with --initial-controllers or "
            "--standalone. If you want to use dynamic quorum, please remove controller.quorum.voters and specify "
            "controller.quorum.bootstrap.servers instead."
        )
    is_controller = "controller" in settings.roles
    if initial_controllers is not None:
        return parse_voters(initial_controllers)
    if standalone:
        if not is_controller:
            raise ConfigError("You can only use --standalone on a controller.")
        if settings.controller_address is None:
            raise ConfigError(f"{settings.path}: No controller listeners found.")
        id = parse_uuid(new_id())
        return {settings.node_id: InitialVoter(settings.node_id, *settings.controller_address, id)}
    if is_controller and not settings.static_voters and not no_initial_controllers:
        raise UsageError(
            "Because controller.quorum.voters is not set on this controller, you must specify one of the following: "
            "--standalone, --initial-controllers, or --no-initial-controllers."
        )
    return {}


@command.command(name="random-uuid", cls=Command)
def random_uuid() -> None:
    """Print a random id, for a new cluster or directory."""
    from kafka_tools.commands.logs.formatting.ids import new_id

    running.emit(f"{new_id()}\n")


@command.command(name="version-mapping", cls=Command)
@_release_option(help="Release or metadata version: 4.1 or 3.9-IV0.  [default: the newest]")
def version_mapping(release_version: str | None) -> None:
    """Show the feature levels of a release."""
    from kafka_tools.protocol import feature_levels

    name = release_version or feature_levels.METADATA_VERSIONS[feature_levels.LATEST_PRODUCTION]
    for feature, level in feature_levels.of_release(feature_levels.metadata_level(name)).items():
        named = f" ({name})" if feature == feature_levels.METADATA_VERSION else ""
        running.emit(f"{feature}={level}{named}\n")


@command.command(name="feature-dependencies", cls=Command)
@_feature_option(required=True)
def feature_dependencies(feature: tuple[str, ...]) -> None:
    """Show the features that a feature level depends on."""
    from kafka_tools.commands.logs.formatting.info import dependencies_text

    running.emit("".join(map(dependencies_text, feature)))
