"""kafka-transactions beside Kafka's TransactionsCommand on real brokers, with transactions that really hang."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.against_kafka.harness import RealKafka, Setup, eventually
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.side_by_side import Ended, done, fresh, ours, same, theirs
from tests.commands.cluster.wire_producers import UNCHECKED, WirePeer, begun, left_hanging

AGE_MS = 2 * 3_600_000


@pytest.fixture(scope="module")
def kafka(real_kafka: Callable[[Setup], RealKafka]) -> RealKafka:
    return real_kafka(Setup(NEWEST, properties=(UNCHECKED,)))


@pytest.fixture
def peer(kafka: RealKafka) -> Iterator[WirePeer]:
    peer = WirePeer(kafka.bootstrap_servers, age_ms=AGE_MS)
    yield peer
    peer.close()


@pytest.fixture
def topic(kafka: RealKafka) -> str:
    name = fresh("transactions")
    done(ours(kafka, "topics", "--create", "--topic", name, "--partitions", 3))
    return name


def failing(kafka: RealKafka, *arguments: object) -> tuple[Ended, Ended]:
    """Ours and Kafka's of a command line that fails with both."""
    our, their = ours(kafka, "transactions", *arguments), theirs(kafka, "transactions", *arguments)
    assert (our.stdout, their.stdout, their.returncode) == ("", "", 1)
    return our, their


def test_lists_and_descriptions_are_the_same(kafka: RealKafka, peer: WirePeer, topic: str) -> None:
    begun(peer, f"{topic}-open", 1, topic=topic)
    left_hanging(peer, f"{topic}-hangs", 0, topic=topic)
    pattern = ("--transactional-id-pattern", f"{topic}-.*")
    assert f"{topic}-open" in same(kafka, "transactions", "list", *pattern, sort=True)
    same(kafka, "transactions", "list", sort=True)
    for limit in (-1, 0, AGE_MS):
        same(kafka, "transactions", "list", *pattern, "--duration-filter", limit, sort=True)
    assert "\tNone" in same(kafka, "transactions", "describe", "--transactional-id", f"{topic}-hangs")
    described = ("describe", "--transactional-id", f"{topic}-open")
    our, their = (each(kafka, "transactions", *described) for each in (ours, theirs))
    assert _but_for_durations(done(our)) == _but_for_durations(done(their))
    for number in (0, 1, 2):
        place = ("--topic", topic, "--partition", number)
        same(kafka, "transactions", "describe-producers", *place)
        same(kafka, "transactions", "describe-producers", *place, "--broker-id", kafka.node_ids[0])


def _but_for_durations(text: str) -> str:
    head, row = text.splitlines()
    cells = row.split("\t")
    cells[7] = re.sub(r"\d+", "N", cells[7].strip())
    return f"{head}\n{cells}"


@pytest.mark.parametrize("way", ["start offset", "producer"])
def test_hanging_transactions_are_found_and_aborted_the_same(
    kafka: RealKafka, peer: WirePeer, topic: str, way: str
) -> None:
    begun(peer, f"{topic}-open", 0, 1, 2, topic=topic)
    hanging = [left_hanging(peer, f"{topic}-hangs-{number}", number, topic=topic) for number in (0, 1)]
    assert same(kafka, "transactions", "find-hanging", "--topic", topic, sort=True).count("\n") == 3
    same(kafka, "transactions", "find-hanging", "--topic", topic, "--partition", 0)
    same(kafka, "transactions", "find-hanging", "--topic", topic, "--max-transaction-timeout", 121)
    same(kafka, "transactions", "find-hanging", "--broker-id", kafka.node_ids[0], sort=True)
    for number, tool in ((0, ours), (1, theirs)):
        which: tuple[object, ...] = ("--start-offset", 1)
        if way == "producer":
            producer = hanging[number]
            which = ("--producer-id", producer.producer_id, "--producer-epoch", producer.epoch)
            which += ("--coordinator-epoch", -1)
        ended = tool(kafka, "transactions", "abort", "--topic", topic, "--partition", number, *which)
        assert (ended.returncode, ended.stdout) == (0, ""), ended
    assert same(kafka, "transactions", "find-hanging", "--topic", topic).count("\n") == 1
    for number in (0, 1):
        same(kafka, "transactions", "describe-producers", "--topic", topic, "--partition", number)


def test_what_is_ended_by_force_is_in_the_same_state(kafka: RealKafka, peer: WirePeer, topic: str) -> None:
    for tool in (ours, theirs):
        name = f"{topic}-{tool.__name__}"
        begun(peer, name, 0, topic=topic)
        ended = tool(kafka, "transactions", "forceTerminateTransaction", "--transactionalId", name)
        assert (ended.returncode, ended.stdout) == (0, ""), ended

        def is_over(name: str = name) -> None:
            text = same(kafka, "transactions", "describe", "--transactional-id", name)
            assert "Empty" in text.splitlines()[1]

        eventually(is_over)


def test_failures_say_what_kafkas_tool_says(kafka: RealKafka, topic: str, tmp_path: Path) -> None:
    """One line in place of the same text with a remark about logging; why the broker refused stands in its words."""
    place = ("--topic", topic, "--partition", 0)
    patience = tmp_path / "patience.properties"
    patience.write_text("default.api.timeout.ms=3000\nrequest.timeout.ms=2000\n")  # Kafka's waits for a broker 99
    for words in (
        ("describe", "--transactional-id", "nobody"),
        ("--command-config", patience, "describe-producers", *place, "--broker-id", 99),
        ("abort", *place, "--start-offset", 5),
        ("list", "--transactional-id-pattern", "a("),
    ):
        our, their = failing(kafka, *words)
        said = their.stderr.splitlines()[-1].split(": ")[0]
        assert (our.returncode, our.stderr.count("\n")) == (1, 1), our
        assert said in our.stderr
    for words in (
        ("abort", *place),
        ("abort", *place, "--producer-id", 1),
        ("abort", *place, "--producer-id", 1, "--producer-epoch", 1),
        ("find-hanging", "--partition", 0),
        ("find-hanging", "--partition", 0, "--broker-id", 1),
    ):
        our, their = failing(kafka, *words)
        assert our.returncode == 2
        assert f": {their.stderr.strip()}\n" in our.stderr


def test_releases_before_the_requests_say_which_release_has_them(kafka_22: RealKafka) -> None:
    topic = fresh("transactions")
    done(ours(kafka_22, "topics", "--create", "--topic", topic, "--partitions", 1, "--replication-factor", 1))
    for words, release in (
        (("list",), "3.0"),
        (("describe", "--transactional-id", "x"), "3.0"),
        (("find-hanging", "--topic", topic), "2.8"),
        (("abort", "--topic", topic, "--partition", 0, "--start-offset", 0), "2.8"),
    ):
        ended = ours(kafka_22, "transactions", *words)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert f"brokers of Kafka {release} and later" in ended.stderr
