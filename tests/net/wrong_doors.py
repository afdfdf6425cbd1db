"""Each way to knock at a listener in another language than it speaks, as one table of (listener, settings, words).

Run against the bundled broker and against real Kafka: a command says so at once, whatever ``--timeout`` allows.
"""

from __future__ import annotations

import re
import time
from typing import NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.commands import running

LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="wrong";'
SASL = {"sasl.mechanism": "PLAIN", "sasl.jaas.config": LOGIN}
TOKEN = 'OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="me";'
OTHER_MECHANISM = {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": TOKEN}
UNCHECKED = {"ssl.endpoint.identification.algorithm": ""}
TIMEOUT_S = 60
AT_ONCE_S = 20
"""Far below the timeout, far above what is needed on a busy machine."""

COMMANDS = (
    "topics --list",
    "topics --delete --topic t",
    "configs --describe --entity-type topics --entity-name t",
    "configs --alter --entity-type topics --entity-name t --add-config retention.ms=1000",
    "consumer-groups --list",
    "consumer-groups --describe --group g",
    "acls --list",
    "scram --delete SCRAM-SHA-256 --username u",
    "broker-api-versions",
    "cluster cluster-id",
    "features describe",
    "metadata-quorum describe --replication",
    "console-consumer --topic t",
    "console-producer --topic t",
)
OF_EACH_KIND = (COMMANDS[0], COMMANDS[3], COMMANDS[5], COMMANDS[9], *COMMANDS[-2:])
"""One that reads, one that changes, one that needs a coordinator, one about the cluster, and the two clients."""


class Door(NamedTuple):
    """A listener, the settings of a client that is not for it, and a pattern of what is said."""

    listener: str
    settings: dict[str, str]
    says: str


def doors(trust: dict[str, str]) -> list[Door]:
    """``trust``: settings by which a client trusts the listeners' certificate."""
    plain = {"security.protocol": "PLAINTEXT"}
    ssl = {"security.protocol": "SSL", **trust, **UNCHECKED}
    sasl = {"security.protocol": "SASL_PLAINTEXT", **SASL}
    sasl_ssl = {"security.protocol": "SASL_SSL", **SASL, **trust, **UNCHECKED}
    other = {"security.protocol": "SASL_PLAINTEXT", **OTHER_MECHANISM}
    tls_wanted = "SSL or SASL_SSL|security.protocol=SSL"
    return [
        Door("SASL_PLAINTEXT", plain, "requires a SASL login.*security.protocol=SASL_PLAINTEXT"),
        Door("SASL_SSL", ssl, "requires a SASL login.*security.protocol=SASL_SSL"),
        Door("SSL", plain, tls_wanted),
        Door("SASL_SSL", plain, tls_wanted),
        Door("SSL", sasl, tls_wanted),
        Door("SASL_SSL", sasl, tls_wanted),
        Door("PLAINTEXT", ssl, "check that this port speaks TLS"),
        Door("SASL_PLAINTEXT", sasl_ssl, "check that this port speaks TLS"),
        Door("PLAINTEXT", sasl, "does not use SASL on this listener|closed the connection during the SASL login"),
        Door("SASL_PLAINTEXT", other, "does not offer SASL mechanism OAUTHBEARER; it offers"),
        Door("SASL_PLAINTEXT", sasl, "refused the login with PLAIN"),
    ]


def check(door: Door, address: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a command with the wrong settings: it fails at once, in one line that says what is wrong."""
    name, *arguments = command.split()
    given = ["--bootstrap-server", address]
    for key, value in door.settings.items():
        given += ["--command-property", f"{key}={value}"]
    if not name.startswith("console"):
        given += ["--timeout", f"{TIMEOUT_S}s"]
    place = 1 if name in ("cluster", "features", "metadata-quorum") else 0
    arguments[place:place] = given
    began_s = time.monotonic()
    status = running.run(cli.load(name), arguments, f"kafka-{name}")
    took_s = time.monotonic() - began_s
    out, err = capsys.readouterr()
    said = " ".join(err.split())
    assert status == 1, (command, out, err)
    assert re.search(door.says, said), (command, said)
    assert took_s < AT_ONCE_S, (command, took_s, said)
