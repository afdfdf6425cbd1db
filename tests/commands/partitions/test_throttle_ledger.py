"""Throttles that --execute sets are recorded, and their end gives back what was there before; on the bundled broker."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.admin.calls.config_changes import ConfigChange
from kafka_tools.admin.calls.configs import ConfigEntry, ConfigResource
from kafka_tools.admin.client import AdminClient
from kafka_tools.admin.outcomes import Outcome
from kafka_tools.clock import Deadline, SystemClock
from kafka_tools.commands import running
from kafka_tools.commands.partitions.reassignment import throttles
from kafka_tools.commands.partitions.reassignment.ledger import Ledger
from kafka_tools.commands.partitions.reassignment.throttles import FOLLOWER_RATE, LEADER_RATE, LEADER_REPLICAS
from kafka_tools.errors import ConnectFailed, KafkaToolsError
from kafka_tools.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kafka_tools.values import Node
from tests.admin.virtual_cluster import VirtualCluster
from tests.commands.hostile_tries import FILES, ended
from tests.net.virtual import SILENCE

BROKER, TOPIC = "DYNAMIC_BROKER_CONFIG", "DYNAMIC_TOPIC_CONFIG"
EXECUTE = "--execute --reassignment-json-file plan.json --throttle"


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    from kafka_tools.broker_embedded import EmbeddedBroker

    with EmbeddedBroker() as broker:
        line = ["--create", "--topic", "orders", "-b", broker.bootstrap_servers]
        assert running.run(cli.load("topics"), line, "kafka-topics") == 0
        yield broker.bootstrap_servers


@pytest.fixture
def run(
    servers: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Run]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    plan = {"partitions": [{"topic": "orders", "partition": 0, "replicas": [1]}]}
    Path("plan.json").write_text(json.dumps(plan), encoding="utf-8")

    def ended(line: str, command: str = "reassign-partitions") -> Ended:
        capsys.readouterr()
        words = [*shlex.split(line), "--bootstrap-server", servers]
        return Ended(running.run(cli.load(command), words, f"kafka-{command}"), *capsys.readouterr())

    yield ended
    for name in (LEADER_RATE, FOLLOWER_RATE):
        ended(f"--alter --broker 1 --delete-config {name}", "configs")


def set_rates(run: Run) -> dict[str, str]:
    (row,) = json.loads(run("--describe --broker 1 -o json", "configs").out)["data"]
    return {each["name"]: each["value"] for each in row["configs"] if "throttled" in each["name"]}


def replicas_are_throttled(run: Run) -> bool:
    return "throttled.replicas" in run("--describe --topic orders", "configs").out


def recorded() -> list[dict[str, str]]:
    (path,) = Path("kafka-tools", "throttles").glob("*.json")
    rows: list[dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))["throttles"]
    return rows


@pytest.mark.parametrize("end", ["--verify --reassignment-json-file plan.json", "--list"])
def test_the_end_gives_back_what_was_there_before(run: Run, end: str) -> None:
    assert run(f"--alter --broker 1 --add-config {LEADER_RATE}=7000", "configs").status == 0
    started = run(f"{EXECUTE} 5000")
    assert "The inter-broker throttle limit was set to 5000 B/s\n" in started.out
    assert set_rates(run) == {LEADER_RATE: "5000", FOLLOWER_RATE: "5000"}
    assert replicas_are_throttled(run)
    assert {row["config"]: row.get("before") for row in recorded() if row["type"] == "broker"} == {
        LEADER_RATE: "7000", FOLLOWER_RATE: None,
    }  # fmt: skip
    assert run(end).status == 0
    assert set_rates(run) == {LEADER_RATE: "7000"}
    assert not replicas_are_throttled(run)
    assert list(Path("kafka-tools", "throttles").iterdir()) == []


def test_what_others_changed_meanwhile_is_left_and_named(run: Run) -> None:
    run(f"{EXECUTE} 5000")
    run(f"--alter --broker 1 --add-config {FOLLOWER_RATE}=8000", "configs")
    ended = run("--verify --reassignment-json-file plan.json")
    assert ended.status == 0
    assert f"{FOLLOWER_RATE}=8000 of " in ended.err
    assert "stays: --execute did not set it" in ended.err
    assert set_rates(run) == {FOLLOWER_RATE: "8000"}


def test_a_second_rate_does_not_hide_what_was_there_before_the_first(run: Run) -> None:
    run(f"--alter --broker 1 --add-config {LEADER_RATE}=7000", "configs")
    for rate in (5000, 6000):
        assert run(f"{EXECUTE} {rate} --additional").status == 0
    assert set_rates(run)[LEADER_RATE] == "6000"
    run("--list")
    assert set_rates(run) == {LEADER_RATE: "7000"}


def test_without_a_record_verify_removes_all_as_kafkas_tool_does(run: Run) -> None:
    run(f"--alter --broker 1 --add-config {LEADER_RATE}=7000", "configs")
    assert run("--list").err == ""
    assert set_rates(run) == {LEADER_RATE: "7000"}
    assert run("--verify --reassignment-json-file plan.json --preserve-throttles").status == 0
    assert set_rates(run) == {LEADER_RATE: "7000"}
    run("--verify --reassignment-json-file plan.json")
    assert set_rates(run) == {}


def test_a_throttle_is_recorded_before_it_is_set(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        assert len(recorded()) == 4
        raise KafkaToolsError("killed here")

    with monkeypatch.context() as patched:
        patched.setattr(AdminClient, "alter_configs_incremental", refused)
        assert "killed here" in run(f"{EXECUTE} 5000").err
    assert run("--list").status == 0
    assert list(Path("kafka-tools", "throttles").iterdir()) == []


def test_where_nothing_is_throttled_nothing_is_changed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    change = AdminClient.alter_configs_incremental
    with monkeypatch.context() as patched:
        patched.setattr(
            AdminClient,
            "alter_configs_incremental",
            lambda admin, each, **more: (asked.append(each), change(admin, each, **more))[1],
        )
        assert "Clearing broker-level throttles" in run("--verify --reassignment-json-file plan.json").out
    assert asked == []


def test_a_recorded_throttle_is_removed_where_the_broker_hides_its_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brokers of 2.2 say that a rate is set, and not which."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    broker = ConfigResource("broker", "1")
    told: dict[ConfigResource, Outcome[list[ConfigEntry]]] = {broker: Outcome([])}
    admin: Any = SimpleNamespace(
        describe_configs=lambda wanted, timeout_s: told, deadline=lambda: Deadline(SystemClock(), 60.0)
    )
    Ledger(admin, "c").add({broker: {LEADER_RATE: "5000"}})
    told[broker] = Outcome([ConfigEntry(LEADER_RATE, None, "DYNAMIC_BROKER_CONFIG", True, False)])
    ledger = Ledger(admin, "c")
    values = ledger.read_values({broker: [LEADER_RATE, FOLLOWER_RATE]}, {})
    undone = [ledger.undoing(broker, name, values) for name in (LEADER_RATE, FOLLOWER_RATE)]
    assert undone == [ConfigChange(LEADER_RATE, "delete"), None]


@pytest.mark.parametrize("text", ["", "[]", '{"version": 9, "throttles": []}', '{"version": 1, "throttles": [{}]}'])
def test_a_record_that_cannot_be_read_is_passed_over_and_named(run: Run, text: str) -> None:
    run(f"{EXECUTE} 5000")
    (path,) = Path("kafka-tools", "throttles").glob("*.json")
    path.write_text(text, encoding="utf-8")
    ended = run("--verify --reassignment-json-file plan.json")
    assert ended.status == 0
    assert "the record of throttles" in ended.err
    assert set_rates(run) == {}


def test_where_nothing_can_be_recorded_it_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    ended = run(f"{EXECUTE} 5000")
    assert ended.status == 0
    assert "cannot record throttles in /dev/null" in ended.err
    run("--verify --reassignment-json-file plan.json")
    assert set_rates(run) == {}


class _Silent:
    """Stands for an admin client of a cluster where no throttle is set."""

    def describe_configs(self, wanted: Any, timeout_s: float | None) -> dict[Any, Any]:
        return {}

    def deadline(self) -> Deadline:
        return Deadline(SystemClock(), 60.0)


def _ledger() -> Any:
    return Ledger(_Silent(), "c")  # type: ignore[arg-type]


def test_commands_at_the_same_time_keep_each_others_throttles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    brokers = [ConfigResource("broker", str(id)) for id in (1, 2, 3)]
    first, second = _ledger(), _ledger()
    first.add({brokers[0]: {LEADER_RATE: "5"}})
    second.add({brokers[1]: {LEADER_RATE: "6"}})
    assert _ledger().broker_ids() == {1, 2}
    third = _ledger()
    third.forget(brokers[1])
    first.add({brokers[2]: {LEADER_RATE: "5"}})
    third.save()
    assert _ledger().broker_ids() == {1, 3}


def test_a_throttle_that_was_set_anew_is_not_forgotten_with_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    broker = ConfigResource("broker", "1")
    first = _ledger()
    first.add({broker: {LEADER_RATE: "5"}})
    second = _ledger()
    first.add({broker: {LEADER_RATE: "6"}})
    second.forget(broker)
    second.save()
    assert _ledger().broker_ids() == {1}
    first.forget(broker)
    first.add({broker: {LEADER_RATE: "6"}})
    first.save()
    assert _ledger().broker_ids() == {1}


def test_many_at_once_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with ThreadPoolExecutor(8) as pool:
        ledgers = [_ledger() for _ in range(40)]
        settings = [{ConfigResource("broker", str(id)): {LEADER_RATE: "5"}} for id in range(40)]
        list(pool.map(lambda pair: pair[0].add(pair[1]), zip(ledgers, settings, strict=True)))
    assert _ledger().broker_ids() == set(range(40))


def test_who_stops_in_the_middle_of_writing_is_not_waited_for_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("kafka_tools.commands.partitions.reassignment.ledger._LONGEST_TURN_S", 0.05)
    folder = tmp_path / "kafka-tools" / "throttles"
    folder.mkdir(parents=True)
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        _ledger().add({ConfigResource("broker", "1"): {LEADER_RATE: "5"}})
    finally:
        os.close(descriptor)
    assert f"another command is still writing in {folder}" in capsys.readouterr().err
    assert _ledger().broker_ids() == {1}
    _ledger().add({ConfigResource("broker", "2"): {LEADER_RATE: "5"}})
    assert capsys.readouterr().err == ""


def test_a_broker_that_cannot_be_reached_keeps_its_throttles_and_no_other_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For seconds after its death the cluster takes a broker for alive."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first, second, topic = (ConfigResource(*each) for each in (("broker", "1"), ("broker", "2"), ("topic", "t")))
    _ledger().add({first: {LEADER_RATE: "5"}, second: {LEADER_RATE: "5"}, topic: {LEADER_REPLICAS: "0:1"}})
    refused = Outcome(None, ConnectFailed("cannot connect"))
    told = {first: [(LEADER_RATE, "5", BROKER)], topic: [(LEADER_REPLICAS, "0:1", TOPIC)]}
    changed: dict[ConfigResource, Any] = {}

    def describe(wanted: Any, timeout_s: float) -> dict[ConfigResource, Any]:
        entries = {key: Outcome([ConfigEntry(*each, True, False) for each in told.get(key, ())]) for key in wanted}
        return entries | ({second: refused} if second in wanted else {})

    admin: Any = SimpleNamespace(
        config=SimpleNamespace(is_controllers=False),
        nodes=lambda: [Node(1, "a", 1), Node(2, "b", 1)],
        describe_configs=describe,
        alter_configs_incremental=lambda changes: changed.update(changes) or dict.fromkeys(changes, Outcome(None)),
        deadline=_Silent().deadline,
    )
    throttles.clear(admin, {1, 2}, {"t"}, Ledger(admin, "c"), say=False)
    assert changed == {first: [ConfigChange(LEADER_RATE, "delete")], topic: [ConfigChange(LEADER_REPLICAS, "delete")]}
    assert "broker 2 is down: its throttles stay; run --list again" in capsys.readouterr().err
    assert (_ledger().broker_ids(), _ledger().topics()) == ({2}, set())
    throttles.restore_recorded(admin, Ledger(admin, "c"))
    assert "broker 2 is down: its throttles stay; run --list again" in capsys.readouterr().err


def test_throttles_of_what_may_have_begun_stay_and_that_is_said() -> None:
    cluster = VirtualCluster()
    cluster.fault = lambda request, version, node: (
        SILENCE if isinstance(request, AlterPartitionReassignmentsRequest) else None
    )
    tried = ended(f"kafka-reassign-partitions {EXECUTE} 5000", cluster, FILES)
    assert (tried.status, tried.complaint) == (1, "")
    assert "throttles stay: an unanswered request may have started a move" in tried.err
