"""The output of ``kafka-storage info`` and ``feature-dependencies``, in the words of Kafka's StorageTool."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from contextlib import suppress

from kafka_tools.commands.logs.formatting.levels import short_number
from kafka_tools.errors import CorruptIndex, InputError, LogError, UsageError
from kafka_tools.protocol import feature_levels
from kafka_tools.protocol.stored.cluster_metadata import RECORDS, FeatureLevelRecord
from kafka_tools.records.framing import framed
from kafka_tools.shown_text import one_line
from kafka_tools.storage.checkpoints import MetaProperties, read_meta_properties
from kafka_tools.storage.kraft_snapshots import read_kraft_snapshot
from kafka_tools.storage.names import BOOTSTRAP_CHECKPOINT, CHECKPOINT, META_PROPERTIES, METADATA_DIRECTORY


def describe(log_dirs: Sequence[str], *, is_kraft: bool) -> tuple[str, list[str]]:
    """(Kafka's text, problems) of the directories. ``is_kraft``: whether the settings are those of a KRaft server."""
    found, problems = [], []
    first: MetaProperties | None = None
    for directory in log_dirs:
        if not os.path.isdir(directory):
            problems.append(f"{directory} {'is not a directory' if os.path.exists(directory) else 'does not exist'}")
            continue
        found.append(directory)
        path = os.path.join(directory, META_PROPERTIES)
        try:
            meta = read_meta_properties(path)
        except FileNotFoundError:
            problems.append(f"{directory} is not formatted.")
        except (OSError, CorruptIndex) as error:
            problems.append(f"Error loading {path}: {getattr(error, 'strerror', None) or error}")
        else:
            first = first or meta
            if meta.cluster_id != first.cluster_id:
                problems.append("Mismatched cluster IDs between storage directories.")
            elif meta.node_id != first.node_id:
                problems.append("Mismatched node IDs between storage directories.")
    if first is not None and is_kraft and first.version == 0:
        problems.append(
            "The kafka configuration file appears to be for a cluster in KRaft mode, but the directories are formatted "
            "for legacy mode."
        )
    if first is not None and not is_kraft and first.version == 1:
        problems.append(
            "The kafka configuration file appears to be for a legacy cluster, but the directories are formatted for a "
            "cluster in KRaft mode."
        )
    text = _section("Found log directory:", "Found log directories:", found)
    if first is not None:
        text += f"Found metadata: {{{', '.join(f'{key}={one_line(value)}' for key, value in _values(first))}}}\n\n"
    return text + _section("Found problem:", "Found problems:", problems), problems


def newer_levels(log_dirs: Sequence[str]) -> list[str]:
    """A remark for each directory whose cluster has a level that is newer than this tool.

    The levels are those of ``bootstrap.checkpoint`` and of the newest snapshot of the metadata log. Unreadable files
    are ignored here.
    """
    remarks = []
    for directory in log_dirs:
        levels: dict[str, int] = {}
        snapshots = sorted(glob.glob(os.path.join(glob.escape(directory), METADATA_DIRECTORY, f"*{CHECKPOINT}")))
        for path in [os.path.join(directory, BOOTSTRAP_CHECKPOINT), *snapshots[-1:]]:
            with suppress(OSError, LogError):
                for record in read_kraft_snapshot(path):
                    found, _ = framed(record.value or b"", RECORDS)
                    if not isinstance(found, FeatureLevelRecord):
                        break  # levels come first
                    levels[found.name] = found.feature_level
        newer = [f"{name} {level}" for name, level in levels.items() if feature_levels.is_newer(name, level)]
        if newer:
            remarks.append(f"{one_line(directory)}: {one_line(', '.join(newer))}: {feature_levels.NEWER}")
    return remarks


def _section(one: str, several: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    return "\n".join([one if len(lines) == 1 else several, *(f"  {one_line(line)}" for line in lines), "\n"])


def _values(meta: MetaProperties) -> list[tuple[str, str]]:
    values = {
        "cluster.id": meta.cluster_id,
        "directory.id": meta.directory_id,
        "broker.id" if meta.version == 0 else "node.id": meta.node_id,
        "version": meta.version,
    }
    return sorted((key, str(value)) for key, value in values.items() if value is not None)


def dependencies_text(text: str) -> str:
    """The dependencies of a feature level, for ``NAME=LEVEL``. Raises UsageError or InputError in Kafka's words."""
    name, equals, level_text = (part.strip() for part in text.partition("="))
    if not equals:
        raise UsageError(f"Invalid feature format: {text}. Expected format: 'feature=version' (e.g. 'group.version=1')")
    level = short_number(level_text)
    if level is None:
        raise UsageError(f"Invalid version format: {level_text} for feature {name}")
    if name != feature_levels.METADATA_VERSION and name in feature_levels.of_release(feature_levels.LATEST_PRODUCTION):
        try:
            needs = feature_levels.dependencies(name, level)
        except InputError:
            raise InputError(f"Feature level {level} is not supported for feature {name}") from None
    else:
        needs = feature_levels.dependencies(name, level)
    if not needs:
        return f"{_named(name, level)} has no dependencies.\n"
    return f"{_named(name, level)} requires:\n" + "".join(f"    {_named(*need)}\n" for need in needs.items())


def _named(feature: str, level: int) -> str:
    if feature != feature_levels.METADATA_VERSION:
        return f"{feature}={level}"
    return f"{feature}={level} ({feature_levels.level_text(feature, level)})"
