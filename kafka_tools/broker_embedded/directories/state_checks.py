"""Checks of the cluster metadata in the log directories, before a start reads or renames anything.

Its directory has the name of the first partition of a topic ``__cluster_metadata``. Brokers of this product up to
0.1.0 let clients create a topic of that name: its records mixed with the metadata, and deleting the topic deleted the
metadata. These checks detect the traces of such a topic; ``state_mending`` repairs them.
"""

from __future__ import annotations

import os

from kafka_tools.broker_embedded.cluster.metadata import Cluster
from kafka_tools.broker_embedded.directories.data_dirs import DataDirs
from kafka_tools.errors import LogError
from kafka_tools.protocol.enums import CLUSTER_METADATA
from kafka_tools.shown_text import counted
from kafka_tools.storage.layout import partition_files
from kafka_tools.storage.names import METADATA_DIRECTORY, PARTITION_METADATA, parse_partition_dir

MEND = "repair the cluster metadata with kafka-tools broker mend --data-dir DIR, which keeps the files that it replaces"
BACK = (
    f"restore {METADATA_DIRECTORY} from a backup, or continue without the missing part: kafka-tools broker mend "
    "--data-dir DIR restores topics from their directories; then set users, ACLs and configs again"
)
"""The hint if some of the metadata is missing."""


def state_directories(dirs: DataDirs) -> list[tuple[str, str]]:
    """(path, state) of everything that has the name of a partition of a topic ``__cluster_metadata``."""
    return [
        (os.path.join(path, name), parsed.state)
        for path in dirs.paths
        for name in sorted(os.listdir(path))
        if (parsed := parse_partition_dir(name)) and parsed.topic_partition.topic == CLUSTER_METADATA
    ]


def check_state(dirs: DataDirs, known_end: int) -> None:
    """Raises LogError if a client's topic replaced, mixed with or deleted the metadata, or if the metadata is missing.

    ``known_end``: the offset that the metadata log is known to have reached.
    """
    for place, state in state_directories(dirs):
        if state in ("stray", "future"):
            continue  # renamed by a repair, or left by an interrupted one
        if state:
            text = f"{place}: the cluster metadata was deleted, as a topic named {CLUSTER_METADATA}"
            raise LogError(text, path=place, hint=MEND)
        if os.path.basename(place) != METADATA_DIRECTORY or is_of_a_topic(place):
            text = (
                f"{place} belongs to a topic {CLUSTER_METADATA} that a client created: it does not contain "
                "only cluster metadata"
            )
            raise LogError(text, path=place, hint=MEND)
    if not any(os.path.isdir(os.path.join(path, METADATA_DIRECTORY)) for path in dirs.paths):
        lost = _what_had_state(dirs, known_end)
        if lost:
            raise LogError(
                f"the cluster metadata ({METADATA_DIRECTORY}) is missing, but {lost}",
                path=dirs.paths[0],
                hint=f"check that you passed all of log.dirs, and that they are mounted. If so: {BACK}",
            )


def check_end(dirs: DataDirs, end_offset: int, known_end: int) -> None:
    """Raises LogError if the metadata has no records although a cluster existed, or ends before ``known_end``."""
    place = os.path.join(dirs.metadata_dir, METADATA_DIRECTORY)
    if not end_offset:
        lost = _what_had_state(dirs, known_end)
        if lost:
            raise LogError(f"{place}: the cluster metadata has no records, but {lost}", path=place, hint=BACK)
    elif end_offset < known_end:
        raise LogError(
            f"{place}: the cluster metadata ends at offset {end_offset}, but it reached offset {known_end}: its "
            f"last {counted(known_end - end_offset, 'record is', 'records are')} missing",
            path=place, hint=BACK,
        )  # fmt: skip


def _what_had_state(dirs: DataDirs, known_end: int) -> str:
    """The traces of earlier metadata, as text; empty without any."""
    said = [f"it had {known_end} records"] if known_end else []
    of_topics = [
        os.path.join(path, name)
        for path, name, parsed in dirs.partition_dirs()
        if not parsed.state and partition_files(os.path.join(path, name)).segments
    ]
    if of_topics:
        said.append(
            f"{counted(len(of_topics), 'partition has a log', 'partitions have logs')}, for example {of_topics[0]}"
        )
    return " and ".join(said)


def check_topics(cluster: Cluster) -> None:
    """Raises LogError if the metadata has a topic ``__cluster_metadata``: both would share one log."""
    if cluster.topic(CLUSTER_METADATA) is not None:
        raise LogError(
            f"the cluster metadata has a topic {CLUSTER_METADATA}, which a client created: records of that topic "
            "may be among the metadata",
            hint=MEND,
        )


def is_of_a_topic(directory: str) -> bool:
    """Whether a directory is a topic's partition. The directory of the metadata has no file with a topic id."""
    return os.path.exists(os.path.join(directory, PARTITION_METADATA))
