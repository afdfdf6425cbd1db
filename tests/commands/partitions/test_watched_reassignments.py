"""``kafka-reassign-partitions --watch`` and ``--batch-size``, on brokers in virtual time."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.output.progress import StatusLine
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from kafka_tools.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafka_tools.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kafka_tools.texts.quantities import bytes_text, span_text
from tests.commands.partitions.moving_cluster import NAME, SIZE_BYTES, MovingCluster
from tests.net.peers import HANG_UP

Printed = pytest.CaptureFixture[str]
EXECUTE = "--execute --reassignment-json-file plan.json"
THROTTLE = "leader.replication.throttled.rate"


@pytest.fixture(autouse=True)
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where throttles are recorded; the working directory is beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def plan(*numbers: int, replicas: tuple[int, ...] = (2, 3), topic: str = "t", **more: object) -> list[object]:
    return [{"topic": topic, "partition": number, "replicas": list(replicas), **more} for number in numbers]


def write(*entries: object) -> None:
    Path("plan.json").write_text(json.dumps({"version": 1, "partitions": entries}), encoding="utf-8")


# --watch


def test_what_is_under_way_is_followed_to_its_end(capsys: Printed) -> None:
    brokers = MovingCluster(2)
    brokers.move(0, 2, 3)
    brokers.move(1, 3, 1)
    status, out, err = brokers.run("--watch", capsys)
    assert (status, err) == (0, "")
    first, last = out.splitlines()
    assert re.fullmatch(r"2 partitions in progress, (199|200) MiB left", first), "then quiet, for less than 30 s"
    assert last == "Completed: 2 of 2 reassignments."
    assert brokers.replicas == {0: (2, 3), 1: (3, 1)}
    assert 10 <= brokers.now_s < 20


def test_bytes_rate_and_time_left_are_those_of_the_last_half_minute(capsys: Printed) -> None:
    brokers = MovingCluster(1)
    brokers.rate = SIZE_BYTES // 200
    brokers.move(0, 2, 3)
    status, out, _ = brokers.run("--watch", capsys)
    assert status == 0
    lines = out.splitlines()[:-1]
    assert len(lines) == 7, "every 30 s of 200"
    for line in lines[1:]:
        found = re.fullmatch(r"1 partition in progress, (\S+) MiB left, 512 KiB/s, about (.+)", line)
        assert found is not None, line
        seconds = sum(int(n) * {"s": 1, "min": 60}[unit] for n, unit in re.findall(r"(\d+) (s|min)", found[2]))
        assert abs(seconds - float(found[1]) * 2) < 3


def test_moves_between_log_directories_are_followed_too(capsys: Printed) -> None:
    brokers = MovingCluster(1)
    brokers.futures[0, 2] = "/b", brokers.now_s
    status, out, _ = brokers.run("--watch -o json", capsys)
    (row,) = json.loads(out)["data"]
    assert (status, row["broker"], row["state"], row["current_log_dir"]) == (0, 2, "completed", "/b")
    brokers.futures[0, 1] = "/b", brokers.now_s
    _, out, _ = brokers.run("--watch", capsys)
    assert out.startswith("1 move between log directories in progress, 100.0 MiB left\n")


def test_what_begins_meanwhile_is_followed_as_well(capsys: Printed) -> None:
    brokers = MovingCluster(2)
    brokers.move(0, 2, 3)
    brokers.at.append((5.0, lambda: brokers.move(1, 3, 1)))
    status, out, _ = brokers.run("--watch", capsys)
    assert (status, out.splitlines()[-1]) == (0, "Completed: 2 of 2 reassignments.")


def test_where_nothing_is_under_way_that_is_said(capsys: Printed) -> None:
    assert MovingCluster().run("--watch", capsys) == (0, "No partition reassignments found.\n", "")


def test_only_the_partitions_of_a_file_are_followed(capsys: Printed) -> None:
    brokers = MovingCluster(2)
    brokers.move(0, 2, 3)
    brokers.at.append((10.0, lambda: brokers.move(1, 3, 1)))
    write(*plan(0))
    status, out, _ = brokers.run("--watch --reassignment-json-file plan.json", capsys)
    assert (status, out.splitlines()[-1], list(brokers.moving)) == (0, "Completed: 1 of 1 reassignment.", [1])


def test_what_somebody_cancels_did_not_get_there(capsys: Printed) -> None:
    brokers = MovingCluster(2)
    brokers.move(0, 2, 3)
    brokers.move(1, 2, 3)
    brokers.at.append((5.0, lambda: brokers.moving.pop(0)))
    status, out, err = brokers.run("--watch", capsys)
    assert (status, out.splitlines()[-1]) == (1, "Completed: 1 of 2 reassignments.")
    assert err.startswith(
        f"{NAME}: not reassigned as requested: t-0: There is no active reassignment of partition t-0, but "
    )


def test_recorded_throttles_go_at_the_end_and_those_of_others_stay(state_folder: Path, capsys: Printed) -> None:
    brokers = MovingCluster(1)
    brokers.configs[4, "1"] = {THROTTLE: "77"}
    write(*plan(0))
    status, *_ = brokers.run(f"{EXECUTE} --throttle 5000", capsys)
    assert (status, brokers.configs[4, "1"][THROTTLE], brokers.configs[4, "3"][THROTTLE]) == (0, "5000", "5000")
    brokers.configs[4, "3"][THROTTLE] = "88"
    status, _, err = brokers.run("--watch", capsys)
    assert status == 0
    assert "removing the throttles that --execute set on broker 1, broker 2, broker 3, topic t" in err
    assert {name: values for (_, name), values in brokers.configs.items() if values} == {
        "1": {THROTTLE: "77"},
        "3": {THROTTLE: "88"},
    }
    assert list(state_folder.rglob("*.json")) == []


def test_throttles_of_a_broker_that_is_away_are_said_to_be_left(capsys: Printed) -> None:
    brokers = MovingCluster(1)
    write(*plan(0))
    brokers.run(f"{EXECUTE} --throttle 5000000", capsys)
    brokers.moving.clear()
    brokers.dead.add(3)
    for _ in range(2):
        _, _, err = brokers.run("--list", capsys)
        assert "broker 3 is down: its throttles stay; run --list again when it is back" in err
    brokers.dead.clear()
    _, _, err = brokers.run("--list", capsys)
    assert ("is away" in err, any(brokers.configs.values())) == (False, False)


def test_ctrl_c_leaves_the_reassignment_going_and_says_so(capsys: Printed) -> None:
    brokers = MovingCluster(1)
    brokers.move(0, 2, 3)

    def interrupt() -> None:
        raise KeyboardInterrupt

    brokers.at.append((5.0, interrupt))
    status, _, err = brokers.run("--watch", capsys)
    assert status == 130
    assert err == "interrupted: moves in progress and their throttles stay; --watch follows it again\n"
    assert list(brokers.moving) == [0]
    assert brokers.run("--watch", capsys)[0] == 0


def test_a_broker_that_is_away_does_not_stop_it(capsys: Printed) -> None:
    brokers = MovingCluster(2)
    brokers.move(0, 2, 3)
    brokers.move(1, 2, 1)
    brokers.at += [(3.0, lambda: brokers.dead.add(3)), (400.0, brokers.dead.clear)]
    status, out, err = brokers.run("--watch", capsys)
    assert (status, out.splitlines()[-1]) == (0, "Completed: 2 of 2 reassignments.")
    assert err.splitlines() == [
        "warning: broker 3 does not respond: 1 partition waits for it",
        "no longer waiting for broker 3",
    ]


@pytest.mark.parametrize("away", ["dead", "silent"])
@pytest.mark.parametrize("line", ["--watch", "--watch --reassignment-json-file plan.json", f"{EXECUTE} --watch"])
def test_a_move_between_directories_goes_on_while_its_broker_does_not_tell(
    line: str, away: str, capsys: Printed
) -> None:
    brokers = MovingCluster(1)
    write(*plan(0, replicas=(1, 2), log_dirs=["any", "/b"]))
    if EXECUTE not in line:
        brokers.futures[0, 2] = "/b", brokers.now_s
    answer = brokers.cluster.fault

    def silent(request: Any, version: int, node: Any) -> Any:
        if isinstance(request, DescribeLogDirsRequest) and node.id == 2 and 3 < brokers.now_s < 40:
            return HANG_UP
        return answer(request, version, node)

    if away == "silent":
        brokers.cluster.fault = silent
    else:
        brokers.at += [(3.0, lambda: brokers.dead.add(2)), (40.0, brokers.dead.clear)]
    status, out, err = brokers.run(line, capsys)
    assert (status, brokers.paths) == (0, {(0, 2): "/b"})
    assert err == ("warning: broker 2 does not respond: 1 partition waits for it\nno longer waiting for broker 2\n")
    assert brokers.now_s >= 40
    assert "1 move between log directories in progress" in out


@pytest.mark.parametrize("line", ["--watch --reassignment-json-file plan.json", f"{EXECUTE} --batch-size 1"])
def test_a_broker_that_does_not_tell_at_once_where_a_replica_is_is_asked_again(line: str, capsys: Printed) -> None:
    brokers = MovingCluster(1)
    write(*plan(0, replicas=(1, 2), log_dirs=["any", "/b"]))
    if EXECUTE not in line:
        brokers.futures[0, 2] = "/b", brokers.now_s
    answer = brokers.cluster.fault
    since: list[float] = []

    def silent(request: Any, version: int, node: Any) -> Any:
        if isinstance(request, DescribeLogDirsRequest) and node.id == 2:
            if since and since[0] < brokers.now_s < since[0] + 3:
                return HANG_UP
            answered = answer(request, version, node)
            if brokers.paths and not since:
                since.append(brokers.now_s)
            return answered
        return answer(request, version, node)

    brokers.cluster.fault = silent
    status, _, err = brokers.run(line, capsys)
    assert (status, err, brokers.now_s > since[0] + 3) == (0, "", True)


@pytest.mark.parametrize("all_silent", [True, False])
def test_a_broker_that_does_not_begin_a_move_at_once_is_asked_again(all_silent: bool, capsys: Printed) -> None:
    brokers = MovingCluster(2)
    write(*plan(0, 1, replicas=(1, 2), log_dirs=["/b", "any"]))
    answer = brokers.cluster.fault
    since: list[float] = []

    def silent(request: Any, version: int, node: Any) -> Any:
        if isinstance(request, AlterReplicaLogDirsRequest):
            since.append(brokers.now_s)
        is_asked = all_silent or isinstance(request, AlterReplicaLogDirsRequest)
        return HANG_UP if since and is_asked and brokers.now_s < since[0] + 90 else answer(request, version, node)

    brokers.cluster.fault = silent
    status, _, err = brokers.run(f"{EXECUTE} --batch-size 1", capsys)
    assert (status, err, brokers.paths) == (0, "", {(0, 1): "/b", (1, 1): "/b"})


def test_a_replica_that_cannot_move_to_a_directory_is_named_as_kafka_does(capsys: Printed) -> None:
    brokers = MovingCluster(1)
    write(*plan(0, replicas=(1, 2), log_dirs=["any", "/b"]))
    answer = brokers.cluster.fault

    def refusing(request: Any, version: int, node: Any) -> Any:
        answered = answer(request, version, node)
        if isinstance(request, AlterReplicaLogDirsRequest):
            answered.results[0].partitions[0].error_code = error_codes.LOG_DIR_NOT_FOUND
        return answered

    brokers.cluster.fault = refusing
    status, _, err = brokers.run(f"{EXECUTE} --watch", capsys)
    assert (status, "the first is t-0-2: LOG_DIR_NOT_FOUND" in err) == (1, True), err


@pytest.mark.parametrize("silent_s", [100.0, 1000.0])
def test_a_cluster_that_is_silent_for_a_while_is_asked_again(silent_s: float, capsys: Printed) -> None:
    brokers = MovingCluster(1)
    brokers.move(0, 2, 3)
    ordinary = brokers.cluster.fault

    def fault(request: object, version: int, node: object) -> object:
        silent = isinstance(request, ListPartitionReassignmentsRequest) and 5 <= brokers.now_s < 5 + silent_s
        return HANG_UP if silent else ordinary(request, version, node)  # type: ignore[arg-type]

    brokers.cluster.fault = fault
    status, out, err = brokers.run("--watch", capsys)
    assert err.startswith("warning: the cluster does not respond, retrying for 5 min: ")
    if silent_s < 300:
        assert (status, out.splitlines()[-1]) == (0, "Completed: 1 of 1 reassignment.")
        assert err.endswith("the cluster responds again\n")
    else:
        assert status == 1
        assert err.endswith("  moves in progress continue; --watch follows them again\n")


def test_a_terminal_has_one_line_that_is_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    from io import StringIO

    from kafka_tools.clock import ManualClock

    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "12")
    out = Terminal()
    line = StatusLine(out, ManualClock())
    line.show("one partition in progress")
    line.show("two")
    line.clear()
    line.clear()
    assert out.getvalue() == "\rone partiti\x1b[K\rtwo\x1b[K\r\x1b[K"


# --execute in batches


def test_so_many_partitions_are_moved_at_once(capsys: Printed) -> None:
    brokers = MovingCluster(5)
    write(*plan(*range(5)))
    status, out, err = brokers.run(f"{EXECUTE} --batch-size 2", capsys)
    assert (status, err) == (0, "")
    assert brokers.begun == [[0, 1], [2, 3], [4]]
    assert brokers.most_at_once == 2
    assert set(brokers.replicas.values()) == {(2, 3)}
    lines = out.splitlines()
    assert lines[0] == "Current partition replica assignment"
    assert [line.split(", ")[0] for line in lines[5:]] == [
        "batch 1 of 3: 2 partitions in progress",
        "batch 2 of 3: 2 partitions in progress",
        "batch 3 of 3: 1 partition in progress",
        "Moved: 5 of 5 partitions; 0 were already in place.",
    ]


def test_all_at_once_may_be_followed_too(capsys: Printed) -> None:
    brokers = MovingCluster(3)
    write(*plan(0, 1, 2))
    status, out, _ = brokers.run(f"{EXECUTE} --watch -o json", capsys)
    rows = json.loads(out)["data"]
    assert (status, brokers.begun, [row["result"] for row in rows]) == (0, [[0, 1, 2]], ["completed"] * 3)
    assert (rows[0]["previous_replicas"], rows[0]["replicas"]) == ([1, 2], [2, 3])


def test_the_same_command_again_goes_on_where_it_was_killed(capsys: Printed) -> None:
    brokers = MovingCluster(4)

    def killed() -> None:
        raise KeyboardInterrupt  # in the second batch; nothing is kept anywhere but in the cluster

    brokers.at.append((14.0, killed))
    write(*plan(*range(4)))
    line = f"{EXECUTE} --batch-size 1 --throttle 5000000"
    status, _, err = brokers.run(line, capsys)
    assert (status, brokers.begun, list(brokers.moving)) == (130, [[0], [1]], [1])
    assert "repeat the command to continue with the rest" in err
    assert brokers.configs[4, "3"]
    status, out, _ = brokers.run(line, capsys)
    assert (status, brokers.begun) == (0, [[0], [1], [2], [3]]), "what is under way is not begun again"
    assert out.endswith("Moved: 3 of 4 partitions; 1 were already in place.\n")
    assert not any(brokers.configs.values()), "nor are throttles left"
    assert brokers.run(line, capsys)[1].endswith("Moved: 0 of 4 partitions; 4 were already in place.\n")
    assert len(brokers.begun) == 4


def test_what_others_have_under_way_is_refused_unless_asked_for(capsys: Printed) -> None:
    brokers = MovingCluster(3)
    brokers.move(2, 3, 1)
    write(*plan(0))
    status, out, err = brokers.run(f"{EXECUTE} --batch-size 1", capsys)
    assert (status, out, brokers.begun) == (1, "", [])
    assert "Cannot execute because there is an existing partition assignment." in err
    assert brokers.run(f"{EXECUTE} --batch-size 1 --additional", capsys)[0] == 0


def test_partitions_that_fail_do_not_stop_the_rest(capsys: Printed) -> None:
    brokers = MovingCluster(5)
    brokers.refused[1] = error_codes.INVALID_REPLICA_ASSIGNMENT
    brokers.at.append((25.0, lambda: brokers.moving.pop(3)))
    write(*plan(0, 1, 2, 3, 4, 9), *plan(0, topic="nowhere"))
    status, out, err = brokers.run(f"{EXECUTE} --batch-size 1", capsys)
    assert status == 1
    assert [brokers.replicas[number] for number in range(5)] == [(2, 3), (1, 2), (2, 3), (1, 2), (2, 3)]
    assert out.endswith("Moved: 3 of 7 partitions; 0 were already in place, 4 failed.\n")
    complaints = [line for line in err.splitlines() if line.startswith(NAME)]
    assert [line.split(": ")[2] for line in complaints] == ["t-9", "nowhere-0", "t-1", "t-3"]
    assert "warning: batch 2 of 5: 1 partition failed: the first is t-1: INVALID_REPLICA_ASSIGNMENT" in err


def test_what_concerns_all_partitions_ends_it_at_once(capsys: Printed) -> None:
    brokers = MovingCluster(4)
    brokers.refused = dict.fromkeys(range(4), error_codes.CLUSTER_AUTHORIZATION_FAILED)
    write(*plan(*range(4)))
    status, _, err = brokers.run(f"{EXECUTE} --batch-size 1", capsys)
    assert (status, len(brokers.begun), len(err.splitlines())) == (1, 1, 1)
    assert err.startswith(f"{NAME}: CLUSTER_AUTHORIZATION_FAILED")


def test_partitions_for_a_broker_that_is_away_are_put_off_and_tried_at_the_end(capsys: Printed) -> None:
    brokers = MovingCluster(3)
    brokers.dead.add(3)
    write(*plan(0), *plan(1, 2, replicas=(2, 1)))
    status, _, err = brokers.run(f"{EXECUTE} --batch-size 1", capsys)
    assert (status, brokers.begun, brokers.replicas[0]) == (1, [[1], [2]], (1, 2))
    assert f"{NAME}: Error reassigning partition(s): t-0: broker 3 does not exist or does not respond: no " in err
    brokers = MovingCluster(3)
    brokers.dead.add(3)
    brokers.at.append((5.0, brokers.dead.clear))
    status, _, err = brokers.run(f"{EXECUTE} --batch-size 1", capsys)
    assert (status, brokers.begun) == (0, [[1], [2], [0]])
    assert err == "warning: batch 1 of 3: 1 partition postponed: broker 3 does not exist or does not respond\n"


def test_a_batch_that_waits_for_a_dead_broker_is_left_behind(capsys: Printed) -> None:
    brokers = MovingCluster(3)
    brokers.at.append((3.0, lambda: brokers.dead.add(3)))
    write(*plan(0), *plan(1, 2, replicas=(2, 1)))
    status, out, err = brokers.run(f"{EXECUTE} --batch-size 1 --throttle 50000000", capsys)
    assert (status, brokers.begun, list(brokers.moving)) == (1, [[0], [1], [2]], [0])
    assert "warning: broker 3 does not respond: 1 partition waits for it" in err
    assert "warning: batch 1 of 3: 1 partition left behind: no progress" in err
    assert "t-0: still in progress: no progress for 5 min: waiting for broker 3" in err
    assert "throttles stay: 1 reassignment is in progress" in err
    assert out.endswith("Moved: 2 of 3 partitions; 0 were already in place, 1 failed.\n")
    assert brokers.now_s < 600
    brokers.dead.clear()
    assert brokers.run(f"{EXECUTE} --batch-size 1", capsys)[0] == 0
    assert not any(brokers.configs.values())


def test_a_throttle_that_lets_little_through_is_waited_for(capsys: Printed) -> None:
    """Under a throttle a replica gets some megabytes at once, and then nothing for as long as they count."""
    brokers = MovingCluster(2)
    brokers.stuck.add(0)
    brokers.at.append((5000.0, brokers.stuck.clear))
    write(*plan(0, 1))
    assert brokers.run(f"{EXECUTE} --batch-size 1 --throttle 2000", capsys)[0] == 0
    assert brokers.begun == [[0], [1]]


def test_moves_between_log_directories_belong_to_their_batch(capsys: Printed) -> None:
    brokers = MovingCluster(2)
    write(*plan(0, 1, replicas=(1, 3), log_dirs=["/b", "any"]))
    status, out, _ = brokers.run(f"{EXECUTE} --batch-size 1 -o json", capsys)
    rows = json.loads(out)["data"]
    assert (status, brokers.begun) == (0, [[0], [1]])
    assert [(row["partition"], row["broker"], row["log_dir"]) for row in rows] == [
        (0, None, None), (0, 1, "/b"), (1, None, None), (1, 1, "/b"),
    ]  # fmt: skip
    assert {row["result"] for row in rows} == {"completed"}
    _, out, _ = brokers.run(f"{EXECUTE} --batch-size 1 -o json", capsys)
    assert [row["result"] for row in json.loads(out)["data"]] == ["unchanged"] * 2


def test_a_partition_may_have_the_name_of_another_ones_replica(capsys: Printed) -> None:
    brokers = MovingCluster(2)
    brokers.names[1] = "t-0"
    write(*plan(0, replicas=(1, 2), log_dirs=["/b", "any"]), *plan(1, replicas=(2, 1), topic="t-0"))
    status, out, err = brokers.run(f"{EXECUTE} --watch -o json", capsys)
    assert (status, [line for line in err.splitlines() if "in progress" not in line]) == (0, [])
    assert [(row["topic"], row["partition"], row["broker"]) for row in json.loads(out)["data"]] == [
        ("t", 0, None), ("t-0", 1, None), ("t", 0, 1),
    ]  # fmt: skip


def test_what_others_move_elsewhere_is_not_there_already(capsys: Printed) -> None:
    brokers = MovingCluster(1)
    brokers.move(0, 2, 3)
    write(*plan(0, replicas=(2, 3, 1)))
    status, out, _ = brokers.run(f"{EXECUTE} --watch --additional", capsys)
    assert (status, brokers.replicas) == (0, {0: (2, 3, 1)})
    assert out.endswith("Moved: 1 of 1 partitions; 0 were already in place.\n")


@pytest.mark.parametrize("line", [f"{EXECUTE} --batch-size 1 --throttle 2000000", "--watch"])
@pytest.mark.parametrize("asked", ["DescribeTopicPartitions", "IncrementalAlterConfigs"])
def test_a_cluster_that_is_silent_at_the_end_is_asked_again(line: str, asked: str, capsys: Printed) -> None:
    brokers = MovingCluster(2)
    write(*plan(0, 1))
    if line == "--watch":
        for number in (0, 1):
            write(*plan(number))
            brokers.run(f"{EXECUTE} --additional --throttle 2000000", capsys)
    answer = brokers.cluster.fault
    since: list[float] = []

    def silent(request: Any, version: int, node: Any) -> Any:
        answered = answer(request, version, node)
        is_over = not brokers.moving and len(brokers.begun) == 2
        if is_over and type(request).__name__ == f"{asked}Request" and not since:
            since.append(brokers.now_s)
        return HANG_UP if since and brokers.now_s < since[0] + 90 else answered

    brokers.cluster.fault = silent
    status, out, err = brokers.run(f"{line} -o json", capsys)
    assert (status, len(json.loads(out or "{}")["data"])) == (0, 2), err
    assert since and not any(brokers.configs.values())


def test_a_cluster_that_is_silent_when_a_batch_has_begun_is_asked_again(capsys: Printed) -> None:
    brokers = MovingCluster(2)
    write(*plan(0, 1))
    answer = brokers.cluster.fault

    def silent(request: Any, version: int, node: Any) -> Any:
        has_begun = 1 in brokers.moving and brokers.moving[1].began_s + 60 > brokers.now_s
        return HANG_UP if has_begun and len(brokers.begun) == 2 else answer(request, version, node)

    brokers.cluster.fault = silent
    status, _, err = brokers.run(f"{EXECUTE} --batch-size 1", capsys)
    assert (status, brokers.replicas) == (0, {0: (2, 3), 1: (2, 3)}), err
    assert "the cluster responds again" in err


@pytest.mark.parametrize(
    "line, message",
    [
        ("--list --watch", 'Option "[watch]" can\'t be used with action "[list]"'),
        ("--watch --batch-size 2", 'Option "[batch-size]" can\'t be used with action "[watch]"'),
        ("--verify --reassignment-json-file f --batch-size 2", 'Option "[batch-size]" can\'t be used with action'),
        ("--execute --reassignment-json-file f --batch-size 0", "Invalid value for '--batch-size'"),
    ],
)
def test_wrong_command_lines(line: str, message: str, capsys: Printed) -> None:
    status, out, err = MovingCluster().run(line, capsys)
    assert (status, out) == (2, "")
    assert err.startswith(f"{NAME}: {message}")


def test_sizes_and_spans_are_told_in_units_that_fit() -> None:
    assert [bytes_text(size) for size in (0, 1023, 1536, 200 << 20, None)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "200 MiB",
        "-",
    ]
    spans = {0: "0 s", 59.6: "1 min", 61: "1 min 1 s", 3600: "1 h", 3661: "1 h 1 min", 90_061: "1 d 1 h"}
    assert {seconds: span_text(seconds) for seconds in spans} == spans
