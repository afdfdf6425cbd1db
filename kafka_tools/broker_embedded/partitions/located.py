"""Finds the directories of a cluster's partitions at a start, and other directories with names of partitions.

This happens before any change: a start that is refused leaves all files unchanged.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Collection
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.directories.data_dirs import remove_directory, retire_directory
from kafka_tools.broker_embedded.directories.state_checks import BACK
from kafka_tools.errors import CorruptIndex, LogError
from kafka_tools.records.chain import HEADER_BYTES
from kafka_tools.shown_text import counted
from kafka_tools.storage.layout import partition_files
from kafka_tools.storage.names import PARTITION_METADATA
from kafka_tools.storage.snapshots import read_partition_metadata
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.metadata import Cluster
    from kafka_tools.broker_embedded.directories.data_dirs import DataDirs

log = logging.getLogger(__name__)


class Located:
    """The result of ``locate``."""

    def __init__(self) -> None:
        self.places: dict[TopicPartition, str] = {}
        """The log directory of each partition found."""
        self.unnamed: set[TopicPartition] = set()
        """Partitions without a topic id, because of a crash between creating the directory and writing the id."""
        self.unreadable: dict[TopicPartition, CorruptIndex] = {}
        """Partitions whose topic id cannot be read."""
        self._foreign: list[tuple[str, uuid.UUID | None]] = []
        self._deleted: list[str] = []

    def add(self, id: TopicPartition, log_dir: str) -> None:
        """Add a partition's directory. Raises LogError for a second one."""
        if id in self.places:
            path, twice = os.path.join(log_dir, str(id)), os.path.join(self.places[id], str(id))
            raise LogError(
                f"found two copies of partition {id}: {twice} and {path}", path=path,
                hint="keep the directory that has the right records, and move the other one out of the log directories",
            )  # fmt: skip
        self.places[id] = log_dir

    def deleted(self, path: str) -> None:
        """Add the directory of a partition whose topic was deleted."""
        self._deleted.append(path)

    def foreign(self, path: str, topic_id: uuid.UUID | None) -> None:
        """Add a directory with the name of a partition that belongs to no topic."""
        self._foreign.append((path, topic_id))

    def put_aside(self, removed_ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
        """Remove deleted directories; remove, rename or keep foreign ones. Returns the topic ids of remaining ones."""
        staying = set()
        for path in self._deleted:
            remove_directory(path)
        for path, topic_id in self._foreign:
            if topic_id in removed_ids or (topic_id is not None and _was_never_written(path)):
                remove_directory(path)  # a crash came before its files were deleted, or before its topic was created
            elif _is_log(path):
                log.warning("%s belongs to no topic, renaming it", path)
                retire_directory(path, state="stray")
            else:
                log.warning("%s is not a partition of a topic and contains no log: it stays unchanged", path)
            if topic_id is not None and os.path.exists(path):
                staying.add(topic_id)
        return staying


def locate(dirs: DataDirs, cluster: Cluster) -> Located:
    """Find the directories of the cluster's partitions.

    Raises LogError for a partition with two directories, and for records of a topic that the state neither contains
    nor removed. In a cleanly closed directory, only a truncated state explains such records. After a crash, the
    topic's record may never have been on the disk.
    """
    found = Located()
    unknown = []
    for log_dir, name, parsed in dirs.partition_dirs():
        path, id = os.path.join(log_dir, name), parsed.topic_partition
        if parsed.state == "delete":
            found.deleted(path)
            continue
        topic = cluster.topics.get(id.topic)
        is_of_topic = topic is not None and name == str(id) and id.partition in topic.partitions
        topic_id: uuid.UUID | None = None
        try:
            topic_id = _read_topic_id(path)
        except CorruptIndex as error:
            if is_of_topic:
                found.unreadable[id] = error
        if topic is not None and is_of_topic and topic_id in (topic.id, None):
            found.add(id, log_dir)
            if topic_id is None and id not in found.unreadable:
                found.unnamed.add(id)
        elif parsed.state != "stray":
            found.foreign(path, topic_id)
            is_known = topic is not None or topic_id is None or topic_id in cluster.removed_ids
            if dirs.clean[log_dir] and not is_known and not _was_never_written(path):
                unknown.append(path)
    if unknown:
        several = counted(len(unknown), "partition", "partitions")
        raise LogError(
            f"the cluster metadata does not contain the topics of {several} with records, for example {unknown[0]}: "
            "part of the metadata is missing, or they belong to another cluster",
            path=unknown[0], hint=f"move partitions of another cluster out of the log directories; or {BACK}",
        )  # fmt: skip
    return found


def _read_topic_id(path: str) -> uuid.UUID | None:
    """The topic id; None if the file is missing or empty, as after a crash. Raises CorruptIndex."""
    place = os.path.join(path, PARTITION_METADATA)
    try:
        return read_partition_metadata(place)
    except FileNotFoundError:
        return None
    except CorruptIndex:
        if not os.stat(place).st_size:
            return None
        raise
    except OSError as error:
        raise CorruptIndex(f"{place}: {error.strerror}", path=place) from error


def _is_log(path: str) -> bool:
    """Whether a directory with the name of a partition contains a log, or nothing, instead of unrelated files."""
    files = partition_files(path)
    ours = {os.path.join(path, PARTITION_METADATA + state) for state in ("", ".tmp")}  # .tmp may remain after a crash
    return bool(files.segments) or not files.others or not ours.isdisjoint(files.others)


def _was_never_written(path: str) -> bool:
    """Whether the log in a directory never had a batch."""
    files = partition_files(path)
    logs = [segment.log for segment in files.segments if segment.log is not None]
    if files.snapshots or [segment.base_offset for segment in files.segments] not in ([], [0]):
        return False
    for name in logs:
        with open(name, "rb") as file:
            if file.read(HEADER_BYTES).strip(b"\0"):
                return False
    return True
