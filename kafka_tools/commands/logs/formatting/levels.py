"""The first feature levels of a new cluster.

Rules and texts are those of ``Formatter`` and ``Feature`` of Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_tools.errors import InputError, UsageError
from kafka_tools.protocol import feature_levels
from kafka_tools.protocol.feature_levels import KRAFT_VERSION, LATEST_PRODUCTION, METADATA_VERSION, METADATA_VERSIONS
from kafka_tools.values import parse_integer

_SHORT = range(-(2**15), 2**15)


def parse_levels(texts: Sequence[str]) -> dict[str, int]:
    """Feature -> level of ``--feature NAME=LEVEL``. Raises UsageError."""
    found: dict[str, int] = {}
    for text in texts:
        name, equals, level = (part.strip() for part in text.partition("="))
        if not equals:
            raise UsageError(f"Can't parse feature=level string {text}: equals sign not found.")
        number = short_number(level)
        if number is None:
            raise UsageError(f"Can't parse feature=level string {text}: unable to parse {level} as a short.")
        if name in found:
            raise UsageError(f"--feature: {name} is given twice")
        found[name] = number
    return found


def short_number(text: str) -> int | None:
    """Parse a number of 16 bits; None for any other text."""
    try:
        number = parse_integer(text)
    except ValueError:
        return None
    return number if number in _SHORT else None


def effective_levels(
    wanted: Mapping[str, int], release_version: str | None, *, dynamic_quorum: bool, unstable: bool
) -> dict[str, int]:
    """Every feature's level, by name: the wanted level, or else the level of the release.

    ``dynamic_quorum``: the voters will be in the log. Raises InputError in Kafka's words.
    """
    release = _release(wanted, release_version, unstable)
    defaults = feature_levels.of_release(release)
    known = sorted(set(defaults) - {METADATA_VERSION})
    for name in sorted(wanted):
        if name != METADATA_VERSION and name not in known:
            raise InputError(f"Unsupported feature: {name}. Supported features are: {', '.join(known)}")
    defaults[KRAFT_VERSION] = int(dynamic_quorum)
    levels = dict(sorted({**defaults, **wanted, METADATA_VERSION: release}.items()))
    _check_kraft_version(wanted.get(KRAFT_VERSION), dynamic_quorum)
    for name in known:
        problem = feature_levels.unmet(name, levels[name], levels)
        if problem is not None:
            raise InputError(problem)
    return levels


def _release(wanted: Mapping[str, int], release_version: str | None, unstable: bool) -> int:
    newest = max(METADATA_VERSIONS) if unstable else LATEST_PRODUCTION
    if METADATA_VERSION in wanted:
        if release_version is not None:
            raise UsageError("Use --release-version instead of --feature metadata.version=X to avoid ambiguity.")
        level = wanted[METADATA_VERSION]
        if level not in feature_levels.known_levels():
            raise InputError(
                f"No MetadataVersion with feature level {level}. Valid feature levels are from "
                f"{feature_levels.OLDEST} to {max(METADATA_VERSIONS)}."
            )
    elif release_version is not None:
        level = feature_levels.metadata_level(release_version, unstable=unstable)
    else:
        level = newest
    if level > newest:
        raise InputError(f"metadata.version {METADATA_VERSIONS[level]} is not yet stable.")
    return level


def _check_kraft_version(wanted: int | None, dynamic_quorum: bool) -> None:
    if wanted == 0 and dynamic_quorum:
        raise InputError(
            "Cannot set kraft.version to 0 if controller.quorum.voters is empty and one of the flags --standalone, "
            "--initial-controllers, or --no-initial-controllers is used. For dynamic controllers support, try removing "
            "the --feature flag for kraft.version."
        )
    if wanted and not dynamic_quorum:
        raise InputError(
            f"Cannot set kraft.version to {wanted} unless controller.quorum.voters is empty and one of the flags "
            "--standalone, --initial-controllers, or --no-initial-controllers is used. For dynamic controllers "
            "support, try using one of --standalone, --initial-controllers, or --no-initial-controllers and removing "
            "controller.quorum.voters."
        )
