"""Feature levels as Kafka 4.3 defines them: metadata versions by name, and the levels that go with each of them.

Source: ``MetadataVersion`` and ``Feature`` of Kafka 4.3.1; a test compares the table with those classes.
"""

from __future__ import annotations

from kafka_tools.errors import InputError

METADATA_VERSION = "metadata.version"

METADATA_VERSIONS = {
    7: "3.3-IV3", 8: "3.4-IV0", 9: "3.5-IV0", 10: "3.5-IV1", 11: "3.5-IV2", 12: "3.6-IV0", 13: "3.6-IV1", 14: "3.6-IV2",
    15: "3.7-IV0", 16: "3.7-IV1", 17: "3.7-IV2", 18: "3.7-IV3", 19: "3.7-IV4", 20: "3.8-IV0", 21: "3.9-IV0",
    22: "4.0-IV0", 23: "4.0-IV1", 24: "4.0-IV2", 25: "4.0-IV3", 26: "4.1-IV0", 27: "4.1-IV1", 28: "4.2-IV0",
    29: "4.2-IV1", 30: "4.3-IV0", 31: "4.4-IV0",
}  # fmt: skip
"""Level -> name."""
LATEST_PRODUCTION = 30

_SINCE = {
    "kraft.version": ((21, 1),),
    "transaction.version": ((24, 2),),
    "group.version": ((22, 1),),
    "eligible.leader.replicas.version": ((26, 1),),
    "share.version": ((28, 1),),
    "streams.version": ((29, 1),),
}
"""Feature -> (metadata version, level that a release of it has by default)."""
_HIGHEST = {"kraft.version": 1, "transaction.version": 2, "group.version": 1, "eligible.leader.replicas.version": 1,
            "share.version": 1, "streams.version": 1}  # fmt: skip
_REQUIRES = {("eligible.leader.replicas.version", 1): {METADATA_VERSION: 23}}


def level_text(feature: str, level: int) -> str:
    """A level as Kafka shows it: metadata versions by name."""
    if feature != METADATA_VERSION:
        return str(level)
    return METADATA_VERSIONS.get(level, f"UNKNOWN {level}")


def metadata_level(name: str, *, unstable: bool = True) -> int:
    """The level of ``4.0-IV3`` or of a release, ``4.0`` (its last one). ``unstable``: one that is not released too.

    Raises InputError.
    """
    name, given = ".".join(name.split(".")[:2]), name
    found = [
        level
        for level, text in METADATA_VERSIONS.items()
        if (name == text and (unstable or level <= LATEST_PRODUCTION))
        or (text.split("-")[0] == name and level <= LATEST_PRODUCTION)
    ]
    if not found:
        listed = {level: text for level, text in METADATA_VERSIONS.items() if unstable or level <= LATEST_PRODUCTION}
        known = ", ".join(listed.values())
        raise InputError(f"Unknown metadata.version '{given}'. Supported metadata.version are: {known}")
    return max(found)


def of_release(level: int) -> dict[str, int]:
    """Feature -> level that goes with a metadata version, metadata.version first."""
    found = {METADATA_VERSION: level}
    for feature, steps in _SINCE.items():
        found[feature] = max((value for since, value in steps if level >= since), default=0)
    return found


def dependencies(feature: str, level: int) -> dict[str, int]:
    """The levels of other features that a level needs. Raises InputError for a feature or level that Kafka does not
    have.
    """
    if feature == METADATA_VERSION:
        if level not in METADATA_VERSIONS:
            raise InputError(f"Unknown metadata.version {level}")
        return {}
    if feature not in _HIGHEST:
        raise InputError(f"Unknown feature: {feature}")
    if not 0 <= level <= _HIGHEST[feature]:
        raise InputError(f"No feature:{feature} with feature level {level}")
    return _REQUIRES.get((feature, level), {})
