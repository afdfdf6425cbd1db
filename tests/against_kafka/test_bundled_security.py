"""Kafka's own tools on a bundled broker that asks who they are: delegation tokens, certificates, ACLs."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker

Tool = Callable[..., "subprocess.CompletedProcess[str]"]

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
ACL_COMMAND = "org.apache.kafka.tools.AclCommand"
TOPIC_COMMAND = "org.apache.kafka.tools.TopicCommand"
TOKEN_COMMAND = {
    "2.2.2": "kafka.admin.DelegationTokenCommand",
    "3.9.2": "org.apache.kafka.tools.DelegationTokenCommand",
    "4.3.1": "org.apache.kafka.tools.DelegationTokenCommand",
}


@pytest.fixture(scope="module")
def guarded() -> Iterator[EmbeddedBroker]:
    config = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "plain.sasl.jaas.config": f'{PLAIN} user_alice="pa" user_admin="pw";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin",
        "delegation.token.secret.key": "a secret key",
    }
    with EmbeddedBroker(listeners="SASL_PLAINTEXT://127.0.0.1:0", config=config) as broker:
        yield broker


def properties(folder: Path, name: str, values: Mapping[str, str]) -> Path:
    path = folder / f"{name}.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    return path


def login(folder: Path, mechanism: str, jaas: str) -> Path:
    values = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
    return properties(folder, mechanism, values)


@pytest.mark.req("DT-1", "DT-2", "DT-11", "DT-12")
@pytest.mark.parametrize("release", ["2.2.2", "3.9.2", "4.3.1"])
def test_kafkas_tools_make_tokens_log_in_with_them_and_end_them(
    guarded: EmbeddedBroker, java_tool: Tool, tmp_path: Path, release: str
) -> None:
    address = ["--bootstrap-server", guarded.bootstrap_servers, "--command-config"]
    admin = login(tmp_path, "PLAIN", f'{PLAIN} username="admin" password="pw";')
    topic = f"seen-by-{release}"
    java_tool("4.3.1", TOPIC_COMMAND, *address, admin, "--create", "--topic", topic)
    java_tool(
        "4.3.1", ACL_COMMAND, *address, admin, "--add", "--allow-principal", "User:alice", "--operation", "Describe",
        "--topic", topic,
    )  # fmt: skip

    alice = login(tmp_path, "PLAIN", f'{PLAIN} username="alice" password="pa";')

    def tokens(*arguments: object, config: Path = alice) -> str:
        ended = java_tool(release, TOKEN_COMMAND[release], *address, config, *arguments)
        return ended.stdout + ended.stderr

    made = tokens("--create", "--max-life-time-period", "3600000", "--renewer-principal", "User:bob")
    found = re.search(r"^(\S{22})\s+(\S{88})\s+User:alice\s.*User:bob", made, re.MULTILINE)
    assert found, made
    token_id, hmac = found.groups()
    assert token_id in tokens("--describe", "--owner-principal", "User:alice")
    assert "Completed renew operation" in tokens("--renew", "--renew-time-period", "60000", "--hmac", hmac)

    jaas = f'{SCRAM} username="{token_id}" password="{hmac}" tokenauth="true";'
    with_token = login(tmp_path, "SCRAM-SHA-256", jaas)
    listed = java_tool("4.3.1", TOPIC_COMMAND, *address, with_token, "--list")
    assert topic in listed.stdout.split(), listed.stderr
    refused = tokens("--create", "--max-life-time-period", "-1", config=with_token)
    assert "Delegation Token requests are not allowed" in refused, refused

    assert "Completed expire operation" in tokens("--expire", "--expiry-time-period", "-1", "--hmac", hmac)
    assert token_id not in tokens("--describe", "--owner-principal", "User:alice")
