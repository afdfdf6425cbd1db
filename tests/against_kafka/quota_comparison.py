"""Throttle times beside Kafka: its quota managers on a told clock, and its broker under the same load.

``python -m tests.against_kafka.quota_comparison [--seed N] [--rounds N]`` is the thorough run; the suite runs a part.
A round sets, changes and removes limits of all eight levels while users and clients produce, fetch, ask and change
topics, over windows of different number and size: every delay is the same to the millisecond.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.broker_embedded.quotas.throttling import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    size_of,
)
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import registry
from kafka_tools.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_tools.protocol.messages.produce import ProduceRequest, ProduceResponse
from tests.against_kafka.java_programs import Lines
from tests.broker_embedded.memory_broker import MemoryBroker

STEPS = 150
KEYS = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE)
NAMES = (None, "a", "b")
"""The default entity, and two that have a name."""
FETCH_VERSION = 12


class Round:
    """One broker of each, with what happens to both."""

    def __init__(self, kafka: Lines, seed: int) -> None:
        self.kafka = kafka
        self.chance = random.Random(seed)
        windows, seconds = self.chance.choice(((11, 1), (11, 1), (2, 1), (1, 1), (3, 5), (30, 1)))
        configs = {"window.num": windows, "window.size.seconds": seconds}
        names = [
            (f"{prefix}quota.{name}", str(value)) for prefix in ("", "controller.") for name, value in configs.items()
        ]
        self.broker = MemoryBroker(dict(names))
        self.broker.clock.advance(1_000_000)
        self.now_ms = 0
        self.delays = 0
        self.kafka.ask_json({"now": self._now(), "windows": windows, "seconds": seconds})

    def _now(self) -> int:
        return int(self.broker.clock.monotonic_s() * 1000)

    def play(self) -> list[str]:
        """The differences of a round."""
        found = []
        for step in range(STEPS):
            self.broker.clock.advance(self.chance.choice((0, 0, 1, 40, 250, 999, 1000, 1001, 5000, 30_000)) / 1000)
            if step < 3 or self.chance.random() < 0.1:
                self._limit()
                continue
            told = self._use()
            if told is not None:
                found.append(f"step {step}: {told}")
        return found

    def _limit(self) -> None:
        entity: dict[str, str | None] = {}
        while not entity:
            entity = {kind: self.chance.choice(NAMES) for kind in ("user", "client") if self.chance.random() < 0.6}
        key = self.chance.choice(KEYS)
        most = {REQUEST_PERCENTAGE: 100, CONTROLLER_MUTATION_RATE: 20}.get(key, 5000)
        limit = None if self.chance.random() < 0.25 else self.chance.randint(1, most)
        self.kafka.ask_json(dict(now=self._now(), key=key, limit=limit, **entity))
        Entry = AlterClientQuotasRequest.EntryData
        kinds = {"user": "user", "client": "client-id"}
        entry = Entry(
            entity=[Entry.EntityData(entity_type=kinds[kind], entity_name=name) for kind, name in entity.items()]
        )
        entry.ops = [Entry.OpData(key=key, value=limit or 0.0, remove=limit is None)]
        assert not self.broker.call(AlterClientQuotasRequest(entries=[entry])).entries[0].error_code

    def _use(self) -> str | None:
        user, client, key = self.chance.choice("abc"), self.chance.choice("abc"), self.chance.choice(KEYS)
        if key == CONTROLLER_MUTATION_RATE:
            value: float = self.chance.choice((1, 3, 10, 50))
        elif key == REQUEST_PERCENTAGE:
            value = self.chance.choice((0.001, 0.25, 1.5, 4.0))
        else:
            value = self.chance.choice((100, 1000, 20_000, 90_000))
        strict = self.chance.random() < 0.5
        mine, counted = self._ours(key, user, client, value, strict)
        who: dict[str, Any] = {"now": self._now(), "user": user, "client": client}
        held = 0
        if key in (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE):  # they are requests too, which took no time
            held = self.kafka.ask_json(dict(**who, key=REQUEST_PERCENTAGE, value=0.0))[0]
        theirs = self.kafka.ask_json(dict(**who, key=key, value=counted, strict=strict, held=held))
        theirs[0] = max(theirs[0], held)
        if key not in (CONTROLLER_MUTATION_RATE, CONSUMER_BYTE_RATE):
            theirs = theirs[:1]
        self.delays += mine[0] > 0
        return None if mine == theirs else f"{key} of {user}, {client}: {value}, theirs {theirs}, ours {mine}"

    def _ours(self, key: str, user: str, client: str, value: float, strict: bool) -> tuple[list[Any], float]:
        """The delay and what else is said, and what was counted."""
        core = self.broker.core
        connection = Connection("1", "PLAINTEXT", "127.0.0.1")
        connection.principal = f"User:{user}"

        def call(request: Any, version: int) -> Call:
            return Call(core, connection, registry.api(request.API_KEY), version, client, request)

        if key == CONTROLLER_MUTATION_RATE:
            asked = call(CreateTopicsRequest(), 7 if strict else 5)
            try:
                core.throttling.pay_mutations(asked, int(value), strict_since=6)
            except BrokerError:
                return [asked.throttle_ms, True], value
            return [asked.throttle_ms, False], value
        if key == PRODUCER_BYTE_RATE:
            answer: Any = core.throttling.finish(call(ProduceRequest(), 9), ProduceResponse(), int(value), 0.0)
        elif key == CONSUMER_BYTE_RATE:
            topic = FetchResponse.FetchableTopicResponse(topic="t")
            topic.partitions = [topic.PartitionData(records=b"x" * int(value))]
            asked, response = call(FetchRequest(), FETCH_VERSION), FetchResponse(responses=[topic])
            value, most = size_of(response, FETCH_VERSION), core.throttling.most_fetched(asked)
            return [core.throttling.finish(asked, response, 100, 0.0).throttle_time_ms, most], value  # type: ignore[union-attr]
        else:
            answer = core.throttling.finish(call(HeartbeatRequest(), 4), HeartbeatResponse(), 50, value)
            value *= 100
        return [answer.throttle_time_ms], value


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.against_kafka.quota_comparison", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=300)
    options = parser.parse_args(arguments)
    delays, differences = 0, []
    with tempfile.TemporaryDirectory() as folder, Lines.start("Quotas", Path(folder)) as kafka:
        for seed in range(options.seed, options.seed + options.rounds):
            played = Round(kafka, seed)
            differences += [f"seed {seed}, {told}" for told in played.play()]
            delays += played.delays
    print(f"{options.rounds} rounds of {STEPS} steps, {delays} delays, {len(differences)} differences")
    print("\n".join(differences[:50]))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
