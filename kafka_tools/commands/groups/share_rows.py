"""Share groups as rows, the checks before they are deleted, and their resets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_tools.admin.outcomes import Outcome, Outcomes
from kafka_tools.commands import running
from kafka_tools.commands.groups.holders import blocked
from kafka_tools.commands.groups.resettable import GroupResets, Offsets, Standing, standings_of
from kafka_tools.output.cells import Row
from kafka_tools.output.rows import ItemError
from kafka_tools.protocol.enums import CoordinatorGroupType, GroupState

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient, GroupDescription, ShareOffset
    from kafka_tools.values import TopicPartition

TYPE = CoordinatorGroupType.SHARE
STATES = (GroupState.DEAD, GroupState.EMPTY, GroupState.STABLE)


def describe(admin: AdminClient, groups: Sequence[str]) -> tuple[list[GroupDescription], list[ItemError]]:
    """The descriptions of groups, sorted by id, and the groups that could not be described."""
    outcomes = admin.describe_share_groups(groups)
    running.refuse_old_brokers(outcomes)
    errors = [ItemError.of(f"group '{group}'", error) for group, error in outcomes.failures().items()]
    return sorted(outcomes.succeeded().values(), key=lambda group: group.group_id), errors


def offsets(admin: AdminClient, groups: Sequence[GroupDescription]) -> tuple[dict[str, list[Row]], list[ItemError]]:
    """Group -> a row per partition that it shares, sorted; and an error for each failure."""
    made: dict[str, list[Row]] = {}
    errors = []
    found = admin.list_share_group_offsets({group.group_id: None for group in groups}) if groups else {}
    for name, outcome in found.items():
        if outcome.error is not None:
            errors.append(ItemError.of(f"the offsets of group '{name}'", outcome.error))
            continue
        partitions = outcome.get()
        errors += [ItemError.of(f"{key} of group '{name}'", error) for key, error in partitions.failures().items()]
        made[name] = [
            {
                "group": name,
                "topic": key.topic,
                "partition": key.partition,
                "leader_epoch": None if offset is None else offset.leader_epoch,
                "start_offset": None if offset is None else offset.start_offset,
                "lag": None if offset is None else offset.lag,
            }
            for key, offset in sorted(partitions.succeeded().items())
        ]
    return made, errors


class ShareGroupResets(GroupResets):
    """Resets of share groups."""

    def __init__(self, admin: AdminClient) -> None:
        super().__init__(admin)
        self._shared: dict[str, list[TopicPartition]] = {}

    def standings(self, groups: Sequence[str]) -> dict[str, Standing]:
        outcomes = self.admin.describe_share_groups(groups)
        running.refuse_old_brokers(outcomes)
        return standings_of(
            outcomes,
            lambda group: blocked(group.group_id, f"Share group '{group.group_id}' is not empty.", group.members),
        )

    def committed(self, groups: Sequence[str]) -> Outcomes[str, Offsets]:
        outcomes = self.admin.list_share_group_offsets(dict.fromkeys(groups)) if groups else Outcomes(())
        self._shared = {name: sorted(found) for name, found in outcomes.succeeded().items()}
        return Outcomes((name, _start_offsets(outcome)) for name, outcome in outcomes.items())

    def all_partitions(self, group: str, committed: Offsets) -> list[TopicPartition]:
        return self._shared[group]

    def alter(self, plan: Mapping[str, Offsets]) -> Outcomes[str, Outcomes[TopicPartition, None]]:
        return self.admin.alter_share_groups_offsets(plan)


def _start_offsets(told: Outcome[Outcomes[TopicPartition, ShareOffset | None]]) -> Outcome[Offsets]:
    if told.value is None:
        return Outcome(None, told.error)
    return Outcome({key: each.start_offset for key, each in told.value.succeeded().items() if each is not None})
