"""Fetch: what older versions lack, and what only followers say (KIP-227, KIP-74)."""

from __future__ import annotations

import pytest

from kafka_tools.protocol.codec import decode, encode
from kafka_tools.protocol.messages.fetch import FetchRequest, FetchResponse


@pytest.mark.req("FS-3")
def test_fields_that_an_older_version_lacks_read_as_no_error_no_throttle_no_session() -> None:
    for version in range(4, 7):
        response = decode(FetchResponse, version, encode(FetchResponse(throttle_time_ms=5), version))
        assert (response.error_code, response.session_id) == (0, 0)
        assert response.throttle_time_ms == 5
    sent = decode(FetchResponse, 7, encode(FetchResponse(session_id=9, error_code=71), 7))
    assert (sent.error_code, sent.session_id) == (71, 9)


@pytest.mark.req("FS-10")
def test_a_consumer_says_minus_1_for_replica_and_log_start_and_names_forgotten_topics() -> None:
    partition = FetchRequest.Topic.Partition(partition=3, fetch_offset=7)
    topics = [FetchRequest.Topic(topic="t", partitions=[partition])]
    forgotten = [FetchRequest.ForgottenTopic(topic="gone", partitions=[1])]
    for version in range(7, 13):
        request = decode(
            FetchRequest, version, encode(FetchRequest(topics=topics, forgotten_topics_data=forgotten), version)
        )
        assert request.replica_id == -1
        assert request.topics[0].partitions[0].log_start_offset == -1
        assert [(entry.topic, entry.partitions) for entry in request.forgotten_topics_data] == [("gone", [1])]
