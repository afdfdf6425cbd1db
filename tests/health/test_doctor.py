"""``kafka-tools doctor`` on the bundled broker: one line when all is well, and what it says when something is not."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.commands import running
from kafka_tools.health.round_trip import TOPIC
from tests.net.stores import PASSWORD, client, write_stores

Doctor = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture
def doctor(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> Doctor:
    def run(*words: str, at: str = broker.bootstrap_servers) -> tuple[int, str]:
        capsys.readouterr()
        status = running.run(cli.root, ["doctor", "-b", at, *words], "kafka-tools")
        captured = capsys.readouterr()
        assert (captured.err != "") == (status != 0)
        return status, captured.out + captured.err

    return run


def test_one_line_if_all_is_well(doctor: Doctor) -> None:
    status, output = doctor()
    assert status == 0
    assert output.count("\n") == 1 and ": all is well (1 broker, " in output


def test_a_finding_has_evidence_and_the_next_command(broker: EmbeddedBroker, doctor: Doctor) -> None:
    with AdminClient(broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic("strict", 1, 1, configs={"min.insync.replicas": "2"})]).raise_any()
        status, output = doctor()
        rows = json.loads(doctor("-o", "json")[1].partition("kafka-tools doctor:")[0])["data"]
        names = doctor("--check", "configs", "-o", "name")[1].splitlines()[0]
        others = doctor("--check", "groups")
        admin.delete_topics(["strict"]).raise_any()
    assert status == 1
    assert "ERROR   1 of 1 topic with min.insync.replicas above the number of replicas: writes" in output
    assert "        evidence: strict (2 of 1)\n        next:     kafka-configs -b $B --alter" in output
    assert ": something is wrong (1 broker, 1 partition, " in output
    assert output.endswith(" s)\nkafka-tools doctor: 1 error, 0 warnings\n")
    assert [(row["check"], row["severity"]) for row in rows] == [("configs", "error")]
    assert names == "configs"
    assert others[0] == 0


def test_what_cannot_be_asked_is_said(broker: EmbeddedBroker, doctor: Doctor) -> None:
    with broker.faults.error("list_groups", "CLUSTER_AUTHORIZATION_FAILED"):
        status, output = doctor()
    assert status == 0
    assert "INFO    not checked: groups\n        evidence: CLUSTER_AUTHORIZATION_FAILED" in output


def test_the_round_trip_leaves_nothing_behind(broker: EmbeddedBroker, doctor: Doctor) -> None:
    status, output = doctor("--round-trip", "--check", "brokers")
    with AdminClient(broker.bootstrap_servers) as admin:
        assert TOPIC not in {topic.name for topic in admin.list_topics()}
    assert status == 0
    assert "INFO    a record was written and read back\n        evidence: written in " in output


def test_a_round_trip_that_fails_says_at_which_step(broker: EmbeddedBroker, doctor: Doctor) -> None:
    with broker.faults.error("produce", "INVALID_RECORD"):
        status, output = doctor("--round-trip", "--check", "brokers")
    assert status == 1
    assert "ERROR   cannot write a record of the round trip\n        evidence: INVALID_RECORD" in output


def test_a_connection_is_tried_step_by_step(doctor: Doctor) -> None:
    status, output = doctor("--check", "connect")
    steps = [line.split()[:2] for line in output.splitlines() if line.startswith("  ")]
    assert status == 0
    assert steps == [["ok", "name"], ["ok", "port"], ["ok", "request"], ["ok", "advertised"]]


def test_the_first_failing_step_of_each_address_is_the_last(doctor: Doctor) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{unused.getsockname()[1]}"
        status, output = doctor("--check", "connect", at=f"{closed},nowhere.invalid:9092")
    assert status == 1
    assert f"  FAILED  port       {closed}: 127.0.0.1: connection refused\n          no process listens there" in output
    assert "  FAILED  name       nowhere.invalid: " in output


def test_tls_steps_tell_the_certificate_and_what_is_wrong(
    broker: EmbeddedBroker, doctor: Doctor, tmp_path: Path
) -> None:
    write_stores(tmp_path)
    config = {"ssl.keystore.location": str(tmp_path / "server.p12"), "ssl.keystore.password": PASSWORD}
    words = [word for each in client(tmp_path, "pem").items() for word in ("--command-property", "=".join(each))]
    with EmbeddedBroker(listeners=["SSL://127.0.0.1:0"], config=config) as encrypted:
        status, output = doctor("--check", "connect", *words, at=encrypted.bootstrap_servers)
        strange = doctor("--check", "connect", "--command-property", "security.protocol=SSL",
                         at=encrypted.bootstrap_servers)  # fmt: skip
    assert status == 0
    assert "  ok      TLS        TLSv1." in output and ", valid for " in output
    assert strange[0] == 1
    assert "  FAILED  TLS        TLS: cannot verify the certificate of " in strange[1]
    assert "  FAILED  TLS        TLS handshake with " in doctor("--check", "connect", *words)[1]


def test_a_refused_login_is_a_step(doctor: Doctor) -> None:
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    config = {
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{plain} user_alice="right-9";',
        "sasl.enabled.mechanisms": "PLAIN",
    }
    with EmbeddedBroker(listeners=["SASL_PLAINTEXT://127.0.0.1:0"], config=config) as broker:
        for password, expected in (("right-9", "  ok      login      PLAIN ("), ("wrong-7", "  FAILED  login      ")):
            settings = {
                "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f'{plain} username="alice" password="{password}";',
            }  # fmt: skip
            words = [word for each in settings.items() for word in ("--command-property", "=".join(each))]
            status, output = doctor("--check", "connect", *words, at=broker.bootstrap_servers)
            assert status == (password != "right-9")
            assert expected in output and password not in output
