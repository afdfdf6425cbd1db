"""An answer that is an error has the shape that Kafka's classes give it, for every API in every version."""

from __future__ import annotations

from tests.against_kafka.jars import NEWEST
from tests.releases import error_replies, facts


def test_errors_of_whole_requests_are_shaped_as_kafka_s() -> None:
    count, differences = error_replies.compared(facts.of(NEWEST))
    assert count > 2_500
    assert differences == []
