"""A core over its log directories: checked, locked and replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_tools.broker_embedded.core import Core, node_id_of
from kafka_tools.broker_embedded.directories.data_dirs import DataDirs
from kafka_tools.broker_embedded.directories.local_store import LocalStore
from kafka_tools.broker_embedded.directories.state_checks import check_state
from kafka_tools.clock import Clock
from kafka_tools.errors import ConfigError, LogError
from kafka_tools.storage.log.syncing import Unsynced

KAFKA, ALWAYS = "kafka", "always"
FSYNC = (KAFKA, ALWAYS)
"""When what is acknowledged is on the disk: as ``flush.messages`` and ``flush.ms`` say, as in Kafka; or always."""


def open_core(
    properties: Mapping[str, str],
    *,
    data_dirs: Sequence[str],
    clock: Clock,
    release: str | None = None,
    fsync: str = KAFKA,
) -> Core:
    """A started core over its directories. Raises ConfigError or LogError, a disk that refuses included."""
    if fsync not in FSYNC:
        raise ConfigError(f"fsync '{fsync}' is not one of {', '.join(FSYNC)}")
    unsynced = Unsynced() if fsync == ALWAYS else None
    dirs = DataDirs(
        data_dirs, node_id=node_id_of(properties), cluster_id=properties.get("cluster.id") or None, unsynced=unsynced
    )
    core = None
    try:
        check_state(dirs)
        store = LocalStore(dirs.metadata_dir, clock, clean=dirs.clean[dirs.metadata_dir], unsynced=unsynced)
        core = Core(properties=properties, dirs=dirs, store=store, clock=clock, release=release)
        core.start()
    except BaseException as error:
        if core is not None:
            core.close(clean=False)
        dirs.unlock()
        if isinstance(error, OSError):
            place = str(error.filename or ", ".join(dirs.paths))
            raise LogError(f"the broker cannot start: {place}: {error.strerror or error}", path=place) from error
        raise
    return core
