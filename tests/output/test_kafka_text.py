"""The texts of Kafka's tools, from what those tools printed."""

from __future__ import annotations

import pytest

from kafka_tools.output.config_table import quota_source, source_text
from kafka_tools.output.kafka import text as kafka_text


def partition(**changes: object) -> dict:
    return {
        "partition": 0,
        "leader": 1,
        "replicas": [1, 2],
        "isr": [1],
        "adding_replicas": [],
        "removing_replicas": [],
        "elr": [],
        "last_known_elr": [],
    } | changes


def test_topics() -> None:
    topic = {
        "topic": "orders",
        "topic_id": "QtIMar08Qr-WojTqft0Jjg",
        "partition_count": 3,
        "replication_factor": 1,
        "configs": {"min.insync.replicas": "1", "cleanup.policy": "compact,delete"},
    }
    assert kafka_text.topic_line(topic) == (
        "Topic: orders\tTopicId: QtIMar08Qr-WojTqft0Jjg\tPartitionCount: 3\tReplicationFactor: 1"
        "\tConfigs: min.insync.replicas=1,cleanup.policy=compact,delete\n"
    )
    assert kafka_text.topic_line(topic | {"topic_id": None, "configs": {}}) == (
        "Topic: orders\tPartitionCount: 3\tReplicationFactor: 1\tConfigs: \n"
    )
    assert kafka_text.topic_list(["a", "b"]) == "a\nb\n"
    assert kafka_text.topic_list([]) == "\n"


@pytest.mark.parametrize(
    "changes, tail",
    [
        ({}, "Leader: 1\tReplicas: 1,2\tIsr: 1\tElr: \tLastKnownElr: "),
        ({"leader": None}, "Leader: none\tReplicas: 1,2\tIsr: 1\tElr: \tLastKnownElr: "),
        ({"elr": None, "last_known_elr": None}, "Leader: 1\tReplicas: 1,2\tIsr: 1\tElr: N/A\tLastKnownElr: N/A"),
        (
            {"adding_replicas": [3], "elr": [2]},
            "Leader: 1\tReplicas: 1,2\tIsr: 1\tAdding Replicas: 3\tRemoving Replicas: \tElr: 2\tLastKnownElr: ",
        ),
    ],
)
def test_partitions(changes: dict, tail: str) -> None:
    assert kafka_text.partition_line("orders", partition(**changes)) == f"\tTopic: orders\tPartition: 0\t{tail}\n"


def test_configs() -> None:
    synonyms = [
        {"source": "DYNAMIC_TOPIC_CONFIG", "name": "cleanup.policy", "value": "compact,delete"},
        {"source": "DEFAULT_CONFIG", "name": "log.cleanup.policy", "value": "delete"},
    ]
    config = {"name": "cleanup.policy", "value": "compact,delete", "sensitive": False, "synonyms": synonyms}
    assert kafka_text.config_line(config) == (
        "  cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete, "
        "DEFAULT_CONFIG:log.cleanup.policy=delete}\n"
    )
    hidden = {"name": "p", "value": None, "sensitive": True, "synonyms": []}
    assert kafka_text.config_line(hidden) == "  p=null sensitive=true synonyms={}\n"
    assert kafka_text.config_heading("topics", "orders", False) == "Dynamic configs for topic orders are:\n"
    assert kafka_text.config_heading("brokers", "1", True) == "All configs for broker 1 are:\n"
    assert kafka_text.config_heading("brokers", "", False) == "Default configs for brokers in the cluster are:\n"


def test_quotas_and_credentials() -> None:
    assert kafka_text.quota_line({"user": "alice", "client-id": "app"}, {"request_percentage": 50.0}) == (
        "Quota configs for user-principal 'alice', client-id 'app' are request_percentage=50.0\n"
    )
    assert kafka_text.quota_line({"client-id": None, "user": None}, {"a": 1e-5, "b": 1e7}) == (
        "Quota configs for the default user-principal, the default client-id are a=1.0E-5, b=1.0E7\n"
    )
    assert kafka_text.scram_line("alice", [{"mechanism": "SCRAM-SHA-512", "iterations": 4096}]) == (
        "SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-512=iterations=4096\n"
    )


def test_endpoints_and_versions() -> None:
    node = {"id": 1, "host": "localhost", "port": 29472, "rack": None, "state": "unfenced", "endpoint_type": "broker"}
    assert kafka_text.endpoints([node], controllers=False) == (
        "ID         HOST      PORT       RACK       STATE      ENDPOINT_TYPE  \n"
        "1          localhost 29472      null       unfenced   broker         \n"
    )
    assert kafka_text.endpoints([node | {"rack": "r1"}], controllers=True) == (
        "ID         HOST      PORT       RACK ENDPOINT_TYPE  \n1          localhost 29472      r1 broker         \n"
    )
    apis = [
        {"key": 0, "name": "Produce", "min_version": 0, "max_version": 13, "usable": 13},
        {"key": 46, "name": "ListPartitionReassignments", "min_version": 0, "max_version": 0, "usable": 0},
        {"key": 71, "name": "GetTelemetrySubscriptions", "min_version": None, "max_version": None, "usable": None},
        {"key": 999, "name": None, "min_version": 0, "max_version": 2, "usable": None},
    ]
    row = {"id": 1, "host": "localhost", "port": 29472, "rack": None, "fenced": False, "apis": apis}
    assert kafka_text.api_versions(row) == (
        "localhost:29472 (id: 1 rack: null isFenced: false) -> (\n"
        "\tProduce(0): 0 to 13 [usable: 13],\n"
        "\tListPartitionReassignments(46): 0 [usable: 0],\n"
        "\tGetTelemetrySubscriptions(71): UNSUPPORTED,\n"
        "\tUNKNOWN(999): 0 to 2\n"
        ")\n"
    )
    failed = kafka_text.api_versions(row, "gone")
    assert failed == "localhost:29472 (id: 1 rack: null isFenced: false) -> ERROR: gone\n"


@pytest.mark.req("QT-2", "CFG-17")
def test_sources_are_named_as_kip_248_names_them() -> None:
    assert source_text("DYNAMIC_TOPIC_CONFIG") == "Dynamic topic config"
    assert source_text("DEFAULT_CONFIG") == "Default config"
    entities = [
        {"user": "u", "client-id": "c"},
        {"user": "u", "client-id": None},
        {"user": "u"},
        {"user": None, "client-id": "c"},
        {"user": None, "client-id": None},
        {"user": None},
        {"client-id": "c"},
        {"client-id": None},
    ]
    assert [quota_source(entity) for entity in entities] == [
        "Client of user",
        "Default client of user",
        "User",
        "Client of default user",
        "Default client of default user",
        "Default user",
        "Client",
        "Default client",
    ]
