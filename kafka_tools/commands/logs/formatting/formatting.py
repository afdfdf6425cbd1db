"""The files that ``kafka-storage format`` writes for a server of a KRaft cluster, and their order.

The metadata directory of a controller gets the first snapshot of the metadata log: the first records of the cluster
and, for a quorum with voters in the log, the voters (since Kafka 4.4; earlier releases store the records in
``bootstrap.checkpoint``). Each directory gets ``meta.properties`` last: a directory with it is formatted.
Source: ``Formatter`` and ``MetaPropertiesEnsemble`` of Kafka.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from kafka_tools.commands.logs.formatting.ids import RESERVED_IDS, new_id
from kafka_tools.commands.logs.formatting.settings import ServerSettings
from kafka_tools.commands.logs.formatting.voters import InitialVoter, voters_record
from kafka_tools.errors import ConfigError, CorruptIndex
from kafka_tools.protocol.feature_levels import KRAFT_VERSION, METADATA_VERSION, METADATA_VERSIONS
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import FeatureLevelRecord, UserScramCredentialRecord
from kafka_tools.records.framing import frame
from kafka_tools.shown_text import KAFKAS_MASK
from kafka_tools.storage.checkpoints import MetaProperties, read_meta_properties, write_meta_properties
from kafka_tools.storage.kraft_snapshots import write_kraft_snapshot
from kafka_tools.storage.log.syncing import sync_directory
from kafka_tools.storage.names import META_PROPERTIES, METADATA_DIRECTORY, checkpoint_name
from kafka_tools.values import parse_uuid, uuid_text

_RECORD_VERSION = 0


class FormatRequest(NamedTuple):
    """A request to format directories. ``levels``: feature -> level. ``voters``: by node id, may be empty."""

    settings: ServerSettings
    cluster_id: str
    levels: Mapping[str, int]
    credentials: Sequence[UserScramCredentialRecord]
    voters: Mapping[int, InitialVoter]
    ignore_formatted: bool


class LogDirectories(NamedTuple):
    """The state of directories: formatted ones, others, and (path, reason) of those that cannot be read."""

    formatted: dict[str, MetaProperties]
    empty: list[str]
    unreadable: list[tuple[str, str]]


def look_at(log_dirs: Sequence[str]) -> LogDirectories:
    """The state of the directories."""
    found = LogDirectories({}, [], [])
    for directory in log_dirs:
        try:
            found.formatted[directory] = read_meta_properties(os.path.join(directory, META_PROPERTIES))
        except FileNotFoundError:
            if os.path.islink(directory) and not os.path.exists(directory):
                found.unreadable.append((directory, f"it is a link to {os.readlink(directory)}, which does not exist"))
            else:
                found.empty.append(directory)
        except (OSError, CorruptIndex) as error:
            found.unreadable.append((directory, getattr(error, "strerror", None) or str(error)))
    return found


def format_directories(request: FormatRequest, say: Callable[[str], object], now_ms: int) -> list[tuple[str, str]]:
    """Format the directories that are not formatted. Returns (path, reason) of those that could not be read.

    ``say`` gets each line of Kafka's text. Raises ConfigError before writing for directories of another cluster or
    node, and for formatted ones unless ``ignore_formatted``. Raises OSError if the system refuses.
    """
    found = look_at(request.settings.log_dirs)
    _check_identity(found.formatted, request)
    if found.formatted and not request.ignore_formatted:
        raise ConfigError(
            f"Log directory {min(found.formatted)} is already formatted. Use --ignore-formatted to ignore this "
            "directory and format the others."
        )
    for directory, _ in found.unreadable:
        say(f"I/O error trying to read log directory {directory}. Ignoring...")
    if not found.empty:
        if found.unreadable and not found.formatted:
            reasons = "\n".join(f"cannot read {directory}: {reason}" for directory, reason in found.unreadable)
            raise ConfigError("No available log directories to format.", hint=reasons)
        say("All of the log directories are already formatted.")
        return found.unreadable
    records = bootstrap_records(request)
    level = request.levels[METADATA_VERSION]
    shown = ", ".join(f"ApiMessageAndVersion({_text(record)} at version {_RECORD_VERSION})" for record in records)
    say(
        f"Bootstrap metadata: BootstrapMetadata(records=[{shown}], metadataVersionLevel={level}, source=format command)"
    )
    taken = {meta.directory_id for meta in found.formatted.values()}
    for directory in found.empty:
        kind, directory_id = _kind(directory, request), _directory_id(directory, request, taken)
        taken.add(directory_id)
        say(f"Formatting {kind} {directory} with {METADATA_VERSION} {METADATA_VERSIONS[level]}.")
        _format(directory, directory_id, records, request, now_ms)
    return found.unreadable


def bootstrap_records(request: FormatRequest) -> list[Stored]:
    """The first records of the cluster, metadata.version first."""
    levels = {METADATA_VERSION: request.levels[METADATA_VERSION]} | dict(sorted(request.levels.items()))
    features = [
        FeatureLevelRecord(name=name, feature_level=level)
        for name, level in levels.items()
        if level > 0 and name != KRAFT_VERSION
    ]
    return [*features, *request.credentials]


def _format(directory: str, directory_id: str, records: Sequence[Stored], request: FormatRequest, now_ms: int) -> None:
    settings = request.settings
    os.makedirs(directory, exist_ok=True)
    if "controller" in settings.roles and directory == settings.metadata_log_dir:
        inner = os.path.join(directory, METADATA_DIRECTORY)
        os.makedirs(inner, exist_ok=True)
        voters = voters_record(request.voters.values(), settings.controller_listener) if request.voters else None
        write_kraft_snapshot(
            os.path.join(inner, checkpoint_name(0, 0)),
            [[frame(record, _RECORD_VERSION) for record in records]],
            epoch=0,
            last_contained_ms=now_ms,
            written_ms=now_ms,
            kraft_version=request.levels[KRAFT_VERSION],
            voters=voters,
        )
        sync_directory(inner)
    sync_directory(directory)  # meta.properties marks the directory as formatted, so it comes last
    meta = MetaProperties(1, request.cluster_id, settings.node_id, directory_id)
    write_meta_properties(os.path.join(directory, META_PROPERTIES), meta)
    sync_directory(directory)


def _kind(directory: str, request: FormatRequest) -> str:
    if directory != request.settings.metadata_log_dir:
        return "data directory"
    if not request.voters:
        return "metadata directory"
    is_voter = request.settings.node_id in request.voters
    return "dynamic metadata voter directory" if is_voter else "dynamic metadata directory"


def _directory_id(directory: str, request: FormatRequest, taken: Collection[str | None]) -> str:
    if directory == request.settings.metadata_log_dir and request.settings.node_id in request.voters:
        return uuid_text(request.voters[request.settings.node_id].directory_id)
    return new_id(taken)


def _check_identity(formatted: Mapping[str, MetaProperties], request: FormatRequest) -> None:
    seen: dict[str, str] = {}
    node_id = request.settings.node_id
    for directory, meta in formatted.items():
        path = os.path.join(directory, META_PROPERTIES)
        if meta.cluster_id is not None and meta.cluster_id != request.cluster_id:
            raise ConfigError(
                f"Invalid cluster.id in: {path}. Expected {request.cluster_id}, but read {meta.cluster_id}"
            )
        if meta.node_id is not None and meta.node_id != node_id:
            raise ConfigError(
                f"Stored node id {meta.node_id} doesn't match previous node id {node_id} in {path}. If you "
                "moved your data, make sure your configured node id matches. If you intend to create a new node, you "
                "should remove all data in your data directories."
            )
        if meta.directory_id is None:
            continue
        if parse_uuid(meta.directory_id).int < RESERVED_IDS:
            raise ConfigError(f"Invalid reserved directory ID {meta.directory_id} found in {directory}")
        if meta.directory_id in seen:
            raise ConfigError(
                f"Duplicate directory ID {meta.directory_id} found. It was the ID of {seen[meta.directory_id]}, but "
                f"also of {directory}"
            )
        seen[meta.directory_id] = directory


def _text(record: Stored) -> str:
    """The text of Kafka's classes, without salt and keys of a credential."""
    if isinstance(record, FeatureLevelRecord):
        return f"FeatureLevelRecord(name='{record.name}', featureLevel={record.feature_level})"
    assert isinstance(record, UserScramCredentialRecord)
    hidden = f"salt={KAFKAS_MASK}, storedKey={KAFKAS_MASK}, serverKey={KAFKAS_MASK}"
    return (
        f"UserScramCredentialRecord(name='{record.name}', mechanism={record.mechanism}, {hidden}, "
        f"iterations={record.iterations})"
    )
