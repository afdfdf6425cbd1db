"""``kafka-tools request`` on the bundled broker, and the guard before what changes something."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.commands import running
from kafka_tools.commands.toolkit.request import _let
from kafka_tools.errors import InputError
from kafka_tools.protocol import registry

Ask = Callable[..., tuple[int, Any, str]]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture
def ask(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> Ask:
    def run(*words: str) -> tuple[int, Any, str]:
        capsys.readouterr()
        status = running.run(cli.root, ["request", "-b", broker.bootstrap_servers, *words], "kafka-tools")
        captured = capsys.readouterr()
        return status, json.loads(captured.out) if captured.out else None, captured.err

    return run


def topics(broker: EmbeddedBroker) -> set[str]:
    with AdminClient(broker.bootstrap_servers) as admin:
        return {topic.name for topic in admin.list_topics()}


def test_a_response_is_json(broker: EmbeddedBroker, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, response, error = ask("DescribeCluster")
    assert (status, error) == (0, "")
    assert response["brokers"][0]["port"] == int(broker.bootstrap_servers.rpartition(":")[2])
    for name in ("describe_cluster", "describecluster", "60", "DescribeClusterRequest"):
        assert ask(name, "--node", "controller", "--api-version", "0")[1]["clusterId"] == response["clusterId"]
    (tmp_path / "request.json").write_text('{"apiKeys": []')
    assert ask("ApiVersions", f"@{tmp_path / 'request.json'}")[0] == running.FAILED
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"groupsFilter": 1}')))
    assert "unknown groupsFilter in version" in ask("ListGroups", "-")[2]


def test_a_misspelt_topic_is_not_created(broker: EmbeddedBroker, ask: Ask) -> None:
    status, response, _ = ask("Metadata", '{"topics": [{"name": "nowhere"}]}')
    assert response["topics"][0]["errorCode"] == 3
    status, response, error = ask("Metadata", '{"topics": [{"name": "there"}], "allowAutoTopicCreation": true}')
    assert (status, response) == (running.FAILED, None)
    assert error == "kafka-tools: Metadata changes the cluster: nothing was sent\n  add --yes to send it\n"
    assert topics(broker) & {"nowhere", "there"} == set()


def test_a_change_needs_yes(broker: EmbeddedBroker, ask: Ask) -> None:
    request = '{"topics": [{"name": "made", "numPartitions": 1, "replicationFactor": 1}]}'
    status, response, error = ask("CreateTopics", request)
    assert (status, response) == (running.FAILED, None)
    assert "CreateTopics changes the cluster: nothing was sent" in error
    assert "made" not in topics(broker)
    assert ask("CreateTopics", request, "--yes")[1]["topics"][0]["errorCode"] == 0
    assert "made" in topics(broker)
    assert "DeleteTopics destroys data: nothing was sent" in ask("DeleteTopics", "{}")[2]


def test_an_error_at_the_top_is_the_exit_status(ask: Ask) -> None:
    status, response, error = ask("FindCoordinator", '{"key": "", "keyType": 9}', "--api-version", "3")
    assert status == running.FAILED
    assert error.startswith("kafka-tools request: INVALID_REQUEST: the broker refused the request")
    assert response["errorCode"] == 42


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        (["Metadat"], running.USAGE, "unknown API 'Metadat'\n  did you mean Metadata?"),
        (["SaslHandshake"], running.USAGE, "SaslHandshake belongs to the login"),
        (["Fetch", "--api-version", "99"], running.USAGE, "invalid --api-version 99: Fetch has the versions 0 to "),
        (["Metadata", "--node", "x"], running.USAGE, "expected the id of a node, or controller"),
        (["Metadata", "--node", "9"], running.FAILED, "unknown node 9"),
        (["Metadata", "{"], running.FAILED, "not a valid JSON"),
        (["Produce", "{}", "--yes"], running.FAILED, "does not answer a Produce request with acks 0"),
        (["LeaderAndIsr", "{}", "--yes"], running.FAILED, "LeaderAndIsr"),
    ],
)
def test_what_cannot_be_sent_is_one_line(ask: Ask, words: list[str], status: int, line: str) -> None:
    ended, response, error = ask(*words)
    assert (ended, response) == (status, None)
    assert line in error


def test_a_template_asks_no_broker(capsys: pytest.CaptureFixture[str]) -> None:
    assert running.run(cli.root, ["request", "DeleteTopics", "--template"], "kafka-tools") == 0
    assert json.loads(capsys.readouterr().out) == {
        "topics": [{"name": None, "topicId": "AAAAAAAAAAAAAAAAAAAAAA"}], "timeoutMs": 0,
    }  # fmt: skip


@pytest.mark.parametrize("row", registry.rows(), ids=lambda row: row.name)
def test_each_api_says_whether_it_only_reads(row: registry.Row) -> None:
    """Off a terminal, nothing is sent of an API that changes something."""
    effect = registry.api(row.key).request.EFFECT
    if effect == "reads":
        _let(row.name, effect, yes=False)
        return
    with pytest.raises(InputError, match="nothing was sent"):
        _let(row.name, effect, yes=False)
    _let(row.name, effect, yes=True)


def test_reading_apis_are_those_whose_rights_are_to_read() -> None:
    """Rights of Kafka that only change things are of no API that reads."""
    changing = {"Alter", "AlterConfigs", "Create", "Delete", "Write"}
    for row in registry.rows():
        request = registry.api(row.key).request
        if request.EFFECT == "reads":
            assert not changing & set(request.RIGHTS.values()), row.name
        if row.name.startswith("Delete"):
            assert request.EFFECT == "destroys", row.name
