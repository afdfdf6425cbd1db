"""Faults as a client meets them: on sockets, with real clients, and as docs/testing.md shows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.faults.vocabulary import Faults
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from tests.broker_embedded.wire_client import WireClient

PAGE = Path(__file__).resolve().parents[3] / "docs" / "testing.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as found:
        yield found


@pytest.fixture
def faults(broker: EmbeddedBroker) -> Iterator[Faults]:
    yield broker.faults
    broker.faults.clear()


def page_examples() -> dict[str, Callable[[EmbeddedBroker, Faults], None]]:
    names: dict[str, Any] = {}
    exec("\n".join(BLOCKS), names)
    return {name: value for name, value in names.items() if name.startswith("test_")}


EXAMPLES = page_examples()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_pages_examples_run(broker: EmbeddedBroker, faults: Faults, name: str) -> None:
    EXAMPLES[name](broker, faults)


def test_every_word_of_the_page_is_one_and_the_reverse() -> None:
    words = set(
        re.findall(r"^\| (`.*?`)[^|]*\|", PAGE.read_text(encoding="utf-8").partition("| option")[0], re.MULTILINE)
    )
    told = {name for word in words for name in re.findall(r"(\w+)\(", word)}
    told |= {"up", "is_down", "active", "attach", "serve", "is_loading_held"}
    assert told == {name for name in vars(Faults) if not name.startswith("_")}


def test_a_disconnected_client_reads_the_end(broker: EmbeddedBroker, faults: Faults) -> None:
    faults.disconnect("metadata")
    with WireClient(broker.bootstrap_servers) as client:
        client.call(ApiVersionsRequest(), 3)
        client.send(MetadataRequest(), 9)
        assert client.closed_by_broker


@pytest.mark.parametrize("sent_bytes", [0, 2, 4, 20, None, 1 << 20])
def test_a_short_write_sends_so_much_of_the_answer(
    broker: EmbeddedBroker, faults: Faults, sent_bytes: int | None
) -> None:
    with WireClient(broker.bootstrap_servers) as client:
        sent = client.send(DescribeClusterRequest(), 0)
        whole = client.receive()
        whole = len(whole).to_bytes(4, "big") + whole
        faults.short_write("describe_cluster", bytes=sent_bytes)
        client.send(DescribeClusterRequest(), 0)
        received = b""
        while part := client.receive_raw():
            received += part
    expected = whole[: len(whole) // 2 if sent_bytes is None else sent_bytes]
    next_id = (sent + 1).to_bytes(4, "big")
    assert received == expected[:4] + (next_id + expected[8:])[: max(0, len(expected) - 4)]


def test_records_in_files_are_cut_short_as_well(broker: EmbeddedBroker, faults: Faults) -> None:
    import confluent_kafka

    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce("large", b"x" * 500_000, partition=0)
    producer.flush(30)
    faults.short_write("fetch", bytes=200_000)
    Topic = FetchRequest.Topic
    partition = Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(max_bytes=1 << 20, topics=[Topic(topic="large", partitions=[partition])])
    with WireClient(broker.bootstrap_servers) as client:
        client.send(request, 11)
        received = 0
        while part := client.receive_raw():
            received += len(part)
    assert received == 200_000


def test_held_requests_of_a_client_that_goes_are_forgotten(broker: EmbeddedBroker, faults: Faults) -> None:
    with faults.hold("metadata") as held:
        with WireClient(broker.bootstrap_servers) as client:
            client.send(MetadataRequest(), 9)
            held.wait(1)
        with WireClient(broker.bootstrap_servers) as other:
            other.send(MetadataRequest(), 9)
            with held.changed:
                assert held.changed.wait_for(lambda: len(held.waiting) == 1 and held.hits == 2, 30)
            held.release()
            other.receive()


def test_a_node_that_is_down_refuses_and_comes_back_on_its_port(broker: EmbeddedBroker, faults: Faults) -> None:
    with WireClient(broker.bootstrap_servers) as client:
        with faults.hold("metadata") as held:
            client.send(MetadataRequest(), 9)
            held.wait(1)
            faults.down()
            assert faults.is_down and client.closed_by_broker
        with pytest.raises(ConnectionRefusedError):
            WireClient(broker.bootstrap_servers)
        faults.down()
        broker.restart()
        with pytest.raises(ConnectionRefusedError):
            WireClient(broker.bootstrap_servers)
    faults.up()
    faults.up()
    with WireClient(broker.bootstrap_servers) as client:
        assert client.call(DescribeClusterRequest(), 0).cluster_id == broker.cluster_id


def test_time_that_is_moved_ends_what_waits_and_goes_on_by_itself(broker: EmbeddedBroker, faults: Faults) -> None:
    with WireClient(broker.bootstrap_servers) as client:
        delay = faults.delay("metadata", 3_600_000)
        client.send(MetadataRequest(), 9)
        delay.wait(1)
        broker.advance(3601)
        client.receive()
        delay.remove()
        with faults.delay("metadata", 1):  # the loop's alarms still ring
            client.call(MetadataRequest(), 9)
    with pytest.raises(ValueError, match="cannot move the time backwards"):
        broker.advance(-1)


def test_faults_may_be_set_before_the_broker_starts_and_while_it_is_stopped(tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path / "data")
    broker.faults.error("describe_cluster", "UNKNOWN_SERVER_ERROR")
    for _ in range(2):
        with broker, WireClient(broker.bootstrap_servers) as client:
            assert client.call(DescribeClusterRequest(), 0).error_code == -1
            assert client.call(DescribeClusterRequest(), 0).error_code == 0
        broker.faults.error("describe_cluster", "UNKNOWN_SERVER_ERROR")


def test_a_scripted_answer_that_raises_is_an_unknown_error_to_the_client(
    broker: EmbeddedBroker, faults: Faults
) -> None:
    with WireClient(broker.bootstrap_servers) as client, faults.answer("describe_cluster", lambda request: 1 / 0):
        assert client.call(DescribeClusterRequest(), 0).error_code == -1
    with WireClient(broker.bootstrap_servers) as client:
        assert client.call(DescribeClusterRequest(), 0).error_code == 0


def test_the_fixture_ends_the_faults_with_the_test(kafka_broker: EmbeddedBroker, kafka_faults: Faults) -> None:
    kafka_faults.hold("*")
    kafka_faults.down()
    assert kafka_broker.faults is kafka_faults


def test_the_next_test_finds_none(kafka_broker: EmbeddedBroker, kafka_faults: Faults) -> None:
    assert kafka_faults.active() == [] and not kafka_faults.is_down
    with WireClient(kafka_broker.bootstrap_servers) as client:
        client.call(DescribeClusterRequest(), 0)
