"""Repairs the cluster metadata after a client's topic named ``__cluster_metadata`` mixed with it, or if it is lost.

The metadata is written anew from the records that are certainly the broker's. The directories that it replaces are
renamed to ``*-stray``, unchanged. Topics that the metadata lacks are restored from their partitions' directories,
which have names and topic ids. Their records are kept forever until somebody sets the retention again.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from typing import NamedTuple

from kafka_tools.broker_embedded.configs.internal_topics import SYSTEM_CONFIGS
from kafka_tools.broker_embedded.directories.data_dirs import DataDirs, remove_directory, retire_directory
from kafka_tools.broker_embedded.directories.local_store import LocalStore
from kafka_tools.broker_embedded.directories.reached import forget_state_end, read_state_end
from kafka_tools.broker_embedded.directories.salvaged_state import SalvagedState
from kafka_tools.broker_embedded.directories.state_checks import is_of_a_topic, state_directories
from kafka_tools.broker_embedded.directories.survey import survey
from kafka_tools.clock import Clock
from kafka_tools.errors import ConfigError, CorruptBatch, CorruptIndex, WireError
from kafka_tools.protocol.codec import decode
from kafka_tools.protocol.enums import CLUSTER_METADATA, TRANSACTION_STATE, ConfigResourceType
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import (
    ConfigRecord,
    PartitionRecord,
    ProducerIdsRecord,
    TopicRecord,
)
from kafka_tools.protocol.stored.transaction_log import TransactionLogValue
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.shown_text import counted
from kafka_tools.storage.names import (
    LEADER_EPOCHS,
    METADATA_DIRECTORY,
    PARTITION_METADATA,
    directory_name,
)
from kafka_tools.storage.salvage import Salvage
from kafka_tools.storage.snapshots import read_leader_epochs, read_partition_metadata
from kafka_tools.values import TopicPartition

_CREDIBLE = 2**62
_PRODUCER_IDS = 1000
"""The number of producer ids in a block."""

_KEPT_FOR_EVER = {"retention.ms": "-1", "retention.bytes": "-1"}


class MendedState(NamedTuple):
    """The results of ``mend_state``, for the operator."""

    state: str
    """The directory of the state after the repair."""
    kept: int
    """The number of records of the old state in the new one."""
    left_out: dict[str, int]
    """The number of omitted records, by kind. Bytes that were not a batch count as one damaged span."""
    recovered: list[str]
    """The topics that were restored from their directories."""
    moved: list[tuple[str, str]]
    """(from, to) of the directories that were renamed."""
    next_producer_id: int
    """The first producer id that the cluster has not allocated."""
    gone: int
    """The number of records that are missing at the end of the state."""
    rewritten: bool
    """Whether the state was rewritten."""

    @property
    def changed(self) -> bool:
        """Whether there was anything to repair."""
        return bool(self.rewritten or self.gone)

    def lines(self) -> list[str]:
        """The report for the operator."""
        kept = counted(self.kept, "record", "records")
        if not self.changed:
            return [f"{self.state} is valid: {kept}, nothing to repair."]
        written = f"rewritten with {kept} of the old metadata" if self.rewritten else "kept"
        lines = [f"{self.state}: {written}."]
        if self.gone:
            lines.append(f"Missing: the last {counted(self.gone, 'record', 'records')} of the old metadata.")
        lines += [
            f"Omitted: {name}, {counted(times, 'time', 'times')}." for name, times in sorted(self.left_out.items())
        ]
        lines += [
            f"Topic {name}: restored from its directories; its records are kept forever until you set retention.ms."
            for name in self.recovered
        ]
        lines += [f"Renamed: {old} to {new}." for old, new in self.moved]
        if self.left_out or self.gone:
            lines.append(
                "Check users, ACLs, quotas and configs: set again what the missing or omitted records had changed."
            )
        return lines


class _Partition(NamedTuple):
    directory: str
    id: TopicPartition


def broker_dirs(paths: Sequence[str], *, lost: Collection[str] = ()) -> DataDirs:
    """The directories of a broker that does not run, locked. ``lost``: see ``DataDirs``.

    Raises ConfigError for directories that are not this broker's or are in use.
    """
    known = [meta for meta in map(survey, paths) if meta is not None]
    if not known or known[0].node_id is None:
        raise ConfigError(f"{', '.join(paths)}: no data of this broker to repair")
    return DataDirs(paths, node_id=known[0].node_id, lost=lost)


def mend_state(dirs: DataDirs, clock: Clock) -> MendedState:
    """Repair the cluster metadata in these directories.

    Raises LogError or OSError. It can be repeated after an error or a kill.
    """
    candidates = []
    for path, kind in state_directories(dirs):
        if kind == "future":
            remove_directory(path)  # left by an interrupted repair
        else:
            candidates.append(path)
    current = [path for path in candidates if not path.endswith("-stray")]
    reading = _best(candidates)
    kept = reading.kept if reading else []
    unknown = _unknown_partitions(dirs, reading)
    gone = max(0, max(map(read_state_end, dirs.paths)) - (reading.end_offset if reading else 0))
    if reading and reading.is_whole and not unknown and current == [reading.directory]:
        forget_state_end(dirs.paths if gone else ())
        return MendedState(reading.directory, sum(map(len, kept)), {}, [], [], _next_producer_id(kept), gone, False)
    log_dir = os.path.dirname(reading.directory) if reading else dirs.paths[0]
    new_name = directory_name(TopicPartition(CLUSTER_METADATA, 0), state="future", unique_id=uuid.uuid4().hex)
    with closing(LocalStore(log_dir, clock, clean=True, directory=new_name)) as store:
        for records in kept:
            store.append_all(records)
        for topic_id, partitions in unknown.items():
            store.append_all(_records_of(topic_id, partitions, dirs.node_id))
        next_producer_id = max(_next_producer_id(kept), _unused_producer_id(dirs))
        if next_producer_id > _next_producer_id(kept):
            store.append([ProducerIdsRecord(broker_id=dirs.node_id, next_producer_id=next_producer_id)])
    forget_state_end(dirs.paths)
    moved = [(path, retire_directory(path, state="stray")) for path in current]
    state = os.path.join(log_dir, METADATA_DIRECTORY)
    os.rename(os.path.join(log_dir, new_name), state)
    for partitions in unknown.values():
        for found in partitions:
            place = os.path.join(os.path.dirname(found.directory), str(found.id))
            if found.directory != place:
                os.rename(found.directory, place)
                moved.append((found.directory, place))
    names = sorted({partitions[0].id.topic for partitions in unknown.values()})
    left_out = dict(reading.left_out) if reading else {}
    return MendedState(state, sum(map(len, kept)), left_out, names, moved, next_producer_id, gone, True)


def _likelihood(path: str) -> tuple[bool, bool, bool, str]:
    """A sort key: the likeliest directory of the state comes first, renamed ones come last."""
    name = os.path.basename(path)
    return name != METADATA_DIRECTORY, name.endswith("-stray"), is_of_a_topic(path), path


def _best(candidates: Sequence[str]) -> SalvagedState | None:
    """The directory with the most records. Renamed directories count only if no other has records."""
    readings = [SalvagedState(path) for path in sorted(candidates, key=_likelihood)]
    readings = [found for found in readings if not found.directory.endswith("-stray") and found.kept] or readings
    return max(readings, key=lambda found: len(found.kept), default=None)


def _unknown_partitions(dirs: DataDirs, reading: SalvagedState | None) -> dict[uuid.UUID, list[_Partition]]:
    """The directories of topics that the metadata lacks, by topic id; without topics whose name another one has."""
    known = reading.image.topics.by_id if reading else {}
    taken = {topic.name for topic in known.values()}
    gone = {*known, *reading.removed} if reading else set()
    found: dict[uuid.UUID, list[_Partition]] = {}
    owners: dict[str, uuid.UUID] = {}
    # Directories with their own names come before renamed ones.
    for path, name, parsed in sorted(dirs.partition_dirs(), key=lambda entry: entry[2].state == "stray"):
        id = parsed.topic_partition
        if parsed.state not in ("", "stray") or id.topic in (CLUSTER_METADATA, *taken):
            continue
        if parsed.state == "stray" and len(name.encode()) == _CUT_AT:
            continue  # the topic's name was cut to fit
        try:
            topic_id = read_partition_metadata(os.path.join(path, name, PARTITION_METADATA))
        except (FileNotFoundError, CorruptIndex):
            continue
        if topic_id in gone or owners.setdefault(id.topic, topic_id) != topic_id:
            continue
        partitions = found.setdefault(topic_id, [])
        if all(other.id != id for other in partitions):
            partitions.append(_Partition(os.path.join(path, name), id))
    return found


_CUT_AT = 255
"""The longest name of a directory, to which the topic's part of a stray one is cut."""


def _records_of(topic_id: uuid.UUID, partitions: Sequence[_Partition], node_id: int) -> list[Stored]:
    """The records that restore a topic, with the partitions from 0 to the highest one found."""
    name = partitions[0].id.topic
    epochs = {found.id.partition: _leader_epoch(found.directory) for found in partitions}
    records: list[Stored] = [TopicRecord(name=name, topic_id=topic_id)]
    records += [
        ConfigRecord(resource_type=ConfigResourceType.TOPIC, resource_name=name, name=key, value=value)
        for key, value in sorted((_KEPT_FOR_EVER | SYSTEM_CONFIGS.get(name, {})).items())
    ]
    records += [
        PartitionRecord(
            partition_id=number, topic_id=topic_id, replicas=[node_id], isr=[node_id], leader=node_id,
            leader_epoch=epochs.get(number, 0), partition_epoch=0,
        )
        for number in range(max(epochs) + 1)
    ]  # fmt: skip
    return records


def _next_producer_id(changes: Sequence[Sequence[Stored]]) -> int:
    """The first producer id after all blocks in the metadata."""
    return max(
        (each.next_producer_id for change in changes for each in change if isinstance(each, ProducerIdsRecord)),
        default=0,
    )


def _unused_producer_id(dirs: DataDirs) -> int:
    """The first id of a block after all producer ids of transactional ids, in case the metadata has lost its blocks.

    A client may have written any number into that log. Ids in the upper half of the range are ignored, so that most
    ids remain available.
    """
    highest = -1
    for path, name, parsed in dirs.partition_dirs():
        if parsed.state not in ("", "stray") or parsed.topic_partition.topic != TRANSACTION_STATE:
            continue
        for data in Salvage(os.path.join(path, name)):
            for value in _transactions_in(next(batches(data))):
                ids = (value.producer_id, value.previous_producer_id, value.next_producer_id)
                highest = max(highest, *(id for id in ids if id < _CREDIBLE), -1)
    return (highest // _PRODUCER_IDS + 1) * _PRODUCER_IDS


def _transactions_in(view: BatchView) -> Iterator[TransactionLogValue]:
    if view.is_control:
        return
    try:
        for record in view.records():
            with suppress(WireError):
                if record.value is not None and len(record.value) > 2:
                    version = int.from_bytes(record.value[:2], "big")
                    yield decode(TransactionLogValue, version, memoryview(record.value)[2:])
    except CorruptBatch:
        return


def _leader_epoch(directory: str) -> int:
    """The newest leader epoch in a partition's directory; 0 if it is unknown."""
    try:
        entries = read_leader_epochs(os.path.join(directory, LEADER_EPOCHS))
    except (FileNotFoundError, CorruptIndex):
        return 0
    return max((entry.epoch for entry in entries), default=0)
