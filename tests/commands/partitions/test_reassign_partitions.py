"""``kafka-reassign-partitions`` without Java: on the bundled broker, and on three scripted ones."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_tools import cli
from kafka_tools.admin.calls.log_dirs import LogDirDescription, ReplicaInfo, ReplicaPlace
from kafka_tools.admin.calls.reassignments import Reassignment
from kafka_tools.admin.outcomes import Outcome, Outcomes
from kafka_tools.commands import running
from kafka_tools.commands.partitions.reassignment import current
from kafka_tools.commands.partitions.reassignment.documents import ReassignmentDocument
from kafka_tools.commands.partitions.reassignment.placer import JavaRandom, StripedPlacer, UsableBroker
from kafka_tools.commands.partitions.reassignment.progress import partition_rows
from kafka_tools.commands.partitions.reassignment.throttles import inter_broker_settings, moves_of
from kafka_tools.errors import KafkaToolsError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from kafka_tools.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
)
from kafka_tools.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from kafka_tools.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from kafka_tools.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kafka_tools.values import Node, TopicPartition
from tests.admin.virtual_cluster import VirtualCluster
from tests.commands.partitions.conftest import Ended, Run
from tests.commands.partitions.moving_cluster import NAME
from tests.net.virtual import without_chance


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory with a plan, and where throttles are recorded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write("plan.json", *({"topic": "orders", "partition": number, "replicas": [1]} for number in range(2)))
    Path("topics.json").write_text('{"topics": [{"topic": "orders"}]}', encoding="utf-8")
    return tmp_path


def write(name: str, *entries: object) -> None:
    Path(name).write_text(json.dumps({"version": 1, "partitions": entries}), encoding="utf-8")


# The command line


@pytest.mark.parametrize(
    "line, message",
    [
        ("-b h:1", "Command must include exactly one action: --generate, --execute, --verify, --cancel, --list"),
        ("-b h:1 --list --verify", "Command must include exactly one action: "),
        ("--list", "Please specify either --bootstrap-server or --bootstrap-controller"),
        (
            "--list -b h:1 --bootstrap-controller h:2",
            "Please don't specify both --bootstrap-server and --bootstrap-controller",
        ),
        ("-b h:1 --execute", 'Missing required argument "[reassignment-json-file]"'),
        ("-b h:1 --generate --broker-list 1", 'Missing required argument "[topics-to-move-json-file]"'),
        ("-b h:1 --generate --topics-to-move-json-file f", 'Missing required argument "[broker-list]"'),
        (
            "-b h:1 --verify --reassignment-json-file f --throttle 5 --additional",
            'Option "[throttle]" can\'t be used with action "[verify]"',
        ),
        (
            "-b h:1 --verify --reassignment-json-file f --additional --throttle 5",
            'Option "[additional]" can\'t be used with action "[verify]"',
        ),
        (
            "--bootstrap-controller h:1 --execute --reassignment-json-file f",
            'Option "[bootstrap-controller]" can\'t be used with action "[execute]"',
        ),
        (
            "-b h:1 --list --preserve-throttles",
            'Option "[preserve-throttles]" can\'t be used with action "[list]"',
        ),
        ("--zookeeper h:1 --list", "--zookeeper was removed in Kafka 3.0"),
    ],
)
def test_a_wrong_command_line_has_kafkas_words(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert running.run(cli.load("reassign-partitions"), shlex.split(line), NAME) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"{NAME}: {message}")


# The bundled broker


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    from kafka_tools.broker_embedded import EmbeddedBroker

    with EmbeddedBroker() as broker:
        line = ["--create", "--topic", "orders", "--partitions", "2", "-b", broker.bootstrap_servers]
        assert running.run(cli.load("topics"), line, "kafka-topics") == 0
        yield broker.bootstrap_servers


@pytest.fixture
def run(servers: str, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(line: str) -> Ended:
        capsys.readouterr()
        words = [*shlex.split(line), "--bootstrap-server", servers]
        return Ended(running.run(cli.load("reassign-partitions"), words, NAME), *capsys.readouterr())

    return ended


def only_broker(run: Run) -> int:
    text = run("--verify --reassignment-json-file plan.json --preserve-throttles").out
    return int(text.split("replica set is ")[1].split()[0]) if "replica set is" in text else 1


@pytest.mark.req("TM-5", "TM-6")
def test_on_one_broker_everything_is_where_it_is(run: Run) -> None:
    id = only_broker(run)
    write("plan.json", *({"topic": "orders", "partition": number, "replicas": [id]} for number in range(2)))
    generated = run(f"--generate --topics-to-move-json-file topics.json --broker-list {id}")
    lines = generated.out.splitlines()
    assert (lines[0], lines[3]) == (
        "Current partition replica assignment", "Proposed partition reassignment configuration",
    )  # fmt: skip
    current, proposed = json.loads(lines[1]), json.loads(lines[4])
    assert [each["replicas"] for each in current["partitions"]] == [[id], [id]]
    assert all(path.startswith("/") for each in current["partitions"] for path in each["log_dirs"])
    assert {each["log_dirs"][0] for each in proposed["partitions"]} == {"any"}
    Path("current.json").write_text(lines[1], encoding="utf-8")
    executed = run("--execute --reassignment-json-file current.json --throttle 1000000")
    assert executed.status == 1, "the bundled broker does not move replicas between log directories"
    started = run("--execute --reassignment-json-file plan.json")
    assert started == Ended(
        0,
        f"Current partition replica assignment\n\n{lines[1]}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback\n"
        "Successfully started partition reassignments for orders-0,orders-1\n",
        "",
    )
    assert run("--verify --reassignment-json-file plan.json") == Ended(
        0,
        "Status of partition reassignment:\n"
        "Reassignment of partition orders-0 is completed.\nReassignment of partition orders-1 is completed.\n\n"
        f"Clearing broker-level throttles on broker {id}\nClearing topic-level throttles on topic orders\n",
        "",
    )
    assert run("--list") == Ended(0, "No partition reassignments found.\n", "")
    assert run("--cancel --reassignment-json-file plan.json --preserve-throttles").out == (
        "None of the specified partition reassignments are active.\nNone of the specified partition moves are active."
    )


def test_what_does_not_exist_is_named_before_anything_is_sent(run: Run) -> None:
    id = only_broker(run)
    write("plan.json", {"topic": "orders", "partition": 0, "replicas": [77]})
    assert run("--execute --reassignment-json-file plan.json").err.startswith(f"{NAME}: Unknown broker id 77\n")
    write("plan.json", {"topic": "nowhere", "partition": 0, "replicas": [id]})
    assert run("--execute --reassignment-json-file plan.json").err.startswith(f"{NAME}: Topic nowhere not found.\n")
    verified = run("--verify --reassignment-json-file plan.json --preserve-throttles")
    assert verified.status == 1
    assert f"no active reassignment of partition nowhere-0, but replica set is  rather than {id}.\n" in verified.out
    assert f"{NAME}: cannot verify nowhere-0: UNKNOWN_TOPIC_OR_PARTITION" in verified.err
    write("plan.json", {"topic": "orders", "partition": 9, "replicas": [id]})
    assert run("--execute --reassignment-json-file plan.json").err.startswith(
        f"{NAME}: Unable to find partition: orders-9\n"
    )
    many = run("--generate --topics-to-move-json-file topics.json --broker-list 50,51")
    assert many.err.startswith(f"{NAME}: All brokers are currently fenced")


@pytest.mark.parametrize("action", ["execute", "generate"])
def test_a_topic_that_cannot_be_described_is_named(action: str, run: Run) -> None:
    entries = [{"topic": name, "partition": 0, "replicas": [1]} for name in ("orders", "no name")]
    Path("plan.json").write_text(json.dumps({"partitions": entries, "topics": entries}), encoding="utf-8")
    files = {
        "execute": "--execute --reassignment-json-file plan.json",
        "generate": "--generate --topics-to-move-json-file plan.json --broker-list 1",
    }
    ended = run(files[action])
    assert (ended.status, ended.out) == (1, "")
    assert "INVALID_TOPIC_EXCEPTION" in ended.err
    assert ended.err.endswith("of topic no name; nothing was changed\n")


def test_the_forms_of_output_hold_what_the_text_says(run: Run) -> None:
    id = only_broker(run)
    write("plan.json", {"topic": "orders", "partition": 0, "replicas": [id]})
    (row,) = json.loads(run("--execute --reassignment-json-file plan.json -o json").out)["data"]
    assert (row["result"], row["previous_replicas"], row["replicas"]) == ("started", [id], [id])
    (row,) = json.loads(run("--verify --reassignment-json-file plan.json -o json").out)["data"]
    assert (row["state"], row["current_replicas"]) == ("completed", [id])
    asked = f"--generate --topics-to-move-json-file topics.json --broker-list {id} -o json"
    assert [each["replicas"] for each in json.loads(run(asked).out)["data"]] == [[id], [id]]
    assert json.loads(run("--list -o json").out)["data"] == []


# Three scripted brokers


class ThreeBrokers:
    """Three brokers on which partition t-0 lies on 1 and 2; what tests change are the attributes."""

    def __init__(self, release: str | None = None) -> None:
        self.cluster = VirtualCluster(release=release)
        self.cluster.fault = self.answer
        self.moving: dict[int, tuple[list[int], list[int], list[int]]] = {}
        self.refused: dict[int, int] = {}
        self.partitions = 3
        self.log_dir_codes: list[int] = []
        self.asked: list[Any] = []

    def answer(self, request: Any, version: int, node: Any) -> Any:
        if isinstance(request, ListPartitionReassignmentsRequest):
            Topic = ListPartitionReassignmentsResponse.OngoingTopicReassignment
            found = [
                Topic.OngoingPartitionReassignment(
                    partition_index=number, replicas=all, adding_replicas=adding, removing_replicas=removing
                )
                for number, (all, adding, removing) in self.moving.items()
            ]
            return ListPartitionReassignmentsResponse(topics=[Topic(name="t", partitions=found)] if found else [])
        if isinstance(request, DescribeTopicPartitionsRequest):
            ResponseTopic = DescribeTopicPartitionsResponse.ResponseTopic
            partitions = [
                ResponseTopic.ResponsePartition(
                    partition_index=number, leader_id=1, replica_nodes=[1, 2], isr_nodes=[1, 2]
                )
                for number in range(self.partitions)
            ]
            return DescribeTopicPartitionsResponse(topics=[ResponseTopic(name="t", partitions=partitions)])
        if isinstance(request, DescribeLogDirsRequest):
            Result = DescribeLogDirsResponse.Result
            held = [Result.Topic.Partition(partition_index=number) for number in range(self.partitions)]
            topics = [Result.Topic(name="t", partitions=held)]
            return DescribeLogDirsResponse(results=[Result(log_dir=f"/d{node.id}", topics=topics)])
        if isinstance(request, AlterPartitionReassignmentsRequest):
            self.asked.append(request)
            Answer = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
            answered = [
                Answer.ReassignablePartitionResponse(
                    partition_index=each.partition_index, error_code=self.refused.get(each.partition_index, 0)
                )
                for each in request.topics[0].partitions
            ]
            return AlterPartitionReassignmentsResponse(responses=[Answer(name="t", partitions=answered)])
        if isinstance(request, AlterReplicaLogDirsRequest):
            self.asked.append(request)
            code = self.log_dir_codes.pop(0) if self.log_dir_codes else 0
            Moved = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
            moved = [Moved.AlterReplicaLogDirPartitionResult(partition_index=0, error_code=code)]
            return AlterReplicaLogDirsResponse(results=[Moved(topic_name="t", partitions=moved)])
        return None

    def run(self, line: str, capsys: pytest.CaptureFixture[str]) -> Ended:
        capsys.readouterr()
        words = [*shlex.split(line), "--bootstrap-server", self.cluster.bootstrap]
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.cluster.network.in_use())
            stack.enter_context(without_chance())
            status = running.run(cli.load("reassign-partitions"), words, NAME)
        return Ended(status, *capsys.readouterr())


def plan_for(*numbers: int, **more: object) -> None:
    write("plan.json", *({"topic": "t", "partition": number, "replicas": [2, 3]} | more for number in numbers))


def test_one_partition_that_is_refused_leaves_the_others_under_way(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = ThreeBrokers()
    brokers.refused[1] = error_codes.INVALID_REPLICA_ASSIGNMENT
    plan_for(0, 1, 2)
    ended = brokers.run("--execute --reassignment-json-file plan.json", capsys)
    assert ended.status == 1
    assert ended.out.endswith("Successfully started partition reassignments for t-0,t-2\n")
    assert ended.err.startswith(f"{NAME}: Error reassigning partition(s): t-1: INVALID_REPLICA_ASSIGNMENT: ")
    assert ended.err.count(NAME) == 1
    assert '"log_dirs":["/d1","/d2"]' in ended.out


def test_nothing_is_begun_beside_what_is_under_way_unless_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = ThreeBrokers()
    brokers.moving[2] = ([1, 2, 3], [3], [1])
    plan_for(0)
    ended = brokers.run("--execute --reassignment-json-file plan.json", capsys)
    assert (ended.status, ended.out, brokers.asked) == (1, "", [])
    assert ended.err.startswith(f"{NAME}: Cannot execute because there is an existing partition assignment. Use --add")
    assert brokers.run("--execute --reassignment-json-file plan.json --additional", capsys).status == 0
    assert brokers.run("--list", capsys).out == (
        "Current partition reassignments:\nt-2: replicas: 1,2,3. adding: 3. removing: 1.\n"
    )


def test_only_what_is_under_way_is_cancelled(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = ThreeBrokers()
    brokers.moving = {1: ([1, 2, 3], [3], [1]), 2: ([1, 2], [], [])}
    plan_for(0, 1, 2)
    ended = brokers.run("--cancel --reassignment-json-file plan.json --preserve-throttles", capsys)
    assert ended == Ended(
        0,
        "Successfully cancelled partition reassignment for: t-1\nNone of the specified partition moves are active.",
        "",
    )
    (request,) = brokers.asked
    assert [(each.partition_index, each.replicas) for each in request.topics[0].partitions] == [(1, None)]


@pytest.mark.req("RJ-12")
def test_a_replica_that_is_not_there_yet_is_asked_for_again(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = ThreeBrokers()
    brokers.log_dir_codes = [error_codes.REPLICA_NOT_AVAILABLE] * 3
    plan_for(0, log_dirs=["any", "/disk"])
    ended = brokers.run("--execute --reassignment-json-file plan.json", capsys)
    assert ended.status == 0, ended
    assert ended.out.endswith("Successfully started moving log directory to /disk for replica t-0 with broker 3 \n")
    assert sum(isinstance(each, AlterReplicaLogDirsRequest) for each in brokers.asked) == 4


def test_a_replica_that_never_comes_is_waited_for_as_long_as_timeout_says(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = ThreeBrokers()
    brokers.log_dir_codes = [error_codes.REPLICA_NOT_AVAILABLE] * 10_000
    plan_for(0, log_dirs=["any", "/disk"])
    ended = brokers.run("--execute --reassignment-json-file plan.json", capsys)
    assert ended.status == 1
    assert "t-0-3: Timed out before log directory move could be started" in ended.err
    assert 10 <= brokers.cluster.network.clock.monotonic_s() < 12


@pytest.mark.parametrize("release", ["1.1", "2.3"])
@pytest.mark.parametrize("action", ["execute", "verify", "cancel"])
def test_brokers_before_2_4_are_told_to_have_their_own_script(
    release: str, action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan_for(0)
    ended = ThreeBrokers(release).run(f"--{action} --reassignment-json-file plan.json", capsys)
    assert (ended.status, ended.out) == (1, "")
    assert "brokers of Kafka 2.4 and later" in ended.err
    assert "kafka-reassign-partitions.sh --zookeeper" in ended.err


@pytest.mark.parametrize("release", ["1.1", "2.3"])
@pytest.mark.parametrize("how", ["", "--batch-size 1", "--watch"])
def test_moves_between_log_directories_need_no_api_of_2_4(
    release: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan_for(0, replicas=[1], log_dirs=["/d2"])
    brokers = ThreeBrokers(release)
    ended = brokers.run(f"--execute --reassignment-json-file plan.json --timeout 5s {how}", capsys)
    (request,) = brokers.asked
    assert (request.dirs[0].path, request.dirs[0].topics[0].name) == ("/d2", "t")
    if not how:
        assert (ended.status, ended.err) == (0, "")
        assert "Successfully started moving log directory to /d2 for replica t-0 with broker 1" in ended.out
    ended = brokers.run("--verify --reassignment-json-file plan.json", capsys)
    assert (ended.status, "Partition t-0 on broker 1 is not being moved from log dir /d1 to /d2." in ended.out) == (
        0,
        True,
    )
    assert "throttles stay: cannot tell whether reassignments are in progress" in ended.err
    ended = brokers.run("--cancel --reassignment-json-file plan.json", capsys)
    assert (ended.status, ended.out) == (0, "None of the specified partition moves are active.")
    assert "only moves between log directories are cancelled: brokers before Kafka 2.4" in ended.err


def test_a_release_without_the_check_of_replication_factors_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    plan_for(0)
    ended = ThreeBrokers("3.9").run(
        "--execute --reassignment-json-file plan.json --disallow-replication-factor-change", capsys
    )
    assert ended.status == 1
    assert "refusing changes of the replication factor" in ended.err


# Throttles and placement


def test_throttles_hold_for_sources_and_for_new_replicas() -> None:
    t0, t1, u0 = TopicPartition("t", 0), TopicPartition("t", 10), TopicPartition("u", 0)
    running_now = {u0: Reassignment((1, 2, 3), (3,), (1,)), t1: Reassignment((4, 5), (5,), ())}
    moves = moves_of(running_now, {t0: (2, 3), t1: (6, 4)}, {t0: (1, 2), t1: (4,)})
    topics, brokers = inter_broker_settings(moves, 1000)
    told = {key.name: tuple(each.values()) for key, each in topics.items()}
    assert told == {"t": ("0:1,0:2,10:4", "0:3,10:6"), "u": ("0:1,0:2", "0:3")}
    assert [key.name for key in brokers] == ["1", "2", "3", "4", "6"]
    assert set(map(tuple, (each.values() for each in brokers.values()))) == {("1000", "1000")}


def test_the_placer_spreads_over_racks_and_is_the_same_again() -> None:
    brokers = [UsableBroker(id, f"rack{id % 3}") for id in range(9)]
    placed = StripedPlacer(JavaRandom(5)).place(brokers, 90, 3)
    assert placed == StripedPlacer(JavaRandom(5)).place(brokers, 90, 3)
    assert all(len({id % 3 for id in replicas}) == 3 for replicas in placed)
    counts = [sum(id in replicas for replicas in placed) for id in range(9)]
    assert counts == [30] * 9


def test_chance_is_that_of_java() -> None:
    """The first numbers of ``new Random(42).nextInt(1000)`` and ``nextInt(16)``, from Java."""
    chance = JavaRandom(42)
    assert [chance.below(1000) for _ in range(3)] == [130, 763, 248]
    chance = JavaRandom(42)
    assert [chance.below(16) for _ in range(2)] == [11, 0]


def test_the_description_of_a_topic_is_walked_through_once_for_all_its_partitions() -> None:
    """Else --verify takes minutes for tens of thousands of partitions."""
    walks: list[int] = []

    class Counted(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            walks.append(1)
            return super().__iter__()

    partitions = Counted(SimpleNamespace(partition=number, replicas=(1, 2)) for number in range(50))
    told = Outcomes([("t", Outcome(SimpleNamespace(partitions=partitions)))])
    admin: Any = SimpleNamespace(describe_topics=lambda topics: told)
    document = ReassignmentDocument([(TopicPartition("t", number), (1, 2)) for number in range(50)], {})
    rows, failed = partition_rows(admin, document, set())
    assert ([row["state"] for row in rows], failed, walks) == (["completed"] * 50, {}, [1])


def test_a_broker_with_very_many_partitions_is_asked_for_all_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of tens of thousands is more than some brokers take in one request, and looks for each of them."""
    monkeypatch.setattr(current, "MOST_NAMED", 2)
    asked: list[Any] = []

    def describe(broker_ids: Any, partitions: Any, timeout_s: float) -> Outcomes[int, Any]:
        asked.append((list(broker_ids), dict(partitions)))
        replicas = {TopicPartition("t", number): ReplicaInfo(0, 0, number == 1) for number in range(4)}
        here = {"/a": Outcome(LogDirDescription(replicas, None, None, None)), "/b": Outcome(None, KafkaToolsError("x"))}
        return Outcomes([(1, Outcome(here)), (2, Outcome({}))])

    admin: Any = SimpleNamespace(
        nodes=lambda: [Node(1, "h", 1), Node(2, "h", 2)],
        describe_log_dirs=describe,
        deadline=lambda: SimpleNamespace(left_s=lambda: 3.0),
    )
    first, second, third = (TopicPartition("t", number) for number in range(3))
    found = current.log_dirs_of(admin, {first: (1, 2), second: (1, 9), third: (1,)})
    assert asked == [([1, 2], {2: [first]})]
    assert {number: found.get(ReplicaPlace("t", number, 1)) for number in range(3)} == {0: "/a", 1: None, 2: "/a"}
