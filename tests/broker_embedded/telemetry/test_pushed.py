"""What clients pushed: decoded, added up, bounded, and shown as beans and as Prometheus text."""

from __future__ import annotations

import sys
import uuid
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.metrics.tables.telemetry import PUSHED
from kafka_tools.broker_embedded.telemetry.pushed import PushedBounds, PushedMetrics
from kafka_tools.clock import ManualClock
from kafka_tools.errors import ConfigError
from kafka_tools.metrics.otlp import InvalidMetrics, decode
from kafka_tools.metrics.prometheus import exposition
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.messages.push_telemetry import PushTelemetryRequest
from kafka_tools.records.compression import compress
from kafka_tools.values import uuid_text
from tests.broker_embedded.wire_client import WireClient

otlp: Any = pytest.importorskip("opentelemetry.proto.metrics.v1.metrics_pb2")
RATE, TOTAL = "org.apache.kafka.producer.connection.creation.rate", "org.apache.kafka.producer.connection.total"


def metrics_data(total: float = 3, *, temporality: int = 1, labels: dict[str, str] | None = None) -> bytes:
    message = otlp.MetricsData()
    scope = message.resource_metrics.add().scope_metrics.add()
    point = scope.metrics.add(name=RATE).gauge.data_points.add(as_double=0.5)
    for key, value in (labels or {}).items():
        point.attributes.add(key=key).value.string_value = value
    counter = scope.metrics.add(name=TOTAL)
    counter.sum.aggregation_temporality = temporality
    counter.sum.data_points.add(as_int=int(total))
    return bytes(message.SerializeToString())


def kept(store: PushedMetrics, id: uuid.UUID) -> dict[str, float]:
    return {point.name: point.value for point in store.clients()[id].values.values()}


def test_deltas_are_added_up_and_totals_replaced() -> None:
    store, id = PushedMetrics(ManualClock()), uuid.uuid4()
    for codec in range(5):
        store.add(id, "app", codec, compress(codec, metrics_data(2)), 1000)
    assert kept(store, id) == {RATE: 0.5, TOTAL: 10}
    store.add(id, "app", 0, metrics_data(7, temporality=2), 1000)
    assert kept(store, id)[TOTAL] == 7


def test_bytes_that_are_no_metrics_are_refused() -> None:
    with pytest.raises(InvalidMetrics, match="cannot decode the metrics"):
        decode(b"\xff\xff\xff", 10)


def test_long_names_many_labels_histograms_and_further_points_are_left_out() -> None:
    message = otlp.MetricsData()
    metrics = message.resource_metrics.add().scope_metrics.add().metrics
    metrics.add(name="n" * 201).gauge.data_points.add(as_int=1)
    metrics.add(name="histogram").histogram.data_points.add(count=1)
    point = metrics.add(name="labels").gauge.data_points.add(as_int=1)
    for number in range(17):
        point.attributes.add(key=f"k{number}").value.string_value = "v"
    metrics.add(name="long").gauge.data_points.add(as_int=1).attributes.add(key="k").value.string_value = "v" * 201
    metrics.add(name="no value").gauge.data_points.add()
    metrics.add(name="fine").gauge.data_points.add(as_int=1)
    points, left_out = decode(message.SerializeToString(), 10)
    assert ([point.name for point in points], left_out) == (["fine"], 5)
    assert len(decode(metrics_data(), 1)[0]) == 1


def test_empty_messages_cost_bounded_work() -> None:
    message = otlp.MetricsData()
    for _ in range(1000):
        message.resource_metrics.add()
    message.MergeFromString(metrics_data())
    assert decode(message.SerializeToString(), 10) == ([], 1)


def test_clients_and_values_are_bounded_and_the_oldest_is_forgotten() -> None:
    for bounds, left in ((PushedBounds(clients=3), 3), (PushedBounds(values=4), 2), (PushedBounds(values=5), 2)):
        store = PushedMetrics(ManualClock(), bounds)
        ids = [uuid.uuid4() for _ in range(5)]
        for id in ids:
            store.add(id, "app", 0, metrics_data(), 1000)
        assert list(store.clients()) == ids[-left:]


def test_values_of_a_client_are_bounded() -> None:
    store, id = PushedMetrics(ManualClock(), PushedBounds(of_a_client=3)), uuid.uuid4()
    for topic in ("a", "b", "c"):
        store.add(id, "app", 0, metrics_data(labels={"topic": topic}), 1000)
    client = store.clients()[id]
    assert (len(client.values), client.left_out) == (3, 1)


def test_values_are_kept_for_an_hour_after_the_last_push() -> None:
    clock = ManualClock()
    store, id = PushedMetrics(clock), uuid.uuid4()
    store.add(id, "app", 0, metrics_data(), 1000)
    clock.advance(3600)
    assert list(store.clients()) == [id]
    clock.advance(1)
    assert store.clients() == {}


def test_a_client_that_is_subscribed_on_the_wire_shows_its_metrics() -> None:
    with EmbeddedBroker() as broker, WireClient(broker.bootstrap_servers) as client:
        Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
        changes = {"metrics": "*", "match": "client_software_name=mine,client_software_version=2,client_source_port=.+"}
        configs = [Resource.AlterableConfig(name=name, config_operation=0, value=to) for name, to in changes.items()]
        resource = Resource(resource_type=16, resource_name="all", configs=configs)
        client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1)
        client.call(ApiVersionsRequest(client_software_name="mine", client_software_version="2"), 3)
        told = client.call(GetTelemetrySubscriptionsRequest(client_instance_id=uuid.UUID(int=0)), 0)
        assert told.requested_metrics == ["*"]
        labels = {"client_instance_id": "x", "Name": "y", "a b": 'q"\n', "1": "z", "__a": "w"}
        request = PushTelemetryRequest(
            client_instance_id=told.client_instance_id, subscription_id=told.subscription_id, terminating=True,
            compression_type=4, metrics=compress(4, metrics_data(labels=labels)),
        )  # fmt: skip
        assert client.call(request, 0).error_code == 0
        beans = broker.metrics()
    shown = {name: values for name, values in beans.items() if name.startswith(PUSHED)}
    id = uuid_text(told.client_instance_id)
    (rate,) = [name for name in shown if f"name={RATE}," in name]
    assert shown[rate] == {"Value": 0.5}
    assert f"client_instance_id={id}" in rate
    (total,) = [name for name in shown if f"name={TOTAL}," in name]
    assert shown[total] == {"Value": 3.0}
    assert beans["kafka.server:type=client-metrics"]["instance-count"] == 1
    assert beans[f"kafka.server:type=client-metrics,client_instance_id={id}"]["plugin-export-count"] == 1
    text = exposition(shown)
    sample = next(line for line in text.splitlines() if line.startswith("kafka_client_pushed_org_apache_kafka_produ"))
    assert sample.endswith(" 0.5")
    for label in (
        'label_name="y"',
        'label_client_instance_id="x"',
        'label_1="z"',
        'a="w"',
        f'client_instance_id="{id}"',
    ):
        assert label in sample


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.proto.metrics.v1.metrics_pb2", None)
    with pytest.raises(ConfigError, match="needs the Python package opentelemetry-proto") as told:
        decode(b"", 1)
    assert told.value.hint == "pip install 'kafka-operator-tools[telemetry]'"
