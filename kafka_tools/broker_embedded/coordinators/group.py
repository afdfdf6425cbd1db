"""What the coordinator asks of a group, whatever its protocol (Kafka's ``Group``).

A type of group is a subclass, and an owner of its members' sessions in ``GroupStore.members``. Only
``consumer.migration`` converts groups that have members.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar

from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.offset_records import OffsetCommit

Commits = Sequence[tuple[TopicPartition, "OffsetCommit"]]


class Committer(NamedTuple):
    """The member that commits. Its epoch, or its generation, is negative if no member commits."""

    member_id: str
    instance_id: str | None
    epoch: int


class Group(ABC):
    """One group: its state, which records of the log make and change."""

    type: ClassVar[str]
    """As ``CoordinatorGroupType`` has it."""
    id: str
    protocol_type: str | None
    """None for a group that only commits offsets."""

    @property
    @abstractmethod
    def state(self) -> str:
        """As ``GroupState`` has it."""

    @property
    @abstractmethod
    def is_abandoned(self) -> bool:
        """Whether the group has no members, and no client is about to join."""

    @property
    @abstractmethod
    def stamp(self) -> object:
        """A value that changes whenever the group does. Offsets do not count."""

    @abstractmethod
    def tombstones(self) -> Iterator[CoordinatorRecord]:
        """The records that delete the group, without those of its offsets."""

    @abstractmethod
    def is_subscribed(self, topic: str) -> bool:
        """Whether offsets of the topic are in use."""

    def read_subscriptions(self) -> Work[None]:
        """Decode in slices what ``is_subscribed`` needs."""
        yield from ()

    @abstractmethod
    def unused_since(self, topic: str, commit_ms: int) -> int | None:
        """When the retention of an offset that was committed at ``commit_ms`` began; None while it is in use."""

    @abstractmethod
    def check_commit(self, by: Committer, offsets: Commits, version: int) -> None:
        """BrokerError unless the group lets the member commit. ``version`` is that of OffsetCommit."""

    @abstractmethod
    def check_commit_in_transaction(self, by: Committer, offsets: Commits) -> None:
        """BrokerError unless the group lets the member's producer commit. One that knows no members always may."""

    @abstractmethod
    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """BrokerError unless the group lets the member fetch offsets."""


class Members(Protocol):
    """The owner of the sessions of members, for the groups of one type."""

    def loaded(self, group: Any) -> None:
        """After a start, every member has one session to come back."""

    def committed(self, group: Any, member_id: str) -> None:
        """A member has committed offsets."""

    def ended(self, group: Any) -> None:
        """The group is deleted or unloaded."""


G = TypeVar("G", bound=Group)


def of_type(group: Group | None, kind: type[G]) -> G | None:
    """The group, if it is of this type."""
    return group if isinstance(group, kind) else None
