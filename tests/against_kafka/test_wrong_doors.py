"""Listeners of real Kafka reached in another language than theirs: told at once, by every kind of command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.against_kafka.harness import SECURE, RealKafka, Setup
from tests.against_kafka.jars import NEWEST
from tests.net import wrong_doors


@pytest.fixture(scope="module", params=["2.2.2", "3.9.2", NEWEST])
def kafka(request: pytest.FixtureRequest, real_kafka: Callable[[Setup], RealKafka]) -> RealKafka:
    return real_kafka(Setup(request.param, listeners=SECURE))


@pytest.mark.parametrize("number", range(len(wrong_doors.doors({}))))
def test_every_kind_of_command_says_at_once_what_does_not_fit(
    kafka: RealKafka,
    number: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    trust = {
        name: value for name, value in kafka.client_properties("SSL").items() if name.startswith("ssl.truststore.")
    }
    door = wrong_doors.doors(trust)[number]
    (tmp_path / "lines").write_text("a record\n", encoding="utf-8")
    for command in wrong_doors.OF_EACH_KIND:  # the bundled broker is asked by all
        with open(tmp_path / "lines", encoding="utf-8") as lines:
            monkeypatch.setattr("sys.stdin", lines)
            wrong_doors.check(door, kafka.bootstrap(door.listener), command, capsys)
