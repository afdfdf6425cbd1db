"""``kafka-reassign-partitions --generate`` by strategy, on scripted brokers: what is asked, printed and refused."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kafka_tools.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from kafka_tools.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from kafka_tools.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.admin.virtual_cluster import VirtualCluster
from tests.commands.partitions.conftest import Ended
from tests.commands.partitions.moving_cluster import NAME
from tests.net.virtual import without_chance
from tests.output.contract_cases import document_validators


class Generated(Ended):
    """What ``--generate`` left."""

    def documents(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The entries of both documents."""
        assert self.status == 0, self
        lines = self.out.splitlines()
        assert (lines[0], lines[2], lines[3]) == (
            "Current partition replica assignment", "", "Proposed partition reassignment configuration",
        )  # fmt: skip
        return json.loads(lines[1])["partitions"], json.loads(lines[4])["partitions"]

    def proposed(self) -> dict[str, list[int]]:
        """``t-0`` -> its replicas."""
        return {f"{each['topic']}-{each['partition']}": each["replicas"] for each in self.documents()[1]}


class FourBrokers:
    """Brokers 1 to 4 in racks a and b, all alive; what tests change are the attributes.

    ``placed``: topic -> replicas of each partition; each replica has ``size`` bytes on ``/d`` of its broker.
    """

    def __init__(self, placed: Mapping[str, list[list[int]]], release: str | None = None) -> None:
        self.cluster = VirtualCluster(4, release=release)
        self.cluster.fault = self.answer
        self.placed = dict(placed)
        self.racks: dict[int, str | None] = {1: "a", 2: "a", 3: "b", 4: "b"}
        self.sizes: dict[str, int] = {}
        self.free: dict[int, list[int]] = {}
        self.moving: dict[tuple[str, int], tuple[list[int], list[int], list[int]]] = {}
        self.log_dir_errors: dict[int, int] = {}

    def answer(self, request: Any, version: int, node: Any) -> Any:
        if isinstance(request, MetadataRequest):
            return self._metadata(request)
        if isinstance(request, DescribeClusterRequest):
            Broker = DescribeClusterResponse.Broker
            found = [
                Broker(broker_id=each.id, host=each.host, port=each.port, rack=self.racks[each.id])
                for each in self._alive()
            ]
            return DescribeClusterResponse(cluster_id="virtual", controller_id=found[0].broker_id, brokers=found)
        if isinstance(request, DescribeTopicPartitionsRequest):
            return DescribeTopicPartitionsResponse(topics=[self._topic(each.name) for each in request.topics])
        if isinstance(request, ListPartitionReassignmentsRequest):
            Topic = ListPartitionReassignmentsResponse.OngoingTopicReassignment
            Partition = Topic.OngoingPartitionReassignment
            return ListPartitionReassignmentsResponse(
                topics=[
                    Topic(
                        name=topic,
                        partitions=[
                            Partition(
                                partition_index=number, replicas=all, adding_replicas=adding, removing_replicas=going
                            )
                        ],
                    )
                    for (topic, number), (all, adding, going) in self.moving.items()
                ]
            )
        if isinstance(request, DescribeLogDirsRequest):
            return self._log_dirs(node.id)
        return None

    def _alive(self) -> list[Any]:
        return [node for node in self.cluster.nodes if node.id in self.racks]

    def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        Broker, Topic = MetadataResponse.ResponseBroker, MetadataResponse.ResponseTopic
        names = self.placed if request.topics is None else [each.name or "" for each in request.topics]
        topics = [
            Topic(
                name=name,
                partitions=[
                    Topic.ResponsePartition(partition_index=n, leader_id=1, replica_nodes=each, isr_nodes=each)
                    for n, each in enumerate(self.placed.get(name, ()))
                ],
                error_code=0 if name in self.placed else error_codes.UNKNOWN_TOPIC_OR_PARTITION,
            )
            for name in names
        ]
        brokers = [
            Broker(node_id=each.id, host=each.host, port=each.port, rack=self.racks[each.id]) for each in self._alive()
        ]
        return MetadataResponse(brokers=brokers, cluster_id="virtual", controller_id=min(self.racks), topics=topics)

    def _topic(self, name: str) -> DescribeTopicPartitionsResponse.ResponseTopic:
        Topic = DescribeTopicPartitionsResponse.ResponseTopic
        if name not in self.placed:
            return Topic(name=name, error_code=error_codes.UNKNOWN_TOPIC_OR_PARTITION)
        partitions = [
            Topic.ResponsePartition(partition_index=n, leader_id=1, replica_nodes=each, isr_nodes=each)
            for n, each in enumerate(self.placed[name])
        ]
        return Topic(name=name, partitions=partitions)

    def _log_dirs(self, id: int) -> DescribeLogDirsResponse:
        Result = DescribeLogDirsResponse.Result
        if id in self.log_dir_errors:
            return DescribeLogDirsResponse(error_code=self.log_dir_errors[id])
        results = []
        for at, free in enumerate(self.free.get(id, [10**9])):
            topics = [
                Result.Topic(
                    name=name,
                    partitions=[
                        Result.Topic.Partition(partition_index=n, partition_size=self.sizes.get(name, 100))
                        for n, each in enumerate(replicas)
                        if id in each and at == 0
                    ],
                )
                for name, replicas in self.placed.items()
            ]
            results.append(Result(log_dir=f"/d{at or ''}", topics=topics, total_bytes=free, usable_bytes=free))
        return DescribeLogDirsResponse(results=results)

    def run(self, line: str, capsys: pytest.CaptureFixture[str]) -> Generated:
        capsys.readouterr()
        words = ["--generate", *shlex.split(line), "--bootstrap-server", self.cluster.bootstrap]
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.cluster.network.in_use())
            stack.enter_context(without_chance())
            status = running.run(cli.load("reassign-partitions"), words, NAME)
        return Generated(status, *capsys.readouterr())


# The command line


@pytest.mark.parametrize(
    "line, message",
    [
        ("--generate --strategy striped", "Invalid value for '--strategy': 'striped' is not one of 'kafka', "),
        ("--generate --strategy kafka --broker-list 1", 'Missing required argument "[topics-to-move-json-file]"'),
        ("--generate --topic t", 'Missing required argument "[broker-list]"'),
        (
            "--generate --strategy kafka --evacuate 1",
            "--evacuate cannot be used with --strategy kafka, which assigns all",
        ),
        ("--generate --strategy leaders --replication-factor 2 --topic t", "--replication-factor cannot be used with "),
        ("--generate --strategy by-size --seed 5", "--seed can only be used with --strategy kafka"),
        ("--generate --replication-factor 2", "--replication-factor needs --topic or --topics-to-move-json-file"),
        ("--generate --replication-factor 0 --topic t", "Invalid value for '--replication-factor': 0 is not in the"),
        (
            "--generate --topic t --topics-to-move-json-file f --evacuate 1",
            "--topic and --topics-to-move-json-file cannot",
        ),
        (
            "--execute --reassignment-json-file f --strategy by-size",
            'Option "[strategy]" can\'t be used with action "[execute]"',
        ),
        ("--list --topic t", 'Option "[topic]" can\'t be used with action "[list]"'),
        ("--list --evacuate 1", 'Option "[evacuate]" can\'t be used with action "[list]"'),
    ],
)
def test_options_that_do_not_go_together_are_named(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert running.run(cli.load("reassign-partitions"), [*shlex.split(line), "-b", "h:1"], NAME) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"{NAME}: {message}"), err


@pytest.mark.parametrize("option", ["--evacuate", "--broker-list"])
def test_ids_of_brokers_are_numbers_and_differ(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    brokers = FourBrokers({"t": [[1]]})
    wrong = brokers.run(f"--strategy least-movement {option} 1,x", capsys)
    assert wrong.err.startswith(f"{NAME}: {option}: invalid broker id 'x'")
    twice = brokers.run(f"--strategy least-movement {option} 2,2", capsys)
    assert (twice.status, twice.err) == (1, f"{NAME}: Broker list contains duplicate entries: [2]\n")


# What is printed


def test_documents_go_to_stdout_and_the_summary_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = FourBrokers({"t": [[1, 3], [1, 3]], "u": [[2, 3]]})
    ended = brokers.run("--strategy least-movement", capsys)
    current, proposed = ended.documents()
    assert len(current) == len(proposed) < 3, "of the whole cluster only what changes"
    assert current[0]["log_dirs"] == ["/d", "/d"]
    assert proposed[0]["log_dirs"] == ["any", "any"]
    assert "plan: 2 of 3 partition(s) change; 1 replica(s) move, 100 B; 1 preferred leader(s) change\n" in ended.err
    table = [line.split() for line in ended.err.splitlines()[1:6]]
    assert table[0] == ["BROKER", "RACK", "REPLICAS", "LEADERS", "BYTES", "DISK"]
    assert table[3][:5] == ["3", "b", "3", "->", "2"]
    assert table[4][:5] == ["4", "b", "0", "->", "1"]
    assert ended.err.splitlines()[-1].startswith(
        "between the fullest and the emptiest broker: replicas 3 -> 1, leaders 2 -> 1, bytes 300 B -> 100 B"
    )
    assert brokers.run("--strategy least-movement", capsys) == ended, "the same again"


def test_topics_that_are_named_are_proposed_as_a_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    brokers = FourBrokers({"t": [[1, 3], [2, 4], [1, 3]], "u": [[2, 3]]})
    by_name = brokers.run("--strategy by-size --topic t", capsys)
    assert set(by_name.proposed()) == {"t-0", "t-1", "t-2"}
    path = tmp_path / "topics.json"
    path.write_text('{"topics": [{"topic": "t"}]}', encoding="utf-8")
    assert brokers.run(f"--strategy by-size --topics-to-move-json-file {path}", capsys) == by_name
    missing = brokers.run("--strategy by-size --topic nowhere", capsys)
    assert (missing.status, missing.out) == (1, "")
    assert missing.err.startswith(f"{NAME}: Topic nowhere not found.\n")


def test_kafkas_placer_takes_topics_by_name_too(capsys: pytest.CaptureFixture[str]) -> None:
    ended = FourBrokers({"t": [[1, 2]]}).run("--topic t --broker-list 3,4 --disable-rack-aware", capsys)
    assert sorted(ended.proposed()["t-0"]) == [3, 4]
    assert ended.err == "", "Kafka's text and nothing else"


def test_rows_tell_what_comes_goes_and_how_large_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = FourBrokers({"t": [[1, 3]]})
    brokers.sizes["t"] = 4096
    brokers.free[2] = [10**6, 10**7]
    ended = brokers.run("--strategy by-size --evacuate 1 -o json", capsys)
    assert json.loads(ended.out)["data"] == [
        {
            "topic": "t", "partition": 0, "current_replicas": [1, 3], "current_log_dirs": ["/d", "/d"],
            "replicas": [2, 3], "log_dirs": ["/d1", "any"], "adding_replicas": [2], "removing_replicas": [1],
            "size_bytes": 4096,
        }
    ]  # fmt: skip
    assert "1 replica(s) move, 4.0 KiB" in ended.err
    text = brokers.run("--strategy by-size --evacuate 1", capsys)
    assert text.documents()[1][0]["log_dirs"] == ["/d1", "any"], "--execute brings it there"


# What is planned


def test_a_broker_that_is_away_is_evacuated(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = FourBrokers({"t": [[1, 3], [2, 4], [3, 2]]})
    del brokers.racks[1]
    ended = brokers.run("--evacuate 1", capsys)
    assert ended.proposed() == {"t-0": [3, 2]}, "in the rack that has none, and nothing else moves"
    assert "away" in ended.err
    unknown = brokers.run("--evacuate 7", capsys)
    assert (unknown.status, unknown.err.splitlines()[0]) == (
        1, f"{NAME}: --evacuate: broker 7 is not running and has no replica",
    )  # fmt: skip


def test_a_broker_that_is_away_does_not_stop_a_balance(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = FourBrokers({"t": [[4, 1], [1, 4], [1, 3], [3, 1]]})
    del brokers.racks[4]
    proposed = brokers.run("--strategy least-movement --topic t", capsys).proposed()
    assert all(4 not in each and len(set(each)) == 2 for each in proposed.values())
    assert all({"a", "b"} == {brokers.racks[id] for id in each} for each in proposed.values())
    leaders = brokers.run("--strategy leaders --topic t", capsys)
    assert leaders.proposed()["t-0"] == [4, 1], "--execute takes no broker that is away"
    assert "2 partition(s), such as t-0, stay unchanged, because one of their brokers is down" in leaders.err


def test_the_replication_factor_changes_and_what_can_stay_does(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = FourBrokers({"t": [[1, 3], [2, 4]], "u": [[1, 2]]})
    more = brokers.run("--replication-factor 3 --topic t", capsys).proposed()
    assert {key: each[:2] for key, each in more.items()} == {"t-0": [1, 3], "t-1": [2, 4]}
    assert all(len(set(each)) == 3 for each in more.values())
    assert brokers.run("--replication-factor 1 --topic t", capsys).proposed() == {"t-0": [1], "t-1": [2]}
    many = brokers.run("--replication-factor 5 --topic t", capsys)
    assert (many.status, many.out) == (1, "")
    assert many.err.startswith(f"{NAME}: The target replication factor of 5 of t-0 cannot be reached because only 4 ")


def test_brokers_that_are_not_listed_lose_their_replicas_and_get_none(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = FourBrokers({"t": [[1, 3], [2, 4], [3, 1]]})
    proposed = brokers.run("--strategy least-movement --broker-list 1,3 --topic t", capsys).proposed()
    assert all(set(each) == {1, 3} for each in proposed.values())
    nobody = brokers.run("--strategy least-movement --broker-list 8,9", capsys)
    assert nobody.err.startswith(f"{NAME}: No broker can receive replicas.\n  running brokers are 1, 2, 3, 4; ")


def test_what_is_under_way_is_planned_from_where_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise three replicas would be taken for what the topic is to have."""
    brokers = FourBrokers({"t": [[2, 3, 1], [2, 3]]})
    brokers.moving["t", 0] = ([2, 3, 1], [2], [1])
    ended = brokers.run("--evacuate 1", capsys)
    assert ended.proposed() == {}
    assert ended.err.startswith("1 reassignment(s) in progress: the plan starts from their targets\n")


def test_racks_that_are_half_known_are_refused_in_kafkas_words(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = FourBrokers({"t": [[1, 3]]})
    brokers.racks[4] = None
    ended = brokers.run("--strategy least-movement", capsys)
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith(f"{NAME}: Not all brokers have rack information. Add --disable-rack-aware in command")
    assert brokers.run("--strategy least-movement --disable-rack-aware", capsys).status == 0


def test_without_room_nothing_is_proposed(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = FourBrokers({"t": [[1, 3]]})
    brokers.free = {2: [50], 4: [80]}
    ended = brokers.run("--evacuate 1", capsys)
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith(
        f"{NAME}: No broker has room for another replica of t-0, which has 100 bytes: the largest free space is "
        "80 bytes, on a disk of broker 4"
    )


def test_a_broker_that_does_not_tell_of_its_disks_stops_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = FourBrokers({"t": [[1, 3], [1, 3], [1, 3], [1, 3]]})
    brokers.log_dir_errors[4] = error_codes.CLUSTER_AUTHORIZATION_FAILED
    by_number = brokers.run("--strategy least-movement --topic t", capsys)
    assert "warning: the contents of the disks of broker 4 are unknown: CLUSTER_AUTHORIZATION_FAILED" in by_number.err
    assert any(4 in each for each in by_number.proposed().values())
    by_size = brokers.run("--strategy by-size --topic t", capsys)
    assert "broker 4 gets no new replicas: its disk usage is unknown" in by_size.err
    assert not any(4 in each for each in by_size.proposed().values())
    brokers.placed["t"] = [[1, 4], [1, 4]]
    kept = brokers.run("--strategy by-size --topic t", capsys)
    assert all(4 in each for each in kept.proposed().values()), "what it has stays"


def test_the_document_has_the_summary_as_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    ended = FourBrokers({"t": [[1, 2], [1, 2], [1, 3]]}).run("--strategy least-movement -o json", capsys)
    document = json.loads(ended.out)
    document_validators()["proposed-reassignments"].validate(document)
    summary, rows = document["summary"], document["data"]
    assert summary["moved_replicas"] == sum(len(row["adding_replicas"]) for row in rows) > 0
    assert summary["moved_bytes"] == sum(len(row["adding_replicas"]) * row["size_bytes"] for row in rows)
    assert (summary["partitions"], summary["changed_partitions"]) == (3, len(rows))
    loads = {each["id"]: (each["before"]["replicas"], each["after"]["replicas"]) for each in summary["brokers"]}
    assert {id: before for id, (before, _) in loads.items()} == {1: 3, 2: 2, 3: 1, 4: 0}
    after = [after for _, after in loads.values()]
    assert summary["spread"]["before"]["replicas"] == 3
    assert summary["spread"]["after"]["replicas"] == max(after) - min(after) == 1
    assert f"replicas 3 -> {max(after) - min(after)}, leaders" in ended.err


def test_brokers_before_3_3_do_not_tell_how_large_their_disks_are(capsys: pytest.CaptureFixture[str]) -> None:
    ended = FourBrokers({"t": [[1, 3], [1, 3]]}, release="2.8").run("--strategy by-size", capsys)
    assert sorted(ended.proposed().values()) in ([[1, 4]], [[2, 3]], [[2, 4]], [[4, 2]])
    assert (
        "brokers before 3.3 do not report the size of their disks: the plan does not check that everything fits\n"
        in ended.err
    )


def test_a_plan_needs_no_api_of_2_4(capsys: pytest.CaptureFixture[str]) -> None:
    ended = FourBrokers({"t": [[1, 3]]}, release="2.3").run("--evacuate 1", capsys)
    assert (ended.status, [1 in each for each in ended.proposed().values()]) == (0, [False])
    assert "reassignments in progress are unknown: brokers before Kafka 2.4" in ended.err
