"""The configs of consumer groups: a group's within the broker's bounds, else the broker's (``GroupConfig``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.configs.assignors import consumer_assignors
from kafka_tools.broker_embedded.configs.store import GROUP
from kafka_tools.protocol.enums import CoordinatorGroupType

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.runtime import Runtime


class ConsumerGroupSettings:
    """Reads configs at each access, so that changes take effect immediately."""

    def __init__(self, runtime: Runtime) -> None:
        self._configs = runtime.configs
        self._features = runtime.features

    @property
    def enabled(self) -> bool:
        """Whether the consumer protocol is served: group.version 1, and the config that may turn it off."""
        protocols = self._configs.broker.get("group.coordinator.rebalance.protocols")
        assert isinstance(protocols, list)
        wanted = [str(name).strip().lower() for name in protocols]
        return self._features.group_version >= 1 and CoordinatorGroupType.CONSUMER in wanted

    @property
    def assignors(self) -> list[str]:
        """The assignors that members may request, the default one first."""
        names = self._configs.broker.get("group.consumer.assignors")
        assert isinstance(names, list)
        return consumer_assignors(names)

    @property
    def may_mix(self) -> bool:
        """Whether classic members may join a consumer group."""
        return self._policy != "disabled"

    def may_migrate(self, way: str) -> bool:
        """Whether groups may change their protocol this way ("upgrade", "downgrade") while they have members."""
        return self._policy in (way, "bidirectional")

    @property
    def _policy(self) -> str:
        return str(self._configs.broker.get("group.consumer.migration.policy")).lower()

    def bounded(self, group_id: str, name: str) -> int:
        """A config of a group, such as session.timeout.ms."""
        value = self._configs.group(group_id).integer(f"consumer.{name}")
        if f"consumer.{name}" not in self._configs.dynamic(GROUP, group_id):
            return value
        lowest = self._configs.broker.integer(f"group.consumer.min.{name}")
        highest = self._configs.broker.integer(f"group.consumer.max.{name}")
        return max(lowest, min(highest, value))
