"""The interface of a group of any protocol (Kafka's ``Group``).

Each group type has a subclass, and an owner of its members' sessions in ``GroupStore.members``. Only
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
    """The state of one group, built from records of the log."""

    type: ClassVar[str]
    """A value of ``CoordinatorGroupType``."""
    id: str
    protocol_type: str | None
    """None for a group that only commits offsets."""

    @property
    @abstractmethod
    def state(self) -> str:
        """A value of ``GroupState``."""

    @property
    @abstractmethod
    def is_abandoned(self) -> bool:
        """Whether the group has no members, and no client is about to join."""

    @property
    @abstractmethod
    def stamp(self) -> object:
        """A value that changes with every change of the group, except its offsets."""

    @abstractmethod
    def tombstones(self) -> Iterator[CoordinatorRecord]:
        """The records that delete the group, without the tombstones of its offsets."""

    @abstractmethod
    def is_subscribed(self, topic: str) -> bool:
        """Whether offsets of the topic are in use."""

    def read_subscriptions(self) -> Work[None]:
        """Decode the subscriptions for ``is_subscribed``, in slices."""
        yield from ()

    @abstractmethod
    def unused_since(self, topic: str, commit_ms: int) -> int | None:
        """When the retention of an offset that was committed at ``commit_ms`` began; None while it is in use."""

    @abstractmethod
    def check_commit(self, by: Committer, offsets: Commits, version: int) -> None:
        """BrokerError unless the member may commit. ``version``: the version of OffsetCommit."""

    @abstractmethod
    def check_commit_in_transaction(self, by: Committer, offsets: Commits) -> None:
        """BrokerError unless the member's producer may commit. A producer that names no member always may."""

    @abstractmethod
    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """BrokerError unless the member may fetch offsets."""


class Members(Protocol):
    """The owner of the sessions of members, for the groups of one type."""

    def loaded(self, group: Any) -> None:
        """The group is loaded: every member has one session timeout to return."""

    def committed(self, group: Any, member_id: str) -> None:
        """A member has committed offsets."""

    def ended(self, group: Any) -> None:
        """The group is deleted or unloaded."""


G = TypeVar("G", bound=Group)


def of_type(group: Group | None, kind: type[G]) -> G | None:
    """The group, if it is of this type."""
    return group if isinstance(group, kind) else None
