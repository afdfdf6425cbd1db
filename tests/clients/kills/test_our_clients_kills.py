"""A seeded part of the kill runs of our clients: nothing lost, nothing twice, order kept."""

from __future__ import annotations

from pathlib import Path

from tests.clients.kills.__main__ import Bundled
from tests.clients.kills.run import KillRun


def test_nothing_is_lost_or_doubled_while_the_broker_is_killed(tmp_path: Path) -> None:
    broker = Bundled(tmp_path)
    try:
        run = KillRun(broker, 7, print)
        run.run(2, most_up_s=1.5)
    finally:
        broker.close()
    assert run.problems == []
    assert run.copied == len(run.producer.acknowledged) == run.producer.sent > 0
    assert run.copier.committed > 0
