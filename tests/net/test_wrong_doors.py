"""Listeners reached in another language than theirs, by every kind of command (the bundled broker)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from tests.net import wrong_doors
from tests.net.stores import PASSWORD, write_stores

NAMES = ("PLAINTEXT", "SASL_PLAINTEXT", "SSL", "SASL_SSL")
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Listener -> address, and what trusts their certificate."""
    folder = tmp_path_factory.mktemp("doors")
    write_stores(folder)
    config = {
        "ssl.keystore.location": str(folder / "server.p12"),
        "ssl.keystore.password": PASSWORD,
        "sasl.enabled.mechanisms": "PLAIN",
        "connection.failed.authentication.delay.ms": "0",
    }
    config |= {
        f"listener.name.{name}.plain.sasl.jaas.config": f'{PLAIN} user_admin="right";'
        for name in ("sasl_plaintext", "sasl_ssl")
    }
    trust = {"ssl.truststore.location": str(folder / "trust.jks"), "ssl.truststore.password": PASSWORD}
    with EmbeddedBroker(listeners=[f"{name}://127.0.0.1:0" for name in NAMES], config=config) as broker:
        endpoints = broker.call(lambda core: core.registration.endpoints)
        yield {name: f"127.0.0.1:{endpoints[name][1]}" for name in NAMES}, trust


@pytest.mark.parametrize("number", range(len(wrong_doors.doors({}))))
def test_every_command_says_at_once_what_does_not_fit(place, number, capsys, monkeypatch, tmp_path) -> None:
    addresses, trust = place
    door = wrong_doors.doors(trust)[number]
    (tmp_path / "lines").write_text("a record\n")
    for command in wrong_doors.COMMANDS:
        if command == "features describe" and "requires a SASL login" in door.says:
            continue  # the bundled broker tells its versions, which hold the features, more than once before the login
        with open(tmp_path / "lines") as lines:
            monkeypatch.setattr("sys.stdin", lines)
            wrong_doors.check(door, addresses[door.listener], command, capsys)
