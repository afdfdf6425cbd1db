"""kafka-scram against the bundled broker."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.commands import running


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    from kafka_tools.broker_embedded import EmbeddedBroker

    with EmbeddedBroker() as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def run(servers: str, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(*arguments: object) -> Ended:
        status = running.run(cli.load("scram"), [*map(str, arguments), "--bootstrap-server", servers], "kafka-scram")
        return Ended(status, *capsys.readouterr())

    return ended


BOTH = "SCRAM-SHA-256=[iterations=8192,password=alice-secret],SCRAM-SHA-512=[password=alice-secret]"


@pytest.mark.req("SC-3", "SC-4", "SC-5", "SC-13", "GAP-5")
def test_a_mechanism_is_deleted_and_the_others_stay(run: Run) -> None:
    assert run("--add", BOTH, "--username", "alice").out == "Completed updating config for user alice.\n"
    described = run("--describe", "--username", "alice").out
    assert "SCRAM-SHA-256=iterations=8192" in described and "SCRAM-SHA-512=iterations=4096" in described
    assert run("--delete", "SCRAM-SHA-512", "--username", "alice").status == 0
    assert run("--describe", "--username", "alice").out == (
        "SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-256=iterations=8192\n"
    )
    again = run("--delete", "SCRAM-SHA-512", "--username", "alice")
    assert (again.status, again.out) == (1, "")
    assert "user 'alice': RESOURCE_NOT_FOUND" in again.err
    assert run("--delete", "SCRAM-SHA-256", "--username", "alice").status == 0
    gone = run("--describe", "--username", "alice")
    assert gone == Ended(1, "", "kafka-scram: alice: user 'alice' has no SCRAM credentials\n")


def test_several_users_share_a_password(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_text("s3cret\n", encoding="utf-8")
    users = ("--username", "u1", "--username", "u2")
    added = run("--add", "SCRAM-SHA-512", *users, "--password-file", path, "-o", "json")
    assert [(row["user"], row["result"]) for row in json.loads(added.out)["data"]] == [
        ("u1", "stored"),
        ("u2", "stored"),
    ]
    described = run("--describe", *users, "-o", "json")
    assert {row["user"] for row in json.loads(described.out)["data"]} == {"u1", "u2"}
    assert run("--delete", "SCRAM-SHA-512", "--username", "u1").status == 0
    partly = run("--delete", "SCRAM-SHA-512", *users)
    assert (partly.status, partly.out) == (1, "Completed updating config for user u2.\n")
    assert "user 'u1': RESOURCE_NOT_FOUND" in partly.err


def test_a_dry_run_stores_nothing_and_shows_no_password(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("hunter2\n"))
    dry = run("--add", "SCRAM-SHA-256=[iterations=8192]", "--username", "dry", "--password-file", "-", "--dry-run")
    assert dry == Ended(
        0, "Would update config for user dry:\n  SCRAM-SHA-256: (not set) -> iterations=8192,password=[hidden]\n", ""
    )
    assert run("--describe", "--username", "dry").status == 1
    missing = run("--delete", "SCRAM-SHA-256", "--username", "dry", "--dry-run")
    assert (missing.status, missing.out) == (1, "")
    assert "user 'dry': Invalid config(s): SCRAM-SHA-256" in missing.err


@pytest.mark.req("SC-6")
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--describe", "--delete", "SCRAM-SHA-256", "--username", "u"),
        ("--add", BOTH, "--delete", "SCRAM-SHA-256", "--username", "u"),
        ("--add", BOTH, "--describe", "--username", "u"),
        ("--add", BOTH),
        ("--delete", "SCRAM-SHA-256"),
        ("--describe", "--dry-run"),
        ("--delete", "SCRAM-SHA-265", "--username", "u"),
    ],
)
def test_exactly_one_action_with_what_it_needs(run: Run, arguments: tuple[str, ...]) -> None:
    ended = run(*arguments)
    assert (ended.status, ended.out) == (2, "")
    assert "alice-secret" not in ended.err


@pytest.mark.parametrize("value", ["iterations=8192,passwd=alice-secret", "alice-secret", "Password=alice-secret"])
def test_a_misspelt_password_is_told_before_one_is_asked_for(run: Run, tmp_path: Path, value: str) -> None:
    file = tmp_path / "password"
    file.write_text("other-secret")
    for way in ((), ("--password-file", file)):
        ended = run("--add", f"SCRAM-SHA-256=[{value}]", "--username", "u", *way)
        assert (ended.status, ended.out) == (2, "")
        assert "expected [iterations=N,password=...] or [password=...]" in ended.err
        assert "secret" not in ended.err


def test_only_credentials_are_asked_for(run: Run) -> None:
    # Quotas need another right on the cluster, which who looks after users may not have.
    trace = run("--describe", "--trace").err
    assert "DescribeUserScramCredentials" in trace
    assert "DescribeClientQuotas" not in trace
