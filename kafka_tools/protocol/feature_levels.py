"""Feature levels: metadata versions by name, and the levels of other features that go with each of them.

The tables are those of ``MetadataVersion`` and ``Feature`` of the newest release, written by
``python -m tests.regen release``; levels of metadata.version that only older releases had are kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_tools import KAFKA_MINOR
from kafka_tools.errors import InputError

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"

METADATA_VERSIONS = {
    1: "3.0-IV1",
    2: "3.1-IV0",
    3: "3.2-IV0",
    4: "3.3-IV0",
    5: "3.3-IV1",
    6: "3.3-IV2",
    7: "3.3-IV3",
    8: "3.4-IV0",
    9: "3.5-IV0",
    10: "3.5-IV1",
    11: "3.5-IV2",
    12: "3.6-IV0",
    13: "3.6-IV1",
    14: "3.6-IV2",
    15: "3.7-IV0",
    16: "3.7-IV1",
    17: "3.7-IV2",
    18: "3.7-IV3",
    19: "3.7-IV4",
    20: "3.8-IV0",
    21: "3.9-IV0",
    22: "4.0-IV0",
    23: "4.0-IV1",
    24: "4.0-IV2",
    25: "4.0-IV3",
    26: "4.1-IV0",
    27: "4.1-IV1",
    28: "4.2-IV0",
    29: "4.2-IV1",
    30: "4.3-IV0",
    31: "4.4-IV0",
    32: "4.4-IV1",
    33: "4.4-IV2",
    34: "4.5-IV0",
}
"""Level -> name."""
OLDEST = 7
"""The lowest level of metadata.version that the newest release can work at."""
LATEST_PRODUCTION = 33
"""The highest level for production. Higher levels are still in development."""
CHANGES_RECORDS = frozenset((7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33))
"""Levels that changed the records of the metadata log, so that a downgrade below them may lose metadata."""
FEATURES: dict[str, dict[int, int]] = {
    "kraft.version": {1: 21},
    "transaction.version": {1: 24, 2: 24},
    "group.version": {1: 22},
    "eligible.leader.replicas.version": {1: 26},
    "share.version": {1: 28, 2: 31},
    "streams.version": {1: 29},
}
"""Feature -> level -> the metadata version from which on new clusters have that level."""
PRODUCTION: dict[str, int] = {
    "kraft.version": 1,
    "transaction.version": 2,
    "group.version": 1,
    "eligible.leader.replicas.version": 1,
    "share.version": 2,
    "streams.version": 1,
}
"""Feature -> its highest level that is meant for production."""
REQUIRES: dict[str, dict[int, dict[str, int]]] = {
    "eligible.leader.replicas.version": {1: {"metadata.version": 23}},
}
"""Feature -> level -> the levels of other features that it needs."""


NEWER = f"newer than this tool knows ({KAFKA_MINOR})"


def is_newer(feature: str, level: int) -> bool:
    """Whether a level is from a later release than the newest known one. True for any level of an unknown feature."""
    known = METADATA_VERSIONS if feature == METADATA_VERSION else FEATURES.get(feature, {})
    return level > max(known, default=0)


def level_text(feature: str, level: int) -> str:
    """A level as Kafka shows it: metadata versions by name, and unknown ones as ``UNKNOWN 99``."""
    if feature != METADATA_VERSION:
        return str(level)
    return METADATA_VERSIONS.get(level, f"UNKNOWN {level}")


def known_levels() -> dict[int, str]:
    """Level -> name of the metadata versions that the newest release supports, including unreleased ones."""
    return {level: name for level, name in METADATA_VERSIONS.items() if level >= OLDEST}


def may_lose_metadata(current: int, wanted: int) -> bool:
    """Whether the metadata log may contain records that the lower level of metadata.version does not have.

    Source: ``MetadataVersion.checkIfMetadataChanged``.
    """
    return any(wanted < level <= current for level in CHANGES_RECORDS)


def metadata_level(name: str, *, unstable: bool = True) -> int:
    """The level of ``4.0-IV3``, or of a release such as ``4.0`` (its last one). ``unstable``: allow unreleased levels.

    Raises InputError.
    """
    name, given = ".".join(name.split(".")[:2]), name
    found = [
        level
        for level, text in known_levels().items()
        if (name == text and (unstable or level <= LATEST_PRODUCTION))
        or (text.split("-")[0] == name and level <= LATEST_PRODUCTION)
    ]
    if not found:
        known = ", ".join(text for level, text in known_levels().items() if unstable or level <= LATEST_PRODUCTION)
        raise InputError(f"Unknown metadata.version '{given}'. Supported metadata.version are: {known}")
    return max(found)


def of_release(level: int) -> dict[str, int]:
    """Feature -> default level for a metadata version, metadata.version first."""
    found = {METADATA_VERSION: level}
    for feature, levels in FEATURES.items():
        found[feature] = max((value for value, since in levels.items() if level >= since), default=0)
    return found


def dependencies(feature: str, level: int) -> dict[str, int]:
    """The levels of other features that a level needs. Raises InputError for an unknown feature or level."""
    if feature == METADATA_VERSION:
        if level not in known_levels():
            raise InputError(f"Unknown metadata.version {level}")
        return {}
    if feature not in FEATURES:
        raise InputError(f"Unknown feature: {feature}")
    if level != 0 and level not in FEATURES[feature]:
        raise InputError(f"No feature:{feature} with feature level {level}")
    return REQUIRES.get(feature, {}).get(level, {})


def unmet(feature: str, level: int, levels: Mapping[str, int]) -> str | None:
    """The reason why a feature cannot have a level together with ``levels``, in Kafka's words; None if it can.

    Raises InputError as ``dependencies``. Source: ``Feature.validateVersion``.
    """
    for other, least in dependencies(feature, level).items():
        if levels.get(other, 0) < least:
            return f"{feature} could not be set to {level} because it depends on {other} level {least}"
    return None
