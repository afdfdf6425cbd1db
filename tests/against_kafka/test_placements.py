"""The placer of ``kafka-reassign-partitions --generate`` beside Kafka's StripedReplicaPlacer, seed for seed."""

from __future__ import annotations

import random
import subprocess

from kafka_tools.commands.partitions.reassignment.placer import JavaRandom, StripedPlacer, UsableBroker
from tests.against_kafka.jars import ENVIRONMENT
from tests.against_kafka.java_programs import compiled

CASES = 500


def case(chance: random.Random) -> tuple[int, list[UsableBroker], list[tuple[int, int]]]:
    """Seed, brokers in any order, and (partitions, replicas) of topics placed one after the other."""
    racks = chance.choice(([None], ["a"], ["a", "b", "c"], [f"eu-west-{n}é" for n in range(20)]))
    ids = chance.sample(range(1000), chance.choice((1, 2, 3, 5, 8, 13, 40)))
    brokers = [UsableBroker(id, chance.choice(racks)) for id in ids]
    topics = [
        (chance.randint(1, 60), chance.randint(1, min(len(ids), chance.choice((3, 40)))))
        for _ in range(chance.randint(1, 3))
    ]
    return chance.choice((0, 1, -5, chance.getrandbits(62))), brokers, topics


def test_placements_are_those_of_kafkas_class() -> None:
    chance = random.Random(7)
    cases = [case(chance) for _ in range(CASES)]
    lines = [
        f"{seed} {','.join(str(each.id) if each.rack is None else f'{each.id}:{each.rack}' for each in brokers)} "
        f"{','.join(f'{partitions}x{replicas}' for partitions, replicas in topics)}"
        for seed, brokers, topics in cases
    ]
    command = compiled("Placements")
    answered = subprocess.run(
        command,
        input="".join(f"{line}\n" for line in lines), capture_output=True, encoding="utf-8", timeout=300,
        env=ENVIRONMENT,
    )  # fmt: skip
    assert answered.returncode == 0, answered.stderr
    for line, theirs, (seed, brokers, topics) in zip(lines, answered.stdout.splitlines(), cases, strict=True):
        placer = StripedPlacer(JavaRandom(seed))
        ours = [placer.place(brokers, partitions, replicas) for partitions, replicas in topics]
        text = " ".join("/".join(",".join(map(str, each)) for each in placed) for placed in ours)
        assert text == theirs, line
