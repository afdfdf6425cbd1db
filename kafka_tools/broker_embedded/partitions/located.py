"""Where the partitions of a cluster are at a start, and what else is in the log directories under names of partitions.

Looked at before anything is changed: a start that is refused leaves everything as it was.
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
    """``locate`` fills it."""

    def __init__(self) -> None:
        self.places: dict[TopicPartition, str] = {}
        """The log directory of each partition that is there."""
        self.unnamed: set[TopicPartition] = set()
        """Those without a topic id: a crash came between making the directory and writing it."""
        self.unreadable: dict[TopicPartition, CorruptIndex] = {}
        """Those whose topic id cannot be read."""
        self._foreign: list[tuple[str, uuid.UUID | None]] = []
        self._deleted: list[str] = []

    def add(self, id: TopicPartition, log_dir: str) -> None:
        """A partition's directory. Raises LogError for the second one."""
        if id in self.places:
            path, twice = os.path.join(log_dir, str(id)), os.path.join(self.places[id], str(id))
            raise LogError(
                f"found two copies of partition {id}: {twice} and {path}", path=path,
                hint="keep the directory that has the right records, and move the other one out of the log directories",
            )  # fmt: skip
        self.places[id] = log_dir

    def deleted(self, path: str) -> None:
        """The directory of a partition whose topic was deleted."""
        self._deleted.append(path)

    def foreign(self, path: str, topic_id: uuid.UUID | None) -> None:
        """A directory that is named after a partition of no topic."""
        self._foreign.append((path, topic_id))

    def put_aside(self, removed_ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
        """Remove what was deleted; remove, set aside or leave what is of no topic. The topic ids of what stays."""
        staying = set()
        for path in self._deleted:
            remove_directory(path)
        for path, topic_id in self._foreign:
            if topic_id in removed_ids or (topic_id is not None and _was_never_written(path)):
                remove_directory(path)  # a crash came before its files were deleted, or before its topic was made
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

    Raises LogError for a partition that is there twice, and for records of a topic that the state does not know and
    never removed. In a directory that was closed nothing explains them but a state that was cut; after a crash the
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
    """None where the file is not there, or empty: a crash came before it was written. Raises CorruptIndex."""
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
    """Whether what is in a directory that is named after a partition is a log's, and nothing of somebody else."""
    files = partition_files(path)
    ours = {os.path.join(path, PARTITION_METADATA + state) for state in ("", ".tmp")}  # which a crash may have left
    return bool(files.segments) or not files.others or not ours.isdisjoint(files.others)


def _was_never_written(path: str) -> bool:
    """Whether the log in a directory is as it was made: without a batch, and none was removed."""
    files = partition_files(path)
    logs = [segment.log for segment in files.segments if segment.log is not None]
    if files.snapshots or [segment.base_offset for segment in files.segments] not in ([], [0]):
        return False
    for name in logs:
        with open(name, "rb") as file:
            if file.read(HEADER_BYTES).strip(b"\0"):
                return False
    return True
