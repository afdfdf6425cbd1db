"""Finalized features: the levels of Kafka's features at which the cluster works (KIP-584, KIP-1022).

Levels are Kafka's ``FeatureLevelRecord``s. A new data directory gets those of the newest release, as ``kafka-storage
format`` does, or of the release in whose role the broker runs. A directory of an older version of this broker keeps its
levels, and gets the newest ones if it has none. The levels determine how the metadata log is written and which rules
apply, not which APIs are served: clients look for an API in ApiVersions before they use a feature, whatever its level.
kraft.version 1 is stored and described. It changes nothing in a quorum of one, which has no voters to add. Rules and
texts are those of Kafka's ``FeatureControlManager``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.errors import ConfigError
from kafka_tools.protocol import error_codes, feature_levels
from kafka_tools.protocol.enums import FeatureUpgradeType
from kafka_tools.protocol.feature_levels import KRAFT_VERSION, METADATA_VERSION
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import FeatureLevelRecord

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.journal import Journal

ELIGIBLE_LEADER_REPLICAS = "eligible.leader.replicas.version"
TRANSACTION_VERSION = "transaction.version"
GROUP_VERSION = "group.version"

SUPPORTED = dict(
    sorted(
        {
            **{name: (0, level) for name, level in feature_levels.PRODUCTION.items()},
            METADATA_VERSION: (feature_levels.OLDEST, feature_levels.LATEST_PRODUCTION),
        }.items()
    )
)
"""Feature -> lowest and highest production level of the newest release."""
FIRST_TO_TELL = (4, 0)
"""The first release whose ApiVersions lists all features. In the role of an older release, the bundled broker acts as a
broker with ZooKeeper, and works at the newest levels."""


def supported_as(release: str | None) -> dict[str, tuple[int, int]]:
    """``SUPPORTED`` of a release, such as "4.3.1"; None: the newest."""
    if release is None or not tells_features(release):
        return SUPPORTED
    levels = feature_levels.of_release(feature_levels.metadata_level(release, unstable=False))
    levels[KRAFT_VERSION] = SUPPORTED[KRAFT_VERSION][1]  # the same in all releases; no release starts with it
    return {name: (low, levels[name]) for name, (low, _) in SUPPORTED.items() if levels[name]}


def tells_features(release: str | None) -> bool:
    """Whether ApiVersions of a release lists features; None: the newest."""
    return release is None or tuple(map(int, release.split(".")[:2])) >= FIRST_TO_TELL


UPGRADE, UNSAFE_DOWNGRADE = FeatureUpgradeType.UPGRADE, FeatureUpgradeType.UNSAFE_DOWNGRADE
"""The lowest and highest type of an update on the wire. The safe downgrade is between them."""


def unsupported(levels: Mapping[str, int]) -> str | None:
    """A text about the first level that the newest release does not support; None if it supports all."""
    for name, level in levels.items():
        low, high = SUPPORTED.get(name, (0, 0))
        if low <= level <= high:
            continue
        known = f"{low} to {high} are supported" if high else "unknown feature"
        named = f" ({feature_levels.level_text(name, level)})" if not feature_levels.is_newer(name, level) else ""
        newer = f", {feature_levels.NEWER}" if feature_levels.is_newer(name, level) else ""
        return f"{name}={level}{named}{newer}: {known}"
    return None


class Update(NamedTuple):
    """A requested level. ``upgrade_type``: the number on the wire."""

    feature: str
    level: int
    upgrade_type: int


class FinalizedFeatures:
    """The finalized levels; a feature at level 0 is not finalized."""

    def __init__(self, journal: Journal, node_id: int, release: str | None = None) -> None:
        self._journal = journal
        self._node_id = node_id
        self._of_release = supported_as(release)
        self.finalized: dict[str, int] = {}
        journal.on_record(FeatureLevelRecord, self._apply)
        journal.on_image(self._image)

    @property
    def supported(self) -> dict[str, tuple[int, int]]:
        """Feature -> lowest and highest level of the release. A higher finalized level is also supported."""
        found = dict(self._of_release)
        for name, level in self.finalized.items():
            low, high = found.get(name, (0, 0))
            found[name] = (low, max(high, level))
        return dict(sorted(found.items()))

    @property
    def elr_enabled(self) -> bool:
        """Whether eligible leader replicas are enabled (KIP-966). min.insync.replicas is then cluster-wide only."""
        return ELIGIBLE_LEADER_REPLICAS in self.finalized

    @property
    def transaction_version(self) -> int:
        """transaction.version: 1 uses the newer log format, 2 also bumps the epoch at each end (KIP-890)."""
        return self.finalized.get(TRANSACTION_VERSION, 0)

    @property
    def group_version(self) -> int:
        """group.version: 1 enables groups of the consumer protocol (KIP-848)."""
        return self.finalized.get(GROUP_VERSION, 0)

    def begin(self, with_elr: Sequence[Stored], first: Sequence[Stored] = ()) -> None:
        """Finalize levels in a cluster without levels, which is new or from an older version of this broker.

        ``with_elr``: the records that eligible leader replicas need. ``first``: the first records of a new cluster.
        Levels among them replace those of the newest release. Raises ConfigError for levels of a later release.
        """
        problem = unsupported(self.finalized)
        if problem is not None:
            raise ConfigError(f"the data directory is at {problem}", hint="start the broker that wrote it")
        if METADATA_VERSION in self.finalized:
            return
        levels = [record for record in first if isinstance(record, FeatureLevelRecord)]
        if not any(record.name == METADATA_VERSION for record in levels):
            newest = {name: high for name, (_, high) in self.supported.items() if name != KRAFT_VERSION}
            order = [METADATA_VERSION, *(name for name in newest if name != METADATA_VERSION)]
            levels += [FeatureLevelRecord(name=name, feature_level=newest[name]) for name in order]
        others = [record for record in first if not isinstance(record, FeatureLevelRecord)]
        has_elr = any(record.name == ELIGIBLE_LEADER_REPLICAS and record.feature_level for record in levels)
        self._journal.commit([*levels, *(with_elr if has_elr else ()), *others])

    def changes(self, updates: Iterable[Update], with_elr: Sequence[Stored]) -> list[Stored]:
        """The records of all updates; BrokerError INVALID_UPDATE_VERSION for the first invalid one.

        ``with_elr``: the records that eligible leader replicas need.
        """
        records: list[Stored] = []
        updates = list(updates)
        wanted = {**self.finalized, **{update.feature: update.level for update in updates}}
        for update in updates:
            problem = self._problem(update, wanted)
            if problem is not None:
                raise error_for(
                    error_codes.INVALID_UPDATE_VERSION,
                    f"The update failed for all features since the following feature had an error: {problem}",
                )
            if update.feature == ELIGIBLE_LEADER_REPLICAS and update.level > 0:
                records += with_elr
            # An unchanged kraft.version is not written: the metadata log does not contain kraft.version 0.
            if update.feature != KRAFT_VERSION or update.level != self.finalized.get(KRAFT_VERSION, 0):
                records.append(FeatureLevelRecord(name=update.feature, feature_level=update.level))
        return records

    def _problem(self, update: Update, wanted: Mapping[str, int]) -> str | None:
        """``wanted``: the level of each feature after all updates."""
        feature, level, upgrade_type = update
        invalid = f"Invalid update version {level} for feature {feature}."
        if not UPGRADE <= upgrade_type <= UNSAFE_DOWNGRADE:
            return f"{invalid} The controller does not support the given upgrade type."
        if level < 0:
            return f"{invalid} A feature version cannot be less than 0."
        node = self._node_id
        supported = self.supported
        if feature not in supported:
            missing = (
                f"Local controller {node} does not support this feature." if level else f"Feature {feature} not found."
            )
            return f"{invalid} {missing}"
        low, high = supported[feature]
        # Level 0 disables a feature. metadata.version cannot be disabled: its lowest level is higher.
        if not low <= level <= high:
            return f"{invalid} Local controller {node} only supports versions {low}-{high}"
        current = self.finalized.get(feature, 0)
        if level < current and upgrade_type == UPGRADE:
            return (
                f"{invalid} Can't downgrade the version of this feature without setting the upgrade type to either "
                "safe or unsafe downgrade."
            )
        if level > current and upgrade_type != UPGRADE:
            return f"{invalid} Can't downgrade to a newer version."
        if feature == METADATA_VERSION and level < current and feature_levels.may_lose_metadata(current, level):
            reason = (
                "Unsafe metadata downgrade is not supported in this version."
                if upgrade_type == UNSAFE_DOWNGRADE
                else "Refusing to perform the requested downgrade because it might delete metadata information."
            )
            return f"Unsupported metadata.version downgrade from {current} to {level}. {reason}"
        if feature == KRAFT_VERSION and level < current:
            return f"{invalid} Can't downgrade the version of this feature."
        unmet = feature_levels.unmet(feature, level, wanted)
        return None if unmet is None else f"{invalid} {unmet}"

    def _apply(self, record: FeatureLevelRecord) -> None:
        if record.feature_level:
            self.finalized[record.name] = record.feature_level
        else:
            self.finalized.pop(record.name, None)

    def _image(self) -> Iterator[Stored]:
        levels = sorted(self.finalized.items(), key=lambda level: level[0] != METADATA_VERSION)  # it comes first
        return (FeatureLevelRecord(name=name, feature_level=level) for name, level in levels)
