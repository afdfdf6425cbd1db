"""kafka-reassign-partitions --evacuate N --execute: plan and start in one step, on brokers in virtual time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.partitions.moving_cluster import MovingCluster

Printed = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The recorded throttles of this test only."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def test_a_broker_is_emptied_in_one_step(capsys: Printed) -> None:
    moving = MovingCluster()
    status, out, err = moving.run("--execute --evacuate 2 --watch", capsys)
    assert status == 0, err
    assert moving.replicas == dict.fromkeys(range(4), (1, 3))
    assert "plan: 4 of 4 partition(s) change; 4 replica(s) move, 400 MiB" in err
    assert "4 of 4 partitions" in out


def test_the_same_command_again_has_nothing_left_to_do(capsys: Printed) -> None:
    moving = MovingCluster()
    assert moving.run("--execute --evacuate 2 --watch", capsys)[0] == 0
    begun = list(moving.begun)
    status, out, err = moving.run("--execute --evacuate 2", capsys)
    assert (status, out) == (0, "")
    assert "nothing has to move: these brokers have no replicas, or they move already" in err
    assert moving.begun == begun


def test_only_the_partitions_of_named_topics_and_brokers_move(capsys: Printed) -> None:
    moving = MovingCluster()
    status, _, err = moving.run("--execute --evacuate 2 --topic t --broker-list 1,3 --throttle 50MB", capsys)
    assert status == 0, err
    assert {move.target for move in moving.moving.values()} == {(1, 3)}


@pytest.mark.parametrize(
    "line, reason",
    [
        ("--execute", 'Missing required argument "[reassignment-json-file]"'),
        ("--execute --evacuate 2 --reassignment-json-file f", "--evacuate and --reassignment-json-file cannot be"),
        ("--execute --evacuate 2 --strategy leaders", "--evacuate cannot be used with --strategy leaders"),
        ("--verify --evacuate 2 --reassignment-json-file f", 'Option "[evacuate]" can\'t be used with action'),
    ],
)
def test_options_that_do_not_fit(line: str, reason: str, capsys: Printed) -> None:
    status, _, err = MovingCluster().run(line, capsys)
    assert status == 2 and reason in err
