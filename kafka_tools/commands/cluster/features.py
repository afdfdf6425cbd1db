"""``kafka-features``: feature levels of a cluster (KIP-584, KIP-1022; Kafka's FeatureCommand)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, CommandGroup, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.errors import UsageError
from kafka_tools.protocol import feature_levels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kafka_tools.admin.calls.features import FeatureUpdate
    from kafka_tools.output.cells import Row


@click.group(name="kafka-features", cls=CommandGroup)
def command() -> None:
    """Show and change the feature levels of a cluster."""


@command.command(name="describe", cls=Command)
@option("--node-id", type=int, metavar="ID", help="Node to ask.  [default: any node]")
@connection_options(controllers=True)
@output_options("features")
def describe(node_id: int | None, connection: ConnectionOptions, output_format: str | None) -> int:
    """Show the supported and the finalized feature levels."""
    from kafka_tools.output.kafka.quorum_text import feature_lines

    with connection.admin() as admin:
        features = admin.describe_features(node_id)
    rows = []
    for name in sorted(features.supported):
        low, high = features.supported[name]
        finalized = features.finalized.get(name, (0, 0))[1]
        rows.append(
            {
                "feature": name,
                "supported_min": feature_levels.level_text(name, low),
                "supported_max": feature_levels.level_text(name, high),
                "finalized": feature_levels.level_text(name, finalized),
                "supported_min_level": low,
                "supported_max_level": high,
                "finalized_level": finalized,
                "epoch": features.epoch,
            }
        )
    status = running.show_rows("features", rows, output_format, feature_lines)
    _note_newer([*features.finalized.items(), *features.supported.items()])
    return status


def _note_newer(ranges: Iterable[tuple[str, tuple[int, int]]]) -> None:
    """Print a note about levels that are newer than this tool: Kafka's text has no place for it."""
    found = sorted({(name, level) for name, (_, level) in ranges if feature_levels.is_newer(name, level)})
    newer = [running.shown(f"{name} {level}") for name, level in found]
    if newer:
        running.note(f"{', '.join(newer)}: {feature_levels.NEWER}")


@command.command(name="upgrade", cls=Command)
@option("--feature", metavar="NAME=LEVEL", multiple=True, help="Feature and its new level.")
@option("--metadata", metavar="VERSION", help="Older form of --feature metadata.version: 3.9-IV0, or a release.")
@option("--release-version", metavar="VERSION", help="Set every feature to its level in this release.")
@option("--dry-run", is_flag=True, help="Validate the change on the cluster without applying it.")
@connection_options(controllers=True)
@output_options("changed-features")
def upgrade(connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """Raise the levels of features."""
    return _update("upgrade", _levels(given, upgrade=True), connection, output_format, given)


@command.command(name="downgrade", cls=Command)
@option("--feature", metavar="NAME=LEVEL", multiple=True, help="Feature and its new level.")
@option("--metadata", metavar="VERSION", help="Older form of --feature metadata.version: 3.9-IV0, or a release.")
@option("--release-version", metavar="VERSION", help="Set every feature to its level in this release.")
@option("--unsafe", is_flag=True, help="Lower the level even if metadata is lost.")
@option("--dry-run", is_flag=True, help="Validate the change on the cluster without applying it.")
@connection_options(controllers=True)
@output_options("changed-features")
def downgrade(connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """Lower the levels of features."""
    return _update("downgrade", _levels(given, upgrade=False), connection, output_format, given)


@command.command(name="disable", cls=Command)
@option("--feature", metavar="NAME", multiple=True, help="Feature to disable.")
@option("--unsafe", is_flag=True, help="Lower the level even if metadata is lost.")
@option("--dry-run", is_flag=True, help="Validate the change on the cluster without applying it.")
@connection_options(controllers=True)
@output_options("changed-features")
def disable(connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """Set the levels of features to 0."""
    levels = dict.fromkeys(given["feature"], 0)
    if len(levels) < len(given["feature"]):
        raise UsageError("a feature was specified more than once")
    return _update("disable", levels, connection, output_format, given)


@command.command(name="version-mapping", cls=Command)
@option(
    "--release-version", metavar="VERSION", help="Release or metadata version: 4.1 or 3.9-IV0.  [default: the newest]"
)
@connection_options(controllers=True)
@output_options("feature-levels")
def version_mapping(release_version: str | None, connection: ConnectionOptions, output_format: str | None) -> int:
    """Show the feature levels of a release. No broker is contacted."""
    name = release_version or feature_levels.METADATA_VERSIONS[feature_levels.LATEST_PRODUCTION]
    levels = feature_levels.of_release(feature_levels.metadata_level(name))
    rows = [{"feature": feature, "level": level} for feature, level in levels.items()]
    named = {feature_levels.METADATA_VERSION: f" ({name})"}
    text = "".join(f"{feature}={level}{named.get(feature, '')}\n" for feature, level in levels.items())
    return running.show_rows("feature-levels", rows, output_format, lambda _: text)


@command.command(name="feature-dependencies", cls=Command)
@option("--feature", metavar="NAME=LEVEL", multiple=True, required=True, help="Feature and its level.")
@connection_options(controllers=True)
@output_options("feature-dependencies")
def feature_dependencies(feature: tuple[str, ...], connection: ConnectionOptions, output_format: str | None) -> int:
    """Show the features that a feature level depends on. No broker is contacted."""
    rows = [
        {"feature": name, "level": level, "requires": feature_levels.dependencies(name, level)}
        for name, level in map(_parsed, feature)
    ]
    return running.show_rows("feature-dependencies", rows, output_format, _dependencies_text)


def _dependencies_text(rows: Sequence[Row]) -> str:
    text = ""
    for row in rows:
        text += f"{_named(row['feature'], row['level'])} {'requires:' if row['requires'] else 'has no dependencies.'}\n"
        text += "".join(f"    {_named(other, level)}\n" for other, level in row["requires"].items())
    return text


def _named(feature: str, level: int) -> str:
    if feature != feature_levels.METADATA_VERSION:
        return f"{feature}={level}"
    return f"{feature}={level} ({feature_levels.level_text(feature, level)})"


def _parsed(text: str) -> tuple[str, int]:
    name, equals, level = text.partition("=")
    digits = level.strip()
    if not equals:
        raise UsageError(f"Can't parse feature=level string {text}: equals sign not found.")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 5 and int(digits) < 2**15):
        raise UsageError(f"Can't parse feature=level string {text}: unable to parse {digits} as a short.")
    return name.strip(), int(digits)


def _levels(given: Mapping[str, Any], *, upgrade: bool) -> dict[str, int]:
    """Feature -> new level. Raises UsageError for options that exclude each other, InputError for unknown versions."""
    features, metadata, release_version = (given[name] for name in ("feature", "metadata", "release_version"))
    if release_version is not None:
        if metadata is not None or features:
            raise UsageError("Can not specify `release-version` with other feature flags.")
        levels = feature_levels.of_release(feature_levels.metadata_level(release_version))
        return {name: level for name, level in levels.items() if level or not upgrade}
    levels = {}
    if metadata is not None:
        running.note("`metadata` flag is deprecated and may be removed in a future release.")
        levels[feature_levels.METADATA_VERSION] = feature_levels.metadata_level(metadata)
    for name, level in map(_parsed, features):
        if name in levels:
            raise UsageError(f"Feature {name} was specified more than once.")
        levels[name] = level
    return levels


def _update(
    action: str,
    levels: dict[str, int],
    connection: ConnectionOptions,
    output_format: str | None,
    given: Mapping[str, Any],
) -> int:
    from kafka_tools.admin.calls.features import FeatureUpdate
    from kafka_tools.output.rows import ItemError

    if not levels:
        raise UsageError(f"You must specify at least one feature to {action}")
    kind = 1 if action == "upgrade" else 3 if given["unsafe"] else 2
    dry_run = given["dry_run"]
    updates: dict[str, FeatureUpdate] = {name: FeatureUpdate(level, kind) for name, level in levels.items()}
    with connection.admin() as admin:
        outcomes = admin.update_features(updates, validate_only=dry_run)
    rows, errors = [], []
    for name in sorted(levels):
        error = outcomes[name].error
        target = "" if action == "disable" else f" to {levels[name]}"
        if error is not None:
            could = "Can not" if dry_run else "Could not"
            failed = ItemError.of(name, error)
            reason = getattr(error, "broker_message", None) or failed.message
            errors.append(failed._replace(message=f"{could} {action} {name}{target}. {reason}"))
            continue
        rows.append({"feature": name, "level": levels[name], "result": "checked" if dry_run else f"{action}d"})
        if output_format is None:
            running.emit(f"{running.shown(name)} {'can be' if dry_run else 'was'} {action}d{target}.\n")
    status = running.show_rows("changed-features", rows, output_format, None, errors)
    if errors:
        running.note(f"{len(errors)} out of {len(levels)} operation(s) failed.")
    return status
