"""The interface of a reset to groups of one kind: their states, offsets and partitions, and errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from kafka_tools.admin.outcomes import Outcome, Outcomes
from kafka_tools.commands.groups.holders import Holder, blocked
from kafka_tools.errors import InputError, KafkaToolsError, NotFound
from kafka_tools.output.rows import ItemError
from kafka_tools.protocol.enums import CONSUMER_PROTOCOL_TYPE, GroupState
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient, CommittedOffset, GroupDescription

RESETTABLE = (GroupState.EMPTY, GroupState.DEAD)
"""The states in which a group has no members."""
Offsets = dict[TopicPartition, int]
Topics = Mapping[str, list[int] | None]
"""Topic -> some of its partitions, or None for all of them."""


class OutsideGroup(InputError):
    """A topic or partition does not belong to the group. Other groups are still reset."""


class Described(Protocol):
    """The description of a group, of any kind."""

    @property
    def group_id(self) -> str: ...

    @property
    def state(self) -> str: ...

    @property
    def members(self) -> Sequence[Holder]: ...


D = TypeVar("D", bound=Described)


class Standing(NamedTuple):
    """Whether a group may be reset."""

    refusal: ItemError | None = None
    """The reason why the group may not be reset; None if it may."""
    is_new: bool = False
    """Whether the group does not exist yet: the first commit creates it."""


class GroupResets(ABC):
    """The requests of a reset for groups of one kind. Each call is for all groups together."""

    def __init__(self, admin: AdminClient) -> None:
        self.admin = admin

    @abstractmethod
    def standings(self, groups: Sequence[str]) -> dict[str, Standing]:
        """Whether each group may be reset."""

    def committed(self, groups: Sequence[str]) -> Outcomes[str, Offsets]:
        """The committed offsets of each group. An error for a partition fails its whole group."""
        found = self.admin.list_groups_offsets(dict.fromkeys(groups)) if groups else Outcomes(())
        return Outcomes((name, _offsets(outcome)) for name, outcome in found.items())

    def all_partitions(self, group: str, committed: Offsets) -> list[TopicPartition]:
        """The partitions of ``--all-topics`` for a group with these ``committed`` offsets."""
        return sorted(committed)

    def named_partitions(self, groups: Sequence[str], topics: Topics) -> Outcomes[str, list[TopicPartition]]:
        """The partitions of these topics for each group. Raises InputError for a topic that does not exist."""
        keys, missing = partitions_of(self.admin, topics)
        if missing:
            topic, error = missing[0]
            raise InputError(f"topic {topic}: {error}")
        return Outcomes((group, Outcome(keys)) for group in groups)

    def alter(self, plan: Mapping[str, Offsets]) -> Outcomes[str, Outcomes[TopicPartition, None]]:
        """Commit the offsets of each group."""
        return self.admin.alter_groups_offsets(plan)


class ConsumerGroupResets(GroupResets):
    """Resets of consumer groups."""

    def standings(self, groups: Sequence[str]) -> dict[str, Standing]:
        outcomes = self.admin.describe_groups(groups)
        others = {name: group.protocol_type for name, group in outcomes.succeeded().items() if not _consumes(group)}
        refusals = {
            name: Standing(ItemError(f"group '{name}'", None, f"GroupId {name} is not a consumer group ({kind})."))
            for name, kind in others.items()
        }
        return standings_of(outcomes, not_inactive) | refusals


def _consumes(group: GroupDescription) -> bool:
    """Whether it is a group of consumers, not of Connect workers or others. A group that never had members counts
    too."""
    return group.protocol_type in (CONSUMER_PROTOCOL_TYPE, "")


def _offsets(told: Outcome[Outcomes[TopicPartition, CommittedOffset | None]]) -> Outcome[Offsets]:
    if told.value is None:
        return Outcome(None, told.error)
    for key, error in told.value.failures().items():
        error.item = error.item or str(key)
        return Outcome(None, error)
    return Outcome({key: value.offset for key, value in told.value.succeeded().items() if value is not None})


def standings_of(outcomes: Outcomes[str, D], refusal: Callable[[D], ItemError]) -> dict[str, Standing]:
    """Whether groups may be reset, by their descriptions: only groups without members and groups that do not exist."""
    found: dict[str, Standing] = {}
    for name, outcome in outcomes.items():
        if outcome.value is not None:
            found[name] = Standing(None if outcome.value.state in RESETTABLE else refusal(outcome.value))
        elif outcome.error is None or isinstance(outcome.error, NotFound):
            found[name] = Standing(is_new=True)
        else:
            found[name] = Standing(ItemError.of(f"group '{name}'", outcome.error))
    return found


def not_inactive(group: Described) -> ItemError:
    """The error of a group that has members, in the words of Kafka's tools."""
    name = group.group_id
    text = f"Assignments can only be reset if the group '{name}' is inactive, but the current state is {group.state}."
    return blocked(name, text, group.members)


def partitions_of(admin: AdminClient, topics: Topics) -> tuple[list[TopicPartition], list[tuple[str, KafkaToolsError]]]:
    """The partitions of ``--topic``, and the unknown topics. The cluster returns the partitions of whole topics."""
    whole = [topic for topic, numbers in topics.items() if numbers is None]
    outcomes = admin.describe_topics(whole)
    keys = [TopicPartition(topic, number) for topic, numbers in topics.items() for number in numbers or ()]
    missing = []
    for topic, outcome in outcomes.items():
        if outcome.error is not None:
            missing.append((str(topic), outcome.error))
        else:
            keys += [TopicPartition(str(topic), each.partition) for each in outcome.get().partitions]
    return sorted(set(keys)), missing
