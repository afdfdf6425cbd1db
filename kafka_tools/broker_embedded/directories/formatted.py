"""Directories formatted by ``kafka-storage format``, Kafka's or ours, on which no broker has started yet.

Formatting writes the ids of cluster, node and directory (``meta.properties``), the first feature levels and
credentials of the cluster (KIP-778 and KIP-900) and, for a dynamic quorum, the voters (KIP-853). The voters are in the
first snapshot of the metadata log; the levels and credentials too since Kafka 4.4, in ``bootstrap.checkpoint`` before.
If both files have them, the snapshot's count, as in Kafka. The first start takes the directories over by writing their
``meta.properties`` anew, and then writes the cluster's state in one change. As long as there is no state, a start
begins from the formatted files, so that a kill between the two loses nothing. No formatted file is removed. Sources:
``BootstrapMetadata``, ``KafkaRaftServer``, ``ActivationRecordsGenerator`` of Kafka.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping, Sequence

from kafka_tools import KAFKA_MINOR
from kafka_tools.broker_embedded.cluster.features import unsupported
from kafka_tools.broker_embedded.configs.store import check_properties
from kafka_tools.broker_embedded.configs.together import check_together
from kafka_tools.broker_embedded.directories.local_store import snapshot_records
from kafka_tools.broker_embedded.directories.survey import FIRST_SNAPSHOT
from kafka_tools.errors import ConfigError, LogError
from kafka_tools.protocol.feature_levels import KRAFT_VERSION, METADATA_VERSION
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import FeatureLevelRecord, UserScramCredentialRecord
from kafka_tools.shown_text import counted
from kafka_tools.storage.checkpoints import MetaProperties
from kafka_tools.storage.kraft_snapshots import NO_CONTROL, SnapshotControl, read_control
from kafka_tools.storage.names import BOOTSTRAP_CHECKPOINT, METADATA_DIRECTORY

log = logging.getLogger(__name__)

_MOST_BYTES = 16 << 20
"""The largest file with first records that is read, in bytes: about 100,000 credentials."""
_FORMAT_AGAIN = "format a directory for one node that is both broker and controller"


class FormattedDirectories:
    """Checks formatted directories for a broker with these settings, and reads their first records."""

    def __init__(self, properties: Mapping[str, str], node_id: int) -> None:
        self._properties = properties
        self._node_id = node_id

    def check(self, formatted: Sequence[tuple[str, MetaProperties]], log_dirs: Sequence[str]) -> None:
        """Raise ConfigError, with nothing changed, if the broker cannot start on them; LogError for damage.

        ``formatted``: the directories that are only formatted. ``log_dirs``: all directories of the broker.
        """
        check_properties(self._properties)
        check_together(self._properties)
        path = formatted[0][0]
        self._check_roles(path)
        having = [each for each in log_dirs if os.path.isdir(os.path.join(each, METADATA_DIRECTORY))]
        if len(having) > 1:
            raise _refused(path, f"the metadata log is in several directories: {' and '.join(having)}")
        seen: dict[str, str] = {}
        for each, meta in formatted:
            _read_records(each)
            id = meta.directory_id
            if id is not None and id in seen:
                raise _refused(
                    each, f"{seen[id]} has the same directory.id {id}", "format one of the two directories again"
                )
            seen[id or each] = each
        self._check_voters(path, self._quorum(log_dirs))

    def _check_roles(self, path: str) -> None:
        roles = {role.strip() for role in self._properties.get("process.roles", "").split(",") if role.strip()}
        if roles and not {"broker", "controller"} <= roles:
            raise _refused(
                path, f"process.roles={','.join(sorted(roles))} is not supported: this broker always has both roles",
                _FORMAT_AGAIN + ", and set process.roles=broker,controller",
            )  # fmt: skip

    def _check_voters(self, path: str, quorum: SnapshotControl) -> None:
        configured = self._properties.get("controller.quorum.voters", "").strip()
        if quorum.voters is None and not configured and self._properties.get("process.roles", "").strip():
            raise _refused(
                path,
                "it contains no voter and controller.quorum.voters is empty: the node would join an existing quorum",
                "format it with --standalone",
            )
        if quorum.voters is not None:
            voters = {voter.voter_id for voter in quorum.voters.voters}
        else:
            voters = {_voter_id(text) for text in configured.split(",")}
        if (quorum.voters is not None or configured) and voters != {self._node_id}:
            shown = ", ".join(map(str, sorted(voters)))
            raise _refused(
                path, f"its quorum has the voters {shown}, but this node must be the only voter", _FORMAT_AGAIN
            )

    def _quorum(self, log_dirs: Sequence[str]) -> SnapshotControl:
        """The quorum in the first snapshot of the metadata log."""
        for place in self._places(log_dirs):
            path = os.path.join(place, FIRST_SNAPSHOT)
            if os.path.isfile(path):
                with _reading(place, path):
                    found = read_control(path)
                problem = unsupported({KRAFT_VERSION: found.kraft_version})
                if problem is not None:
                    raise _refused(place, f"its quorum uses {problem}")
                return found
        return NO_CONTROL

    def _places(self, log_dirs: Sequence[str]) -> list[str]:
        """The directories that may contain the metadata log: the log directories, and metadata.log.dir."""
        own = self._properties.get("metadata.log.dir", "").strip()
        return [*log_dirs, *([own] if own else [])]

    def first_records(self, metadata_dir: str, log_dirs: Sequence[str]) -> list[Stored]:
        """The first records of the cluster; none if nothing was formatted. Raises ConfigError or LogError."""
        found = ((place, _read_records(place)) for place in (metadata_dir, *self._places(log_dirs)))
        place, records = next(((place, records) for place, records in found if records), (None, []))
        kraft_version = self._quorum(log_dirs).kraft_version
        if kraft_version:
            records.append(FeatureLevelRecord(name=KRAFT_VERSION, feature_level=kraft_version))
        if place is not None:
            users = sum(isinstance(record, UserScramCredentialRecord) for record in records)
            credentials = counted(users, "SCRAM credential", "SCRAM credentials")
            log.info("starting the cluster as %s was formatted, with %s", place, credentials)
        return records


def _read_records(path: str) -> list[Stored]:
    """The first records of the cluster in a directory; empty without any. Raises ConfigError."""
    for name in (FIRST_SNAPSHOT, BOOTSTRAP_CHECKPOINT):
        file = os.path.join(path, name)
        if not os.path.lexists(file):
            continue
        with _reading(path, file):
            records = list(snapshot_records(file))
        # Before Kafka 4.4 the snapshot has only the voters, and bootstrap.checkpoint all records.
        if records or name == BOOTSTRAP_CHECKPOINT:
            _check_records(path, file, records)
            return records
    return []


def _check_records(path: str, file: str, records: Sequence[Stored]) -> None:
    """Raise ConfigError if this broker cannot begin a cluster with them."""
    levels: dict[str, int] = {}
    for record in records:
        if isinstance(record, FeatureLevelRecord):
            levels[record.name] = record.feature_level
        elif not isinstance(record, UserScramCredentialRecord):
            raise _refused(
                path, f"{file} contains a {type(record).__name__}, which this broker does not accept in a new cluster"
            )
    if METADATA_VERSION not in levels:
        raise _refused(path, f"{file} has no {METADATA_VERSION}")
    problem = unsupported({name: level for name, level in levels.items() if level})
    if problem is not None:
        raise _refused(
            path, f"its cluster would use {problem}", f"format it with a release from Kafka 3.3 to {KAFKA_MINOR}"
        )


@contextlib.contextmanager
def _reading(path: str, file: str) -> Iterator[None]:
    """Turn an error of reading a directory's file into the ConfigError that the broker cannot start on it."""
    try:
        size = os.stat(file).st_size
        if size > _MOST_BYTES:
            raise LogError(f"{file} has {size} bytes, more than {_MOST_BYTES}")
        yield
    except OSError as error:
        raise _refused(path, f"{file}: {error.strerror}") from error
    except LogError as error:
        raise _refused(path, str(error) if file in str(error) else f"{file}: {error}") from error


def _voter_id(text: str) -> int:
    """The id of a voter in controller.quorum.voters; -1 if the text is not ``id@host:port``."""
    id = text.partition("@")[0].strip()
    return int(id) if id.isascii() and id.isdigit() else -1


def _refused(path: str, why: str, hint: str | None = None) -> ConfigError:
    return ConfigError(f"cannot start on the formatted data directory {path}: {why}", hint=hint)
