"""Opens a core: checks and locks its log directories, and replays its store."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import TypedDict

from kafka_tools.broker_embedded.configs.limits import BrokerLimits
from kafka_tools.broker_embedded.coordinators.runtime import IsHeld
from kafka_tools.broker_embedded.core import DEFAULT_NODE_ID, Core, given_node_id
from kafka_tools.broker_embedded.directories.data_dirs import DataDirs
from kafka_tools.broker_embedded.directories.formatted import FormattedDirectories
from kafka_tools.broker_embedded.directories.local_store import LocalStore
from kafka_tools.broker_embedded.directories.reached import StateEnd, read_state_end
from kafka_tools.broker_embedded.directories.shortening import Shortening
from kafka_tools.broker_embedded.directories.state_checks import check_end, check_state
from kafka_tools.broker_embedded.directories.survey import distinct, survey
from kafka_tools.clock import Clock
from kafka_tools.errors import ConfigError, LogError
from kafka_tools.storage.log.syncing import Unsynced

log = logging.getLogger(__name__)

KAFKA, ALWAYS = "kafka", "always"
FSYNC = (KAFKA, ALWAYS)
"""Acknowledged data is on the disk according to ``flush.messages`` and ``flush.ms``, as in Kafka, or always."""


class OpeningOptions(TypedDict, total=False):
    """The parameters of ``open_core`` that callers of ``RunningBroker`` pass."""

    release: str | None
    fsync: str
    lost_data_dirs: Collection[str]
    limits: BrokerLimits


def open_core(
    properties: Mapping[str, str],
    *,
    data_dirs: Sequence[str],
    clock: Clock,
    release: str | None = None,
    fsync: str = KAFKA,
    lost_data_dirs: Collection[str] = (),
    is_loading_held: IsHeld = lambda at, partitions: False,
    limits: BrokerLimits = BrokerLimits(),  # noqa: B008 - frozen
) -> Core:
    """Open and start a core. Raises ConfigError, or LogError, also for errors of the disk.

    Without an id in the settings, the broker uses the id in its directories. ``lost_data_dirs``: the ids of directories
    that are permanently lost. ``is_loading_held`` is a parameter of the core.
    """
    if fsync not in FSYNC:
        raise ConfigError(f"invalid fsync '{fsync}': expected one of {', '.join(FSYNC)}")
    unsynced = Unsynced() if fsync == ALWAYS else None
    node_id = given_node_id(properties)
    if node_id is None:
        node_id = _node_id_of_directories(data_dirs)
        if node_id != DEFAULT_NODE_ID:
            properties = {**properties, "node.id": str(node_id)}
    formatted = FormattedDirectories(properties, node_id)
    dirs = DataDirs(
        data_dirs,
        node_id=node_id,
        cluster_id=properties.get("cluster.id") or None,
        unsynced=unsynced,
        check_formatted=formatted.check,
        lost=lost_data_dirs,
    )
    core = store = None
    end_before = 0
    try:
        known_end = max(map(read_state_end, dirs.paths))
        check_state(dirs, known_end)
        place = dirs.metadata_dir
        store = LocalStore(place, clock, clean=dirs.clean[place], unsynced=unsynced, kept_to=known_end)
        end_before = store.end_offset
        check_end(dirs, end_before, known_end)
        core = Core(
            properties=properties,
            dirs=dirs,
            store=store,
            clock=clock,
            release=release,
            is_loading_held=is_loading_held,
            limits=limits,
        )
        upkeep = Shortening(store, core.journal, core.configs, core.timers, core.slices)
        core.start(() if end_before else formatted.first_records(place, dirs.paths))
        upkeep.start()
        core.state_end = StateEnd(place, store, core.timers, core.slices)
        core.state_end.write_now()
        core.journal.on_committed.append(core.state_end.changed)
    except BaseException as error:
        try:
            if store is None or store.end_offset == end_before:
                dirs.put_back()
        finally:
            if core is not None:
                core.close(clean=False)
            dirs.unlock()
        if isinstance(error, OSError):
            place = str(error.filename or ", ".join(dirs.paths))
            raise LogError(f"cannot start the broker: {place}: {error.strerror or error}", path=place) from error
        raise
    return core


def _node_id_of_directories(data_dirs: Sequence[str]) -> int:
    """The id in the first directory that has one. Raises ConfigError for a directory that is not this broker's."""
    metas = (survey(path, formatted=True) for path in distinct(data_dirs))
    return next((meta.node_id for meta in metas if meta is not None and meta.node_id is not None), DEFAULT_NODE_ID)
