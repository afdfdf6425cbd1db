"""What a client over TLS meets, as one table: run against the bundled broker and against real Kafka.

The listener SSL demands a client certificate; SASL_SSL has a certificate that has expired (PLAIN, alice). ``Place``
says where they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_tools.admin.client import AdminClient
from kafka_tools.clock import SystemClock
from kafka_tools.errors import KafkaToolsError
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.trace import Trace
from tests.net.stores import client

UNTRUSTED = r"TLS: cannot verify the certificate of .*: .*(self.signed|unable to get local issuer|issuer certificate)"


class Place(NamedTuple):
    """Ports of a broker's listeners, and the folder with ``stores``."""

    folder: Path
    ports: dict[str, int]


def reached(place: Place, values: dict[str, str], listener: str = "SSL", host: str = "127.0.0.1") -> str:
    """The trace of asking who is there; raises what goes wrong."""
    lines: list[str] = []
    config = ClientConfig({"bootstrap.servers": f"{host}:{place.ports[listener]}"} | values)
    with AdminClient(config, timeout_s=30, trace=Trace(lines.append, SystemClock())) as admin:
        assert admin.describe_cluster().cluster_id
    return "".join(lines)


def refused(place: Place, values: dict[str, str], listener: str, host: str, message: str, hint: str) -> None:
    """Check that asking fails with one clear line, and nothing secret in it."""
    with pytest.raises(KafkaToolsError, match=message) as caught:
        reached(place, values, listener, host)
    text = f"{caught.value} {caught.value.hint}"
    assert "\n" not in str(caught.value)
    assert hint in str(caught.value.hint)
    assert "store-secret" not in text and "PRIVATE KEY" not in text


class Refusal(NamedTuple):
    """Settings on top of those of a right client (None takes one away), and what the operator must be told."""

    name: str
    changes: dict[str, str | None]
    message: str
    hint: str
    listener: str = "SSL"
    host: str = "127.0.0.1"


NO_KEY: dict[str, str | None] = {"ssl.keystore.location": None, "ssl.keystore.type": None}
LOGIN: dict[str, str | None] = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'PlainLoginModule required username="alice" password="p";',
}

REFUSALS = [
    Refusal("another authority", {"ssl.truststore.location": "other-ca.pem"}, UNTRUSTED, "ssl.truststore.location"),
    Refusal(
        "another name",
        {},
        r"cannot verify the certificate of localhost:\d+: .*[Hh]ostname",
        "by a name in the",
        host="localhost",
    ),
    Refusal(
        "expired",
        LOGIN,
        r"cannot verify the certificate of .*: certificate has expired",
        "renew the certificate",
        "SASL_SSL",
    ),
    Refusal(
        "no client certificate",
        NO_KEY,
        r"TLS.*refused|closed the connection|being disconnected",
        "ssl.keystore.location",
    ),
    Refusal(
        "a stranger's certificate",
        {"ssl.keystore.location": "stranger.pem"},
        r"TLS.*refused|closed the connection|being disconnected",
        "ssl.keystore.location",
    ),
    Refusal(
        "our certificate has expired",
        {"ssl.keystore.location": "expired.pem"},
        r"TLS.*refused|closed the connection|being disconnected",
        "ssl.keystore.location",
    ),
    Refusal(
        "a plaintext listener",
        {},
        r"TLS handshake with .* failed: the response is not TLS|closed the connection|being disconnected",
        "speaks TLS",
        "PLAINTEXT",
    ),
    Refusal(
        "no TLS on a TLS listener",
        {"security.protocol": "PLAINTEXT"},
        r"closed the connection|being disconnected|TLS alert",
        "SSL",
    ),
]

ALLOWED = {
    "TLSv1.2": {"ssl.enabled.protocols": "TLSv1.2"},
    "TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": {"ssl.cipher.suites": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"},
    "TLSv1.3": {"ssl.enabled.protocols": "TLSv1.3"},
    "TLSv1.3 TLS_AES_256_GCM_SHA384": {"ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"},
}
"""What is agreed on -> the settings that leave no other choice."""


def check_refusal(place: Place, case: Refusal) -> None:
    values: dict[str, str | None] = {**client(place.folder, "pem"), **case.changes}
    files = {
        key: str(place.folder / value)
        for key, value in case.changes.items()
        if key.endswith(".location") and value is not None
    }
    given = {key: value for key, value in {**values, **files}.items() if value is not None}
    refused(place, given, case.listener, case.host, case.message, case.hint)


def check_allowed(place: Place, wanted: str) -> None:
    [line] = [
        line
        for line in reached(place, client(place.folder, "pem") | ALLOWED[wanted]).splitlines()
        if "connection.tls" in line
    ][:1]
    assert _java_name(line).endswith(wanted) or f" {wanted} " in line


def _java_name(line: str) -> str:
    return line.replace("ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384")


def check_name_check_off(place: Place) -> None:
    reached(place, client(place.folder, "pem") | {"ssl.endpoint.identification.algorithm": ""}, host="localhost")


def check_form(place: Place, form: str) -> None:
    reached(place, client(place.folder, form))
