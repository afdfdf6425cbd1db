"""The configs of consumer groups: a group's within the broker's bounds, else the broker's (``GroupConfig``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.configs.assignors import consumer_assignors
from kafka_tools.broker_embedded.configs.store import GROUP
from kafka_tools.protocol.enums import CoordinatorGroupType

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.features import FinalizedFeatures
    from kafka_tools.broker_embedded.configs.store import ConfigStore


class ConsumerGroupSettings:
    """Reads configs when asked, so that changes hold at once."""

    def __init__(self, configs: ConfigStore, features: FinalizedFeatures) -> None:
        self._configs = configs
        self._features = features

    @property
    def enabled(self) -> bool:
        """Whether the consumer protocol is served: group.version 1, and the config that may turn it off."""
        protocols = self._configs.broker.get("group.coordinator.rebalance.protocols")
        assert isinstance(protocols, list)
        wanted = [str(name).strip().lower() for name in protocols]
        return self._features.group_version >= 1 and CoordinatorGroupType.CONSUMER in wanted

    @property
    def assignors(self) -> list[str]:
        """The assignors that members may ask for, the default one first."""
        names = self._configs.broker.get("group.consumer.assignors")
        assert isinstance(names, list)
        return consumer_assignors(names)

    @property
    def max_size(self) -> int:
        return self._configs.broker.integer("group.consumer.max.size")

    @property
    def classic_max_size(self) -> int:
        return self._configs.broker.integer("group.max.size")

    @property
    def regex_refresh_ms(self) -> int:
        return self._configs.broker.integer("group.consumer.regex.refresh.interval.ms")

    @property
    def may_upgrade(self) -> bool:
        """Whether a classic group with members becomes a consumer group when such a member joins."""
        return self._policy in ("upgrade", "bidirectional")

    @property
    def may_downgrade(self) -> bool:
        """Whether a group becomes a classic one when only classic members are left."""
        return self._policy in ("downgrade", "bidirectional")

    @property
    def may_mix(self) -> bool:
        """Whether classic members may join a consumer group."""
        return self._policy != "disabled"

    @property
    def _policy(self) -> str:
        return str(self._configs.broker.get("group.consumer.migration.policy")).lower()

    def session_timeout_ms(self, group_id: str) -> int:
        return self._bounded(group_id, "session.timeout.ms")

    def heartbeat_interval_ms(self, group_id: str) -> int:
        return self._bounded(group_id, "heartbeat.interval.ms")

    def assignment_interval_ms(self, group_id: str) -> int:
        return self._bounded(group_id, "assignment.interval.ms")

    def _bounded(self, group_id: str, name: str) -> int:
        value = self._configs.group(group_id).integer(f"consumer.{name}")
        if f"consumer.{name}" not in self._configs.dynamic(GROUP, group_id):
            return value
        lowest = self._configs.broker.integer(f"group.consumer.min.{name}")
        highest = self._configs.broker.integer(f"group.consumer.max.{name}")
        return max(lowest, min(highest, value))
