"""Checks whether this broker can adopt the log directories of a node, and which parts. Nothing is changed.

The broker adopts all log directories of one KRaft node that was the whole cluster, controller and broker in one
process. It names everything that the node had and that it cannot serve, one line each.
"""

from __future__ import annotations

import logging
import os
import stat
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kafka_tools import KAFKA_MINOR
from kafka_tools.broker_embedded.cluster.features import unsupported
from kafka_tools.broker_embedded.directories.kafka_state import read_kafka_state
from kafka_tools.broker_embedded.directories.survey import agreed, is_only_formatted, is_ours, kafka_worked_on
from kafka_tools.cluster_image.image import ClusterImage
from kafka_tools.config_definitions import Row
from kafka_tools.config_definitions.broker_names import broker_row
from kafka_tools.config_definitions.values import parse
from kafka_tools.errors import ConfigError, CorruptBatch, CorruptIndex, LogError, WireError
from kafka_tools.protocol.codec import decode
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, ConfigResourceType
from kafka_tools.protocol.feature_levels import METADATA_VERSION
from kafka_tools.protocol.stored.share_group import ShareGroupMetadataKey
from kafka_tools.protocol.stored.streams_group import StreamsGroupMetadataKey
from kafka_tools.records.batches import BatchView
from kafka_tools.storage import names
from kafka_tools.storage.checkpoints import MetaProperties, read_meta_properties, read_quorum_state
from kafka_tools.storage.layout import partition_files
from kafka_tools.storage.names import META_PROPERTIES, METADATA_DIRECTORY
from kafka_tools.storage.segment import Segment
from kafka_tools.storage.snapshots import read_partition_metadata
from kafka_tools.values import uuid_text

log = logging.getLogger(__name__)

_GIVE_ALL = (
    "pass all log directories of the node, as in its log.dirs, separated by commas; you cannot adopt a node "
    "whose controllers run on other nodes"
)
_MIGRATED = (0, 3)
"""ZkMigrationState NONE and POST_MIGRATION."""
_UNSERVED: dict[int | None, tuple[str, Any]] = {
    ShareGroupMetadataKey.ID: ("share", ShareGroupMetadataKey),
    StreamsGroupMetadataKey.ID: ("streams", StreamsGroupMetadataKey),
}
_OF_TIERED_STORAGE = "remote."
"""The prefix of the names of topic configs of tiered storage."""


class Adoptable(NamedTuple):
    """The log directories of a Kafka node that can be adopted."""

    paths: tuple[str, ...]
    cluster_id: str
    node_id: int
    state: ClusterImage
    partition_dirs: dict[str, str]
    """Name of a partition's directory -> the log directory that contains it."""
    left_out: list[str]
    """A line for each thing that is not adopted."""

    def summary(self) -> str:
        """A line for the operator about everything that was adopted."""
        state = self.state
        counts = {
            "topics": len(state.topics.by_id),
            "partitions": len(self.partition_dirs),
            "SCRAM credentials": sum(map(len, state.scram.values())),
            "ACLs": len(state.acls),
            "quotas": sum(map(len, state.quotas.values())),
            "delegation tokens": len(state.tokens),
            "configs": sum(map(len, state.configs.values())),
        }
        listed = ", ".join(f"{what}: {number}" for what, number in counts.items())
        return f"cluster {self.cluster_id}, node {self.node_id}; {listed}"


def examine(paths: Sequence[str], *, node_id: int, cluster_id: str | None) -> Adoptable:
    """Read the log directories of one node. Raises ConfigError if they cannot be adopted; LogError, OSError for damage.

    ``node_id`` and ``cluster_id``: the ids that the broker is started with.
    """
    by_kafka = any(map(kafka_worked_on, paths))
    metas = [_meta(each, by_kafka) for each in paths]
    cluster_id = agreed(list(zip(paths, metas, strict=True)), node_id, cluster_id)
    assert cluster_id is not None
    places = [place for each in paths if os.path.isdir(place := os.path.join(each, METADATA_DIRECTORY))]
    path = ", ".join(paths)
    if len(places) != 1:
        where = "is missing" if not places else f"is in {len(places)} directories"
        raise _refused(path, f"the cluster metadata ({METADATA_DIRECTORY}) {where}", _GIVE_ALL)
    (place,) = places
    clean = os.path.exists(os.path.join(os.path.dirname(place), names.CLEAN_SHUTDOWN))
    try:
        state, torn_bytes = read_kafka_state(place, clean=clean)
    except LogError as error:
        raise LogError(f"cannot adopt {path}: {error}", path=place) from error
    left_out: list[str] = []
    if torn_bytes:
        left_out.append(f"the last {torn_bytes} bytes of {place}: an incomplete write of a killed broker")
    _check_alone(path, state, _controllers(place, state), node_id)
    registered = state.brokers[node_id].log_dirs
    _check_directories(paths, metas, registered, place)
    _check_features(path, state)
    partition_dirs = _partition_dirs(paths, state, left_out, all_there=bool(registered))
    left_out += _take_out_configs(state, node_id)
    left_out += _unserved_groups(partition_dirs)
    return Adoptable(tuple(paths), cluster_id, node_id, state, partition_dirs, left_out)


def _refused(path: str, why: str, hint: str | None = None) -> ConfigError:
    return ConfigError(f"cannot adopt {path}: {why}", hint=hint)


def _meta(path: str, by_kafka: bool) -> MetaProperties:
    """``by_kafka``: Kafka has used the node's directories, even if this broker created them."""
    meta_path = os.path.join(path, META_PROPERTIES)
    try:
        if not stat.S_ISREG(os.stat(meta_path).st_mode):
            raise _refused(path, f"{meta_path} is not a file")
        meta = read_meta_properties(meta_path)
    except FileNotFoundError:
        raise _refused(path, f"not a log directory of Kafka (it has no {META_PROPERTIES})") from None
    except CorruptIndex as error:
        raise _refused(path, str(error)) from error
    except OSError as error:
        raise _refused(path, f"{meta_path}: {error.strerror}") from error
    if is_ours(meta) and not by_kafka:
        raise _refused(path, "this broker wrote it, not Kafka", "start the broker on it with --data-dir")
    if meta.version == 0:
        raise _refused(
            path, "it belongs to a broker in ZooKeeper mode: the topics, configs and users are in ZooKeeper",
            "migrate the cluster to KRaft with Kafka 3.9 first",
        )  # fmt: skip
    if is_only_formatted(path):
        raise _refused(
            path, "it was formatted, but no broker has started on it yet", "start the broker on it with --data-dir"
        )
    return meta


def _controllers(place: str, state: ClusterImage) -> set[int]:
    """The ids of the controllers: the configured voters, otherwise every registered controller."""
    try:
        voters = read_quorum_state(os.path.join(place, names.QUORUM_STATE)).get("currentVoters")
    except (FileNotFoundError, CorruptIndex) as error:
        log.debug("cannot read the quorum state: %s", error)
        return set(state.controllers)
    found = [voter.get("voterId") for voter in voters or [] if isinstance(voter, dict)]
    return {id for id in found if isinstance(id, int)} or set(state.controllers)


def _check_alone(path: str, state: ClusterImage, controllers: set[int], node_id: int) -> None:
    """ConfigError unless the whole cluster was this node."""
    several = "you can adopt only a cluster of one node"
    if node_id not in state.brokers:
        why = f"broker {node_id} never registered: the directory belongs to a node that is only a controller"
        raise _refused(path, why)
    if state.zk_migration_state not in _MIGRATED:
        raise _refused(path, "the cluster is being migrated from ZooKeeper", "finish the migration first")
    elsewhere = sorted(controllers - {node_id})
    if elsewhere:
        raise _refused(path, f"the cluster has controllers on other nodes ({_listed(elsewhere)})", several)
    for topic in state.topics.by_id.values():
        for number, found in topic.partitions.items():
            if found.replicas != [node_id]:
                where = _listed(found.replicas)
                raise _refused(path, f"the cluster has several nodes: {topic.name}-{number} is on {where}", several)


def _check_directories(
    paths: Sequence[str], metas: Sequence[MetaProperties], registered: Collection[uuid.UUID], place: str
) -> None:
    """ConfigError unless these are all log directories of the node, including that of its metadata log (``place``).

    ``registered``: the ids of the log directories; empty before Kafka 3.7.
    """
    ids = {uuid_text(each) for each in registered}
    if len(paths) == 1:
        missing = len(ids) - 1
    else:
        missing = len(ids - {meta.directory_id for meta in metas})
        for path, meta in zip(paths, metas, strict=True):
            if ids and meta.directory_id not in ids and path != os.path.dirname(place):
                raise _refused(path, f"the node has no log directory with the id {meta.directory_id}")
    if missing > 0:
        not_given = f"{missing} of them {'is' if missing == 1 else 'are'} missing from --adopt"
        raise _refused(", ".join(paths), f"the node has {len(ids)} log directories, but {not_given}", _GIVE_ALL)


def _check_features(path: str, state: ClusterImage) -> None:
    if METADATA_VERSION not in state.features:
        raise _refused(
            path,
            f"the cluster has no {METADATA_VERSION}: it was written by a Kafka before 3.3",
            "upgrade the cluster first",
        )
    unknown = unsupported(state.features)
    if unknown is not None:
        raise _refused(path, f"the cluster uses {unknown}")


def _partition_dirs(
    paths: Sequence[str], state: ClusterImage, left_out: list[str], *, all_there: bool
) -> dict[str, str]:
    """The directories of the cluster's partitions. ``all_there``: the node has no other log directories."""
    wanted = {
        f"{topic.name}-{number}": topic.id for topic in state.topics.by_id.values() for number in topic.partitions
    }
    found: dict[str, str] = {}
    entries = [(entry, path) for path in paths for entry in os.scandir(path)]
    for entry, path in sorted(entries, key=lambda each: each[0].name):
        parsed = names.parse_partition_dir(entry.name)
        if parsed is None or not entry.is_dir() or entry.name == METADATA_DIRECTORY or parsed.state == "delete":
            continue
        topic_id = wanted.get(entry.name)
        own_id = _topic_id(entry.path)
        if topic_id is not None and own_id in (None, topic_id):
            if entry.name in found:
                raise _refused(path, f"{entry.name} is also in {found[entry.name]}")
            found[entry.name] = path
        else:
            left_out.append(
                f"{entry.path}: the cluster has no such partition" + (f" with id {own_id}" if topic_id else "")
            )
    missing = sorted(wanted.keys() - set(found))
    where = ", ".join(paths)
    if missing and not all_there:
        raise _refused(where, f"{_listed(missing)} {'is' if len(missing) == 1 else 'are'} missing", _GIVE_ALL)
    left_out += [f"records of {name}: it has no directory in {where}, so it starts empty" for name in missing]
    return found


def _topic_id(directory: str) -> object:
    try:
        return read_partition_metadata(os.path.join(directory, names.PARTITION_METADATA))
    except (FileNotFoundError, CorruptIndex):
        return None


def _take_out_configs(state: ClusterImage, node_id: int) -> Iterator[str]:
    """Remove the configs that this broker does not have. A line for each, without its value, which may be secret."""
    for (kind, name), values in sorted(state.configs.items()):
        word = ConfigResourceType.word(kind).lower().replace("_", "-")
        if kind == ConfigResourceType.BROKER and name not in ("", str(node_id)):
            yield f"the configs of broker {name}, which is another broker"
            del state.configs[kind, name]
            continue
        for key, value in list(values.items()):
            why = _config_problem(kind, key, value)
            if why is not None:
                yield f"{key} of {word} {name or '(default)'}: {why}"
                del values[key]


def _config_problem(kind: int, key: str, value: str) -> str | None:
    from kafka_tools.config_definitions import client_metrics, group, topic

    tables = {
        ConfigResourceType.TOPIC: topic.TABLE,
        ConfigResourceType.GROUP: group.TABLE,
        ConfigResourceType.CLIENT_METRICS: client_metrics.TABLE,
    }
    if kind == ConfigResourceType.TOPIC and key.startswith(_OF_TIERED_STORAGE) and value != "false":
        return "this broker cannot read records in tiered storage"
    if kind == ConfigResourceType.BROKER:
        row: Row | None = broker_row(key)
        if row is None:
            return None
    elif kind in tables:
        row = tables[kind].get(key)
        if row is None:
            return f"Kafka {KAFKA_MINOR} has no such config"
    else:
        return f"unknown resource type {kind}"
    try:
        parse(key, row[0], value)
    except ConfigError:
        return "its value does not have the type of the config"
    return None


def _unserved_groups(partition_dirs: Mapping[str, str]) -> list[str]:
    """A line for each group that this broker does not support. Their records stay in the log; the broker skips them."""
    found: dict[tuple[str, str], bool] = {}
    for name, path in partition_dirs.items():
        if names.partition_of_dir(name).topic != CONSUMER_OFFSETS:
            continue
        for files in partition_files(os.path.join(path, name)).segments:
            if files.log is None:
                continue
            with Segment(files.log) as segment:
                for view in segment.batches():
                    if isinstance(view, BatchView) and not view.is_control:
                        _note_groups(view, found)
    return [
        f"{kind} group {group_id}: this broker does not support such groups"
        for (kind, group_id), there in found.items()
        if there
    ]


def _note_groups(view: BatchView, found: dict[tuple[str, str], bool]) -> None:
    """Note for each group in a batch whether it exists after it. The start of the broker reports damaged batches."""
    try:
        for record in view.records():
            key = record.key or b""
            kind = _UNSERVED.get(int.from_bytes(key[:2], "big"))
            if kind is not None and len(key) >= 2:
                word, key_class = kind
                found[word, decode(key_class, 0, key[2:]).group_id] = record.value is not None
    except (CorruptBatch, WireError) as error:
        log.debug("cannot read a batch of groups: %s", error)


def _listed(values: list[int] | list[str]) -> str:
    shown = ", ".join(map(str, values[:5]))
    return f"{shown} and {len(values) - 5} more" if len(values) > 5 else shown
