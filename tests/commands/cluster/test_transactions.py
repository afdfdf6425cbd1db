"""kafka-transactions on the bundled broker, with transactions that are open and others that hang."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from kafka_tools import VERSION_LINE, cli
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.commands import running
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.messages.describe_producers import DescribeProducersRequest
from kafka_tools.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_tools.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from kafka_tools.protocol.messages.metadata import MetadataRequest
from tests.admin.virtual_cluster import VirtualCluster
from tests.commands.cluster.wire_producers import UNCHECKED, WirePeer, begun, left_hanging
from tests.commands.hostile_tries import FILES
from tests.commands.hostile_tries import ended as tried_on
from tests.net.virtual import without_chance

HOUR_MS = 3_600_000
_names = itertools.count(1)


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with EmbeddedBroker(config=dict([UNCHECKED])) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def peer(servers: str) -> Iterator[WirePeer]:
    peer = WirePeer(servers, age_ms=HOUR_MS)
    yield peer
    peer.close()


@pytest.fixture
def run(servers: str, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(*arguments: object, name: str = "transactions") -> Ended:
        words = [*map(str, arguments), "--bootstrap-server", servers]
        status = running.run(cli.load(name), words, f"kafka-{name}")
        return Ended(status, *capsys.readouterr())

    return ended


@pytest.fixture
def topic(run: Run) -> str:
    name = f"t{next(_names)}"
    assert run("--create", "--topic", name, "--partitions", 3, name="topics").status == 0
    return name


def data(ended: Ended) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ended.out)["data"]
    return found


def cells(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("\t")[:-1]] for line in text.splitlines()]


def test_what_hangs_is_found_and_what_is_open_is_not(run: Run, peer: WirePeer, topic: str) -> None:
    begun(peer, f"{topic}-open", 0, 1, topic=topic)
    hanging = left_hanging(peer, f"{topic}-hangs", 0, topic=topic)
    head, row = cells(run("find-hanging", "--topic", topic).out)
    assert head == [
        "Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp",
        "Duration(min)",
    ]  # fmt: skip
    assert row[:6] == [topic, "0", str(hanging.producer_id), "0", "-1", "1"]
    assert row[7] == "60"
    for place in (("--topic", topic, "--partition", 0), ("--broker-id", 1), ("--broker-id", 1, "--topic", topic)):
        found = data(run("find-hanging", *place, "-o", "json"))
        assert [each["producer_id"] for each in found if each["topic"] == topic] == [hanging.producer_id]
    everywhere = run("find-hanging", "-o", "table")
    assert [line.split()[:2] for line in everywhere.out.splitlines()].count([topic, "0"]) == 1
    assert re.search(r"\d+ hanging in \d+ partitions\n$", everywhere.err)
    assert run("find-hanging").err == "", "Kafka's text on a pipe has no words of ours"
    assert len(cells(run("find-hanging", "--topic", topic, "--partition", 1).out)) == 1
    assert len(cells(run("find-hanging", "--topic", topic, "--max-transaction-timeout", 61).out)) == 1
    assert run("find-hanging", "--topic", topic, "-o", "name").out == f"{topic}:0\n"


def test_a_hanging_transaction_is_aborted_by_its_start_and_readers_go_on(run: Run, peer: WirePeer, topic: str) -> None:
    hanging = left_hanging(peer, f"{topic}-hangs", 2, topic=topic)
    place = ("--topic", topic, "--partition", 2)
    (row,) = data(run("describe-producers", *place, "-o", "json"))
    assert row["transaction_start_offset"] == 0
    missing = run("abort", *place, "--start-offset", 7)
    assert (missing.status, missing.out) == (1, "")
    text = f"Could not find any open transactions starting at offset 7 on partition {topic}-2"
    assert missing.err == f"kafka-transactions: {text}\n"
    other = run("abort", *place, "--start-offset", 0, "--producer-id", hanging.producer_id + 1)
    assert other.status == 1
    assert f"belongs to producer id {hanging.producer_id}, not {hanging.producer_id + 1}" in other.err
    assert run("abort", *place, "--start-offset", 0) == (0, "", "")
    assert len(cells(run("find-hanging", *place).out)) == 1
    (row,) = data(run("describe-producers", *place, "-o", "json"))
    assert (row["transaction_start_offset"], row["coordinator_epoch"]) == (None, 0)
    again = run("abort", *place, "--start-offset", 0)
    assert (again.status, again.err.count("\n")) == (1, 1)


def test_a_hanging_transaction_is_aborted_by_its_producer_as_before_3_0(run: Run, peer: WirePeer, topic: str) -> None:
    hanging = left_hanging(peer, f"{topic}-hangs", 1, topic=topic)
    producer = ("--producer-id", hanging.producer_id, "--producer-epoch", hanging.epoch, "--coordinator-epoch", -1)
    ended = run("abort", "--topic", topic, "--partition", 1, *producer, "-o", "json")
    assert (ended.status, data(ended)) == (
        0,
        [
            {
                "topic": topic, "partition": 1, "producer_id": hanging.producer_id, "producer_epoch": hanging.epoch,
                "coordinator_epoch": 0, "result": "aborted",
            }
        ],
    )  # fmt: skip
    assert len(cells(run("find-hanging", "--topic", topic).out)) == 1


def test_an_abort_that_brokers_refuse_names_what_was_to_be_aborted(run: Run, topic: str) -> None:
    ended = run(
        *("abort", "--topic", "no-such-topic", "--partition", 0),
        *("--producer-id", 5, "--producer-epoch", 6, "--coordinator-epoch", 7, "--timeout", 2000),
    )
    named = (
        "Failed to abort transaction AbortTransactionSpec(topicPartition=no-such-topic-0, producerId=5, "
        "producerEpoch=6, coordinatorEpoch=7): "
    )
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith(f"kafka-transactions: {named}UNKNOWN_TOPIC_OR_PARTITION")


def test_lists_with_each_filter(run: Run, peer: WirePeer, topic: str) -> None:
    opened = begun(peer, f"{topic}-open", 0, topic=topic)
    idle = left_hanging(peer, f"{topic}-idle", 1, topic=topic)
    pattern = ("--transactional-id-pattern", f"{topic}-.*")
    assert cells(run("list", *pattern).out) == [
        ["TransactionalId", "Coordinator", "ProducerId", "TransactionState"],
        [f"{topic}-idle", "1", str(idle.producer_id), "Empty"],
        [f"{topic}-open", "1", str(opened.producer_id), "Ongoing"],
    ]
    assert len(cells(run("list", *pattern, "--duration-filter", -1).out)) == 3
    # As Kafka's, the broker takes an id without a transaction for one that has been open since 1970.
    found = data(run("list", *pattern, "--duration-filter", HOUR_MS, "-o", "json"))
    assert [each["transactional_id"] for each in found] == [f"{topic}-idle"]
    assert run("list", "--transactional-id-pattern", f"{topic}-o...", "-o", "name").out == f"{topic}-open\n"
    wrong = run("list", "--transactional-id-pattern", "a(")
    assert (wrong.status, wrong.out) == (1, "")
    assert wrong.err.startswith("kafka-transactions list: Failed to list transactions of 127.0.0.1:")
    assert "INVALID_REGULAR_EXPRESSION" in wrong.err


def test_three_ids_of_which_one_is_not_there(run: Run, peer: WirePeer, topic: str) -> None:
    begun(peer, f"{topic}-a", 0, 2, topic=topic)
    left_hanging(peer, f"{topic}-c", 1, topic=topic)
    three = [word for name in "abc" for word in ("--transactional-id", f"{topic}-{name}")]
    ended = run("describe", *three)
    head, first, second = cells(ended.out)
    assert head == [
        "CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState", "TransactionTimeoutMs",
        "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions",
    ]  # fmt: skip
    assert (first[1], first[4], first[5], first[8]) == (f"{topic}-a", "Ongoing", "60000", f"{topic}-0,{topic}-2")
    assert second[1:2] + second[4:] == [f"{topic}-c", "Empty", "60000", "None", "None", ""]
    assert ended.status == 1
    failed = f"Failed to describe transaction state of transactional-id `{topic}-b`: TRANSACTIONAL_ID_NOT_FOUND"
    assert ended.err.startswith(f"kafka-transactions describe: {failed}")

    ended = run("force-terminate", *[word.replace("--transactional-id", "--transactionalId") for word in three])
    assert (ended.status, ended.out) == (1, "")
    failed = f"Failed to force terminate transactionalId `{topic}-b`: TRANSACTIONAL_ID_NOT_FOUND"
    assert ended.err.startswith(f"kafka-transactions force-terminate: {failed}")
    assert run("list", "--transactional-id-pattern", f"{topic}-b", "-o", "name").out == ""  # it was not made
    (row,) = data(run("describe", "--transactional-id", f"{topic}-a", "-o", "json"))
    assert (row["state"], row["partitions"]) == ("Empty", {})


def test_both_spellings_of_the_end_by_force(run: Run, peer: WirePeer, topic: str) -> None:
    for spelling, option in (
        ("forceTerminateTransaction", "--transactionalId"),
        ("force-terminate", "--transactional-id"),
    ):
        begun(peer, f"{topic}-{spelling}", 0, topic=topic)
        assert run(spelling, option, f"{topic}-{spelling}") == (0, "", "")
        (row,) = data(run("describe", "--transactional-id", f"{topic}-{spelling}", "-o", "json"))
        assert row["state"] == "Empty"


def test_command_lines_that_are_wrong_in_the_order_of_kafkas_tool(run: Run) -> None:
    place = ("--topic", "t", "--partition", 0)
    for words, text in (
        (("abort", *place), "must be identified either with --start-offset (for brokers on 3.0 or above)"),
        (("abort", *place, "--coordinator-epoch", 1), "must be identified either with --start-offset"),
        (("abort", *place, "--producer-id", 1), "Missing required argument --producer-epoch"),
        (("abort", *place, "--producer-id", 1, "--producer-epoch", 1), "Missing required argument --coordinator-epoch"),
        (("abort", "--topic", "t", "--start-offset", 1), "Missing option '--partition'"),
        (("find-hanging", "--partition", 0), "requires either --topic or --broker-id to limit the scope"),
        (("find-hanging", "--partition", 0, "--broker-id", 1), "The --partition argument requires --topic"),
        (("describe",), "Missing option '--transactional-id'"),
        (
            ("list", "--duration-filter", "1MB"),
            "'1MB' is not a whole number: invalid unit of time 'MB'",
        ),
    ):
        ended = run(*words)
        assert (ended.status, ended.out) == (2, ""), words
        assert text in ended.err


def test_v_shows_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert running.run(cli.load("transactions"), ["-v"], "kafka-transactions") == 0
    assert capsys.readouterr().out == f"{VERSION_LINE}\n"


Scripted = Callable[..., tuple[Ended, VirtualCluster]]


def test_an_id_that_an_old_broker_makes_is_not_called_terminated(capsys: pytest.CaptureFixture[str]) -> None:
    with EmbeddedBroker(release="2.8") as broker:
        words = ["force-terminate", "--bootstrap-server", broker.bootstrap_servers, "--transactional-id", "misspelt"]
        made = running.run(cli.load("transactions"), words, "kafka-transactions")
        told = capsys.readouterr().err
        ended = running.run(cli.load("transactions"), words, "kafka-transactions")
    assert made == 1
    assert (
        "`misspelt`: TRANSACTIONAL_ID_NOT_FOUND: no transaction was ended; the request created the "
        "transactional id, with producer id "
    ) in told
    assert (ended, *capsys.readouterr()) == (0, "", "")


@pytest.fixture
def scripted(capsys: pytest.CaptureFixture[str]) -> Scripted:
    """``scripted(words, release, fault)``: a command line against three nodes that a test scripts."""

    def ended(words: str, release: str | None = None, fault: Any = None) -> tuple[Ended, VirtualCluster]:
        cluster = VirtualCluster(release=release)
        cluster.fault = fault or cluster.fault
        with cluster.network.in_use(), without_chance():
            arguments = [*words.split(), "--bootstrap-server", cluster.bootstrap, "--timeout", "5000"]
            status = running.run(cli.load("transactions"), arguments, "kafka-transactions")
        return Ended(status, *capsys.readouterr()), cluster

    return ended


@pytest.mark.parametrize(
    "words, release, text",
    [
        ("list", "2.8", "listing transactions|Kafka 3.0 and later"),
        ("list --duration-filter 5", "3.7", "listing transactions by duration|Kafka 3.8 and later"),
        (
            "list --transactional-id-pattern a",
            "4.0",
            "listing transactions by a pattern of their ids|Kafka 4.1 and later",
        ),
        ("describe --transactional-id x", "2.8", "describing transactions|Kafka 3.0 and later"),
        ("describe-producers --topic t --partition 0", "2.7", "describing producers|Kafka 2.8 and later"),
        ("abort --topic t --partition 0 --start-offset 3", "1.1", "describing producers|Kafka 2.8 and later"),
        ("find-hanging --topic t", "2.2", "describing producers|Kafka 2.8 and later"),
    ],
)
def test_releases_that_lack_the_request_are_told_which_has_it(
    scripted: Scripted, words: str, release: str, text: str
) -> None:
    ended, _ = scripted(words, release)
    assert (ended.status, ended.out) == (1, "")
    what, release_named = text.split("|")
    assert what in ended.err.splitlines()[0]
    assert release_named in ended.err.splitlines()[1]


def test_releases_before_3_0_end_transactions_by_producer_and_by_force(scripted: Scripted) -> None:
    for release in ("1.1", "2.2", "2.8"):
        producer = "--producer-id 1 --producer-epoch 2 --coordinator-epoch 3"
        ended, cluster = scripted(f"abort --topic t --partition 0 {producer}", release)
        assert ended == (0, "", "")
        (sent,) = [each[2] for each in cluster.log if type(each[2]).__name__ == "WriteTxnMarkersRequest"]
        assert (sent.markers[0].producer_id, sent.markers[0].coordinator_epoch) == (1, 3)
        assert scripted("force-terminate --transactional-id x", release)[0] == (0, "", "")


def test_nothing_is_called_hanging_while_a_coordinator_does_not_answer(scripted: Scripted) -> None:
    """An abort of what only looks as if nobody knew it would cut a transaction that is sound."""

    def one_is_silent(request: Any, version: int, node: Any) -> Any:
        if isinstance(request, DescribeProducersRequest):
            return _open_on_t0(request, version)
        if isinstance(request, ListTransactionsRequest) and node.id == 3:
            return error_reply(request, version, error_codes.UNKNOWN_SERVER_ERROR)
        return None

    ended, _ = scripted("find-hanging --topic t --partition 0", fault=one_is_silent)
    assert (ended.status, ended.out) == (1, "")
    assert "Failed to list transactions for 1 producers: UNKNOWN_SERVER_ERROR" in ended.err


def test_an_id_whose_coordinator_does_not_describe_it_is_an_error_and_the_rest_is_told(scripted: Scripted) -> None:
    def known_but_not_told(request: Any, version: int, node: Any) -> Any:
        if isinstance(request, DescribeProducersRequest):
            return _open_on_t0(request, version, producers=(5, 6))
        if isinstance(request, ListTransactionsRequest) and node.id == 1:
            State = ListTransactionsResponse.TransactionState
            known = [State(transactional_id="x", producer_id=5, transaction_state="Ongoing")]
            return ListTransactionsResponse(transaction_states=known)
        if isinstance(request, DescribeTransactionsRequest):
            return error_reply(request, version, error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        return None

    ended, _ = scripted("find-hanging --topic t --partition 0", fault=known_but_not_told)
    assert ended.status == 1
    assert [row[2] for row in cells(ended.out)] == ["ProducerId", "6"]
    assert "cannot search: transactional id x: TRANSACTIONAL_ID_AUTHORIZATION_FAILED" in ended.err


def _open_on_t0(request: DescribeProducersRequest, version: int, producers: tuple[int, ...] = (5,)) -> Any:
    answer = error_reply(request, version, 0)
    (partition,) = answer.topics[0].partitions
    Producer = type(answer.topics[0]).PartitionResponse.ProducerState
    partition.active_producers = [
        Producer(producer_id=each, producer_epoch=0, last_timestamp=0, coordinator_epoch=0, current_txn_start_offset=4)
        for each in producers
    ]
    return answer


def test_of_three_coordinators_one_fails_and_the_others_ids_are_listed(scripted: Scripted) -> None:
    def two_tell(request: Any, version: int, node: Any) -> Any:
        if not isinstance(request, ListTransactionsRequest):
            return None
        if node.id == 2:
            return error_reply(request, version, error_codes.UNKNOWN_SERVER_ERROR)
        State = ListTransactionsResponse.TransactionState
        named = State(transactional_id=f"of-{node.id}", producer_id=node.id, transaction_state="Dead")
        return ListTransactionsResponse(transaction_states=[named])

    ended, _ = scripted("list", fault=two_tell)
    assert ended.status == 1
    assert cells(ended.out)[1:] == [["of-1", "1", "1", "Unknown"], ["of-3", "3", "3", "Unknown"]]
    assert ended.err.startswith("kafka-transactions list: Failed to list transactions of kafka2:9092")


def test_partitions_that_cannot_be_searched_for_one_cause_are_one_line() -> None:
    cluster = VirtualCluster(release="3.0")

    def offline(request: Any, version: int, node: Any) -> Any:
        if not isinstance(request, MetadataRequest):
            return None
        answer = cluster.truth(request, version)
        Partition = type(answer.topics[0].partitions[0])
        answer.topics[0].partitions = [
            Partition(partition_index=number, leader_id=-1, error_code=5, replica_nodes=[7], isr_nodes=[7])
            for number in range(12)
        ]
        return answer

    cluster.fault = offline
    tried = tried_on("kafka-transactions find-hanging --topic t", cluster, FILES)
    assert (tried.status, tried.complaint) == (1, "")
    assert tried.err == (
        "kafka-transactions find-hanging: cannot search: 12 partitions (t-0, t-1, t-2, ...): "
        "LEADER_NOT_AVAILABLE: each is offline: its last in-sync broker 7 is not running\n"
    )
