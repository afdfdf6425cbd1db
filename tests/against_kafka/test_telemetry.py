"""Kafka's own clients push their metrics to the bundled broker (KIP-714)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from kafka_tools import KAFKA_RELEASE
from kafka_tools.admin.client import AdminClient, ConfigChange, ConfigResource
from kafka_tools.broker_embedded import EmbeddedBroker

pytest.importorskip("opentelemetry.proto.metrics.v1.metrics_pb2")
pytestmark = pytest.mark.xdist_group("telemetry")


def test_the_last_push_of_a_java_producer_is_shown(
    java_tool: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    with EmbeddedBroker() as broker:
        with AdminClient(broker.bootstrap_servers) as admin:
            changes = {
                "metrics": "org.apache.kafka.producer.",
                "match": "client_id=console-.*,client_software_name=apache-kafka-java",
            }
            listed = [ConfigChange(name, "set", value) for name, value in changes.items()]
            admin.alter_configs_incremental({ConfigResource("client-metrics", "java"): listed}).raise_any()
        ended = java_tool(
            KAFKA_RELEASE,
            "org.apache.kafka.tools.ConsoleProducer",
            *("--bootstrap-server", broker.bootstrap_servers, "--topic", "orders"),
            stdin="one\ntwo\n",
            fresh=True,  # the producer closes in a shutdown hook
        )
        assert ended.returncode == 0, ended.stderr
        beans = broker.metrics()
    pushed = {name: values for name, values in beans.items() if name.startswith("kafka.client:type=pushed,")}
    (counts,) = [values for values in pushed.values() if "pushes" in values]
    assert counts == {"pushes": 1, "undecoded-pushes": 0, "left-out-values": 0}
    sent = [
        values["Value"]
        for name, values in pushed.items()
        if "name=org.apache.kafka.producer.record.send.total," in name
    ]
    assert sent == [2.0]
    assert all("client_id=console-producer" in name for name in pushed)
