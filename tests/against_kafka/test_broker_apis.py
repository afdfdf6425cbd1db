"""The table of APIs is what both brokers tell: Kafka's and the bundled one."""

from __future__ import annotations

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from tests import broker_apis
from tests.against_kafka.harness import RealKafka
from tests.broker_embedded.wire_client import WireClient


def told(address: str) -> dict[int, tuple[int, int]]:
    with WireClient(address) as client:
        answer = client.call(ApiVersionsRequest(client_software_name="tests", client_software_version="1"), 4)
    return {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}


def test_both_brokers_serve_what_the_table_says(kafka_new: RealKafka) -> None:
    assert told(kafka_new.bootstrap_servers) == broker_apis.theirs()
    with EmbeddedBroker() as broker:
        assert told(broker.bootstrap_servers) == broker_apis.ours()
