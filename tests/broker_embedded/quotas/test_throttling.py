"""Quotas at work: rates over windows, delays, muted connections (KIP-13, KIP-124, KIP-219)."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.broker_embedded.quotas.rates import Bucket, LimitedRate
from kafka_tools.broker_embedded.quotas.throttling import Throttling
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol import registry
from kafka_tools.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.create_partitions import CreatePartitionsRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_records import DeleteRecordsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_tools.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_tools.records.build import build_batch
from tests.broker_embedded.memory_broker import MemoryBroker
from tests.broker_embedded.wire_client import WireClient

ANSWER_BYTES = 58
"""What a fetch of one partition is beside its records."""
WINDOWS_S = 10  # quota.window.num less one, of quota.window.size.seconds each


def limit(broker: MemoryBroker, entity: dict[str, str | None], **limits: float) -> None:
    broker.call(limit_request(entity, **limits))


def limit_request(entity: dict[str, str | None], **limits: float) -> AlterClientQuotasRequest:
    Entry = AlterClientQuotasRequest.EntryData
    entry = Entry(entity=[Entry.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()])
    entry.ops = [Entry.OpData(key=key, value=value) for key, value in limits.items()]
    return AlterClientQuotasRequest(entries=[entry])


class Client:
    """One connection of a user with a client id."""

    def __init__(self, broker: MemoryBroker, throttling: Throttling, client_id: str = "c", user: str = "u") -> None:
        self._broker = broker
        self._throttling = throttling
        self._client_id = client_id
        self.connection = Connection("1", "PLAINTEXT", "127.0.0.1")
        self.connection.principal = f"User:{user}"

    def _finish(self, request: Any, version: int, response: Any, size: int, spent_s: float = 0.0) -> Any:
        api = registry.api(request.API_KEY)
        call = Call(self._broker.core, self.connection, api, version, self._client_id, request)
        return self._throttling.finish(call, response, size, spent_s)

    def produce(self, size: int) -> int:
        return int(self._finish(ProduceRequest(), 9, ProduceResponse(), size).throttle_time_ms)

    def produce_without_ack(self, size: int) -> None:
        assert self._finish(ProduceRequest(acks=0), 9, None, size) is None

    def fetch(self, size: int, session_epoch: int = -1, answered_session: int = 5) -> FetchResponse:
        topic = FetchResponse.FetchableTopicResponse(topic="t")
        topic.partitions = [topic.PartitionData(records=b"x" * size)]
        request = FetchRequest(session_id=5 if session_epoch > 0 else 0, session_epoch=session_epoch)
        response = FetchResponse(session_id=answered_session, responses=[topic])
        answered = self._finish(request, 12, response, 100)
        assert isinstance(answered, FetchResponse)
        return answered

    def heartbeat(self, spent_s: float) -> int:
        return int(self._finish(HeartbeatRequest(), 4, HeartbeatResponse(), 50, spent_s).throttle_time_ms)

    @property
    def muted_ms(self) -> float:
        return (self.connection.muted_until_s - self._broker.clock.monotonic_s()) * 1000


@pytest.fixture
def broker() -> MemoryBroker:
    return MemoryBroker()


@pytest.fixture
def throttling(broker: MemoryBroker) -> Throttling:
    return Throttling(broker.core.quotas, broker.core.configs, broker.clock)


@pytest.mark.req("QT-31")
def test_a_rate_is_taken_over_many_small_windows() -> None:
    rate = LimitedRate(11, 1)
    rate.record(500, 100_000)
    assert rate.per_second(100_000) == 50  # ten windows count from the start, so that it is not a burst
    rate.record(500, 105_000)
    assert rate.per_second(105_000) == 100
    assert rate.per_second(110_500) == pytest.approx(1000 / 10.5)
    assert rate.over_ms(50, 110_500) == 9_500
    assert rate.per_second(111_500) == pytest.approx(500 / 10.5)  # the first window is out
    assert rate.per_second(200_000) == 0


@pytest.mark.parametrize("tiny", [1e-310, 5e-324, 0])
def test_a_limit_may_be_as_small_as_one_likes(tiny: float) -> None:
    """The quotient by which Kafka counts is infinite then; it once was an error that ended every connection."""
    rate = LimitedRate(11, 1)
    rate.record(500, 100_000)
    bucket = Bucket(tiny, 11 * tiny, 100_000)
    bucket.spend(1, 100_000)
    assert rate.over_ms(tiny, 100_000) == bucket.owed_ms(100_000) == 2**31 - 1


def test_a_limit_that_is_no_number_holds_nobody_back() -> None:
    rate = LimitedRate(11, 1)
    rate.record(500, 100_000)
    assert rate.over_ms(math.nan, 100_000) == 0


def test_who_has_next_to_nothing_is_answered_all_the_same(broker: MemoryBroker, throttling: Throttling) -> None:
    limit(broker, {"user": "u"}, request_percentage=1e-310, producer_byte_rate=1e-310)
    client = Client(broker, throttling)
    assert client.heartbeat(spent_s=0.001) == 1000  # a window, as always
    assert client.produce(100) == 2**31 - 1


@pytest.mark.req("QT-25", "QT-27")
def test_who_produces_too_much_is_told_the_delay_and_muted(broker: MemoryBroker, throttling: Throttling) -> None:
    limit(broker, {"user": "u"}, producer_byte_rate=1000.0)
    client = Client(broker, throttling)
    assert client.produce(9_000) == 0
    assert client.muted_ms <= 0
    assert client.produce(2_000) == 1000  # 1,100 B/s over 10 s: 1 s more brings it down to 1,000
    assert client.muted_ms == pytest.approx(1000)
    broker.clock.advance(30)
    assert client.produce(9_000) == 0


def test_a_produce_without_acknowledgement_mutes_all_the_same(broker: MemoryBroker, throttling: Throttling) -> None:
    limit(broker, {"user": "u"}, producer_byte_rate=1000.0)
    client = Client(broker, throttling)
    client.produce_without_ack(11_000)
    assert client.muted_ms == pytest.approx(1000)


@pytest.mark.req("QT-28")
def test_a_throttled_fetch_carries_no_data_and_does_not_count(broker: MemoryBroker, throttling: Throttling) -> None:
    limit(broker, {"client-id": "c"}, consumer_byte_rate=1000.0)
    client = Client(broker, throttling)
    assert client.fetch(5_000).responses
    throttled = client.fetch(6_000)
    more_ms = 2 * ANSWER_BYTES
    assert (throttled.responses, throttled.throttle_time_ms, throttled.session_id) == ([], 1000 + more_ms, 0)
    assert client.fetch(6_000, session_epoch=1).session_id == 5
    assert client.fetch(6_000, session_epoch=1, answered_session=0).session_id == 0  # it is over, or not known
    assert client.fetch(5_000 - 2 * ANSWER_BYTES).throttle_time_ms == 0


def test_a_fetch_gets_no_more_than_its_limit_ever_allows() -> None:
    """More would be refused every time: nobody would read on."""
    with EmbeddedBroker() as broker, WireClient(broker.bootstrap_servers, client_id="c") as client:
        with_topic(client, batches=9)
        client.call(limit_request({"client-id": "c"}, consumer_byte_rate=70.0), 1)
        found = client.call(fetch_request(0, max_wait_ms=60_000, min_bytes=1 << 20), 11)
        assert 200 < len(found.responses[0].partitions[0].records) <= 700


def test_a_throttled_fetch_of_a_session_that_is_unknown_or_over_names_none() -> None:
    """As with Kafka the client begins anew: the answer that would have said why is not sent."""
    with EmbeddedBroker() as broker, WireClient(broker.bootstrap_servers, client_id="c") as client:
        with_topic(client, batches=2)
        session = client.call(fetch_request(0, session_epoch=0, max_wait_ms=0), 11).session_id
        client.call(limit_request({"client-id": "c"}, consumer_byte_rate=1.0), 1)
        emptied = fetch_request(None, session_id=session, session_epoch=1, max_wait_ms=0)
        emptied.forgotten_topics_data = [FetchRequest.ForgottenTopic(topic="t", partitions=[0])]
        unknown = fetch_request(None, session_id=77, session_epoch=1, max_wait_ms=0)
        for request in (emptied, unknown):
            with WireClient(broker.bootstrap_servers, client_id="c") as other:  # those that were answered are muted
                throttled = other.call(request, 11)
            assert (throttled.error_code, throttled.session_id) == (codes.NONE, 0)
            assert throttled.throttle_time_ms > 0


def test_what_a_throttled_fetch_would_have_told_is_told_by_the_next_one() -> None:
    with EmbeddedBroker() as broker, WireClient(broker.bootstrap_servers, client_id="c") as client:
        with_topic(client, batches=2)
        session = client.call(fetch_request(2, session_epoch=0, max_wait_ms=0), 11).session_id
        assert client.call(fetch_request(None, session_id=session, session_epoch=1, max_wait_ms=0), 11).responses == []
        deleted = DeleteRecordsRequest.Topic(name="t", partitions=[DeleteRecordsRequest.Topic.Partition(offset=1)])
        client.call(DeleteRecordsRequest(topics=[deleted], timeout_ms=30_000), 2)
        client.call(limit_request({"client-id": "c"}, consumer_byte_rate=1.0), 1)
        throttled = client.call(fetch_request(None, session_id=session, session_epoch=2, max_wait_ms=0), 11)
        assert (throttled.responses, throttled.session_id) == ([], session)
        assert throttled.throttle_time_ms > 0
        with WireClient(broker.bootstrap_servers, client_id="c") as other:  # the first connection is muted
            other.call(limit_request({"client-id": "c"}, consumer_byte_rate=1e9), 1)
            told = other.call(fetch_request(None, session_id=session, session_epoch=3, max_wait_ms=0), 11)
        assert told.responses[0].partitions[0].log_start_offset == 1


def with_topic(client: WireClient, batches: int) -> None:
    """A topic ``t`` with so many batches of a record, each between 100 and 200 bytes."""
    topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    client.call(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
    for _ in range(batches):
        answer = client.call(produced(build_batch([(0, None, b"x" * 50, ())])), 9)
        assert answer.responses[0].partition_responses[0].error_code == 0


def fetch_request(offset: int | None, **fields: int) -> FetchRequest:
    Topic = FetchRequest.Topic
    wanted = [] if offset is None else [Topic.Partition(partition_max_bytes=1 << 20, fetch_offset=offset)]
    topics = [Topic(topic="t", partitions=wanted)] if wanted else []
    return FetchRequest(**{"max_bytes": 1 << 20, "topics": topics} | fields)  # type: ignore[arg-type]


def produced(batch: bytes) -> ProduceRequest:
    TopicData = ProduceRequest.TopicProduceData
    data = TopicData(name="t", partition_data=[TopicData.PartitionProduceData(index=0, records=batch)])
    return ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[data])


@pytest.mark.req("QT-26")
def test_request_time_is_limited_in_percent_and_never_by_more_than_a_window(
    broker: MemoryBroker, throttling: Throttling
) -> None:
    limit(broker, {"user": "u"}, request_percentage=10.0)
    client = Client(broker, throttling)
    assert client.heartbeat(spent_s=1.0) == 0  # 10 % of ten windows
    assert client.heartbeat(spent_s=0.05) == 500
    assert client.heartbeat(spent_s=60.0) == 1000
    client.connection.muted_until_s = 0.0
    client.produce_without_ack(1)
    assert client.muted_ms <= 0  # without an answer its time counts for nobody


@pytest.mark.req("QT-23")
def test_a_budget_is_shared_by_those_the_limit_names_together(broker: MemoryBroker, throttling: Throttling) -> None:
    limit(broker, {"user": "u"}, producer_byte_rate=1000.0)
    first, second = Client(broker, throttling, "a"), Client(broker, throttling, "b")
    assert first.produce(10_000) == 0
    assert second.produce(1_000) == 1000
    assert Client(broker, throttling, "a", user="other").produce(99_000) == 0
    limit(broker, {"client-id": None}, consumer_byte_rate=1000.0)
    assert first.fetch(10_000 - ANSWER_BYTES).throttle_time_ms == 0
    assert second.fetch(10_000 - ANSWER_BYTES).throttle_time_ms == 0  # a default gives each client its own
    assert first.fetch(1_000 - ANSWER_BYTES).throttle_time_ms == 1000


def test_without_limits_nobody_is_measured(broker: MemoryBroker, throttling: Throttling) -> None:
    assert Client(broker, throttling).produce(1 << 40) == 0
    assert throttling._rates == {}


def test_a_bucket_allows_a_burst_and_one_overdraft() -> None:
    bucket = Bucket(2.0, 10.0, 100_000)
    bucket.spend(10, 100_000)
    assert bucket.owed_ms(100_000) == 0
    bucket.spend(3, 100_000)
    assert bucket.owed_ms(100_000) == 1500
    assert bucket.owed_ms(101_500) == 0
    assert not bucket.is_idle(101_500)
    assert bucket.is_idle(110_000)
    bucket.limit(1.0, 5.0)
    bucket.spend(6, 110_000)
    assert bucket.owed_ms(110_000) == 1000


def create_request(name: str, partitions: int) -> CreateTopicsRequest:
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    return CreateTopicsRequest(topics=[topic], timeout_ms=30_000)


def test_who_changes_topics_too_fast_is_refused_or_with_old_requests_held_back() -> None:
    with EmbeddedBroker() as broker, WireClient(broker.bootstrap_servers) as client:
        client.call(limit_request({"user": None}, controller_mutation_rate=1.0), 1)
        served = client.call(create_request("burst", 111), 7)  # the bucket holds eleven, and may be overdrawn once
        assert (served.topics[0].error_code, served.throttle_time_ms) == (0, 0)
        refused = client.call(create_request("more", 1), 7)
        assert (refused.topics[0].error_code, refused.topics[0].error_message) == (
            codes.THROTTLING_QUOTA_EXCEEDED,
            "The throttling quota has been exceeded.",
        )
        assert 50_000 < refused.throttle_time_ms <= 100_000
        with WireClient(broker.bootstrap_servers) as other:  # the first connection is muted
            grown = other.call(CreatePartitionsRequest(topics=[grow_to("burst", 112)], timeout_ms=30_000), 3)
            assert grown.results[0].error_code == codes.THROTTLING_QUOTA_EXCEEDED
        with WireClient(broker.bootstrap_servers) as other:
            deleted = other.call(DeleteTopicsRequest(topic_names=["burst"], timeout_ms=30_000), 5)
            assert deleted.responses[0].error_code == codes.THROTTLING_QUOTA_EXCEEDED
        with WireClient(broker.bootstrap_servers) as other:
            old = other.call(create_request("more", 1), 5)
            assert old.topics[0].error_code == 0
            assert old.throttle_time_ms > 50_000


def grow_to(name: str, count: int) -> CreatePartitionsRequest.Topic:
    return CreatePartitionsRequest.Topic(name=name, count=count, assignments=None)


@pytest.mark.req("QT-30", "QT-32")
def test_a_muted_connection_is_served_when_the_delay_is_over_even_if_the_client_does_not_wait() -> None:
    with EmbeddedBroker() as broker, WireClient(broker.bootstrap_servers) as client:
        topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        client.call(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
        client.call(limit_request({"user": "ANONYMOUS"}, producer_byte_rate=10_000.0), 1)
        entry = ProduceRequest.TopicProduceData(name="t")
        batch = build_batch([(0, None, b"x" * (10_500 * WINDOWS_S), ())])
        entry.partition_data = [entry.PartitionProduceData(index=0, records=batch)]
        response = client.call(ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[entry]), 9)
        assert 400 < response.throttle_time_ms < 5_000
        began_s = time.monotonic()
        client.call(ApiVersionsRequest(), 0)
        assert (time.monotonic() - began_s) * 1000 > response.throttle_time_ms / 2
