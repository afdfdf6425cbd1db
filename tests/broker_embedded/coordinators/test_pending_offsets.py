"""Offsets of transactions that are open: their end counts at once, however many they are, and is tidied in slices."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest

from kafka_tools.broker_embedded.coordinators.committed_offsets import CommittedOffsets
from kafka_tools.broker_embedded.coordinators.offset_records import OffsetCommit
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.values import TopicPartition
from tests.broker_embedded.coordinators.pieces import Pieces

COUNT = 2_000
MOST_STEPS = 6_000
"""Of the interpreter in one piece; a few for each offset are more."""


def at(number: int) -> TopicPartition:
    return TopicPartition("t", number)


def commit(offset: int) -> OffsetCommit:
    return OffsetCommit(offset, -1, "", 0)


@pytest.mark.parametrize("committed", [True, False])
def test_the_end_of_very_many_offsets_counts_at_once_and_no_piece_grows_with_them(committed: bool) -> None:
    table, pieces = CommittedOffsets(), Pieces()
    for number in range(COUNT):
        table.open.add(0, 1, "g", at(number), commit(number))

    def end() -> Work[None]:
        rest = table.transaction_ended(0, 1, committed)
        assert not table.open.is_open("g")
        assert not table.open.groups()
        assert len(table.by_group.get("g", ())) == COUNT * committed
        yield
        yield from rest

    assert sum(1 for _ in pieces.watch(end())) > 10
    assert pieces.longest < MOST_STEPS


class Model:
    """The same by what each transaction has committed, in order."""

    def __init__(self) -> None:
        self.holding: dict[tuple[str, TopicPartition], OffsetCommit] = {}
        self.open: dict[int, dict[tuple[str, TopicPartition], OffsetCommit | None]] = {}

    def commit(self, group: str, where: TopicPartition, committed: OffsetCommit | None) -> None:
        for pending in self.open.values():
            if (group, where) in pending and committed is not None:
                pending[group, where] = None
            elif committed is None:
                pending.pop((group, where), None)
        if committed is None:
            self.holding.pop((group, where), None)
        else:
            self.holding[group, where] = committed

    def end(self, producer: int, committed: bool) -> None:
        for place, offset in self.open.pop(producer, {}).items():
            if committed and offset is not None:
                self.holding[place] = offset

    def check(self, table: CommittedOffsets) -> None:
        groups = {group for group, _ in self.holding} | {group for each in self.open.values() for group, _ in each}
        assert set(table.groups()) == groups
        for group in ("g", "h"):
            pending = [each for each in self.open.values() if any(name == group for name, _ in each)]
            assert table.open.is_open(group) == bool(pending)
            assert set(table.open.of(group)) == {where for each in pending for name, where in each if name == group}
            for number in range(4):
                offsets = [each.get((group, at(number))) for each in pending]
                assert table.by_group.get(group, {}).get(at(number)) == self.holding.get((group, at(number)))
                assert set(table.open.offsets(group, at(number))) == {each for each in offsets if each is not None}
                assert table.open.is_open(group, at(number)) == any((group, at(number)) in each for each in pending)


@pytest.mark.parametrize("seed", range(5))
def test_whatever_comes_between_an_end_and_its_tidying_holds(seed: int) -> None:
    chance = random.Random(seed)
    table, model, left = CommittedOffsets(), Model(), deque[Work[Any]]()
    for number in range(2_000):
        group, where, producer = chance.choice("gh"), at(chance.randrange(4)), chance.randrange(3)
        what = chance.choice(["pending"] * 5 + ["commit", "delete", "end", "end", "tidy", "tidy", "drop"])
        if what == "pending":
            table.open.add(0, producer, group, where, commit(number))
            model.open.setdefault(producer, {})[group, where] = commit(number)
        elif what in ("commit", "delete"):
            committed = commit(number) if what == "commit" else None
            if committed is None:
                table.forget(group, (where,))
            else:
                table.commit(group, ((where, committed),))
            model.commit(group, where, committed)
        elif what == "end":
            committed_too = chance.random() < 0.6
            left.append(table.transaction_ended(0, producer, committed_too))
            model.end(producer, committed_too)
        elif what == "tidy" and left:
            if next(left[0], left) is left:
                left.popleft()
        elif what == "drop" and chance.random() < 0.2:
            table.drop(group)
            for place in range(4):
                model.commit(group, at(place), None)
        model.check(table)
    for work in left:
        for _ in work:
            model.check(table)
    for producer in range(3):
        for _ in table.transaction_ended(0, producer, False):
            pass
    assert not table.open._by_place, "nothing is known of what is over"
