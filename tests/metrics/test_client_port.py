"""``metrics.prometheus.port``: the clients of a process at one port, from the first to the last."""

from __future__ import annotations

import gc
import socket
import threading
import time
import urllib.request
import warnings
from collections.abc import Iterator

import pytest

from kafka_tools import Consumer, Producer, ShareConsumer
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.errors import ConfigError
from kafka_tools.metrics import client_port
from kafka_tools.values import TopicPartition

pytest.importorskip("prometheus_client")


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture
def port() -> str:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return str(unused.getsockname()[1])


def text(port: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as response:
        return str(response.read(), "utf-8")


def test_clients_share_a_port_that_ends_with_the_last(broker: EmbeddedBroker, port: str) -> None:
    settings = {"bootstrap.servers": broker.bootstrap_servers, "metrics.prometheus.port": port}
    with Producer(settings | {"client.id": "writer"}) as producer:
        producer.send("t", b"v").result(30)
        with Consumer(settings | {"client.id": "reader"}) as consumer:
            consumer.assign([TopicPartition("t", 0)])
            consumer.seek_to_beginning()
            while not consumer.poll(1.0):
                pass
            shown = text(port)
        assert 'kafka_producer_producer_metrics_record_send_total{clientId="writer"} 1.0' in shown
        assert 'kafka_consumer_consumer_fetch_manager_metrics_records_consumed_total{clientId="reader"} 1.0' in shown
        assert "reader" not in text(port)
    assert not client_port._ports
    with pytest.raises(OSError):
        text(port)


def test_the_port_answers_while_a_consumer_waits(broker: EmbeddedBroker, port: str) -> None:
    with Consumer({"bootstrap.servers": broker.bootstrap_servers, "metrics.prometheus.port": port}) as consumer:
        consumer.assign([TopicPartition("empty", 0)])
        polling = threading.Thread(target=consumer.poll, args=(1.0,))
        polling.start()
        began_s = time.monotonic()
        assert "kafka_consumer_" in text(port)
        was_waiting = polling.is_alive()
        polling.join()
    assert was_waiting or time.monotonic() - began_s > 1.0


def test_a_share_consumer_is_shown_too(broker: EmbeddedBroker, port: str) -> None:
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "metrics.prometheus.port": port}
    consumer = ShareConsumer(settings)
    assert "kafka_consumer_" in text(port)
    consumer.close(0.0)
    assert not client_port._ports


def test_a_client_that_nobody_references_is_left_out(broker: EmbeddedBroker, port: str) -> None:
    settings = {"bootstrap.servers": broker.bootstrap_servers, "metrics.prometheus.port": port}
    with Producer(settings | {"client.id": "kept"}), warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        lost = Producer(settings | {"client.id": "lost"})
        assert "lost" in text(port)
        del lost
        gc.collect()
        assert "lost" not in text(port)


@pytest.mark.parametrize("address", ["x", "host:port", "1:2:3", "70000"])
def test_an_address_that_cannot_be_used_is_one_line(broker: EmbeddedBroker, address: str) -> None:
    with pytest.raises(ConfigError, match="metrics"):
        Producer({"bootstrap.servers": broker.bootstrap_servers, "metrics.prometheus.port": address})


def test_a_port_in_use_is_one_line(broker: EmbeddedBroker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        address = str(taken.getsockname()[1])
        with pytest.raises(ConfigError, match="cannot listen on"):
            Producer({"bootstrap.servers": broker.bootstrap_servers, "metrics.prometheus.port": address})
    assert not client_port._ports
