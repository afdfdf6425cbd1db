"""A start that leaves coordinators' partitions to be loaded, which go on only when the test says so.

``loaded_first_bytes`` says what is read before the broker is ready; here it is a number of the test's. The clock stands
still, but for the time in which the broker is told to work: then each look at it takes half a millisecond, so that a
slice is over after eight pieces of work on any machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafka_tools.broker_embedded.configs.limits import BrokerLimits
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.clock import ManualClock
from kafka_tools.protocol.enums import CONSUMER_OFFSETS
from kafka_tools.values import TopicPartition
from tests.broker_embedded.disk_broker import DiskBroker

PIECES = 8
"""The most pieces of work in one step."""


class TickingClock(ManualClock):
    """Each look at it takes ``tick_s``."""

    tick_s = 0.0

    def monotonic_s(self) -> float:
        self._elapsed_s += self.tick_s
        return self._elapsed_s


class SlowStart:
    """``restart`` comes back with everything beyond ``at_once`` bytes unread; ``step`` is one slice of it."""

    def __init__(self, broker: DiskBroker) -> None:
        self.broker = broker
        self.clock = TickingClock(broker.clock.now_ms())

    def restart(self, at_once: int = 0, *, kill: bool = True) -> None:
        self.broker.core.close(clean=not kill)
        self.open(at_once)

    def open(self, at_once: int = 0) -> None:
        self.broker.limits = BrokerLimits(loaded_first_bytes=at_once)
        self.clock = self.broker.clock = TickingClock(self.broker.clock.now_ms())
        self.broker.open()

    @property
    def under_way(self) -> bool:
        return len(self.broker.core.loading) > 0

    def step(self) -> None:
        """One slice of the loading, and of whatever else is due."""
        self.clock.tick_s = 0.0005
        self.broker.step()
        self.clock.tick_s = 0.0

    def finish(self) -> int:
        """Load the rest; returns in how many steps."""
        steps = 0
        while self.under_way:
            self.step()
            steps += 1
            assert steps < 1_000_000
        return steps


def state(broker: DiskBroker) -> dict[str, Any]:
    """Everything that both coordinators know, but for timers."""
    groups, offsets = broker.core.groups.store.groups, broker.core.groups.offsets
    return {
        "groups": {
            group_id: (type(group).__name__, group.state, vars(group).get("generation"), sorted(group.members))
            for group_id, group in groups.items()
        },
        "offsets": {group_id: dict(found) for group_id, found in offsets.table.by_group.items()},
        "open": {
            group_id: sorted(offsets.open.of(group_id)) for group_id in sorted(offsets.open.groups())
        },
        "transactions": {found.id: found for found in whole(broker.core.transactions.matching((), (), -1))},
    }  # fmt: skip


def size_of(broker: DiskBroker, number: int, topic: str = CONSUMER_OFFSETS) -> int:
    found = broker.core.partitions.get(*TopicPartition(topic, number))
    assert found is not None
    return found.log.size_bytes


def names_in(partition: int, partitions: int, count: int = 1, start: str = "g") -> list[str]:
    """Ids that belong to a partition."""
    from kafka_tools.broker_embedded.coordinators.runtime import partition_for

    found: Iterable[str] = (f"{start}{number}" for number in range(100_000))
    wanted = (name for name in found if partition_for(name, partitions) == partition)
    return [next(wanted) for _ in range(count)]
