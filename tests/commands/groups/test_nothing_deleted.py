"""``--delete-offsets`` where there is nothing to delete: brokers report success, the command says what it did."""

from __future__ import annotations

import json

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.commands import running
from kafka_tools.net.config import ClientConfig
from kafka_tools.values import TopicPartition


def test_a_topic_without_offsets_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with EmbeddedBroker() as broker:
        servers = broker.bootstrap_servers
        with AdminClient(ClientConfig.load(servers)) as admin:
            admin.create_topics([NewTopic("had", 2, 1), NewTopic("none", 1, 1)]).raise_any()
            admin.alter_group_offsets("g", {TopicPartition("had", 0): 0}).raise_any()
        words = ["--delete-offsets", "--group", "g", "--topic", "had", "--topic", "none", "-o", "json", "-b", servers]
        assert running.run(cli.load("consumer-groups"), words, "kafka-consumer-groups") == 0
        out, err = capsys.readouterr()
    found = {(row["topic"], row["partition"]): row["result"] for row in json.loads(out)["data"]}
    assert found == {("had", 0): "deleted", ("had", 1): "unchanged", ("none", 0): "unchanged"}
    assert err == "nothing to delete: group 'g' has no offsets of topic none\n"
