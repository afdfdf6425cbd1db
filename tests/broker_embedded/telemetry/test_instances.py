"""Subscriptions and pushes of clients, by the rules of Kafka's ClientMetricsManager (KIP-714)."""

from __future__ import annotations

import logging
import uuid
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.configs.store import CLIENT_METRICS
from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.broker_embedded.handlers._table import load_handlers
from kafka_tools.broker_embedded.metrics.tables.telemetry import telemetry_beans
from kafka_tools.broker_embedded.telemetry import pushed
from kafka_tools.broker_embedded.telemetry.instances import ClientTelemetry
from kafka_tools.errors import ConfigError
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from kafka_tools.protocol.messages.push_telemetry import PushTelemetryRequest
from kafka_tools.protocol.stored.cluster_metadata import ConfigRecord
from kafka_tools.records.compression import compress
from tests.broker_embedded.memory_broker import MemoryBroker
from tests.broker_embedded.wire_client import WireClient

ZERO = uuid.UUID(int=0)
CLIENTS = "kafka.server:type=client-metrics"


@pytest.fixture
def broker() -> MemoryBroker:
    return MemoryBroker({"telemetry.max.bytes": "1000"})


def subscribe(broker: MemoryBroker, name: str = "all", **configs: str | None) -> None:
    broker.core.journal.commit(
        [
            ConfigRecord(resource_type=CLIENT_METRICS, resource_name=name, name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ]
    )


def ask(broker: MemoryBroker, id: uuid.UUID = ZERO, client_id: str = "client") -> Any:
    request = GetTelemetrySubscriptionsRequest(client_instance_id=id)
    return broker.send(request, client_id=client_id).response


def push(broker: MemoryBroker, told: Any, data: bytes = b"", **fields: Any) -> int:
    request = PushTelemetryRequest(
        **{
            "client_instance_id": told.client_instance_id,
            "subscription_id": told.subscription_id,
            "terminating": False,
            "compression_type": 0,
            "metrics": data,
            **fields,
        }
    )
    return int(broker.send(request).response.error_code)


def test_a_client_without_a_subscription_gets_an_id_and_pushes_nothing(broker: MemoryBroker) -> None:
    told = ask(broker)
    assert told.error_code == 0
    assert told.client_instance_id != ZERO
    assert told.requested_metrics == []
    assert told.push_interval_ms == 300_000
    assert told.telemetry_max_bytes == 1000
    assert told.accepted_compression_types == [4, 3, 1, 2]
    assert told.delta_temporality


def test_subscriptions_that_select_a_client_are_added_up(broker: MemoryBroker) -> None:
    subscribe(broker, "one", metrics="b,a", interval_ms="2000", match="client_id=app-.*,client_source_address=127.*")
    subscribe(broker, "two", metrics="a,c", interval_ms="1000", match="client_software_name=unknown")
    subscribe(broker, "three", metrics="d", interval_ms="500", match="client_id=ap")
    told = ask(broker, client_id="app-1")
    assert (told.requested_metrics, told.push_interval_ms) == (["a", "b", "c"], 1000)
    subscribe(broker, "four", metrics="x,*")
    told = ask(broker, client_id="app-1")
    assert told.requested_metrics == ["*"]


def test_software_and_port_of_a_connection_select_a_client(broker: MemoryBroker) -> None:
    subscribe(
        broker, metrics="a", match="client_software_name=tool,client_software_version=1\\..*,client_source_port=77"
    )
    connection = Connection("c", "PLAINTEXT", "::1")
    connection.software_name, connection.software_version, connection.client_port = "tool", "1.5", 77
    assert broker.core.telemetry.ask(ZERO, "", connection).wanted.metrics == ("a",)
    connection.client_port = 78
    assert broker.core.telemetry.ask(ZERO, "", connection).wanted.metrics == ()


def test_a_pattern_that_re2_refuses_selects_no_client(broker: MemoryBroker, caplog: pytest.LogCaptureFixture) -> None:
    subscribe(broker, metrics="a", match="client_id=(?!other).*")
    with caplog.at_level(logging.WARNING):
        assert ask(broker).requested_metrics == []
        assert ask(broker).requested_metrics == []
    assert caplog.text.count("the client metrics subscription 'all' selects no client") == 1


def test_early_requests_are_throttled(broker: MemoryBroker) -> None:
    subscribe(broker, metrics="*", interval_ms="1000")
    told = ask(broker)
    assert ask(broker, told.client_instance_id).error_code == codes.THROTTLING_QUOTA_EXCEEDED
    assert push(broker, told) == 0  # at any time after the request for the subscription
    assert push(broker, told) == codes.THROTTLING_QUOTA_EXCEEDED
    broker.advance(999)
    assert push(broker, told) == codes.THROTTLING_QUOTA_EXCEEDED
    broker.advance(1)
    assert push(broker, told) == 0
    ((_, of_all), (_, of_one)) = telemetry_beans(broker.core)
    assert of_one == {"throttle-count": 3, "plugin-export-count": 0, "plugin-error-count": 0}
    assert of_all["instance-count"] == 1


def test_a_changed_subscription_is_told_immediately(broker: MemoryBroker) -> None:
    subscribe(broker, metrics="a", interval_ms="1000")
    told = ask(broker)
    subscribe(broker, metrics="b")
    assert push(broker, told) == codes.UNKNOWN_SUBSCRIPTION_ID
    assert dict(telemetry_beans(broker.core))[CLIENTS]["unknown-subscription-request-count"] == 1
    again = ask(broker, told.client_instance_id)
    assert (again.error_code, again.requested_metrics) == (0, ["b"])
    assert again.subscription_id != told.subscription_id
    assert again.client_instance_id == told.client_instance_id
    assert push(broker, again) == codes.THROTTLING_QUOTA_EXCEEDED  # the refused push began an interval, as in Kafka
    broker.advance(1000)
    assert push(broker, again) == 0


def test_a_deleted_subscription_selects_nobody(broker: MemoryBroker) -> None:
    subscribe(broker, metrics="a", interval_ms="1000")
    told = ask(broker)
    subscribe(broker, metrics=None, interval_ms=None)
    assert ask(broker, told.client_instance_id).requested_metrics == []


def test_the_last_push_is_never_early_and_nothing_follows_it(broker: MemoryBroker) -> None:
    told = ask(broker)
    assert push(broker, told) == 0
    assert push(broker, told, terminating=True) == 0
    assert push(broker, told, terminating=True) == codes.INVALID_REQUEST


@pytest.mark.parametrize("number", [0, 1])
def test_a_reserved_id_cannot_push(broker: MemoryBroker, number: int) -> None:
    told = ask(broker)
    assert push(broker, told, client_instance_id=uuid.UUID(int=number)) == codes.INVALID_REQUEST


def test_bad_pushes_are_refused(broker: MemoryBroker) -> None:
    told = ask(broker)
    assert push(broker, told, compression_type=5) == codes.UNSUPPORTED_COMPRESSION_TYPE
    assert ask(broker, told.client_instance_id).error_code == 0  # not throttled: the client needs another codec
    assert push(broker, told, b"x" * 1001, terminating=True) == codes.TELEMETRY_TOO_LARGE
    assert push(broker, ask(broker), b"no gzip", compression_type=1) == codes.INVALID_RECORD


def test_a_push_that_decompresses_to_more_than_the_limit_is_refused(broker: MemoryBroker) -> None:
    data = compress(4, bytes(pushed.MOST_BYTES + 1))
    assert len(data) <= 1000
    assert push(broker, ask(broker), data, compression_type=4) == codes.INVALID_RECORD
    assert broker.core.telemetry.pushed.clients() == {}


def test_instances_are_forgotten_after_three_intervals_or_with_their_connection(broker: MemoryBroker) -> None:
    subscribe(broker, metrics="a", interval_ms="30000")
    ask(broker)
    broker.advance(89_000)
    assert len(broker.core.telemetry.instances()) == 1
    broker.advance(1000)
    assert len(broker.core.telemetry.instances()) == 0
    ask(broker)
    broker.core.telemetry.disconnected("test")
    assert len(broker.core.telemetry.instances()) == 0
    assert not broker.core.telemetry._by_connection


def test_the_number_of_instances_is_bounded(broker: MemoryBroker) -> None:
    core = broker.core
    core.telemetry = ClientTelemetry(core.configs, core.timers, core.counts.telemetry, most_instances=3)
    first, *_ = [ask(broker) for _ in range(4)]
    assert len(broker.core.telemetry.instances()) == 3
    assert ask(broker, first.client_instance_id).error_code == 0  # a new instance: not throttled


def test_without_the_package_pushes_are_counted_and_logged_once(
    broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing(*_: Any) -> None:
        raise ConfigError("decoding needs a package", hint="pip install it")

    monkeypatch.setattr(pushed, "decode", missing)
    with caplog.at_level(logging.WARNING):
        assert [push(broker, ask(broker), b"x") for _ in range(2)] == [0, 0]
    assert [client.undecoded for client in broker.core.telemetry.pushed.clients().values()] == [1, 1]
    assert caplog.text.count("only counted: decoding needs a package (pip install it)") == 1


def test_a_connection_that_closes_takes_its_instance_along() -> None:
    with EmbeddedBroker() as broker:
        with WireClient(broker.bootstrap_servers) as client:
            client.call(GetTelemetrySubscriptionsRequest(client_instance_id=ZERO), 0)
            assert broker.metrics()[CLIENTS]["instance-count"] == 1
        while broker.metrics()[CLIENTS]["instance-count"]:  # until the broker has noticed; the suite's timeout ends it
            pass


def test_releases_before_4_0_do_not_offer_it() -> None:
    keys = {GetTelemetrySubscriptionsRequest.API_KEY, PushTelemetryRequest.API_KEY}
    assert keys <= set(load_handlers("4.0"))
    assert not keys & set(load_handlers("3.9"))
