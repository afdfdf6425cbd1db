"""A seeded part of the comparison of the bundled broker's answers with Kafka's, and of their features."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.against_kafka.compare_answers import accepted
from tests.against_kafka.compare_answers.answers import differences
from tests.against_kafka.compare_answers.brokers import SETUP, Peer, pair
from tests.against_kafka.compare_answers.comparison import Comparison
from tests.against_kafka.compare_answers.world import prepare
from tests.against_kafka.harness import RealKafka, Setup
from tests.protocol import codes_seen
from tests.protocol.test_definitions_teach import errors_told

REQUESTS = 150
FEATURES = "org.apache.kafka.tools.FeatureCommand"


@pytest.fixture(scope="module")
def real(real_kafka: Callable[[Setup], RealKafka]) -> RealKafka:
    return real_kafka(SETUP)


@pytest.fixture(scope="module")
def peers(real: RealKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Peer, Peer]]:
    with pair(real, tmp_path_factory.mktemp("compared") / "data") as both:
        for peer in both:
            prepare(peer)
        yield both


def test_answers_and_the_state_afterwards_are_those_of_kafka(peers: tuple[Peer, Peer]) -> None:
    report = Comparison(*peers, seed=20).run(REQUESTS)
    assert report.total == REQUESTS
    assert not report.unequal, "\n".join(report.lines())
    for api, names in codes_seen.named(report.codes).items():
        assert names <= errors_told(api), "the definition says when Kafka answers so"


def test_kafkas_tool_describes_the_features_of_both_alike(real: RealKafka, peers: tuple[Peer, Peer]) -> None:
    host, port = peers[1].addresses["plain"]
    described = [
        real.tool(FEATURES, "--bootstrap-server", server, "describe", connect=False).stdout
        for server in (real.bootstrap_servers, f"{host}:{port}")
    ]
    theirs, ours = (["".join(line.split("Epoch")[0].split()) for line in text.splitlines()] for text in described)
    assert len(theirs) == 7
    assert ours == theirs


def test_a_difference_that_no_row_accepts_is_reported() -> None:
    theirs, ours = {"topics[t].error_code": 3}, {"topics[t].error_code": 17}
    assert list(differences(theirs, ours)) == [("topics[t].error_code", 3, 17)]
    assert accepted.reason_for("metadata", "topics[t].error_code", 3, 17) is None
    assert accepted.reason_for("metadata", "topics[t].error_message", None, "what is wrong") is not None


def test_an_item_that_only_one_has_is_one_difference() -> None:
    theirs = {"topics.length": 1, "topics[t].error_code": 0, "topics[t].name": "t"}
    assert list(differences(theirs, {"topics.length": 0})) == [
        ("topics.length", 1, 0),
        ("topics[t]", "<there 0>", "<missing>"),
    ]
