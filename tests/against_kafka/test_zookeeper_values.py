"""What --zookeeper takes and refuses, beside the classes, tools and brokers of 1.1, 2.2, 2.8 and 3.9: a seeded part.

``python -m tests.against_kafka.zookeeper_values`` is all of it, for every release.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.against_kafka import zookeeper_starts
from tests.against_kafka import zookeeper_values as values
from tests.against_kafka.harness import RealKafka, RealZooKeeper, Setup, eventually
from tests.against_kafka.side_by_side import done, ours
from tests.against_kafka.zookeeper_values import MAIN_LEVELS, here

SEED = int(os.environ.get("KAFKA_TOOLS_SEED", "1"))


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return values.compiled(tmp_path_factory.mktemp("definitions"))


@pytest.mark.parametrize("level", MAIN_LEVELS)
def test_values_are_judged_as_by_the_releases_own_classes(level: str, classes: Path) -> None:
    every = values.class_cases(level.rpartition(".")[0])
    judged = values.by_classes(level, random.Random(f"{SEED} {level}").sample(every, 500), classes)
    assert [each for each in judged if not each.alike] == []
    assert any(each.theirs for each in judged) and any(not each.theirs for each in judged)


@pytest.mark.parametrize("level", MAIN_LEVELS)
def test_command_lines_end_as_those_of_the_releases_own_tool(level: str, zookeeper: RealZooKeeper) -> None:
    judged = values.by_tools(level, values.prepared(zookeeper, level), values.tool_cases(level, 10, SEED))
    assert [each for each in judged if not each.alike] == []


@pytest.fixture(scope="module", params=MAIN_LEVELS)
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    """A cluster of its own: its broker starts again, with what was stored."""
    setup = Setup(request.param, zookeeper=True)
    with RealKafka.start(setup, tmp_path_factory.mktemp("values") / "kafka") as found:
        yield found


def store(kafka: RealKafka, *words: object, release: bool = False) -> str:
    """Our command on the cluster's ZooKeeper: "" if it succeeds, else its last line."""
    assert kafka.zookeeper is not None
    stated = ("--zk-release", kafka.release.rpartition(".")[0]) if release else ()
    return here("configs", "--zookeeper", kafka.zookeeper.connect, *stated, "--alter", *map(str, words))


FATAL = (
    (("--user", "u"), "producer_byte_rate=1.5"),
    (("--user", "u"), "consumer_byte_rate=99999999999999999999"),
    (("--client", "c"), "producer_byte_rate=1e3"),
    (("--topic", "t"), "message.format.version=9.9"),
    (("--topic", "t"), "message.timestamp.type=Never"),
    (("--topic", "t"), "compression.type=brotli"),
    (("--topic", "t"), "flush.massages=1"),
    (("--broker", "9"), "broker.id=9"),
    (("--broker", "9"), "log.cleaner.min.cleanable.ratio=7"),
    (("--ip", "no such host"), "connection_creation_rate=5"),
)
"""What no broker of these releases can read, or what nobody may set there."""
BY_RELEASE = (
    (("--topic", "t"), "compression.type=zstd", "2.1"),
    (("--topic", "t"), "max.compaction.lag.ms=100000", "2.3"),
    (("--topic", "t"), "remote.log.copy.disable=false", "3.9"),
    (("--user", "u"), "controller_mutation_rate=1.5", "2.7"),
    (("--ip", "127.0.0.9"), "connection_creation_rate=500", "2.8"),
    (("--broker", "9"), "log.cleaner.threads=2", "2.0"),
)
"""Right from this release on."""
UNTIL = ((("--topic", "t"), "retention.ms=-5", "2.2"), (("--topic", "t"), "segment.index.bytes=2", "3.3"))
"""Right before this release."""


def test_a_broker_starts_again_after_all_that_was_accepted_and_takes_more(kafka: RealKafka, tmp_path: Path) -> None:
    release = kafka.release.rpartition(".")[0]
    done(ours(kafka, "topics", "--create", "--topic", "t", "--partitions", 1, "--replication-factor", 1))
    for entity, change in FATAL:
        assert store(kafka, *entity, "--add-config", change), change
    for entity, change, since in BY_RELEASE:
        assert bool(store(kafka, *entity, "--add-config", change)) == (release < since), change
    for entity, change, until in UNTIL:
        assert bool(store(kafka, *entity, "--add-config", change)) == (release >= until), change
    stored = _store_drawn_values(kafka, release, tmp_path)
    assert stored > 30
    broker = kafka.node_ids[0]
    kafka.stop_node(broker)
    for name in ("log.cleaner.threads", "log.retention.ms", "min.insync.replicas"):
        problem = store(kafka, "--broker", broker, "--add-config", f"{name}=1", release=True)
        assert bool(problem) == (release < "2.0"), problem
    kafka.start_node(broker)
    _takes_more(kafka)


def _store_drawn_values(kafka: RealKafka, release: str, folder: Path) -> int:
    """Drawn values that we accept, of every config of topics and of every quota; how many were stored."""
    draw = random.Random(f"{SEED} {kafka.release}")
    stored = 0
    for number in range(2):
        topic = f"drawn-{number}"
        done(ours(kafka, "topics", "--create", "--topic", topic, "--partitions", 1, "--replication-factor", 1))
        for kind, entity in (
            ("topic", ("--topic", topic)),
            ("user", ("--user", f"u-{number}")),
            ("client", ("--client", f"c-{number}")),
            ("client", ("--user", f"u-{number}", "--client", "c")),
            ("ip", ("--ip", f"127.0.0.{number + 1}")),
            ("broker", ("--broker", "1")),
        ):
            chosen = {
                name: draw.choice(texts)
                for name in values.TABLES[kind]  # type: ignore[index]
                if (texts := _harmless(release, kind, name))
            }
            if not chosen:
                continue
            file = folder / f"{kind}-{number}"
            file.write_text("".join(f"{name}={text}\n" for name, text in chosen.items()))
            problem = store(kafka, *entity, "--add-config-file", file)
            assert problem == "", (chosen, problem)
            stored += len(chosen)
    return stored


def _harmless(release: str, kind: str, name: str) -> list[str]:
    """Values that we accept and that ask neither for another config beside them nor for all of the disk."""
    if kind == "broker" and "throttled" not in name:
        return []
    if "SCRAM" in name or name.startswith(("remote.", "local.", "max.compaction", "preallocate")):
        return []
    taken = zookeeper_starts.accepted(release, kind, name)  # type: ignore[arg-type]
    return [text for text in taken if text == text.strip() and text not in ("", *values.JAVA_NUMBERS)]


def _takes_more(kafka: RealKafka) -> None:
    """The broker that started again follows ZooKeeper: a change stored now arrives."""
    assert store(kafka, "--topic", "t", "--add-config", "flush.messages=4711") == ""

    def arrived() -> None:
        text = done(ours(kafka, "configs", "--describe", "--topic", "t"))
        assert "flush.messages=4711 " in text

    eventually(arrived)


def test_the_registration_is_read_as_this_release_writes_it(kafka: RealKafka) -> None:
    from kafka_tools.zookeeper.configs import ZooKeeperConfigs
    from kafka_tools.zookeeper.store import ZooKeeperSettings, open_store

    assert kafka.zookeeper is not None
    settings = ZooKeeperSettings(kafka.zookeeper.connect)
    with open_store(settings) as whole:
        (found,) = ZooKeeperConfigs(whole.below(settings.chroot)).registrations()
    (endpoint,) = found.endpoints
    assert f"{endpoint.host}:{endpoint.port}" in kafka.bootstrap_servers and endpoint.protocol == "PLAINTEXT"
    assert found.version == (5 if kafka.release >= "2.7" else 4)
