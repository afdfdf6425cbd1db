"""Required moves: replicas leave brokers that must not have them, new ones are placed, racks are corrected."""

from __future__ import annotations

from collections.abc import Callable

from kafka_tools.commands.partitions.planning.facts import BYTES, ClusterFacts, PlanOrder
from kafka_tools.commands.partitions.planning.layout import Layout, brokers_in
from kafka_tools.errors import InputError


def settle(layout: Layout, facts: ClusterFacts, order: PlanOrder) -> tuple[set[int], set[int]]:
    """Give every partition its number of replicas on allowed brokers.

    Returns the partitions that had to change, and those that stay because too few brokers may accept them
    (``order.may_leave``). Raises InputError if there are too few brokers, or none has room.
    """
    changed: set[int] = set()
    left: set[int] = set()
    missing: list[int] = []
    by_bytes = order.balance == BYTES
    for partition, key in enumerate(layout.keys):
        replicas = facts.partitions[key].replicas
        wanted = order.replication_factor or len(replicas)
        leaving = [broker for broker in layout.held[partition] if _must_leave(layout, order, broker)]
        is_away = len(layout.original[partition]) < len(replicas)
        if order.balance is None and not (leaving or wanted != len(replicas) or order.evacuated & set(replicas)):
            continue
        if not (leaving or is_away or wanted != len(replicas)) and order.balance is not None:
            continue
        possible = layout.takers | layout.holders[partition]
        for broker in leaving:
            possible &= ~(1 << broker)
        if possible.bit_count() < wanted:
            if not order.may_leave:
                raise _too_few(str(key), wanted, possible.bit_count(), order)
            left.add(partition)
            continue
        changed.add(partition)
        for broker in leaving:
            layout.remove(partition, broker)
        for _ in range(len(layout.held[partition]) - wanted):
            layout.remove(partition, _dispensable(layout, partition, by_bytes))
        missing += [partition] * (wanted - len(layout.held[partition]))
    _place(layout, missing, by_bytes)
    if order.balance is not None:
        for partition in range(len(layout.keys)):
            if partition not in left:
                _mend_racks(layout, partition, by_bytes)
    return changed, left


def _must_leave(layout: Layout, order: PlanOrder, broker: int) -> bool:
    if order.balance is None:
        return layout.ids[broker] in order.evacuated
    return not layout.keepers >> broker & 1


def _dispensable(layout: Layout, partition: int, by_bytes: bool) -> int:
    """The replica to remove first: in the rack with most of them, not the preferred leader, on the fullest broker."""
    held = layout.held[partition]
    return max(
        held,
        key=lambda broker: (
            layout.in_rack(partition, layout.rack[broker]),
            broker != held[0],
            _fullness(layout, broker, by_bytes),
            broker,
        ),
    )


def _place(layout: Layout, missing: list[int], by_bytes: bool) -> None:
    """Place each missing replica on the emptiest broker. If one finds no room, place all where they fit most tightly.

    If bytes are balanced, large replicas come first, so that small ones fill the gaps.
    """
    if by_bytes:
        missing = sorted(missing, key=lambda partition: -layout.size_bytes[partition])
    placed: list[tuple[int, int]] = []
    for partition in missing:
        target = _best(layout, partition, lambda broker: _fullness(layout, broker, by_bytes))
        if target is None:
            break
        layout.add(partition, target)
        placed.append((partition, target))
    else:
        return
    for partition, target in placed:
        layout.remove(partition, target)
    for partition in sorted(missing, key=lambda partition: -layout.size_bytes[partition]):
        target = _best(layout, partition, layout.room_bytes)
        if target is None:
            raise _no_room(layout, partition)
        layout.add(partition, target)


def _best(layout: Layout, partition: int, cost: Callable[[int], float]) -> int | None:
    """The broker of lowest cost with room, in the rack with the fewest replicas of the partition."""
    topic = layout.topic[partition]
    held = [layout.in_rack(partition, rack) for rack in range(len(layout.rack_members))]
    free = layout.takers & ~layout.holders[partition]
    for fewest in sorted(set(held)):
        members = 0
        for rack, count in enumerate(held):
            if count == fewest:
                members |= layout.rack_members[rack]
        found = min(
            (broker for broker in brokers_in(free & members) if layout.fits(partition, broker)),
            key=lambda broker: (cost(broker), layout.topic_load[broker].get(topic, 0), broker),
            default=None,
        )
        if found is not None:
            return found
    return None


def _mend_racks(layout: Layout, partition: int, by_bytes: bool) -> None:
    """Move replicas from racks with too many of the partition to racks with too few."""
    held = layout.held[partition]
    while len(layout.rack_members) > 1:
        most = max(layout.in_rack(partition, layout.rack[broker]) for broker in held)
        if most == 1:
            return
        sources = [broker for broker in held if layout.in_rack(partition, layout.rack[broker]) == most]
        targets = [
            broker
            for broker in brokers_in(layout.takers & ~layout.holders[partition])
            if layout.in_rack(partition, layout.rack[broker]) < most - 1 and layout.fits(partition, broker)
        ]
        if not targets:
            return
        source = max(
            sources,
            key=lambda broker: (
                broker not in layout.original[partition], _fullness(layout, broker, by_bytes), broker
            ),
        )  # fmt: skip
        target = min(
            targets,
            key=lambda broker: (
                layout.in_rack(partition, layout.rack[broker]), _fullness(layout, broker, by_bytes), broker
            ),
        )  # fmt: skip
        layout.remove(partition, source)
        layout.add(partition, target)


def _fullness(layout: Layout, broker: int, by_bytes: bool) -> float:
    return layout.usage(broker) if by_bytes else layout.load[broker]


def _too_few(partition: str, wanted: int, possible: int, order: PlanOrder) -> InputError:
    return InputError(
        f"The target replication factor of {wanted} of {partition} cannot be reached because only {possible} "
        "broker(s) can have its replicas.",
        hint="lower it with --replication-factor"
        + (", evacuate fewer brokers" if order.evacuated else ", or name more brokers that are alive in --broker-list"),
    )


def _no_room(layout: Layout, partition: int) -> InputError:
    rooms = {
        layout.ids[broker]: layout.room_bytes(broker)
        for broker in brokers_in(layout.takers & ~layout.holders[partition])
    }
    most = max(rooms, key=lambda id: (rooms[id], -id))
    return InputError(
        f"No broker has room for another replica of {layout.keys[partition]}, which has "
        f"{layout.size_bytes[partition]} bytes: the largest free space is {rooms[most]:.0f} bytes, on a disk "
        f"of broker {most}, after the replicas that the plan places there.",
        hint="space that a move will free is not counted, because it stays in use until the copy is complete",
    )
