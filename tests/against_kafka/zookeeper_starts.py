"""Brokers that start again after whatever we stored for them in ZooKeeper: ``zookeeper_values starts``.

A start takes the broker down and up again with many values at once: one for each of its configs, and one for each
config of topics and each quota. Where it does not come up, says that it leaves something out, or no longer follows what
is stored, the values are halved until those at fault are left. The least and the greatest value of every config that we
take have their turn.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from kafka_tools.config_definitions.zookeeper import tables as tables
from kafka_tools.config_definitions.zookeeper.releases import Kind, names_in, row_of
from kafka_tools.zookeeper.configs import ZooKeeperConfigs
from kafka_tools.zookeeper.store import ZooKeeperSettings, open_store
from tests.against_kafka.harness import RealKafka, Setup, eventually
from tests.against_kafka.jvm import StartFailed
from tests.against_kafka.side_by_side import done, ours
from tests.against_kafka.zookeeper_values import JAVA_NUMBERS, TABLES, Case, by_us, here, values_for

LEFT_OUT = re.compile(
    r"^.*(?:could not be applied|will be ignored|could not be decoded|Failed to (?:update|process)).*", re.M
)
"""What a broker says that starts without some of what is stored: one config that it cannot read takes all along."""
READY_S = 60.0
"""How long a broker may take to be there."""
LISTENER = "listener.name.plaintext."
PREALLOCATED = ("preallocate", "true")
FEW = 15
"""Connections that a controller and the one who looks whether the broker follows may need at once."""
WATCHED = "follows"
"""The topic by which is seen that the broker follows ZooKeeper. The others have the name of the config they are for."""


def accepted(release: str, kind: Kind, name: str) -> list[str]:
    """The values of ``values_for`` that we take for one config."""
    row = row_of(release, kind, name.removeprefix(LISTENER))
    return [text for text in values_for(row) if not by_us(release, Case(kind, name, text))] if row else []


def extremes(texts: Sequence[str]) -> list[str]:
    """The least and the greatest of numbers, the first and the last two of other texts."""
    texts = [text for text in texts if text == text.strip()]
    numbers = sorted((text for text in texts if re.fullmatch("-?[0-9]+", text)), key=int)
    return numbers[:1] + numbers[-1:] if numbers else list(dict.fromkeys((*texts[:2], *texts[-2:])))


def rounds(release: str, names: Sequence[str] = ()) -> Iterator[list[Case]]:
    """What is stored at once: every config with its first value, then with its second, and so on."""
    chosen: list[list[Case]] = []
    for kind, table in TABLES.items():
        found = [*table, *(LISTENER + name for name in table)] if kind == "broker" else list(table)
        for name in found:
            if (names and name not in names) or "SCRAM" in name or kind == "all brokers":
                continue
            if name.startswith(LISTENER) and not _of_a_listener(release, name.removeprefix(LISTENER)):
                continue
            texts = [text for text in accepted(release, kind, name) if text not in JAVA_NUMBERS]
            if kind == "topic":
                # a topic may only have remote storage where a broker has it, and is as large as it says
                texts = [] if name == "remote.storage.enable" else [t for t in texts if (name, t) != PREALLOCATED]
            if name.removeprefix(LISTENER).startswith("max.connections"):
                texts = [text for text in texts if not text.isdigit() or int(text) > FEW]
            chosen.append([Case(kind, name, text) for text in extremes(texts)])
    for turn in range(max(map(len, chosen), default=0)):
        yield [cases[turn] for cases in chosen if len(cases) > turn]


def _of_a_listener(release: str, name: str) -> bool:
    return name in (names_in("SECURITY", release) | names_in("CLUSTER_LEVEL_LISTENER", release))


class Starts:
    """One cluster that is started again and again."""

    def __init__(self, kafka: RealKafka) -> None:
        assert kafka.zookeeper is not None
        self.kafka = kafka
        self.release = kafka.release.rpartition(".")[0]
        self.starts = 0
        self._zookeeper = ("--zookeeper", kafka.zookeeper.connect, "--zk-release", self.release)
        self._changes = 0
        (self._broker,) = kafka.node_ids
        for topic in (WATCHED, *tables.TOPIC):
            done(ours(kafka, "topics", "--create", "--topic", topic, "--partitions", 1, "--replication-factor", 1))

    def failing(self, cases: Sequence[Case]) -> list[tuple[list[Case], str]]:
        """The values, or values together, with which the broker does not start or stops following ZooKeeper."""
        problem = self._starts_with(cases) if cases else ""
        told = f"  start {self.starts}, {len(cases)} values: {problem or 'fine'}"
        print(told, file=sys.stderr, flush=True)
        if not problem:
            return []
        if len(cases) == 1:
            return [(list(cases), problem)]
        half = len(cases) // 2
        return [*self.failing(cases[:half]), *self.failing(cases[half:])] or [(list(cases), problem)]

    def _starts_with(self, cases: Sequence[Case]) -> str:
        """Store, start, change something, and take everything back: "", or what went wrong."""
        self.kafka.stop_node(self._broker)
        for case in cases:
            self._store(case, "--add-config", f"{case.name}=[{case.value}]")
        self.starts += 1
        log = self.kafka.folder / f"server-{self._broker}.log"
        said = log.stat().st_size
        try:
            self.kafka.start_node(self._broker, READY_S)
            self._changes += 1
            self._follows()
            left_out = LEFT_OUT.search(log.read_bytes()[said:].decode("utf-8", "replace"))
            return left_out[0][:200] if left_out else ""
        except (StartFailed, AssertionError) as error:
            return str(error)[:120].splitlines()[0]
        finally:
            if self._broker in self.kafka.servers:
                self.kafka.stop_node(self._broker)
            eventually(self._is_gone)
            for case in reversed(cases):  # one may be right only beside one that was stored before it
                self._store(case, "--delete-config", case.name)
            self.kafka.start_node(self._broker)

    def _store(self, case: Case, *change: str) -> None:
        entity = {
            "topic": ("--topic", case.name),
            "user": ("--user", "u"),
            "client": ("--client", "c"),
            "ip": ("--ip", "127.0.0.9"),
            "broker": ("--broker", str(self._broker)),
        }[case.kind]

        problem = here("configs", *self._zookeeper, "--alter", *entity, *change)
        assert not problem, (case, problem)

    def _is_gone(self) -> None:
        """A broker that ended badly stays registered until its session ends."""
        assert self.kafka.zookeeper is not None
        settings = ZooKeeperSettings(self.kafka.zookeeper.connect)
        with open_store(settings) as store:
            assert not ZooKeeperConfigs(store.below(settings.chroot)).registrations()

    def _follows(self) -> None:
        """A change stored now arrives at the broker."""
        stored = f"flush.messages={1000 + self._changes}"
        problem = here("configs", *self._zookeeper, "--alter", "--topic", WATCHED, "--add-config", stored)
        assert not problem, problem

        def arrived() -> None:
            text = done(ours(self.kafka, "configs", "--describe", "--topic", WATCHED))
            assert f"{stored} " in text, f"started, and does not follow: {text}"

        eventually(arrived)


def starts(level: str, names: Sequence[str] = ()) -> list[str]:
    """Start a broker of a release with the values that we take for it; what did not start."""
    release = level.rpartition(".")[0]
    failed = []
    with (
        tempfile.TemporaryDirectory() as folder,
        RealKafka.start(Setup(level, zookeeper=True), Path(folder) / "k") as kafka,
    ):
        tried = Starts(kafka)
        values = 0
        turns = list(rounds(release, names))
        for turn, cases in enumerate(turns, 1):
            values += len(cases)
            print(f"Kafka {level}: round {turn} of {len(turns)}, {len(cases)} values", file=sys.stderr, flush=True)
            for wrong, problem in tried.failing(cases):
                failed.append(f"{level} {', '.join(f'{c.kind} {c.name}={c.value}' for c in wrong)}: {problem}")
                print(failed[-1], flush=True)
        print(f"Kafka {level}: {values} values, {tried.starts} starts, {len(failed)} failed", flush=True)
    return failed
