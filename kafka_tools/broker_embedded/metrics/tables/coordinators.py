"""Beans of the group coordinator, the transaction coordinator and the quotas."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.metrics.tables.bean import Beans, gauges
from kafka_tools.metrics.beans import bean_name
from kafka_tools.protocol.enums import CoordinatorGroupType, GroupState

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.core import Core

_MANAGER = "kafka.coordinator.group:type=GroupMetadataManager"
_GROUPS = "kafka.server:type=group-coordinator-metrics"
_CLASSIC_STATES = (
    GroupState.PREPARING_REBALANCE,
    GroupState.COMPLETING_REBALANCE,
    GroupState.STABLE,
    GroupState.DEAD,
    GroupState.EMPTY,
)
_CONSUMER_STATES = (
    GroupState.EMPTY,
    GroupState.ASSIGNING,
    GroupState.RECONCILING,
    GroupState.STABLE,
    GroupState.DEAD,
)
_COUNTS = {
    "commits": "offset-commit",
    "expirations": "offset-expiration",
    "deletions": "offset-deletion",
    "classic_rebalances": "group-completed-rebalance",
}
_QUOTAS = {
    "producer_byte_rate": ("Produce", "byte-rate"),
    "consumer_byte_rate": ("Fetch", "byte-rate"),
    "request_percentage": ("Request", "request-time"),
}
"""Key of a quota -> the group and name of its metric."""


def group_beans(core: Core) -> Beans:
    """GroupMetadataManager and group-coordinator-metrics."""
    groups = core.groups.store.groups
    classic, consumer = CoordinatorGroupType.CLASSIC, CoordinatorGroupType.CONSUMER
    by_type = Counter(group.type for group in groups.values())
    states = Counter((group.type, group.state) for group in groups.values())
    offsets = sum(map(len, core.groups.offsets.table.by_group.values()))
    yield from gauges(
        _MANAGER,
        {
            "NumGroups": len(groups),
            "NumOffsets": offsets,
            **{f"NumGroups{state}": states[classic, state] for state in _CLASSIC_STATES},
        },
    )
    found: dict[str, float] = {"offset-count": offsets}
    for name, (count, rate) in core.counts.groups.rates(core.counts.now_ms()).items():
        found[f"{_COUNTS[name]}-count"], found[f"{_COUNTS[name]}-rate"] = count, rate
    yield _GROUPS, found
    for kind in (classic, consumer):
        yield f"{_GROUPS},protocol={kind}", {"group-count": by_type[kind]}
    for state in dict.fromkeys((*_CLASSIC_STATES, *_CONSUMER_STATES)):
        values = {}
        if state in _CLASSIC_STATES:
            values["classic-group-count"] = states[classic, state]
        if state in _CONSUMER_STATES:
            values["consumer-group-count"] = states[consumer, state]
        yield f"{_GROUPS},state={state}", values
    loading, failed = core.groups.store.loading.unserved()
    partitions = core.groups.store.log.partitions
    for name, count in (("loading", loading), ("failed", failed), ("active", partitions - loading - failed)):
        yield f"{_GROUPS},state={name}", {"num-partitions": count}


def quota_beans(core: Core) -> Beans:
    """What clients with quotas use. Clients are measured only while a quota of that kind exists, as in Kafka."""
    for key, user, client_id, rate in core.throttling.rates():
        kind, name = _QUOTAS[key]
        yield bean_name("kafka.server", kind, {"user": user, "client-id": client_id}), {name: rate}
    for user, client_id, tokens in core.throttling.credits():
        yield (
            bean_name("kafka.server", "ControllerMutation", {"user": user, "client-id": client_id}),
            {"tokens": tokens},
        )
