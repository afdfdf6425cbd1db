"""``kafka-reassign-partitions`` when a step fails: the rest goes on, throttles come off, and what is said is true."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.commands.partitions.reassignment.ledger import Ledger
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from tests.commands.partitions.moving_cluster import NAME, MovingCluster

Printed = pytest.CaptureFixture[str]
FILE = "--reassignment-json-file plan.json"
BATCHES = f"--execute {FILE} --batch-size 1"


@pytest.fixture(autouse=True)
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where throttles are recorded; the working directory is beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def write(*entries: tuple[str, int], replicas: tuple[int, ...] = (2, 3), **more: object) -> None:
    partitions = [
        {"topic": topic, "partition": number, "replicas": list(replicas), **more} for topic, number in entries
    ]
    Path("plan.json").write_text(json.dumps({"version": 1, "partitions": partitions}), encoding="utf-8")


def throttled(brokers: MovingCluster) -> dict[str, Any]:
    return {name: dict(values) for (_, name), values in brokers.configs.items() if values}


def test_a_topic_that_is_deleted_meanwhile_stops_nothing_else(capsys: Printed) -> None:
    brokers = MovingCluster(3)
    brokers.names[1] = "gone"
    brokers.at.append((3.0, lambda: brokers.replicas.pop(1)))
    write(("t", 0), ("gone", 1), ("t", 2))
    status, out, err = brokers.run(f"{BATCHES} --throttle 50000000", capsys)
    assert (status, brokers.replicas, throttled(brokers)) == (1, {0: (2, 3), 2: (2, 3)}, {})
    assert out.endswith("Moved: 2 of 3 partitions; 0 were already in place, 1 failed.\n")
    assert f"{NAME}: Error reassigning partition(s): gone-1: UNKNOWN_TOPIC_OR_PARTITION" in err


def test_a_topic_that_is_deleted_while_it_moves_is_said_to_be_gone(capsys: Printed) -> None:
    brokers = MovingCluster(2)
    brokers.names[0] = "gone"
    places: list[dict[Any, Any]] = [brokers.replicas, brokers.moving]
    brokers.at.append((3.0, lambda: [each.pop(0) for each in places] and brokers.configs.pop((2, "gone"))))
    write(("gone", 0), ("t", 1))
    status, out, err = brokers.run(f"{BATCHES} --throttle 50000000", capsys)
    assert (status, brokers.replicas, throttled(brokers)) == (1, {1: (2, 3)}, {})
    assert "gone-0: UNKNOWN_TOPIC_OR_PARTITION" in err
    assert out.endswith("Moved: 1 of 2 partitions; 0 were already in place, 1 failed.\n")


@pytest.mark.parametrize("how", ["--batch-size 1", "--watch"])
def test_a_broker_that_restarts_when_a_batch_begins_is_waited_for(how: str, capsys: Printed) -> None:
    brokers = MovingCluster(1)
    brokers.dead.add(3)
    brokers.at.append((20.0, brokers.dead.clear))
    write(("t", 0))
    status, out, err = brokers.run(f"--execute {FILE} {how}", capsys)
    assert (status, brokers.replicas) == (0, {0: (2, 3)}), err
    assert "waiting up to 5 min for broker 3" in err
    assert out.endswith("Moved: 1 of 1 partitions; 0 were already in place.\n")


def test_a_broker_that_goes_between_the_look_and_the_begin_is_waited_for(capsys: Printed) -> None:
    brokers = MovingCluster(1)
    answer: Any = brokers.cluster.fault

    def restarts(request: Any, version: int, node: Any) -> Any:
        if isinstance(request, AlterPartitionReassignmentsRequest) and not brokers.begun:
            brokers.dead.add(3)
            brokers.refused[0] = error_codes.INVALID_REPLICA_ASSIGNMENT
            brokers.at.append((brokers.now_s + 20.0, lambda: (brokers.dead.clear(), brokers.refused.clear())))
        return answer(request, version, node)

    brokers.cluster.fault = restarts
    write(("t", 0))
    status, _, err = brokers.run(BATCHES, capsys)
    assert (status, brokers.replicas) == (0, {0: (2, 3)}), err


@pytest.mark.parametrize("is_recorded", [True, False])
@pytest.mark.parametrize("how", ["silent", "dead"])
def test_throttles_of_brokers_that_answer_go_when_one_hangs(
    how: str, is_recorded: bool, state_folder: Path, capsys: Printed
) -> None:
    brokers = MovingCluster(1)
    brokers.stuck.add(0)
    write(("t", 0))
    assert brokers.run(f"--execute {FILE} --throttle 1000", capsys)[0] == 0
    if not is_recorded:
        shutil.rmtree(state_folder)
    getattr(brokers, how).add(3)
    status, out, err = brokers.run(f"--cancel {FILE}", capsys)
    assert (status, brokers.moving, throttled(brokers).keys()) == (1, {}, {"3"}), err
    assert "Clearing broker-level throttles on brokers 1,2\nClearing topic-level throttles on topic t\n" in out
    again = "--list" if is_recorded else "--verify"
    assert f"warning: broker 3 is down: its throttles stay; run {again} again when it is back" in err
    assert brokers.now_s < 60
    getattr(brokers, how).clear()
    brokers.run("--list" if is_recorded else f"--verify {FILE}", capsys)
    assert throttled(brokers) == {}


def test_a_throttle_that_cannot_be_set_everywhere_is_not_left_behind(capsys: Printed) -> None:
    brokers = MovingCluster(1)
    brokers.refused[0] = error_codes.CLUSTER_AUTHORIZATION_FAILED
    write(("t", 0))
    assert brokers.run(f"{BATCHES} --throttle 1000", capsys)[0] == 1
    assert throttled(brokers) == {}


@pytest.mark.parametrize("line", ["--list", f"--verify {FILE}", f"--cancel {FILE}", "--watch"])
def test_no_other_command_removes_the_throttles_of_batches_to_come(line: str, capsys: Printed) -> None:
    brokers = MovingCluster(1)
    write(("t", 0))
    assert brokers.run(f"--execute {FILE} --throttle 5000000", capsys)[0] == 0
    before = throttled(brokers)
    brokers.moving.clear()
    with _ledger().hold():
        status, out, err = brokers.run(line, capsys)
        assert (status, throttled(brokers)) == (0, before)
        assert "throttles stay: another --execute of yours on this host is running" in err
        assert "Clearing" not in out
    assert brokers.run("--list", capsys)[0] == 0
    assert throttled(brokers) == {}


def test_batches_hold_their_throttles_from_the_first_to_the_last(capsys: Printed) -> None:
    brokers = MovingCluster(3)
    held: list[bool] = []
    brokers.at += [(second, lambda: held.append(_ledger().batches_to_come())) for second in (3.0, 12.0, 25.0)]
    write(("t", 0), ("t", 1), ("t", 2))
    assert brokers.run(f"{BATCHES} --throttle 50000000", capsys)[0] == 0
    assert (held, _ledger().batches_to_come(), throttled(brokers)) == ([True] * 3, False, {})


def test_a_verify_elsewhere_leaves_the_throttles_of_moves_between_log_directories(capsys: Printed) -> None:
    brokers = MovingCluster(2)
    write(("t", 0), replicas=(1, 2), log_dirs=["/b", "any"])
    brokers.run(f"--execute {FILE} --replica-alter-log-dirs-throttle 5000", capsys)
    before = throttled(brokers)
    write(("t", 1), replicas=(1, 2))
    _, _, err = brokers.run(f"--verify {FILE}", capsys)
    assert (throttled(brokers), list(before)) == (before, ["1"])
    assert "throttles stay: replicas are moving between the log directories of broker 1" in err


def test_what_moved_and_what_failed_add_up(capsys: Printed) -> None:
    brokers = MovingCluster(3)
    brokers.offline.add("/b")
    write(("t", 0), ("t", 1), replicas=(1, 3), log_dirs=["any", "/b"])
    status, out, err = brokers.run(BATCHES, capsys)
    assert status == 1
    assert out.endswith("Moved: 0 of 2 partitions; 0 were already in place, 2 failed.\n")
    assert "t-0-3: KAFKA_STORAGE_ERROR: log directory /b of broker 3: a log file or its disk failed" in err
    unknown = "the contents of /b on broker 1 are unknown"
    assert f"warning: {unknown}: KAFKA_STORAGE_ERROR: log directory /b: a log file or its disk failed" in err
    status, _, err = brokers.run(f"--execute {FILE} --additional", capsys)
    assert (status, "t-0-3: KAFKA_STORAGE_ERROR: log directory /b of broker 3" in err) == (1, True)


@pytest.mark.parametrize("action", ["--verify", "--cancel"])
def test_what_does_not_exist_is_no_success(action: str, capsys: Printed) -> None:
    brokers = MovingCluster(1)
    write(("t", 0), ("nowhere", 0), ("t", 9), replicas=(1, 2))
    status, out, err = brokers.run(f"{action} {FILE}", capsys)
    assert (status, "nowhere-0: UNKNOWN_TOPIC_OR_PARTITION" in err, "t-9: no such partition" in err) == (1, True, True)
    assert "Clearing topic-level throttles on topic t\n" in out
    write(("t", 0), replicas=(1, 77))
    status, out, err = brokers.run(f"{action} {FILE}", capsys)
    assert (status, "throttles of broker 77" in err) == (1, True)
    assert "Clearing broker-level throttles on brokers 1,2,3\n" in out


def _ledger() -> Ledger:
    class Admin:
        pass

    admin: Any = Admin()
    return Ledger(admin, "virtual")
