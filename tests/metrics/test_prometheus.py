"""Beans as Prometheus text, read again by Prometheus' own parser."""

from __future__ import annotations

import sys
import urllib.request

import pytest

from kafka_tools.errors import ConfigError
from kafka_tools.metrics.moving import Distribution
from kafka_tools.metrics.prometheus import MetricsPort, exposition

parser = pytest.importorskip("prometheus_client.parser")

METER = {"EventType": "messages", "RateUnit": "SECONDS", "Count": 7, "MeanRate": 1.5, "OneMinuteRate": 2.0}
BEANS = {
    "kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec": METER,
    'kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec,topic="a\\"b,c=d"': METER,
    "kafka.log:type=Log,name=Size,topic=orders,partition=0": {"Value": 42},
    "kafka.server:type=KafkaServer,name=ClusterId": {"Value": "x1"},
    "kafka.server:type=Produce,client-id=app": {"byte-rate": 1.5},
    "kafka.server:type=socket-server-metrics,listener=PLAINTEXT": {"request-total": 3, "request-rate": 0.5},
}


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    found = {}
    for family in parser.text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return found


def test_beans_have_the_names_that_the_jmx_exporter_gives_them() -> None:
    distribution = Distribution()
    distribution.add([float(value) for value in range(1, 101)])
    kind = "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce"
    text = exposition({**BEANS, kind: distribution.attributes()})
    produce = (("request", "Produce"),)
    found = samples(text)
    assert found["kafka_server_brokertopicmetrics_messagesin_total", ()] == 7
    assert found["kafka_server_brokertopicmetrics_messagesin_total", (("topic", 'a"b,c=d'),)] == 7
    assert found["kafka_log_log_size", (("partition", "0"), ("topic", "orders"))] == 42
    assert found["kafka_server_produce_byte_rate", (("clientId", "app"),)] == 1.5
    assert found["kafka_server_socket_server_metrics_request_total", (("listener", "PLAINTEXT"),)] == 3
    assert found["kafka_network_requestmetrics_totaltimems_count", produce] == 100
    assert found["kafka_network_requestmetrics_totaltimems_sum", produce] == 5050
    assert found["kafka_network_requestmetrics_totaltimems", (("quantile", "0.99"), *produce)] == 99.99
    assert not [name for name, _ in found if "clusterid" in name]  # not a number
    assert "# TYPE kafka_server_brokertopicmetrics_messagesin_total counter" in text


def test_a_port_shows_the_beans_of_the_moment() -> None:
    count = 0

    def beans() -> dict[str, dict[str, object]]:
        return {"kafka.log:type=Log,name=Size": {"Value": count}}

    port = MetricsPort("127.0.0.1", 0, beans)
    try:
        for count in (1, 2):
            with urllib.request.urlopen(f"http://{port.address}/metrics", timeout=60) as answer:
                assert samples(answer.read().decode()) == {("kafka_log_log_size", ()): count}
        with pytest.raises(ConfigError, match=r"cannot listen on 127\.0\.0\.1:"):
            MetricsPort("127.0.0.1", int(port.address.rpartition(":")[2]), beans)
    finally:
        port.close()


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(ConfigError) as told:
        exposition({})
    assert str(told.value) == "metrics as Prometheus text need the Python package prometheus-client"
    assert told.value.hint == "pip install 'kafka-operator-tools[metrics]'"
