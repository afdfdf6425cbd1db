"""Records through the wire: Produce, Fetch, ListOffsets, DeleteRecords, OffsetForLeaderEpoch, in every version."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from kafka_tools.broker_embedded.call import Call, CloseConnection
from kafka_tools.broker_embedded.handlers import produce
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol import registry
from kafka_tools.protocol.messages.delete_records import DeleteRecordsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.protocol.stored.cluster_metadata import RemoveTopicRecord, TopicRecord
from kafka_tools.records.batches import batches
from kafka_tools.records.build import build_batch
from kafka_tools.records.chain import HEADER_BYTES
from kafka_tools.records.compression import compress
from kafka_tools.records.control import build_marker
from tests.broker_embedded.disk_broker import DiskBroker, fetch_request

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture
def broker(tmp_path: Path) -> DiskBroker:
    made = DiskBroker(tmp_path / "data")
    made.create("t")
    return made


def fetch(broker: DiskBroker, offset: int = 0, *, topic: str = "t", version: int = 11, **fields: Any) -> Any:
    """The partition's part of the answer to a fetch that need not wait."""
    request = fetch_request(topic, offset, **{"max_wait_ms": 0, **fields})
    if version >= 13:
        known = broker.core.cluster.topics[topic]
        request.topics[0].topic, request.topics[0].topic_id = "", known.id
    response = broker.call(request, version)
    assert response.error_code == 0
    return response.responses[0].partitions[0]


def values(data: Any) -> list[bytes | None]:
    return [record.value for view in batches(bytes(data)) for record in view.records()]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", range(3, 14))
def test_what_is_produced_in_any_version_is_fetched(broker: DiskBroker, version: int, codec: str) -> None:
    answer = broker.produce("t", broker.batch(b"a", b"b", codec=codec), version=version)
    if codec == "zstd" and version < 7:
        assert answer.error_code == codes.UNSUPPORTED_COMPRESSION_TYPE
        return
    assert (answer.error_code, answer.base_offset, answer.log_append_time_ms) == (0, 0, -1)
    assert values(fetch(broker).records) == [b"a", b"b"]


@pytest.mark.parametrize(("version", "code"), [(6, codes.UNSUPPORTED_COMPRESSION_TYPE), (7, codes.CORRUPT_MESSAGE)])
def test_of_an_unknown_codec_and_a_wrong_crc_the_crc_is_told(broker: DiskBroker, version: int, code: int) -> None:
    """Produce below v7 looks at the codec before all else, for the sake of zstd."""
    batch = bytearray(broker.batch(b"a"))
    batch[22] |= 7  # attributes
    assert broker.produce("t", bytes(batch), version=version).error_code == code


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_records_of_old_producers_are_stored_in_the_new_format(
    broker: DiskBroker, version: int, magic: int, codec: str
) -> None:
    sent = build_batch([(5, b"k", b"a", ()), (6, b"k", b"b", ())], magic=magic, codec=codec)
    assert broker.produce("t", sent, version=version).error_code == 0
    data = fetch(broker).records
    (view,) = batches(bytes(data))
    assert (view.magic, view.record_count) == (2, 2)
    assert [(r.offset, r.timestamp, r.value) for r in view.records()] == [
        (0, 5 if magic else -1, b"a"),
        (1, 6 if magic else -1, b"b"),
    ]


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_old_consumers_get_the_format_they_know(broker: DiskBroker, version: int, codec: str) -> None:
    broker.produce("t", broker.batch(b"a", b"b", codec=codec))
    broker.produce("t", broker.batch(b"c", codec=codec))
    found = [
        (view.magic, record.offset, record.value)
        for view in batches(bytes(fetch(broker, version=version).records))
        for record in view.records()
    ]
    magic = 0 if version < 2 else 1
    assert found == [(magic, 0, b"a"), (magic, 1, b"b"), (magic, 2, b"c")]


@pytest.mark.req("DC-11")
def test_old_consumers_get_no_record_before_the_one_they_asked_for(broker: DiskBroker) -> None:
    broker.produce("t", broker.batch(b"a", b"b", b"c"))
    (first, second) = (batches(bytes(fetch(broker, at, version=3).records)) for at in (0, 2))
    assert [record.offset for view in first for record in view.records()] == [0, 1, 2]
    assert [record.offset for view in second for record in view.records()] == [2]


@pytest.mark.parametrize("version", range(4, 19))
def test_every_version_of_fetch_is_served(broker: DiskBroker, version: int) -> None:
    if not broker.dispatcher.handlers[1].min_version <= version <= broker.dispatcher.handlers[1].max_version:
        pytest.skip(f"Fetch v{version} is not stable in the release we follow")
    broker.produce("t", broker.batch(b"a", b"b"))
    answer = fetch(broker, version=version)
    assert values(answer.records) == [b"a", b"b"]
    assert (answer.high_watermark, answer.last_stable_offset) == (2, 2)
    assert fetch(broker, 2, version=version).records in (b"", None)


@pytest.mark.parametrize("codec", ["producer", "zstd"])
def test_zstd_is_sent_as_it_is_to_whoever_reads_magic_2(broker: DiskBroker, codec: str) -> None:
    """As Kafka; older versions would need it converted, which no release does."""
    broker.create("z", compression_type=codec)
    broker.produce("z", broker.batch(b"a", codec="zstd"))
    for version in range(4, 19):
        assert values(fetch(broker, topic="z", version=version).records) == [b"a"]
    for version in range(4):
        assert fetch(broker, topic="z", version=version).error_code == codes.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.req("DESIGN-19")
def test_acks_0_gets_no_answer_and_an_error_closes_the_connection(broker: DiskBroker) -> None:
    assert broker.produce_pending("t", broker.batch(b"a"), acks=0).response is None
    assert broker.produce("t", broker.batch(b"b"), acks=1).base_offset == 1
    assert broker.produce("t", broker.batch(b"b"), acks=2).error_code == codes.INVALID_REQUIRED_ACKS
    with pytest.raises(CloseConnection):
        broker.produce_pending("absent", broker.batch(b"a"), acks=0)


@pytest.mark.req("REC-21", "PROTO-K0")
def test_batches_that_cannot_be_kept_are_refused(broker: DiskBroker) -> None:
    def code(batch: bytes | None, version: int = 9, topic: str = "t") -> int:
        return int(broker.produce(topic, batch, version=version).error_code)

    good = broker.batch(b"a")
    damaged = bytearray(good)
    damaged[-1] ^= 1
    count = bytearray(broker.batch(b"a", b"b"))
    count[57:61] = (3).to_bytes(4, "big")  # the record count, which the CRC covers
    assert code(bytes(damaged)) == codes.CORRUPT_MESSAGE
    assert code(bytes(count)) == codes.CORRUPT_MESSAGE
    assert code(good[:-1]) == code(good + good) == codes.INVALID_RECORD
    assert code(None) == code(b"") == codes.INVALID_RECORD
    assert code(build_batch([(1, None, b"a", ())], magic=1)) == codes.INVALID_RECORD  # since v3 only magic 2
    assert code(broker.batch(b"\0\0", control=True)) == codes.INVALID_RECORD
    assert code(broker.batch(b"a", producer_id=1, producer_epoch=0)) == codes.INVALID_RECORD
    assert code(broker.batch(b"x" * 1_100_000)) == codes.MESSAGE_TOO_LARGE
    broker.create("small", segment_bytes="1048576", max_message_bytes="3000000")
    assert code(broker.batch(b"x" * 2_000_000), topic="small") == codes.RECORD_LIST_TOO_LARGE
    late = build_batch([(broker.clock.now_ms() + 3_700_000, None, b"a", ())])
    assert code(late) == codes.INVALID_TIMESTAMP
    assert fetch(broker).high_watermark == 0


def test_a_producers_claim_about_counts_is_checked_even_if_the_crc_fits(broker: DiskBroker) -> None:
    from kafka_tools.records.crc32c import crc32c

    lying = bytearray(broker.batch(b"a", b"b"))
    lying[57:61] = (1).to_bytes(4, "big")
    lying[17:21] = crc32c(bytes(lying[21:])).to_bytes(4, "big")
    assert broker.produce("t", bytes(lying)).error_code == codes.INVALID_RECORD


def test_a_batch_whose_records_do_not_add_up_is_refused(broker: DiskBroker) -> None:
    from kafka_tools.records.crc32c import crc32c

    for codec in ("none", "gzip"):
        torn = bytearray(build_batch([(broker.clock.now_ms(), None, b"abc", ())], codec=codec))
        torn[23:27], torn[57:61] = (4).to_bytes(4, "big"), (5).to_bytes(4, "big")  # claims five records, holds one
        torn[17:21] = crc32c(bytes(torn[21:])).to_bytes(4, "big")
        assert broker.produce("t", bytes(torn)).error_code in (codes.INVALID_RECORD, codes.CORRUPT_MESSAGE)
    assert fetch(broker).high_watermark == 0


@pytest.mark.req("DESIGN-29")
def test_a_compacted_topic_needs_keys(broker: DiskBroker) -> None:
    broker.create("c", cleanup_policy="compact")
    now_ms = broker.clock.now_ms()
    batch = build_batch([(now_ms, b"k", b"a", ()), (now_ms, None, b"b", ())])
    answer = broker.produce("c", batch)
    assert answer.error_code == codes.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [1]
    assert broker.produce("c", batch, version=7).error_code == codes.INVALID_RECORD
    assert broker.produce("c", broker.batch(b"with a key")).error_code == 0


@pytest.mark.parametrize("wanted", [*CODECS[1:], "uncompressed"])
def test_the_topics_codec_replaces_the_producers(broker: DiskBroker, wanted: str) -> None:
    broker.create("c", compression_type=wanted)
    sent = broker.batch(b"a", b"b", codec="gzip", producer_id=5, producer_epoch=1, base_sequence=7)
    broker.core.partitions.led("c", 0).log.producers.entries.clear()
    assert broker.produce("c", sent).error_code == 0
    (view,) = batches(bytes(fetch(broker, topic="c").records))
    assert view.codec == {"uncompressed": 0}.get(wanted, CODECS.index(wanted) if wanted in CODECS else 0)
    assert (view.producer_id, view.producer_epoch, view.base_sequence, view.crc_ok()) == (5, 1, 7, True)


@pytest.mark.parametrize(
    ("codec", "levels", "default"),
    [("gzip", (1, 9, -1), 6), ("zstd", (-100, 19, 3), 3), ("lz4", (1, 17, 9), None)],
)
def test_the_topics_level_is_that_of_batches_that_are_compressed_again(
    broker: DiskBroker, codec: str, levels: tuple[int, ...], default: int | None
) -> None:
    sent = broker.batch(*(b"value %d of many that are much alike" % (number * number) for number in range(1000)))
    (plain,) = batches(sent)
    for level in levels:
        topic = f"level.{level}"
        broker.create(topic, **{"compression_type": codec, f"compression_{codec}_level": str(level)})
        assert broker.produce(topic, sent).error_code == 0
        (view,) = batches(bytes(fetch(broker, topic=topic).records))
        assert view.body() == plain.body()
        wanted = compress(codec, plain.body(), level=default if level == levels[-1] else level)
        assert view.raw()[HEADER_BYTES:] == wanted
        came = broker.batch(b"a" * 1000, codec=codec)  # what came in the topic's codec is kept as it is
        assert broker.produce(topic, came).error_code == 0
        assert broker.core.partitions.led(topic, 0).log.read(1000, 10_000)[HEADER_BYTES:] == came[HEADER_BYTES:]


@pytest.mark.parametrize(("version", "code"), [(12, codes.UNKNOWN_TOPIC_OR_PARTITION), (13, codes.UNKNOWN_TOPIC_ID)])
def test_records_do_not_get_into_a_new_topic_of_the_same_name(broker: DiskBroker, version: int, code: int) -> None:
    """The topic was deleted and made again while its batch was judged where nobody waits for it."""
    broker.create("z", compression_type="zstd")
    real = broker.core.slices.offload

    def offload(function: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
        broker.core.slices.offload = real
        broker.call(DeleteTopicsRequest(topic_names=["z"], timeout_ms=1000), 5)
        broker.create("z")
        real(function, done)

    broker.core.slices.offload = offload
    pending = broker.produce_pending("z", broker.batch(b"x" * 1_000_000, codec="gzip"), version=version)
    while pending.response is None:
        broker.core.step()
    assert pending.response.responses[0].partition_responses[0].error_code == code
    assert broker.core.partitions.led("z", 0).log.log_end_offset == 0


@pytest.mark.parametrize("size", [10, 100_000, 1_000_000])
@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
def test_long_batches_are_compressed_again_where_nobody_waits_for_it(broker: DiskBroker, size: int, codec: str) -> None:
    broker.create("z", compression_type="zstd")
    elsewhere: list[int] = []
    real = broker.core.slices.offload

    def offload(function: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
        elsewhere.append(1)
        real(function, done)

    broker.core.slices.offload = offload
    pending = broker.produce_pending("z", broker.batch(b"x" * size, codec=codec))
    while pending.response is None:
        broker.step()
    assert pending.response.responses[0].partition_responses[0].error_code == 0
    assert values(fetch(broker, topic="z").records) == [b"x" * size]
    assert bool(elsewhere) == (size > 1000 and codec != "zstd")


def test_log_append_time_is_stamped_and_told(broker: DiskBroker) -> None:
    broker.create("c", message_timestamp_type="LogAppendTime")
    sent = build_batch([(5, None, b"a", ())])
    broker.clock.advance(10)
    answer = broker.produce("c", sent)
    assert answer.log_append_time_ms == broker.clock.now_ms()
    (view,) = batches(bytes(fetch(broker, topic="c").records))
    assert view.crc_ok() and view.timestamp_type == 1
    assert [record.timestamp for record in view.records()] == [broker.clock.now_ms()]


@pytest.mark.req("DESIGN-11")
@pytest.mark.parametrize("kill", [False, True])
def test_idempotent_batches_are_kept_once_across_restarts(broker: DiskBroker, kill: bool) -> None:
    def send(sequence: int) -> tuple[int, int]:
        answer = broker.produce(
            "t", broker.batch(b"%d" % sequence, producer_id=3, producer_epoch=0, base_sequence=sequence)
        )
        return answer.error_code, answer.base_offset

    assert [send(sequence) for sequence in range(8)] == [(0, sequence) for sequence in range(8)]
    broker.restart(kill=kill)
    assert [send(sequence) for sequence in range(3, 8)] == [(0, sequence) for sequence in range(3, 8)]
    assert send(9)[0] == codes.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(8) == (0, 8)
    assert fetch(broker).high_watermark == 9


@pytest.mark.req("LD-6")
def test_a_storage_error_is_hidden_from_clients_that_do_not_know_it(broker: DiskBroker) -> None:
    broker.core.partitions.led("t", 0).log.offline = "the disk is gone"
    for version in range(4, 8):
        expected = codes.KAFKA_STORAGE_ERROR if version >= 6 else codes.NOT_LEADER_OR_FOLLOWER
        assert fetch(broker, version=version).error_code == expected
    for version in (3, 4):
        expected = codes.KAFKA_STORAGE_ERROR if version >= 4 else codes.NOT_LEADER_OR_FOLLOWER
        assert broker.produce("t", broker.batch(b"a"), version=version).error_code == expected


def test_a_batch_of_a_transaction_that_was_not_begun_is_refused(broker: DiskBroker) -> None:
    batch = broker.batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    Data = ProduceRequest.TopicProduceData
    topics = [Data(name="t", partition_data=[Data.PartitionProduceData(index=0, records=batch)])]
    request = ProduceRequest(transactional_id="x", acks=-1, timeout_ms=1000, topic_data=topics)
    (topic,) = broker.call(request, 9).responses
    assert topic.partition_responses[0].error_code == codes.NOT_ENOUGH_REPLICAS, "nobody coordinates it yet"
    broker.call(FindCoordinatorRequest(key="x", key_type=1), 1)
    (topic,) = broker.call(request, 9).responses
    assert topic.partition_responses[0].error_code == codes.INVALID_PRODUCER_ID_MAPPING


def test_a_batch_of_a_transaction_without_an_id_is_refused_with_all_that_came_with_it(broker: DiskBroker) -> None:
    batch = broker.batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    Data = ProduceRequest.TopicProduceData
    rows = [
        Data.PartitionProduceData(index=0, records=broker.batch(b"b")),
        Data.PartitionProduceData(index=1, records=batch),
    ]
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[Data(name="t", partition_data=rows)])
    (topic,) = broker.call(request, 9).responses
    assert [(row.error_code, row.base_offset) for row in topic.partition_responses] == [(53, -1), (53, -1)]
    assert broker.core.partitions.get("t", 0).log.log_end_offset == 0  # type: ignore[union-attr]


def test_the_first_partition_at_fault_says_why_all_is_refused_and_each_is_answered_once(broker: DiskBroker) -> None:
    of_transaction = broker.batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    unreadable = bytearray(broker.batch(b"b"))
    unreadable[16] = 7  # the magic
    Data = ProduceRequest.TopicProduceData
    transaction = codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    for order, code in (
        ([of_transaction, bytes(unreadable)], transaction),
        ([bytes(unreadable), of_transaction], codes.CORRUPT_MESSAGE),
    ):
        rows = [Data.PartitionProduceData(index=at, records=records) for at, records in enumerate(order)]
        topics = [Data(name="t", partition_data=rows), Data(name="empty"), Data(name="t", partition_data=rows)]
        answer = broker.call(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics), 9)
        assert [
            (topic.name, [(row.index, row.error_code) for row in topic.partition_responses])
            for topic in answer.responses
        ] == [("t", [(0, code), (1, code)])]


def test_a_batch_that_is_not_whole_is_none_of_a_transaction_and_refused_alone(broker: DiskBroker) -> None:
    of_transaction = broker.batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    Data = ProduceRequest.TopicProduceData
    broker.create("u", partitions=2)
    rows = [
        Data.PartitionProduceData(index=at, records=records)
        for at, records in enumerate([of_transaction[:-1], broker.batch(b"b")])
    ]
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[Data(name="u", partition_data=rows)])
    (topic,) = broker.call(request, 9).responses
    assert [row.error_code for row in topic.partition_responses] == [codes.INVALID_RECORD, codes.NONE]


@pytest.mark.parametrize("refused", [False, True])
def test_topics_without_number_are_looked_at_and_refused_in_slices(
    broker: DiskBroker, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[object] = []
    for name in ("_topic", "partition_error"):
        real = getattr(produce, name)
        monkeypatch.setattr(produce, name, lambda *args, real=real, **more: (done.append(None), real(*args, **more))[1])
    Data = ProduceRequest.TopicProduceData
    records = bytes(16) + b"\x07" if refused else b""  # the magic
    rows = [Data.PartitionProduceData(index=at, records=records) for at in range(20)]
    topics = [Data(name=f"none-{number}", partition_data=rows) for number in range(20)]
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics)
    work = produce.handle(Call(broker.core, broker.connection, registry.api(0), 9, "test", request))
    before, most = 0, 0
    try:
        while True:
            next(work)
            before, most = len(done), max(most, len(done) - before)
    except StopIteration as over:
        answer, most = over.value, max(most, len(done) - before)
    code = codes.CORRUPT_MESSAGE if refused else codes.UNKNOWN_TOPIC_OR_PARTITION
    assert {row.error_code for topic in answer.responses for row in topic.partition_responses} == {code}
    assert sum(len(topic.partition_responses) for topic in answer.responses) == 400
    assert most <= 2


@pytest.mark.parametrize("transactional_id", [None, "tx"])
@pytest.mark.parametrize("length", [13, 0, -1, -(2**31)])
def test_a_length_that_cannot_be_refuses_all_and_is_no_storage_error(
    broker: DiskBroker, length: int, transactional_id: str | None
) -> None:
    """As in Kafka, which comes upon it when it looks whether the request is a transaction's."""
    spoiled = broker.batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    spoiled = spoiled[:8] + length.to_bytes(4, "big", signed=True) + spoiled[12:]
    Data = ProduceRequest.TopicProduceData
    rows = [
        Data.PartitionProduceData(index=0, records=broker.batch(b"b")),
        Data.PartitionProduceData(index=1, records=spoiled),
    ]
    data = [Data(name="t", partition_data=rows)]
    request = ProduceRequest(acks=-1, timeout_ms=1000, transactional_id=transactional_id, topic_data=data)
    (topic,) = broker.call(request, 9).responses
    assert [row.error_code for row in topic.partition_responses] == [codes.CORRUPT_MESSAGE] * 2
    assert f"Record size {length} is less" in (topic.partition_responses[0].error_message or "")


def test_a_batch_of_a_transaction_that_is_too_short_for_its_magic_is_no_storage_error(broker: DiskBroker) -> None:
    spoiled = broker.batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    Data = ProduceRequest.TopicProduceData
    rows = [Data.PartitionProduceData(index=0, records=spoiled[:8] + (40).to_bytes(4, "big") + spoiled[12:])]
    data = [Data(name="t", partition_data=rows)]
    request = ProduceRequest(acks=-1, timeout_ms=1000, transactional_id="tx", topic_data=data)
    (topic,) = broker.call(request, 9).responses
    assert [row.error_code for row in topic.partition_responses] == [codes.CORRUPT_MESSAGE]


def test_a_state_change_that_cannot_be_kept_is_a_storage_error_and_not_applied(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest

    def full(*arguments: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    topic = CreateTopicsRequest.CreatableTopic(name="new", num_partitions=1, replication_factor=1)
    (result,) = broker.call(CreateTopicsRequest(topics=[topic]), 5).topics
    assert result.error_code == codes.KAFKA_STORAGE_ERROR
    assert broker.core.cluster.topic("new") is None


def test_internal_topics_are_not_for_producers(broker: DiskBroker) -> None:
    whole(broker.core.groups.log.ensured())
    assert broker.produce("__consumer_offsets", broker.batch(b"a")).error_code == codes.INVALID_TOPIC_EXCEPTION


def test_a_full_disk_is_a_storage_error_and_the_partition_is_back_once_there_is_room(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import os

    broker.produce("t", broker.batch(b"a"))

    def full(*arguments: object) -> int:
        raise OSError(28, "No space left on device")

    caplog.set_level("INFO")
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        for _ in range(3):
            assert broker.produce("t", broker.batch(b"b")).error_code == codes.KAFKA_STORAGE_ERROR
            broker.advance(1)
        assert values(fetch(broker).records) == [b"a"], "what was acknowledged is served meanwhile"
    assert broker.produce("t", broker.batch(b"c")).base_offset == 1
    told = [record for record in caplog.records if record.levelno >= 20 and "t-0" in record.getMessage()]
    assert [(record.levelname, record.getMessage().split(":")[0]) for record in told] == [
        ("ERROR", "cannot write to t-0"),
        ("INFO", "writes to t-0 work again"),
    ]
    broker.restart(kill=True)
    assert values(fetch(broker).records) == [b"a", b"c"]
    assert broker.produce("t", broker.batch(b"d")).base_offset == 2


@pytest.mark.parametrize("function", ["pwrite", "fdatasync"])
def test_an_error_that_leaves_the_disk_in_doubt_stops_the_partition_until_a_start(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, function: str
) -> None:
    import os

    broker.create("synced", flush_messages="1")
    broker.produce("synced", broker.batch(b"a"))

    def broken(*arguments: object) -> int:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, function, broken)
        assert broker.produce("synced", broker.batch(b"b")).error_code == codes.KAFKA_STORAGE_ERROR
    broker.advance(60)
    assert broker.produce("synced", broker.batch(b"b")).error_code == codes.KAFKA_STORAGE_ERROR
    assert [record.getMessage() for record in caplog.records if "is offline" in record.getMessage()]
    broker.restart()
    assert not (broker.path / ".kafka_cleanshutdown").exists()
    assert broker.produce("synced", broker.batch(b"c")).error_code == 0


# Waiting


@pytest.mark.req("DESIGN-8")
@pytest.mark.req("FS-6", "TX-24", "PROTO-21")
def test_read_committed_ends_at_the_last_stable_offset_and_lists_what_was_aborted(broker: DiskBroker) -> None:
    """The log is one that a broker with transactions left behind: its state is made from its records."""
    now_ms = broker.clock.now_ms()

    def sent(offset: int, value: bytes, producer_id: int) -> bytes:
        own = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
        return build_batch(
            [(now_ms, b"key", value, ())], base_offset=offset, leader_epoch=0, **(own if producer_id else {})
        )

    def ended(offset: int, producer_id: int, *, committed: bool) -> bytes:
        return build_marker(
            producer_id,
            0,
            committed=committed,
            coordinator_epoch=0,
            timestamp=now_ms,
            base_offset=offset,
            leader_epoch=0,
        )

    broker.core.close(clean=False)
    (broker.path / "t-0" / f"{0:020}.log").write_bytes(
        sent(0, b"plain", 0) + sent(1, b"aborted", 7) + sent(2, b"committed", 8) + ended(3, 7, committed=False)
        + ended(4, 8, committed=True) + sent(5, b"open", 9) + sent(6, b"behind it", 0)
    )  # fmt: skip
    broker.open()
    committed, everything = fetch(broker, isolation_level=1), fetch(broker, isolation_level=0)
    for data in (committed, everything):
        assert (data.error_code, data.last_stable_offset, data.high_watermark) == (codes.NONE, 5, 7)
    assert [(each.producer_id, each.first_offset) for each in committed.aborted_transactions] == [(7, 1)]
    assert everything.aborted_transactions is None
    offsets = [[view.base_offset for view in batches(data.records)] for data in (committed, everything)]
    assert offsets == [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5, 6]]
    later = fetch(broker, 4, isolation_level=1)
    assert later.aborted_transactions == [] and [view.base_offset for view in batches(later.records)] == [4]


@pytest.mark.req("FS-8")
def test_what_a_consumer_says_of_its_log_start_changes_nothing(broker: DiskBroker) -> None:
    broker.produce("t", broker.batch(b"a", b"b"))
    for told in (0, 1, 1000):
        request = fetch_request("t", 0)
        request.topics[0].partitions[0].log_start_offset = told
        (topic,) = broker.call(request, 11).responses
        (data,) = topic.partitions
        assert (data.log_start_offset, data.high_watermark, values(data.records)) == (0, 2, [b"a", b"b"])


def test_a_fetch_waits_for_min_bytes_or_its_time(broker: DiskBroker) -> None:
    waiting = broker.send(fetch_request("t", 0, min_bytes=140, max_wait_ms=500), 11)
    assert waiting.response is None
    broker.produce("t", broker.batch(b"a"))
    assert waiting.response is None  # fewer than 140 bytes
    broker.produce("t", broker.batch(b"b"))
    assert values(waiting.response.responses[0].partitions[0].records) == [b"a", b"b"]
    late = broker.send(fetch_request("t", 2, max_wait_ms=500), 11)
    broker.advance(0.49)
    assert late.response is None
    broker.advance(0.02)
    assert late.response.responses[0].partitions[0].records == b""


def test_a_waiting_fetch_is_told_that_the_topic_is_gone(broker: DiskBroker) -> None:
    from kafka_tools.broker_embedded.slices import whole

    waiting = broker.send(fetch_request("t", 0), 11)
    whole(broker.core.topics.delete(broker.core.cluster.topics["t"]))
    assert waiting.response.responses[0].partitions[0].error_code == codes.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [5, 12, 13])
def test_a_fetch_that_waits_is_told_that_its_topic_is_gone_as_by_kafka(broker: DiskBroker, version: int) -> None:
    """It was known when the fetch came: its name stays known, and nothing was read."""
    waiting = broker.send(waiting_fetch(broker, version), version)
    broker.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 5)
    broker.advance(0.5)
    answer = waiting.response.responses[0].partitions[0]
    told = (answer.error_code, answer.aborted_transactions, answer.high_watermark)
    assert told == (codes.UNKNOWN_TOPIC_OR_PARTITION, None, -1)


def test_a_fetch_that_waits_by_id_does_not_read_a_new_topic_of_that_name(broker: DiskBroker) -> None:
    waiting = broker.send(waiting_fetch(broker, 13), 13)
    broker.core.journal.commit([RemoveTopicRecord(topic_id=broker.core.cluster.topics["t"].id)])
    broker.core.journal.commit([TopicRecord(name="t", topic_id=uuid4())])
    broker.advance(0.5)
    answer = waiting.response.responses[0].partitions[0]
    assert (answer.error_code, answer.aborted_transactions) == (codes.INCONSISTENT_TOPIC_ID, None)


def waiting_fetch(broker: DiskBroker, version: int) -> FetchRequest:
    request = fetch_request("t", 0, max_wait_ms=500, isolation_level=1)
    if version >= 13:
        request.topics[0].topic, request.topics[0].topic_id = "", broker.core.cluster.topics["t"].id
    return request


@pytest.mark.req("FS-4", "FS-5")
def test_topics_are_served_in_request_order_under_a_soft_limit(broker: DiskBroker) -> None:
    broker.create("u")
    big = b"x" * 1000
    for topic in ("t", "u"):
        broker.produce(topic, broker.batch(big))
    Topic = FetchRequest.Topic
    for order in (["t", "u"], ["u", "t"]):
        topics = [
            Topic(topic=name, partitions=[Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=100)])
            for name in order
        ]
        response = broker.call(FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=100, topics=topics), 11)
        first, second = (topic.partitions[0] for topic in response.responses)
        assert [topic.topic for topic in response.responses] == order
        assert values(first.records) == [big]
        assert second.records == b""


def test_a_consumer_of_many_partitions_misses_nothing_at_the_end_of_a_segment(broker: DiskBroker) -> None:
    """The first partition leaves room for what the next segment of the second one holds, but not for what is due."""
    broker.create("u", segment_bytes="1048576")
    broker.produce("t", broker.batch(b"x" * 1000))
    for value in (b"a" * 900_000, b"b" * 140_000, b"c" * 10_000):
        broker.produce("u", broker.batch(value))
    assert broker.core.partitions.get("u", 0).log.segments[-1].base_offset == 2  # type: ignore[union-attr]
    Topic = FetchRequest.Topic
    topics = [Topic(topic=name, partitions=[Topic.Partition(fetch_offset=at)]) for name, at in (("t", 0), ("u", 1))]
    for topic in topics:
        topic.partitions[0].partition_max_bytes = 1 << 20
    response = broker.call(FetchRequest(max_wait_ms=0, max_bytes=20_000, topics=topics), 11)
    assert [values(topic.partitions[0].records) for topic in response.responses] == [[b"x" * 1000], []]


@pytest.mark.req("FS-7")
def test_leader_epochs_are_checked(broker: DiskBroker) -> None:
    broker.restart()
    broker.restart()
    for epoch, code in (
        (1, codes.FENCED_LEADER_EPOCH),
        (2, 0),
        (3, codes.UNKNOWN_LEADER_EPOCH),
        (-1, 0),
        (-(2**31), 0),
    ):
        request = fetch_request("t", 0, max_wait_ms=0)
        request.topics[0].partitions[0].current_leader_epoch = epoch
        assert broker.call(request, 11).responses[0].partitions[0].error_code == code


def test_offsets_outside_the_log_and_unknown_partitions(broker: DiskBroker) -> None:
    answer = fetch(broker, 1)
    assert (answer.error_code, answer.high_watermark) == (codes.OFFSET_OUT_OF_RANGE, -1)
    assert fetch(broker, partition=1).error_code == codes.UNKNOWN_TOPIC_OR_PARTITION
    request = fetch_request("t", 0)
    request.topics[0].topic = ""
    import uuid

    request.topics[0].topic_id = uuid.UUID(int=3)
    assert broker.call(request, 13).responses[0].partitions[0].error_code == codes.UNKNOWN_TOPIC_ID


# Offsets


def offset(broker: DiskBroker, timestamp: int, *, version: int = 9, **fields: Any) -> tuple[int, int, int]:
    """(error code, offset, timestamp)."""
    Topic = ListOffsetsRequest.Topic
    wanted = Topic.Partition(partition_index=0, timestamp=timestamp, **fields)
    request = ListOffsetsRequest(replica_id=-1, topics=[Topic(name="t", partitions=[wanted])])
    answer = broker.call(request, version).topics[0].partitions[0]
    return answer.error_code, answer.offset, answer.timestamp


def test_offsets_by_every_kind_of_timestamp(broker: DiskBroker) -> None:
    now_ms = broker.clock.now_ms()
    stamps = [now_ms, now_ms + 50, now_ms + 20]
    for stamp in stamps:
        broker.produce("t", build_batch([(stamp, None, b"x", ())]))
    for version in range(1, 12):
        assert offset(broker, -1, version=version)[:2] == (0, 3)
        assert offset(broker, -2, version=version)[:2] == (0, 0)
        assert offset(broker, now_ms + 1, version=version) == (0, 1, now_ms + 50)
        assert offset(broker, now_ms + 51, version=version)[1] == -1
        largest = (0, 1, now_ms + 50) if version >= 7 else (codes.UNSUPPORTED_VERSION, -1, -1)
        assert offset(broker, -3, version=version) == largest
    assert offset(broker, -4, version=8)[:2] == (0, 0)
    assert offset(broker, -5, version=9)[:2] == (0, -1)


def test_v0_lists_where_segments_begin(broker: DiskBroker) -> None:
    broker.produce("t", broker.batch(b"x", b"y"))
    Topic = ListOffsetsRequest.Topic
    for timestamp, expected in ((-1, [2, 0]), (-2, [0])):
        wanted = Topic.Partition(partition_index=0, timestamp=timestamp, max_num_offsets=5)
        request = ListOffsetsRequest(replica_id=-1, topics=[Topic(name="t", partitions=[wanted])])
        assert broker.call(request, 0).topics[0].partitions[0].old_style_offsets == expected


def delete(broker: DiskBroker, offset: int, topic: str = "t", version: int = 2) -> tuple[int, int]:
    Topic = DeleteRecordsRequest.Topic
    wanted = Topic(name=topic, partitions=[Topic.Partition(partition_index=0, offset=offset)])
    answer = broker.call(DeleteRecordsRequest(topics=[wanted], timeout_ms=1), version).topics[0].partitions[0]
    return answer.error_code, answer.low_watermark


def test_the_newest_record_that_is_named_is_one_that_is_there(broker: DiskBroker) -> None:
    """Kafka names the one that was deleted, as long as its segment is there."""
    now_ms = broker.clock.now_ms()
    for stamp in (now_ms + 50, now_ms + 20, now_ms + 10):
        broker.produce("t", build_batch([(stamp, None, b"x", ())]))
    assert delete(broker, 1) == (0, 1)
    assert offset(broker, -3) == (0, 1, now_ms + 20)
    assert delete(broker, 3) == (0, 3)
    assert offset(broker, -3) == (0, -1, -1)


@pytest.mark.parametrize("kill", [False, True])
def test_deleted_records_stay_deleted(broker: DiskBroker, kill: bool) -> None:
    for _ in range(5):
        broker.produce("t", broker.batch(b"x"))
    for version in range(3):
        assert delete(broker, 2, version=version) == (0, 2)
    assert delete(broker, 1) == (0, 2)
    assert delete(broker, 6) == (codes.OFFSET_OUT_OF_RANGE, -1)
    assert delete(broker, -2) == (codes.OFFSET_OUT_OF_RANGE, -1)
    assert delete(broker, 0, topic="absent") == (codes.UNKNOWN_TOPIC_OR_PARTITION, -1)
    broker.restart(kill=kill)
    assert offset(broker, -2)[1] == 2
    assert fetch(broker, 1).error_code == codes.OFFSET_OUT_OF_RANGE
    assert delete(broker, -1) == (0, 5)
    broker.create("c", cleanup_policy="compact")
    assert delete(broker, 0, topic="c") == (codes.POLICY_VIOLATION, -1)
    broker.create("kept", cleanup_policy="")
    assert delete(broker, 0, topic="kept") == (0, 0)


@pytest.mark.req("CTL-8")
def test_the_end_of_a_leader_epoch_is_told(broker: DiskBroker) -> None:
    broker.produce("t", broker.batch(b"x"))
    broker.restart(kill=True)
    broker.produce("t", broker.batch(b"y", b"z"))
    Topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic

    def end(epoch: int, version: int = 4) -> tuple[int, int, int]:
        wanted = Topic.OffsetForLeaderPartition(partition=0, leader_epoch=epoch)
        request = OffsetForLeaderEpochRequest(topics=[Topic(topic="t", partitions=[wanted])])
        answer = broker.call(request, version).topics[0].partitions[0]
        return answer.error_code, answer.leader_epoch, answer.end_offset

    assert [end(epoch) for epoch in (0, 1, 2)] == [(0, 0, 1), (0, 1, 3), (0, -1, -1)]
    broker.restart()
    assert [end(epoch) for epoch in (1, 2)] == [(0, 1, 3), (0, 2, 3)]  # led anew, nothing written yet
    assert [end(0, version)[2] for version in range(5)] == [1] * 5


def test_topic_configs_take_effect_at_once(broker: DiskBroker) -> None:
    from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    change = Resource.AlterableConfig(name="max.message.bytes", config_operation=0, value="100")
    resource = Resource(resource_type=2, resource_name="t", configs=[change])
    broker.call(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert broker.produce("t", broker.batch(b"x" * 200)).error_code == codes.MESSAGE_TOO_LARGE
    broker.restart(kill=True)
    assert broker.produce("t", broker.batch(b"x" * 200)).error_code == codes.MESSAGE_TOO_LARGE


def test_retention_runs_on_its_timer(broker: DiskBroker) -> None:
    broker.create("short", retention_ms="1000", segment_bytes="1048576")
    broker.produce("short", broker.batch(b"x"))
    broker.advance(400)
    assert broker.core.partitions.led("short", 0).log.log_start_offset == 1
    broker.advance(61)


def test_retention_has_pauses_for_requests_in_which_a_topic_may_be_deleted(
    broker: DiskBroker, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a", "b", "c"):
        broker.create(name, retention_ms="1000")
        broker.produce(name, broker.batch(b"x"))
    broker.clock.advance(10)
    sweep = broker.core.partitions.upkeep.enforce_retention()
    next(sweep)
    broker.call(DeleteTopicsRequest(topic_names=["b"], timeout_ms=1000), 5)
    assert sum(1 for _ in sweep) >= 2
    assert [broker.core.partitions.led(name, 0).log.log_start_offset for name in ("a", "c")] == [1, 1]
    assert not [entry for entry in caplog.records if entry.levelname == "ERROR"]


@pytest.mark.req("CFG-41")
def test_a_retention_of_minus_1_has_no_limit(broker: DiskBroker) -> None:
    for name, retention_ms in (("kept", "-1"), ("short", "1000")):
        broker.create(name, retention_ms=retention_ms, segment_bytes="1048576")
        broker.produce(name, broker.batch(b"x"))
    broker.advance(400)
    assert [broker.core.partitions.led(name, 0).log.log_start_offset for name in ("kept", "short")] == [0, 1]


def test_acks_with_null_records_in_old_versions_append_nothing(broker: DiskBroker) -> None:
    answer = broker.produce("t", None, version=2)
    assert (answer.error_code, answer.base_offset) == (0, -1)


def test_an_unknown_topic_id_is_told(broker: DiskBroker) -> None:
    import uuid

    TopicData = ProduceRequest.TopicProduceData
    data = TopicData(topic_id=uuid.UUID(int=4), partition_data=[TopicData.PartitionProduceData(index=0)])
    answer = broker.call(ProduceRequest(acks=1, timeout_ms=1, topic_data=[data]), 13).responses[0]
    assert answer.partition_responses[0].error_code == codes.UNKNOWN_TOPIC_ID
