"""``kafka-reassign-partitions --cancel --bootstrap-controller``: controllers change brokers' configs, and tell none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest
from tests.commands.partitions.moving_cluster import MovingCluster

RATE = "leader.replication.throttled.rate"
FILE = "--reassignment-json-file plan.json"
CONTROLLER = 2
"""The one that there is; brokers 1 and 3 are none."""


@pytest.fixture
def brokers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MovingCluster:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    entry = {"topic": "t", "partition": 0, "replicas": [2, 3]}
    Path("plan.json").write_text(json.dumps({"partitions": [entry]}), encoding="utf-8")
    brokers = MovingCluster(1)
    answer = brokers.cluster.fault
    by_controllers = False

    def answered(request: Any, version: int, node: Any) -> Any:
        nonlocal by_controllers
        found = answer(request, version, node)
        if isinstance(request, DescribeClusterRequest):
            by_controllers = request.endpoint_type == 2
            if by_controllers:
                found.controller_id, found.endpoint_type = CONTROLLER, 2
                found.brokers = [each for each in found.brokers if each.broker_id == CONTROLLER]
        elif isinstance(request, DescribeConfigsRequest) and by_controllers:
            for each in found.results:
                if each.resource_type == 4 and each.resource_name != str(CONTROLLER):
                    each.error_code, each.configs = error_codes.INVALID_REQUEST, []
        return found

    brokers.cluster.fault = answered
    return brokers


@pytest.mark.parametrize("is_recorded", [True, False])
def test_throttles_go_with_what_is_cancelled(
    is_recorded: bool, brokers: MovingCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    brokers.configs[4, "1"] = {RATE: "77"}
    assert brokers.run(f"--execute {FILE} --throttle 1000", capsys)[0] == 0
    assert brokers.configs[4, "3"][RATE] == "1000"
    if not is_recorded:
        for record in (tmp_path / "state").rglob("*.json"):
            record.unlink()
    status, out, err = brokers.run(f"--cancel {FILE}", capsys, "--bootstrap-controller")
    assert (status, err, brokers.moving) == (0, "", {})
    cleared = "1,2,3" if is_recorded else "2,3"
    assert f"Clearing broker-level throttles on brokers {cleared}\n" in out
    left = {name: values for (_, name), values in brokers.configs.items() if values}
    if is_recorded:
        assert left == {"1": {RATE: "77"}}
    else:
        assert left.keys() == {"1"}, "no file says that broker 1 takes part, as with Kafka's tool"
    assert list((tmp_path / "state").rglob("*.json")) == []
