"""What the connection options give a command: settings, one deadline for everything, a trace."""

from __future__ import annotations

import pytest

from kafka_tools.admin.client import AdminClient
from kafka_tools.clock import ManualClock
from kafka_tools.commands.options.connection import ConnectionOptions, tracer
from kafka_tools.errors import ConfigError, UsageError


def connection(server: str | None = "127.0.0.1:9092", **changes: object) -> ConnectionOptions:
    given = {"bootstrap_controller": None, "command_config": None, "properties": {}, "timeout_ms": 5000, "trace": False}
    return ConnectionOptions(server, **{**given, **changes})  # type: ignore[arg-type]


@pytest.mark.req("CFG-3", "CFG-5")
def test_address_wins_over_property_and_property_over_file(tmp_path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("bootstrap.servers=file:1\nclient.id=file\nretry.backoff.ms=7\n", encoding="utf-8")
    properties = {"bootstrap.servers": "property:2", "client.id": "property"}
    config = connection("option:3", command_config=str(path), properties=properties).client_config()
    assert config.bootstrap == (("option", 3),)
    assert config.client_id == "property"
    assert config.number("retry.backoff.ms") == 7


def test_controllers_are_asked_when_they_are_named() -> None:
    assert connection(None, bootstrap_controller="c:1").client_config().is_controllers


def test_a_file_without_addresses_says_what_is_missing(tmp_path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("client.id=x\n", encoding="utf-8")
    with pytest.raises((ConfigError, UsageError), match="bootstrap"):
        connection(None, command_config=str(path)).admin()


def test_all_calls_of_a_command_share_one_deadline() -> None:
    clock = ManualClock()
    admin = AdminClient(connection().client_config(), timeout_s=5.0, clock=clock, one_deadline=True)
    first = admin.deadline()
    clock.advance(3.0)
    assert admin.deadline() is first
    assert admin.deadline().left_s() == pytest.approx(2.0)
    assert admin.deadline(4.0).left_s() == pytest.approx(4.0)


def test_trace_is_off_unless_asked_for() -> None:
    assert tracer(False) is None
    assert tracer(True) is not None


def test_unknown_settings_are_named_without_their_values(capsys) -> None:
    connection(properties={"sasl.pasword": "hunter2"}).client_config()
    err = capsys.readouterr().err
    assert "sasl.pasword" in err
    assert "hunter2" not in err


def test_a_file_that_holds_no_settings_is_not_repeated(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "client.properties"
    file.write_text("TOPSECRET\nfoo.bar=1\n", encoding="utf-8")
    connection(command_config=str(file)).client_config()
    said = capsys.readouterr().err
    assert "foo.bar" in said
    assert "TOPSECRET" not in said
