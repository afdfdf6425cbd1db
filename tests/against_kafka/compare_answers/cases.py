"""A case: one request, what comes before it, and which state is compared afterwards."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.against_kafka.compare_answers.brokers import ADMIN, ALICE, ROOT, Known
from tests.against_kafka.compare_answers.world import TOPICS, Ask, ask

INVALID_NAMES = ("", ".", "..", "a b", "x" * 250, "é", "a/b", "a,b", "a\nb")

ABOUT = ("name", "topic", "topic_id", "partition_index", "partition", "topic_name", "resource_type", "resource_name",
         "key", "group_id", "entity_type", "mechanism")  # fmt: skip
"""Fields that say what an item of a request is about."""


@dataclass
class Case:
    """``state``: questions whose answers are compared afterwards; ``undo``: what makes both brokers alike again."""

    question: Ask
    before: Sequence[Ask] = ()
    state: Sequence[Ask] = ()
    undo: Sequence[Ask] = ()
    made: Sequence[str] = ()
    """Topics that ``before`` makes; they are waited for, and deleted at the end."""
    may_make: Sequence[str] = field(default=())
    """Topics that the question itself may make; they are deleted at the end."""


class Pools:
    """Names and numbers to choose from. ``n`` differs from case to case."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.n = 0

    def one(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def few(self, make: Callable[[], Any], low: int = 1, high: int = 3) -> list[Any]:
        """Some of them, none about the same thing: what is listed twice is ``wrong``'s business."""
        found: dict[str, Any] = {}
        for _ in range(self.rng.randint(low, high)):
            item = make()
            about = [item.get(key) for key in ABOUT if key in item] if isinstance(item, dict) else []
            found.setdefault(repr(about or item), item)
        return list(found.values())

    def topic(self) -> str:
        """A topic's name: mostly one that is there."""
        known = [*TOPICS]
        rest = self.one("missing", "gone", "one_x", *INVALID_NAMES[:5], "__consumer_offsets")
        return self.rng.choice(known) if self.rng.random() < 0.75 else str(rest)

    def topic_id(self) -> Known:
        return Known(f"topic {self.one(*TOPICS, 'gone', 'missing')}")

    def group(self) -> str:
        return str(self.one("g1", "g2", "live", "nobody", "g1", ""))

    def partition(self) -> int:
        return int(self.one(0, 0, 0, 1, 2, 3, -1, 2**31 - 1))

    def user(self) -> str:
        """Who asks: mostly somebody who may."""
        return str(self.one(ROOT, ROOT, ROOT, ADMIN, ALICE))

    def flag(self) -> bool:
        return self.rng.random() < 0.5


Recipe = Callable[[Pools, int], "Case | dict[str, Any]"]
RECIPES: dict[str, Recipe] = {}


def recipe(function: Recipe) -> Recipe:
    """Registers the recipe of the API whose stem is the function's name."""
    RECIPES[function.__name__] = function
    return function


def case_of(stem: str, version: int, pools: Pools) -> Case:
    """A request of this API that a careful client could send."""
    pools.n += 1
    made = RECIPES[stem](pools, version)
    return made if isinstance(made, Case) else Case(ask(stem, version, pools.user(), **made))
