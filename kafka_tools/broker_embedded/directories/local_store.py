"""The cluster's state in the broker's own directory: Kafka's metadata records in ``__cluster_metadata-0``.

The log is in Kafka's format throughout (``metadata/src/main/resources/common/metadata``, frame version 1
before each record), so Kafka's own dump tool prints it with ``--cluster-metadata-decoder``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from kafka_tools.broker_embedded.cluster.store import LEADER_EPOCH
from kafka_tools.broker_embedded.directories.state_checks import MEND
from kafka_tools.broker_embedded.directories.survey import METADATA_DIRECTORY
from kafka_tools.clock import Clock
from kafka_tools.errors import LogError, WireError
from kafka_tools.protocol.codec import decode_prefix, encode_into
from kafka_tools.protocol.primitives import read_unsigned_varint, write_unsigned_varint
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import RECORDS
from kafka_tools.records.build import build_batch
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog
from kafka_tools.storage.log.syncing import Unsynced

_FRAME_VERSION = 1
_VERSIONS = {"RegisterBrokerRecord": 3, "PartitionRecord": 1, "PartitionChangeRecord": 1}
"""Versions written where the newest is not needed, so that older tools can read the log as well."""


class LocalStore:
    """A ClusterStore in ``data_dir``. One change is one batch: its CRC makes it whole or absent."""

    def __init__(
        self,
        data_dir: str,
        clock: Clock,
        *,
        clean: bool,
        directory: str = METADATA_DIRECTORY,
        unsynced: Unsynced | None = None,
    ) -> None:
        """``directory``: the name of the log's directory in ``data_dir``. Raises LogError or OSError."""
        self._clock = clock
        directory = os.path.join(data_dir, directory)
        _make_private(directory)
        config = LogConfig(delete=False, segment_ms=2**63 - 1)
        self._log = PartitionLog.open(directory, config, clock, clean=clean, unsynced=unsynced)

    @property
    def end_offset(self) -> int:
        return self._log.log_end_offset

    def append(self, records: Sequence[Stored]) -> None:
        now_ms = self._clock.now_ms()
        rows = [(now_ms, None, encode_record(record), ()) for record in records]
        batch = build_batch(rows, leader_epoch=LEADER_EPOCH)
        self._log.append(bytearray(batch), leader_epoch=LEADER_EPOCH, from_client=False)

    def sync(self) -> None:
        try:
            self._log.sync()
        except OSError as error:
            self._log.take_offline(error)
            raise

    def replay(self) -> Iterator[Stored]:
        try:
            for view in self._log.walk():
                if view.is_control:
                    continue
                for record in view.records():
                    if record.value is not None:
                        yield decode_record(record.value, f"{self._log.directory} at offset {record.offset}")
        except LogError as error:
            error.hint = error.hint or MEND
            raise

    def why_lost(self) -> str | None:
        if self._log.offline and not self._log.waits_for_room:
            return self._log.offline
        return next((why for each in self._log.segments if (why := each.why_gone()) is not None), None)

    def lose(self, why: str) -> None:
        self._log.lose(why)

    def close(self, *, clean: bool = True) -> bool:
        return self._log.close(clean=clean)


def _make_private(directory: str) -> None:
    """The state holds credentials: only the broker's user may read it. New files are as private as the directory."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    os.chmod(directory, 0o700)
    for entry in os.scandir(directory):
        if entry.is_file(follow_symlinks=False):
            os.chmod(entry.path, 0o600)


def encode_record(record: Stored) -> bytes:
    """Frame version, type and version as unsigned varints, then the record."""
    kind = type(record)
    version = _VERSIONS.get(kind.__name__, kind.MAX_VERSION)
    out = bytearray()
    write_unsigned_varint(out, _FRAME_VERSION)
    write_unsigned_varint(out, kind.ID or 0)
    write_unsigned_varint(out, version)
    encode_into(record, version, out)
    return bytes(out)


def decode_record(value: bytes | memoryview, where: str) -> Stored:
    """The record in a value. Raises LogError, naming ``where``, for bytes that are not a record."""
    try:
        frame_version, position = read_unsigned_varint(value, 0)
        kind, position = read_unsigned_varint(value, position)
        version, position = read_unsigned_varint(value, position)
        if frame_version != _FRAME_VERSION or kind not in RECORDS:
            raise LogError(f"{where}: metadata record of type {kind}, frame version {frame_version}, is not known")
        return decode_prefix(RECORDS[kind], version, value, position)[0]
    except (WireError, IndexError, ValueError) as error:
        raise LogError(f"{where}: not a metadata record: {error}") from error
