"""Every group id, principal and user that brokers store can be named on a command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.commands import running
from kafka_tools.net.config import ClientConfig
from kafka_tools.values import TopicPartition

Run = Callable[..., tuple[int, str, str]]
NAMES = (" ", " g ", "-x", "--group", "\u00fc\u4e2d", "a,b", "a:b", "a\nb", '"q"', ".*", "*")
FIRST = TopicPartition("t", 0)


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with EmbeddedBroker() as broker:
        with AdminClient(ClientConfig.load(broker.bootstrap_servers)) as admin:
            admin.create_topics([NewTopic("t", 1, 1)]).raise_any()
        yield broker.bootstrap_servers


@pytest.fixture
def run(servers: str, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(name: str, *words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        return running.run(cli.load(name), [*words, "-b", servers], f"kafka-{name}"), *capsys.readouterr()

    return ended


@pytest.mark.parametrize("name", ["", *NAMES])
def test_a_group_can_be_described_reset_and_deleted(name: str, servers: str, run: Run) -> None:
    with AdminClient(ClientConfig.load(servers)) as admin:
        admin.alter_group_offsets(name, {FIRST: 0}).raise_any()
    group = ("--group", name)
    for line in (
        ["--describe", *group],
        ["--describe", "--state", *group],
        ["--describe", "--members", *group],
        ["--reset-offsets", *group, "--topic", "t", "--to-earliest", "--execute"],
        ["--delete", *group],
    ):
        status, _, err = run("consumer-groups", *line)
        assert status == 0, err
    assert run("consumer-groups", "--list")[1].strip() == ""


@pytest.mark.parametrize("name", NAMES)
def test_quotas_and_credentials_of_a_user_can_be_set_and_removed(name: str, run: Run) -> None:
    user = ["--entity-type", "users", "--entity-name", name]
    for line in (
        ["configs", "--alter", *user, "--add-config", "producer_byte_rate=1024"],
        ["configs", "--alter", "--user", name, "--delete-config", "producer_byte_rate"],
        ["configs", "--alter", "--client", name, "--add-config", "producer_byte_rate=1024"],
        ["configs", "--alter", "--client", name, "--delete-config", "producer_byte_rate"],
        ["scram", "--add", "SCRAM-SHA-256=[password=secret]", "--username", name],
        ["scram", "--delete", "SCRAM-SHA-256", "--username", name],
    ):
        status, _, err = run(*line)
        assert status == 0, err
