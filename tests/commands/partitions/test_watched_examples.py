"""The examples of --watch and --batch-size on the page are what the command prints, to the letter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.partitions.moving_cluster import NAME, MovingCluster
from tests.commands.test_doc_examples import examples


@pytest.mark.parametrize("action", ["--watch", "--batch-size"])
def test_the_page_shows_what_is_printed(
    action: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    brokers = MovingCluster(3, "orders")
    brokers.rate = 1 << 20
    for number in range(3):
        for id, path in ((1, "/var/kafka/data"), (2, "/var/kafka/more")):
            brokers.paths[number, id] = path
    if action == "--watch":
        brokers.move(0, 2, 3)
        brokers.move(1, 3, 1)
    entries = [{"topic": "orders", "partition": number, "replicas": [2, 3]} for number in range(3)]
    Path("plan.json").write_text(json.dumps({"version": 1, "partitions": entries}), encoding="utf-8")
    (example,) = [each for each in examples("reassign-partitions") if f" {action}" in each[0]]
    line, shown = example
    status, out, err = brokers.run(line.removeprefix(f"{NAME} -b kafka1:9092 "), capsys)
    assert status == 0
    # Both streams of a terminal: the note about throttles comes after the last line, as on the page.
    assert shown == out + err
