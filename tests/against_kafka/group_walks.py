"""Groups of both protocols in every state and in wrong order: random walks of Kafka and the bundled broker.

``python -m tests.against_kafka.group_walks --walks 200 --seed 1`` walks from seed on and prints every step whose
answers differ. A step is one request of one of four members, which may say the epoch that it has, an older, a newer or
one with a meaning. Members make their ids up where they may, so that the assignors of both brokers see the same ids;
those that a broker made are compared by their place. What both wrote to ``__consumer_offsets`` is compared in the end.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import click

from kafka_tools.broker_embedded import EmbeddedBroker
from tests.against_kafka.group_peer import GroupPeer
from tests.against_kafka.jars import NEWEST

PROPERTIES = {"group.consumer.assignment.interval.ms": "0", "group.initial.rebalance.delay.ms": "0"}
"""Of both brokers: a target with every change, so that no step depends on time."""
MEMBERS = 4
TOPICS = (("a",), ("a",), ("a",), ("a", "b"), ("a", "b"), ("a", "b"), ("b",), (), ("a", "missing"))
STATIC = 3
"""The member with an instance id; in some walks another one claims it too."""


class Step(NamedTuple):
    """One request. ``member``: which of the walk's members asks."""

    op: str
    member: int
    argument: Any = None


def walk_of(seed: int, steps: int) -> list[Step]:
    """The steps of a walk: members of the consumer protocol, of both, or a classic group that one of them joins."""
    draw = random.Random(seed)
    if draw.random() < 0.5:
        # of two assignors that as many members prefer, the one wins that Kafka's hash table has first
        topics: Any = (("a",),)
        assignors: Any = (None, None, draw.choice(("uniform", "range")), "other")
    else:  # uniform depends on the ids of topics, which are each broker's own
        topics, assignors = TOPICS, ("range",)
    kind = draw.choices(("consumer", "mixed", "upgrade"), (4, 4, 3))[0]
    walk = []
    if kind == "upgrade":  # its member has an id that the broker made: its place by range is the same all the same
        topics, assignors = TOPICS, ("range",)
        walk = [Step("found_classic", 0)]
    walk.append(Step("beat", draw.randrange(1, MEMBERS), _beat(draw, "join", topics, assignors)))
    weights = {
        "beat": 40, "describe": 6, "commit": 8, "fetch": 4, "list": 2, "describe_classic": 2, "delete_offsets": 1,
        "delete_group": 1, "grow": 1, "txn_commit": 2,
    }  # fmt: skip
    if kind != "consumer":
        weights |= {"join_classic": 12, "sync": 14, "heartbeat": 8, "leave": 3}
    while len(walk) < steps:
        op = draw.choices(list(weights), list(weights.values()))[0]
        member = draw.randrange(MEMBERS)
        walk.append(Step(op, member, _argument(draw, op, topics, assignors)))
    return walk


def _argument(draw: random.Random, op: str, topics: Any, assignors: Any) -> Any:
    if op == "beat":
        what = draw.choices(("own", "join", "leave", "wrong"), (24, 8, 4, 3))[0]
        return _beat(draw, what, topics, assignors)
    epochs = draw.choices(("own", "before", "ahead", "none"), (8, 3, 1, 2))[0]
    if op in ("commit", "txn_commit"):
        return epochs, draw.choices((10, 9, 8, 2), (1, 6, 2, 1))[0], draw.choice(("a", "b")), draw.randrange(2)
    if op in ("fetch", "heartbeat", "sync"):
        return epochs
    if op == "join_classic":
        return draw.choice(topics) or ("a",), draw.choices(("range", "sticky"), (6, 1))[0]
    if op == "leave":
        return draw.random() < 0.3
    return draw.randrange(2)


def _beat(draw: random.Random, what: str, choices: Any, assignors: Any) -> dict[str, Any]:
    """What a heartbeat says. Joining members say all, others now and then."""
    topics = draw.choice(choices)
    if what == "join" and not topics:  # Kafka takes all members for alike then, and may give nobody anything
        topics = ("b",)
    beat: dict[str, Any] = {"epoch": what, "owned": "own"}
    if what == "join":
        beat |= {"owned": draw.choices(("nothing", "own", "null"), (20, 1, 1))[0], "timeout": 60_000, "topics": topics}
        beat["assignor"] = draw.choice(assignors)
        beat["rack"] = draw.choices((None, "r1", " "), (12, 2, 1))[0]
        if draw.random() < 0.05:
            beat["timeout"] = -1
        if draw.random() < 0.15 and len(choices) > 1:
            beat |= {"regex": draw.choice(("GROUP-(a|c)", "GROUP-.*", "(", "")), "topics": None}
    elif what == "leave":
        beat["epoch"] = draw.choice((-1, -1, -2, -3))
    elif what == "wrong":
        beat["epoch"] = draw.choice(("before", "ahead"))
        beat["owned"] = draw.choice(("own", "null", "nothing", "all"))
    else:
        beat["owned"] = draw.choices(("own", "null", "nothing", "all"), (10, 8, 2, 1))[0]
        if draw.random() < 0.2:
            beat["topics"] = topics
        if draw.random() < 0.1:
            beat["timeout"] = draw.choice((30_000, 60_000))
        if draw.random() < 0.06:
            beat["assignor"] = draw.choice(assignors)
    beat["version"] = draw.choices((1, 0), (6, 1))[0]
    return beat


def differences(addresses: tuple[str, str], seed: int, steps: int) -> Iterator[str]:
    """A line for the first step of a walk whose answers differ, or for what was written if all are the same."""
    name = f"group-walk-{seed}"
    real, ours = (GroupPeer(address, name, STATIC) for address in addresses)
    try:
        for number, step in enumerate(walk_of(seed, steps)):
            theirs, mine = real.take(step), ours.take(step)
            if theirs != mine:
                yield f"walk {seed}, step {number}, {step}: Kafka {theirs}, ours {mine}"
                return
        theirs, mine = real.records(), ours.records()
        for key in {**theirs, **mine}:
            if theirs.get(key) != mine.get(key):
                yield f"walk {seed}: of {key} Kafka wrote {theirs.get(key)}, ours {mine.get(key)}"
    finally:
        real.close()
        ours.close()


@click.command()
@click.option("--walks", default=100, show_default=True)
@click.option("--steps", default=40, show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(walks: int, steps: int, seed: int) -> None:
    """Walk on a Kafka that is started for it, and on the bundled broker."""
    import tempfile
    from pathlib import Path

    from tests.against_kafka.harness import RealKafka, Setup

    found, began_s = 0, time.monotonic()
    setup = Setup(NEWEST, properties=tuple(PROPERTIES.items()))
    with tempfile.TemporaryDirectory() as folder, RealKafka.start(setup, Path(folder) / "kafka") as kafka:
        with EmbeddedBroker(config=PROPERTIES) as broker:
            for at in range(seed, seed + walks):
                for line in differences((kafka.bootstrap_servers, broker.bootstrap_servers), at, steps):
                    found += 1
                    print(line, flush=True)
    print(f"{walks} walks of {steps} steps in {time.monotonic() - began_s:.0f} s: {found} differ")


if __name__ == "__main__":
    main()
