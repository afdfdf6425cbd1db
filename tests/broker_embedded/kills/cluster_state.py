"""What administrators change: topics, their configs and credentials are as was acknowledged."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.broker_embedded.kills.load import END_S, Load

TOPICS = [f"made-{number}" for number in range(6)]
USERS = [f"user-{number}" for number in range(4)]
ABSENT = -1
REQUEST_S = 20.0
Key = tuple[str, str]
"""``topic`` (whether it is there), ``config`` (retention.ms of a topic) or ``user`` (iterations), and whose."""


class ClusterChanges(Load):
    """Makes, changes and deletes. What was not acknowledged may have happened or not."""

    def __init__(self, address: str, seed: str) -> None:
        super().__init__(address, seed)
        self.possible: dict[Key, set[int]] = {("user", name): {ABSENT} for name in USERS}
        self.possible |= {("config", name): {ABSENT} for name in ["static", *TOPICS]}
        self.possible |= {("topic", name): {ABSENT} for name in TOPICS}
        self.acknowledged = 0
        self._admin = AdminClient(self.settings())

    def counts(self) -> str:
        return f"{self.acknowledged} changes of the cluster acknowledged"

    def work(self) -> None:
        turn = 1000
        while not self.stopping.wait(self.dice.random() * 0.05):
            turn += 1
            kind = self.dice.randrange(4)
            topic = self.dice.choice(TOPICS)
            if kind == 0:
                self._change(("user", self.dice.choice(USERS)), 4096 + turn % 1000, self._credential)
            elif kind == 1:
                self._change(("config", "static"), turn, self._retention)
            elif self.possible["topic", topic] == {ABSENT}:
                self._change(("topic", topic), turn, self._create)
            else:
                self._change(("topic", topic), ABSENT, self._delete)

    def _change(self, key: Key, value: int, ask: Callable[[str, int], dict[Any, Future[Any]]]) -> None:
        self.possible[key] = self.possible[key] | {value}
        try:
            for future in ask(key[1], value).values():
                future.result(2 * END_S)
        except KafkaException:
            return  # either is possible from now on
        self.possible[key] = {value}
        self.acknowledged += 1

    def _credential(self, user: str, iterations: int) -> dict[Any, Future[Any]]:
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, iterations)
        given = UserScramCredentialUpsertion(user, info, b"secret")
        return dict(self._admin.alter_user_scram_credentials([given], request_timeout=REQUEST_S))

    def _retention(self, topic: str, value: int) -> dict[Any, Future[Any]]:
        entry = ConfigEntry("retention.ms", str(value * 1_000_000), incremental_operation=AlterConfigOpType.SET)
        wanted = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
        return dict(self._admin.incremental_alter_configs([wanted], request_timeout=REQUEST_S))

    def _create(self, topic: str, value: int) -> dict[Any, Future[Any]]:
        made = NewTopic(topic, 2, 1, config={"retention.ms": str(value * 1_000_000)})
        return dict(self._admin.create_topics([made], request_timeout=REQUEST_S))

    def _delete(self, topic: str, _: int) -> dict[Any, Future[Any]]:
        return dict(self._admin.delete_topics([topic], request_timeout=REQUEST_S))

    def problems(self) -> list[str]:
        """What the cluster has beside what it may have."""
        there = self._admin.list_topics(timeout=REQUEST_S).topics
        has: dict[Key, int] = {("config", "static"): self._retention_of("static")}
        for name in TOPICS:
            has["topic", name] = self._retention_of(name) if name in there else ABSENT
        for name in USERS:
            asked = self._admin.describe_user_scram_credentials([name], request_timeout=REQUEST_S)[name]
            try:
                has["user", name] = asked.result(2 * END_S).scram_credential_infos[0].iterations
            except KafkaException:
                has["user", name] = ABSENT
        return [
            f"{' '.join(key)} is {value}, and can only be {sorted(self.possible[key])}"
            for key, value in has.items()
            if value not in self.possible[key]
        ]

    def _retention_of(self, topic: str) -> int:
        asked = ConfigResource(ConfigResource.Type.TOPIC, topic)
        (found,) = self._admin.describe_configs([asked], request_timeout=REQUEST_S).values()
        value = int(found.result(2 * END_S)["retention.ms"].value)
        return value // 1_000_000 if value % 1_000_000 == 0 and value < 10**12 else ABSENT
