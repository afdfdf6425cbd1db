"""kafka-leader-election: what is asked, what is said of each partition, and what brokers without elections are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_tools import cli
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.commands import running
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.elect_leaders import ElectLeadersResponse
from tests.commands import fault_table
from tests.commands.partitions.conftest import Run

PREFERRED = ("--election-type", "preferred")


def answering(codes: dict[int, int]) -> Any:
    """An answer about partitions of orders: number -> error code."""

    def make(request: Any) -> ElectLeadersResponse:
        Result = ElectLeadersResponse.ReplicaElectionResult
        told = [
            Result.PartitionResult(partition_id=number, error_code=code, error_message="said by it" if code else None)
            for number, code in codes.items()
        ]
        return ElectLeadersResponse(replica_election_results=[Result(topic="orders", partition_result=told)])

    return make


def document(tmp_path: Path, *numbers: int) -> Path:
    path = tmp_path / "partitions.json"
    path.write_text(json.dumps({"partitions": [{"topic": "orders", "partition": each} for each in numbers]}))
    return path


def test_a_leader_that_is_preferred_already_needs_no_election(run: Run, tmp_path: Path) -> None:
    one = run("leader-election", *PREFERRED, "--topic", "orders", "--partition", 3)
    assert one == (0, "Valid replica already elected for partitions orders-3\n", "")
    several = run("leader-election", *PREFERRED, "--path-to-json-file", document(tmp_path, 2, 0))
    assert several == (0, "Valid replica already elected for partitions orders-0, orders-2\n", "")
    # Of all partitions only those are told where something was done.
    assert run("leader-election", *PREFERRED, "--all-topic-partitions") == (0, "", "")
    assert run("leader-election", "--election-type", "UNCLEAN", "--all-topic-partitions") == (0, "", "")
    assert run("leader-election", *PREFERRED, "--path-to-json-file", document(tmp_path)) == (0, "", "")


@pytest.mark.req("CTL-9")
def test_each_partition_has_its_result_and_one_of_three_that_fails_leaves_the_others(
    broker: EmbeddedBroker, run: Run, tmp_path: Path
) -> None:
    path = document(tmp_path, 0, 1, 2)
    codes = {0: 0, 1: 80, 2: error_codes.ELECTION_NOT_NEEDED}
    assert error_codes.error(80).name == "PREFERRED_LEADER_NOT_AVAILABLE"
    with broker.faults.answer("elect_leaders", answering(codes)):
        asked = run("leader-election", *PREFERRED, "--path-to-json-file", path)
        rows = json.loads(run("leader-election", *PREFERRED, "--path-to-json-file", path, "-o", "json").out)
    assert asked.status == 1
    assert asked.out == (
        "Successfully completed leader election (PREFERRED) for partitions orders-0\n"
        "Valid replica already elected for partitions orders-2\n"
        "Error completing leader election (PREFERRED) for partition: orders-1: "
        "org.apache.kafka.common.errors.PreferredLeaderNotAvailableException: said by it\n"
    )
    assert asked.err == (
        "kafka-leader-election: cannot elect a leader of orders-1: PREFERRED_LEADER_NOT_AVAILABLE: said by it\n"
        "1 replica(s) could not be elected\n"
    )
    assert [(row["partition"], row["election"], row["result"]) for row in rows["data"]] == [
        (0, "PREFERRED", "elected"),
        (2, "PREFERRED", "not-needed"),
    ]
    assert [(each["item"], each["error"]) for each in rows["errors"]] == [
        ("orders-1", "PREFERRED_LEADER_NOT_AVAILABLE")
    ]


def test_a_partition_that_does_not_exist_is_an_error(run: Run) -> None:
    asked = run("leader-election", "--election-type", "UNCLEAN", "--topic", "orders", "--partition", 99)
    assert asked.status == 1
    assert asked.out == (
        "Error completing leader election (UNCLEAN) for partition: orders-99: "
        "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: No such partition as orders-99\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing required option(s): election-type"),
        (PREFERRED, "One and only one of the following options is required: topic, all-topic-partitions, "
         "path-to-json-file"),
        ((*PREFERRED, "--topic", "t", "--all-topic-partitions"), "One and only one of the following options is "
         "required: topic, all-topic-partitions, path-to-json-file"),
        ((*PREFERRED, "--topic", "t"), "Missing required option(s): partition"),
        ((*PREFERRED, "--all-topic-partitions", "--partition", "1"),
         "Option partition is only allowed if topic is used"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_told_in_kafkas_words(run: Run, arguments: tuple[str, ...], said: str) -> None:
    asked = run("leader-election", *arguments)
    assert asked == (2, "", f"kafka-leader-election: {said}\n")


def test_what_is_missing_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert running.run(cli.load("leader-election"), [], "kafka-leader-election") == 2
    said = capsys.readouterr().err
    assert said == "kafka-leader-election: Missing required option(s): bootstrap-server, election-type\n"


def test_the_file_is_read_before_anybody_is_asked(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    path.write_text('{"partition": []}')
    asked = run("leader-election", *PREFERRED, "--path-to-json-file", path, "--trace")
    first, hint = asked.err.splitlines()
    assert (asked.status, asked.out) == (1, "")
    assert first == 'kafka-leader-election: Replica election data is missing "partitions" field'
    assert str(path) in hint


def test_the_older_name_of_the_settings_is_taken_and_remarked(run: Run, tmp_path: Path) -> None:
    settings = tmp_path / "client.properties"
    settings.write_text("client.id=elector\n")
    asked = run("leader-election", *PREFERRED, "--all-topic-partitions", "--admin.config", settings)
    assert (asked.status, asked.out) == (0, "")
    assert asked.err == (
        "Option --admin.config has been deprecated and will be removed in a future version. Use --command-config "
        "instead.\n"
    )


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("The principal is not authorized", "Not authorized to perform leader election\n"),
        ("Brokers accept requests but do not answer", "Timeout waiting for election results\n"),
    ],
)
def test_who_may_not_and_who_waits_in_vain_is_told_in_kafkas_words(title: str, said: str) -> None:
    (fault,) = [each for each in fault_table.FAULTS if each.title == title]
    printed = fault_table.run("kafka-leader-election --election-type PREFERRED --topic t --partition 0", fault)
    assert (printed.status, printed.out) == (1, said)
    assert printed.err.startswith("kafka-leader-election: ")


@pytest.mark.parametrize("election_type", ["PREFERRED", "UNCLEAN"])
def test_brokers_before_2_2_are_sent_to_their_own_script(election_type: str) -> None:
    (old,) = [each for each in fault_table.FAULTS if each.release == "1.1"]
    printed = fault_table.run(f"kafka-leader-election --election-type {election_type} --all-topic-partitions", old)
    assert (printed.status, printed.out) == (1, "")
    first, hint = printed.err.splitlines()
    assert first.startswith("kafka-leader-election: electing leaders needs ElectLeaders v0")
    assert hint.strip().startswith("brokers of Kafka 2.2 and later elect leaders for clients; with an older release")
    assert "kafka-preferred-replica-election.sh --zookeeper" in hint


def test_brokers_before_2_4_hold_no_unclean_elections(capsys: pytest.CaptureFixture[str]) -> None:
    with EmbeddedBroker(release="2.2") as old:
        words = ["-b", old.bootstrap_servers, "--election-type", "unclean", "--all-topic-partitions"]
        assert running.run(cli.load("leader-election"), words, "kafka-leader-election") == 1
        said = capsys.readouterr().err
        assert "Kafka 2.4 and later hold unclean elections" in said
        words[3] = "preferred"
        assert running.run(cli.load("leader-election"), words, "kafka-leader-election") == 0


def test_a_table_says_how_many_elections_there_were(run: Run) -> None:
    line = "--election-type PREFERRED --all-topic-partitions -o table"
    ended = run("leader-election", *line.split())
    assert (ended.status, ended.err) == (0, "elected 0, not needed 0, failed 0\n")
    words = ("--election-type", "PREFERRED", "--topic", "orders", "--partition", 0, "-o", "table")
    ended = run("leader-election", *words)
    assert ended.err == "elected 0, not needed 1, failed 0\n"
