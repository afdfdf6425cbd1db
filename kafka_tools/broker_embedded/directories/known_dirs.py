"""Each log directory of the broker lists all of them in its meta.properties, as ``log.dir.<directory.id>``.

So a start detects a missing directory, whose disk is not mounted, before it creates the directory anew. Kafka refuses
every directory without meta.properties (``KafkaRaftServer``). This broker accepts a directory that is added later
without formatting: if no directory is missing, it is certainly new.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence

from kafka_tools.broker_embedded.directories.survey import is_ours
from kafka_tools.errors import ConfigError
from kafka_tools.storage.checkpoints import MetaProperties
from kafka_tools.storage.names import META_PROPERTIES

_PREFIX = "log.dir."

Found = Sequence[tuple[str, MetaProperties | None]]
"""The log directories and their meta.properties; None for a directory without that file."""


def named_in(meta: MetaProperties) -> dict[str, str]:
    """directory.id -> path, at the last start, of the directories that a meta.properties names."""
    return {key.removeprefix(_PREFIX): path for key, path in meta.others.items() if key.startswith(_PREFIX)}


def naming(meta: MetaProperties, paths: Mapping[str, str]) -> MetaProperties:
    """The same meta.properties, which names the directories in ``paths`` (directory.id -> path) and no others."""
    others = {key: value for key, value in meta.others.items() if not key.startswith(_PREFIX)}
    return meta._replace(others=others | {_PREFIX + id: path for id, path in paths.items()})


def check_known(found: Found, lost: Collection[str] = ()) -> None:
    """Raise ConfigError if a directory is missing that the others list.

    ``lost``: the ids of the directories that the operator has abandoned. An empty directory next to directories that
    were only formatted is refused as well: formatting covers all directories, and no broker has listed them yet.
    """
    ids = {meta.directory_id for _, meta in found if meta is not None}
    ours = [meta for _, meta in found if meta is not None and is_ours(meta)]
    known = {id: path for meta in ours for id, path in named_in(meta).items()}
    missing = {id: path for id, path in known.items() if id not in ids and id not in lost}
    if missing:
        given = " ".join(f"--lost-data-dir {id}" for id in missing)
        raise ConfigError(
            "; ".join(f"the data directory {path} {_problem(path, found, id)}" for id, path in missing.items()),
            hint="check that its disk is mounted; nothing was changed. To abandon its contents and start its "
            f"partitions again without records, start once with {given}",
        )
    empty = [path for path, meta in found if meta is None]
    if empty and not ours and len(empty) < len(found):
        formatted = next(path for path, meta in found if meta is not None)
        raise ConfigError(
            f"the data directory {empty[0]} {_state(empty[0])}: it has no {META_PROPERTIES}, and {formatted} was "
            "formatted",
            hint="check that its disk is mounted; nothing was changed. If the directory is new, format it too: "
            "kafka-storage format --ignore-formatted with the same settings and cluster id",
        )


def _problem(path: str, found: Found, id: str) -> str:
    metas = dict(found)
    if path not in metas:
        return f"(directory.id {id}) is missing: it is no longer in log.dirs"
    meta = metas[path]
    if meta is not None:
        return f"is now a different directory: its directory.id is {meta.directory_id} instead of {id}"
    return f"{_state(path)}: it has no {META_PROPERTIES}, but it used to be the broker's directory {id}"


def _state(path: str) -> str:
    return "is empty" if os.path.isdir(path) else "does not exist"
