"""``kafka-reassign-partitions`` when the active controller hangs: brokers turn to the next one after a time, and so do
commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from tests.commands.partitions.moving_cluster import MovingCluster
from tests.net.virtual import Later

Printed = pytest.CaptureFixture[str]
FILE = "--reassignment-json-file plan.json"
CONTROLLER = 1
FENCED_S = 12.0
"""When the next controller sees that the broker beside the hung one is gone."""
SOCKET_TIMEOUT_S = 30.0
"""``controller.socket.timeout.ms``."""
_PASSED_ON = ListPartitionReassignmentsRequest | AlterPartitionReassignmentsRequest | IncrementalAlterConfigsRequest


@pytest.fixture(autouse=True)
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    partitions = [{"topic": "t", "partition": number, "replicas": [2, 3]} for number in (0, 1)]
    Path("plan.json").write_text(json.dumps({"version": 1, "partitions": partitions}), encoding="utf-8")


def hang(brokers: MovingCluster) -> None:
    """Stop the controller's node. A broker that passes something on is ready 30 s after the last of it."""
    began_s = brokers.now_s
    brokers.silent.add(CONTROLLER)
    brokers.cluster.nodes[CONTROLLER - 1].swallows = lambda: True
    answer: Any = brokers.cluster.fault
    ready_s: dict[int, float] = {}

    def hung(request: Any, version: int, node: Any) -> Any:
        reply = answer(request, version, node)
        if node.id == CONTROLLER:
            return reply
        if isinstance(request, MetadataRequest) and brokers.now_s > began_s + FENCED_S:
            reply.brokers = [each for each in reply.brokers if each.node_id != CONTROLLER]
            reply.controller_id = 3
        if isinstance(request, _PASSED_ON) and brokers.now_s < ready_s.get(node.id, float("inf")):
            ready_s[node.id] = brokers.now_s + SOCKET_TIMEOUT_S
            return Later(SOCKET_TIMEOUT_S, reply)
        return reply

    brokers.cluster.fault = hung


def test_a_throttled_move_is_cancelled_through_the_next_controller(capsys: Printed) -> None:
    brokers = MovingCluster(2)
    assert brokers.run(f"--execute {FILE} --throttle 1000", capsys)[0] == 0
    hang(brokers)
    status, out, err = brokers.run(f"--cancel {FILE} --timeout 60s", capsys)
    assert (status, brokers.moving) == (1, {})
    assert "Successfully cancelled partition reassignments for: t-0,t-1\n" in out
    assert "Clearing broker-level throttles on brokers 2,3\nClearing topic-level throttles on topic t\n" in out
    assert "warning: broker 1 is down: its throttles stay; run --list again when it is back\n" in err
    assert [name for (_, name), values in brokers.configs.items() if values] == ["1"]


def test_batches_go_on_through_the_next_controller(capsys: Printed) -> None:
    brokers = MovingCluster(2)
    brokers.at.append((3.0, lambda: hang(brokers)))
    status, out, err = brokers.run(f"--execute {FILE} --batch-size 1 --throttle 50000000", capsys)
    assert (status, brokers.replicas) == (0, {0: (2, 3), 1: (2, 3)}), err
    assert out.endswith("Moved: 2 of 2 partitions; 0 were already in place.\n")
    assert [name for (_, name), values in brokers.configs.items() if values] == ["1"]
    assert "broker 1 is down: its throttles stay" in err


def test_a_command_that_has_no_time_for_the_next_controller_says_how_to_go_on(capsys: Printed) -> None:
    brokers = MovingCluster(2)
    hang(brokers)
    status, out, err = brokers.run(f"--cancel {FILE} --timeout 20s", capsys)
    assert (status, out) == (1, "")
    assert "timed out after 20 s" in err
    assert "tries the next one after 30 s (controller.socket.timeout.ms)" in err
