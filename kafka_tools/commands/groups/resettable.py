"""Groups whose offsets are reset: what a reset asks of a kind of groups, why one is refused, what it means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from kafka_tools.admin.outcomes import Outcome, Outcomes
from kafka_tools.errors import InputError, KafkaToolsError, NotFound
from kafka_tools.output.rows import ItemError
from kafka_tools.protocol.enums import GroupState
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient

RESETTABLE = (GroupState.EMPTY, GroupState.DEAD)
"""The states in which a group has no members."""
Offsets = dict[TopicPartition, int]
Topics = Mapping[str, list[int] | None]
"""Topic -> some of its partitions, or None for all of them."""


class OutsideGroup(InputError):
    """What a reset asks of one group is not that group's; others are reset all the same."""


class Holder(Protocol):
    """A member of a group, whatever its kind, as the one that holds partitions."""

    @property
    def client_id(self) -> str: ...

    @property
    def host(self) -> str: ...


class Described(Protocol):
    """What is known of a group, whatever its kind."""

    @property
    def group_id(self) -> str: ...

    @property
    def state(self) -> str: ...

    @property
    def members(self) -> Sequence[Holder]: ...


D = TypeVar("D", bound=Described)


class Resettable(Protocol):
    """What a reset asks of groups of one kind, and changes there."""

    admin: AdminClient

    def inactive(self, groups: Sequence[str]) -> dict[str, ItemError | None]:
        """Each group with None when it may be reset, else with the reason why not."""
        ...

    def committed(self, groups: Sequence[str]) -> Outcomes[str, Offsets]:
        """Where each group is, as far as it has offsets."""
        ...

    def all_partitions(self, group: str, committed: Offsets) -> list[TopicPartition]:
        """What is meant by all topics of the group."""
        ...

    def named_partitions(self, group: str, topics: Topics) -> list[TopicPartition]:
        """What is meant by these topics; raises InputError for one that is not there."""
        ...

    def alter(self, group: str, offsets: Offsets) -> Outcomes[TopicPartition, None]:
        """Put the group there."""
        ...


class ConsumerGroupResets:
    """Of consumer groups."""

    def __init__(self, admin: AdminClient) -> None:
        self.admin = admin

    def inactive(self, groups: Sequence[str]) -> dict[str, ItemError | None]:
        return refused_unless_inactive(self.admin.describe_groups(groups), not_inactive)

    def committed(self, groups: Sequence[str]) -> Outcomes[str, Offsets]:
        return committed_offsets(self.admin, groups)

    def all_partitions(self, group: str, committed: Offsets) -> list[TopicPartition]:
        return sorted(committed)

    def named_partitions(self, group: str, topics: Topics) -> list[TopicPartition]:
        return named_partitions(self.admin, topics)

    def alter(self, group: str, offsets: Offsets) -> Outcomes[TopicPartition, None]:
        return self.admin.alter_group_offsets(group, offsets)


def committed_offsets(admin: AdminClient, groups: Sequence[str]) -> Outcomes[str, Offsets]:
    """What groups committed, of all of them together."""
    found = admin.list_groups_offsets(dict.fromkeys(groups)) if groups else Outcomes(())
    return Outcomes(
        (
            name,
            Outcome(None, outcome.error)
            if outcome.value is None
            else Outcome({key: value.offset for key, value in outcome.value.succeeded().items() if value is not None}),
        )
        for name, outcome in found.items()
    )


def refused_unless_inactive(
    outcomes: Outcomes[str, D], refusal: Callable[[D], ItemError]
) -> dict[str, ItemError | None]:
    """Each group with None when it may be reset, else with why not. One that does not exist gets its first offsets."""
    found: dict[str, ItemError | None] = {}
    for name, outcome in outcomes.items():
        if outcome.value is not None:
            found[name] = None if outcome.value.state in RESETTABLE else refusal(outcome.value)
        elif outcome.error is None or isinstance(outcome.error, NotFound):
            found[name] = None
        else:
            found[name] = ItemError.of(f"group '{name}'", outcome.error)
    return found


def not_inactive(group: Described) -> ItemError:
    """The refusal of a group that has members, in the words of Kafka's tools."""
    name = group.group_id
    text = f"Assignments can only be reset if the group '{name}' is inactive, but the current state is {group.state}."
    return blocked(name, text, group.members)


def blocked(group: str, text: str, members: Iterable[Holder]) -> ItemError:
    """The refusal of a group, with the members that stand in the way."""
    holders = ", ".join(sorted({f"{member.client_id} at {member.host}" for member in members}))
    return ItemError(f"group '{group}'", None, text + (f" Members: {holders}." if holders else ""))


def named_partitions(admin: AdminClient, topics: Topics) -> list[TopicPartition]:
    """The partitions that topics mean; raises InputError for a topic that is not there."""
    keys, missing = partitions_of(admin, topics)
    if missing:
        topic, error = missing[0]
        raise InputError(f"topic {topic}: {error}")
    return keys


def partitions_of(
    admin: AdminClient, topics: Mapping[str, list[int] | None]
) -> tuple[list[TopicPartition], list[tuple[str, KafkaToolsError]]]:
    """The partitions that ``--topic`` names, all of a topic looked up in the cluster; and the unknown topics."""
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
