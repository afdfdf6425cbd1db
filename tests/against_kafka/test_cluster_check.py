"""Connecting to Kafka costs one question about versions, and since 4.4 a broker tells whether it is the one meant."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing

import pytest

from kafka_tools.clock import Deadline, SystemClock
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.net.session import WrongNode
from kafka_tools.net.trace import Trace
from kafka_tools.net.versions import IntendedNode
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import BEFORE, NEWEST


def deadline() -> Deadline:
    return Deadline(SystemClock(), 60.0)


@pytest.mark.parametrize("release", [BEFORE, NEWEST])
def test_a_connection_costs_one_question(real_kafka: Callable[[Setup], RealKafka], release: str) -> None:
    lines: list[str] = []
    config = ClientConfig({"bootstrap.servers": real_kafka(Setup(release)).bootstrap("PLAINTEXT")})
    with closing(Exchange(config, trace=Trace(lines.append, SystemClock()))) as client:
        metadata = ClusterMetadata(client)
        metadata.refresh(deadline())
        for channel in ("one", "two"):
            client.wait([client.send(metadata.nodes[1], metadata.request(), deadline(), channel=channel)])
        assert client.cluster_check.intended(metadata.nodes[1]) == (
            IntendedNode(str(client.cluster_check.cluster_id), 1) if release == NEWEST else None
        )
    # The first request of a user on each connection is the second one of it.
    assert re.findall(r"MetadataRequest v\d+ #(\d+)", "".join(lines)) == ["2", "2", "2"]


def test_a_broker_that_is_another_one_says_so(real_kafka: Callable[[Setup], RealKafka]) -> None:
    with closing(
        Exchange(ClientConfig({"bootstrap.servers": real_kafka(Setup(NEWEST)).bootstrap("PLAINTEXT")}))
    ) as client:
        metadata = ClusterMetadata(client)
        metadata.refresh(deadline())
        right = metadata.nodes[1]
        for cluster_id, node in (("another", right), (client.cluster_check.cluster_id, right._replace(id=7))):
            client.cluster_check.cluster_id = cluster_id
            pending = client.send(node, metadata.request(), deadline(), channel=str(cluster_id))
            client.wait([pending])
            assert isinstance(pending.error, WrongNode)
            assert metadata.nodes == {}
            metadata.refresh(deadline())
        assert metadata.nodes[1] == right
