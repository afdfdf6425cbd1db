"""``kafka-reassign-partitions`` beside Kafka's tool on three brokers with racks and two log directories each."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from tests.against_kafka.harness import RealKafka, Setup, eventually
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.side_by_side import MAIN, RELEASE, Ended, done, fresh, ours, produce, same, theirs

Runner = Callable[..., Ended]
REASSIGN = "reassign-partitions"


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    """A cluster of this module's own: tests of what lies on disks count on one log directory for each broker."""
    properties = (
        ("broker.rack", "rack-{node}"),
        ("log.dirs", "{folder}/data-{node},{folder}/more-{node}"),
        (
            "controller.socket.timeout.ms",
            "8000",
        ),  # a broker waits as long, 30 s by default, for a controller that hangs
    )
    with RealKafka.start(Setup(NEWEST, nodes=3, properties=properties), tmp_path_factory.mktemp("racks")) as found:
        yield found


@pytest.fixture(autouse=True)
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where throttles are recorded."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


class Plan:
    """A topic of two partitions on brokers 1 and 2, and files that say where it goes."""

    def __init__(self, kafka: RealKafka, folder: Path) -> None:
        self.kafka = kafka
        self.folder = folder
        self.topic = fresh("plan")
        done(ours(kafka, "topics", "--create", "--topic", self.topic, "--replica-assignment", "1:2,2:1"))
        produce(kafka, self.topic, 200)

    def file(self, *placed: Sequence[int], log_dirs: Sequence[str] | None = None) -> Path:
        entries = [
            {"topic": self.topic, "partition": number, "replicas": list(replicas)}
            | ({} if log_dirs is None else {"log_dirs": list(log_dirs)})
            for number, replicas in enumerate(placed)
        ]
        return self.write({"version": 1, "partitions": entries})

    def write(self, document: object) -> Path:
        path = self.folder / f"{fresh('document')}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    def replicas(self) -> list[list[int]]:
        (row,) = json.loads(done(ours(self.kafka, "topics", "--describe", "--topic", self.topic, "-o", "json")))["data"]
        assert not any(each["adding_replicas"] or each["removing_replicas"] for each in row["partitions"])
        return [each["replicas"] for each in row["partitions"]]

    def throttles(self) -> str:
        return "".join(
            done(ours(self.kafka, "configs", "--describe", *entity))
            for entity in (("--topic", self.topic), *(("--broker", each) for each in self.kafka.node_ids))
        )


@pytest.fixture
def plan(kafka: RealKafka, tmp_path: Path) -> Iterator[Plan]:
    plan = Plan(kafka, tmp_path)
    yield plan
    done(ours(kafka, "topics", "--delete", "--topic", plan.topic))


def test_each_action_prints_what_kafkas_tool_prints(plan: Plan) -> None:
    kafka, topic = plan.kafka, plan.topic
    there, back = plan.file([2, 3], [3, 1]), plan.file([1, 2], [2, 1])
    printed: dict[str, list[str]] = {}
    for name, run in (("theirs", theirs), ("ours", ours)):
        texts = printed.setdefault(name, [])
        for path, more in ((there, ("--throttle", 5_000_000)), (back, ())):
            texts.append(done(run(kafka, REASSIGN, "--execute", "--reassignment-json-file", path, *more)))

            def is_over(path: Path = path) -> None:
                status = done(
                    ours(kafka, REASSIGN, "--verify", "--reassignment-json-file", path, "--preserve-throttles")
                )
                assert status.count("is completed.") == 2, status

            eventually(is_over)
            texts.append(done(run(kafka, REASSIGN, "--verify", "--reassignment-json-file", path)))
            assert "throttled" not in plan.throttles()
        texts.append(done(run(kafka, REASSIGN, "--cancel", "--reassignment-json-file", back)))
        texts.append(done(run(kafka, REASSIGN, "--list")))
    for our, their in zip(printed["ours"], printed["theirs"], strict=True):
        assert our == their
    assert [sorted(each) for each in plan.replicas()] == [[1, 2], [1, 2]]
    first = printed["ours"][0]
    assert f"Successfully started partition reassignments for {topic}-0,{topic}-1\n" in first
    assert "The inter-broker throttle limit was set to 5000000 B/s\n" in first


def test_a_move_under_way_is_listed_verified_and_cancelled_the_same(plan: Plan) -> None:
    kafka = plan.kafka
    produce(kafka, plan.topic, 2000)
    path = plan.file([3, 1])
    ours_begun = ("--execute", "--reassignment-json-file", path, "--throttle", 1)
    for first, second in ((ours, theirs), (theirs, ours)):
        done(first(kafka, REASSIGN, *ours_begun))
        listed = same(kafka, REASSIGN, "--list")
        assert f"{plan.topic}-0: replicas: 3,1,2. adding: 3. removing: 2.\n" in listed
        assert "is still in progress" in same(kafka, REASSIGN, "--verify", "--reassignment-json-file", path)
        refused = second(kafka, REASSIGN, *ours_begun)
        assert refused.returncode == 1
        assert "Cannot execute because there is an existing partition assignment." in refused.stdout + refused.stderr
        again = [done(run(kafka, REASSIGN, *ours_begun, "--additional")) for run in (ours, theirs)]
        assert again[0] == again[1]
        cancelled = done(second(kafka, REASSIGN, "--cancel", "--reassignment-json-file", path))
        assert f"Successfully cancelled partition reassignment for: {plan.topic}-0\n" in cancelled
        assert "throttled" not in plan.throttles()
    assert plan.replicas()[0] == [1, 2]


def test_controllers_give_up_a_move_and_its_throttles(plan: Plan) -> None:
    kafka = plan.kafka
    produce(kafka, plan.topic, 2000)
    path = plan.file([3, 1])
    words = ("--cancel", "--reassignment-json-file", path, "--bootstrap-controller", kafka.bootstrap_controllers)
    printed = []
    for is_ours in (True, False):
        done(ours(kafka, REASSIGN, "--execute", "--reassignment-json-file", path, "--throttle", 1))
        printed.append(
            done(
                ours(kafka, REASSIGN, *words, connect=False)
                if is_ours
                else kafka.tool(MAIN[REASSIGN], *words, release=RELEASE, connect=False)
            )
        )
        assert "throttled" not in plan.throttles()
    assert printed[0] == printed[1]
    assert plan.replicas()[0] == [1, 2]


def test_replicas_move_between_log_directories(plan: Plan) -> None:
    kafka = plan.kafka
    here = kafka.folder / "data-1", kafka.folder / "more-1"
    now = next(path for path in here if (path / f"{plan.topic}-0").is_dir())
    other = next(path for path in here if path != now)
    for run, target in ((ours, other), (theirs, now), (ours, other)):
        path = plan.file([1, 2], log_dirs=[str(target), "any"])
        text = done(run(kafka, REASSIGN, "--execute", "--reassignment-json-file", path))
        said = f"Successfully started moving log directory to {target} for replica {plan.topic}-0 with broker 1 \n"
        assert said in text

        def has_arrived(path: Path = path) -> None:
            status = done(ours(kafka, REASSIGN, "--verify", "--reassignment-json-file", path))
            assert f"Reassignment of replica {plan.topic}-0-1 completed successfully.\n" in status

        eventually(has_arrived)
        same(kafka, REASSIGN, "--verify", "--reassignment-json-file", path)
        assert (target / f"{plan.topic}-0").is_dir()
    there = plan.file([1, 2], log_dirs=[str(now), "any"])
    assert "is not being moved from log dir" in same(kafka, REASSIGN, "--verify", "--reassignment-json-file", there)
    same(kafka, REASSIGN, "--cancel", "--reassignment-json-file", there)


def test_proposals_keep_to_racks_and_brokers(plan: Plan) -> None:
    kafka = plan.kafka
    topics = plan.write({"topics": [{"topic": plan.topic}], "version": 1})
    asked = ("--generate", "--topics-to-move-json-file", topics, "--broker-list", "2,3")
    our, their = (done(run(kafka, REASSIGN, *asked)) for run in (ours, theirs))
    assert our.splitlines()[:4] == their.splitlines()[:4], "the current assignment, and both headings"
    for text in (our, their):
        proposed = json.loads(text.splitlines()[4])["partitions"]
        assert [sorted(each["replicas"]) for each in proposed] == [[2, 3], [2, 3]]
    assert done(ours(kafka, REASSIGN, *asked)) == our, "the same again"
    seeds = {done(ours(kafka, REASSIGN, *asked, "--seed", seed)) for seed in range(8)}
    assert len(seeds) > 1


@pytest.mark.parametrize(
    "document",
    [
        {"version": 2},
        {},
        {"partitions": []},
        {"partitions": [{"topic": "x", "partition": 0, "replicas": []}]},
        {"partitions": [{"topic": "x", "partition": 0, "replicas": [1, 1]}]},
        {"partitions": [{"topic": "x", "partition": 0, "replicas": [1]}] * 2},
        {"partitions": [{"topic": "x", "partition": 0, "replicas": [1, 2], "log_dirs": ["any"]}]},
        {"partitions": [{"topic": "no-such-topic", "partition": 0, "replicas": [9]}]},
        {"partitions": [{"topic": "no-such-topic", "partition": 0, "replicas": [1]}]},
    ],
)
def test_both_refuse_the_same_documents_in_the_same_words(kafka: RealKafka, tmp_path: Path, document: object) -> None:
    path = tmp_path / "document.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    our, their = (run(kafka, REASSIGN, "--execute", "--reassignment-json-file", path) for run in (ours, theirs))
    assert (our.returncode, their.returncode) == (1, 1)
    said = our.stderr.splitlines()[0].removeprefix("python -m kafka_tools reassign-partitions: ")
    assert said.split(": ", 1)[-1] in their.stdout, (our, their)


def test_what_others_set_stays(plan: Plan, state_folder: Path) -> None:
    """A throttle that somebody else set is left, and comes back where --execute had replaced it."""
    kafka = plan.kafka
    rate = "leader.replication.throttled.rate"
    change = ("--alter", "--entity-type", "brokers", "--entity-name")
    done(ours(kafka, "configs", *change, 1, "--add-config", f"{rate}=7000000"))
    path = plan.file([2, 1], [1, 2])
    try:
        done(ours(kafka, REASSIGN, "--execute", "--reassignment-json-file", path, "--throttle", 5_000_000))
        assert len(list(state_folder.rglob("*.json"))) == 1
        done(ours(kafka, "configs", *change, 3, "--add-config", f"{rate}=8000000"))
        ended = ours(kafka, REASSIGN, "--list")
        assert "No partition reassignments found." in done(ended)
        assert "removing the throttles that --execute set" in ended.stderr
        left = plan.throttles()
        assert f"{rate}=7000000" in left
        assert f"{rate}=8000000" in left
        assert "5000000" not in left
        assert "throttled.replicas" not in left
        assert list(state_folder.rglob("*.json")) == []
    finally:
        for node in (1, 3):
            done(ours(kafka, "configs", *change, node, "--delete-config", rate))


def test_batches_are_interrupted_taken_up_again_and_followed(plan: Plan, state_folder: Path) -> None:
    """Real bytes under a real throttle: the second command takes up what the first one, killed, has left under way."""
    kafka = plan.kafka
    produce(kafka, plan.topic, 2000)
    path = plan.file([3, 1], [1, 3])
    execute = ("--execute", "--reassignment-json-file", path, "--batch-size", 1)
    words = [sys.executable, "-m", "kafka_tools", REASSIGN, "--bootstrap-server", kafka.bootstrap_servers]
    first = subprocess.Popen([*words, *map(str, execute), "--throttle", "1"], stdout=subprocess.PIPE, encoding="utf-8")
    assert first.stdout is not None
    seen = next(line for line in first.stdout if line.startswith("batch 1 of 2: 1 partition in progress, "))
    assert " left" in seen
    first.kill()
    first.wait()
    first.stdout.close()
    assert list(state_folder.rglob("*.json")), "the throttle is recorded"
    assert "throttled" in plan.throttles()
    listed = done(ours(kafka, REASSIGN, "--list"))
    assert f"{plan.topic}-0: replicas: 3,1,2. adding: 3. removing: 2.\n" in listed
    assert f"{plan.topic}-1" not in listed, "it is in the second batch"
    text = done(ours(kafka, REASSIGN, *execute, "--throttle", 50_000_000))
    assert text.endswith("Moved: 2 of 2 partitions; 0 were already in place.\n")
    assert plan.replicas() == [[3, 1], [1, 3]]
    assert "throttled" not in plan.throttles()
    assert list(state_folder.rglob("*.json")) == []
    assert done(ours(kafka, REASSIGN, "--watch")) == "No partition reassignments found.\n"


@pytest.mark.parametrize("what", ["a broker", "the controller"])
def test_a_hanging_node_keeps_its_throttles_and_no_other_does(plan: Plan, what: str) -> None:
    """The brokers pass on to the hanging controller what the command asks, until they turn to the next one."""
    kafka = plan.kafka
    produce(kafka, plan.topic, 2000)
    path = plan.file([3, 1], [1, 3])
    done(ours(kafka, REASSIGN, "--execute", "--reassignment-json-file", path, "--throttle", 1))
    quorum = done(ours(kafka, "metadata-quorum", "describe", "--status"))
    leader = int(re.findall(r"LeaderId: +(\d)\n", quorum)[0])
    hanging = leader if what == "the controller" else 2 if leader == 3 else 3
    stopped = kafka.servers[hanging].pid
    os.kill(stopped, signal.SIGSTOP)
    try:
        ended = ours(kafka, REASSIGN, "--cancel", "--reassignment-json-file", path)
    finally:
        os.kill(stopped, signal.SIGCONT)
    assert ended.returncode == 1, ended
    assert "Successfully cancelled partition reassignments for: " in ended.stdout
    others = ",".join(str(each) for each in kafka.node_ids if each != hanging)
    cleared = f"Clearing broker-level throttles on brokers {others}\n"
    assert f"{cleared}Clearing topic-level throttles on topic {plan.topic}\n" in ended.stdout
    assert f"broker {hanging} is down: its throttles stay; run --list again when it is back" in ended.stderr
    eventually(lambda: ours(kafka, REASSIGN, "--list") and "throttled" not in plan.throttles())
    assert [sorted(each) for each in plan.replicas()] == [[1, 2], [1, 2]]


def test_a_topic_that_is_deleted_meanwhile_stops_nothing_else(plan: Plan) -> None:
    kafka = plan.kafka
    other = fresh("gone")
    done(ours(kafka, "topics", "--create", "--topic", other, "--replica-assignment", "1:2"))
    produce(kafka, plan.topic, 2000)
    entries = [(plan.topic, 0, [3, 1]), (other, 0, [2, 3]), (plan.topic, 1, [1, 3])]
    path = plan.write(
        {"partitions": [{"topic": name, "partition": number, "replicas": ids} for name, number, ids in entries]}
    )
    execute = ("--execute", "--reassignment-json-file", path, "--batch-size", 1, "--throttle", 2_000)
    words = [sys.executable, "-m", "kafka_tools", REASSIGN, "--bootstrap-server", kafka.bootstrap_servers]
    first = subprocess.Popen([*words, *map(str, execute)], stdout=subprocess.PIPE, encoding="utf-8")
    assert first.stdout is not None
    next(line for line in first.stdout if line.startswith("batch 1 of 3: 1 partition in progress, "))
    done(ours(kafka, "topics", "--delete", "--topic", other))
    listed = ours(kafka, REASSIGN, "--list")
    assert "removing the throttles" not in listed.stderr
    text = first.stdout.read()
    assert first.wait() == 1
    first.stdout.close()
    assert text.endswith("Moved: 2 of 3 partitions; 0 were already in place, 1 failed.\n")
    assert plan.replicas() == [[3, 1], [1, 3]]
    eventually(lambda: "throttled" not in plan.throttles())


def test_kafka_carries_out_what_each_strategy_plans(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    """One after the other, each from where the one before has left two partitions on three brokers.

    In this process: two dozen commands, each of which would start a Python.
    """
    kafka = plan.kafka

    def told(name: str, *words: str) -> tuple[str, str]:
        kafka.catch_up()
        line = [*words, "--bootstrap-server", kafka.bootstrap_servers]
        status = running.run(cli.load(name), line, f"kafka-{name}")
        out, err = capsys.readouterr()
        assert status == 0, (out, err)
        return out, err

    def carried_out(*asked: str) -> list[list[int]]:
        out, err = told(REASSIGN, "--generate", "--topic", plan.topic, *asked)
        proposed = json.loads(out.splitlines()[4])["partitions"]
        assert "partition(s) change" in err
        told(REASSIGN, "--execute", "--reassignment-json-file", str(plan.write({"partitions": proposed})))
        wanted = [each["replicas"] for each in proposed]

        def is_over() -> None:
            (row,) = json.loads(told("topics", "--describe", "--topic", plan.topic, "-o", "json")[0])["data"]
            assert [each["replicas"] for each in row["partitions"]] == wanted
            assert not any(each["adding_replicas"] or each["removing_replicas"] for each in row["partitions"])

        places = [
            (id, log_dir, f"{plan.topic}-{each['partition']}")
            for each in proposed
            for id, log_dir in zip(each["replicas"], each["log_dirs"], strict=True)
        ]

        def is_in_place() -> None:  # a replica moves between directories when it has arrived
            assert all(log_dir == "any" or Path(log_dir, name).is_dir() for _, log_dir, name in places)

        eventually(is_over)
        eventually(is_in_place)
        named.extend((id, log_dir) for id, log_dir, _ in places)
        return wanted

    named: list[tuple[int, str]] = []
    least = carried_out("--strategy", "least-movement")
    assert sorted(sum(id in each for each in least) for id in (1, 2, 3)) == [1, 1, 2]
    assert {path for _, path in named} == {"any"}
    assert all({*each} == {1, 3} for each in carried_out("--strategy", "by-size", "--broker-list", "1,3"))
    folders = {(id, str(kafka.folder / f"{name}-{id}")) for id in (1, 3) for name in ("data", "more")}
    assert {each for each in named if each[1] != "any"} & folders, "of two directories of a broker one is named"
    assert carried_out("--strategy", "leaders", "--broker-list", "3") == [[3, 1], [3, 1]]
    assert all({*each} == {2, 3} for each in carried_out("--evacuate", "1"))
    assert all({*each} == {1, 2, 3} for each in carried_out("--replication-factor", "3"))
    assert carried_out("--replication-factor", "1") == [[3], [3]]
