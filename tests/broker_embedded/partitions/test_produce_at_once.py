"""Produce requests that are served at once: the same answer, byte by byte, and the same log as the longer way gives."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded.call import CloseConnection
from kafka_tools.broker_embedded.handlers import _produce_at_once as quick
from kafka_tools.broker_embedded.partitions import produced_batches
from kafka_tools.errors import WireError
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol import registry
from kafka_tools.protocol.enums import AclOperation, AclPermission, AclResourceType, PatternType
from kafka_tools.protocol.headers import decode_response, encode_request
from kafka_tools.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kafka_tools.protocol.messages.create_acls import CreateAclsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_tools.records.build import build_batch
from kafka_tools.records.compression import decompress
from tests.against_kafka.produced_batches import NOW_MS, TOPICS, Case, cases, sound
from tests.broker_embedded.disk_broker import DiskBroker

PRODUCE = registry.key_of("produce")
Topic = ProduceRequest.TopicProduceData
Data = Topic.PartitionProduceData
MIB = 1024 * 1024
ONE_RECORD = [(NOW_MS, b"k", b"v", ())]


class Shorter(DiskBroker):
    """A broker that counts what it serves at once, or serves nothing so."""

    def open(self) -> None:
        super().open()
        self.advance((NOW_MS - self.clock.now_ms()) / 1000)  # what is due by then is done before records come
        self.at_once = 0
        handlers = self.dispatcher.handlers
        serve = handlers[PRODUCE].at_once
        assert serve is not None

        def counted(*given: Any) -> bytes | None:
            payload = serve(*given)
            self.at_once += payload is not None
            return payload

        handlers[PRODUCE] = handlers[PRODUCE]._replace(at_once=counted)

    def never_at_once(self) -> None:
        handlers = self.dispatcher.handlers
        handlers[PRODUCE] = handlers[PRODUCE]._replace(at_once=None)

    def outcome(self, frame: bytes) -> bytes | str | None:
        """What comes of a request's bytes: its answer, None without one, or why the connection is closed."""
        answers: list[Any] = []
        try:
            self.dispatcher.handle_frame(self.connection, memoryview(bytearray(frame)), answers.append)
        except (CloseConnection, WireError) as error:
            return f"{type(error).__name__}: {error}"
        while not answers:  # what takes long is done elsewhere
            self.step()
        assert len(answers) == 1
        return answers[0] if answers[0] is None or isinstance(answers[0], bytes) else b"".join(answers[0])

    def logs(self) -> dict[str, bytes]:
        """What is stored, by partition."""
        return {str(partition.id): Path(partition.log.active.path).read_bytes() for partition in self.core.partitions}


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[Shorter, Shorter]]:
    """Two brokers with the same topics; the second goes the longer way, whatever the request."""
    first = Shorter(tmp_path / "first")
    for name, configs in TOPICS.items():
        first.create(name, 2, **configs)
    first.core.close()
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    first.open()
    second = Shorter(tmp_path / "second")
    second.never_at_once()
    yield first, second
    for broker in (first, second):
        broker.core.close(clean=False)


def request(rng: random.Random, broker: DiskBroker, case: Case, version: int) -> ProduceRequest:
    """One batch for one partition, as a rule; else what only the longer way serves."""

    def topic(name: str, *partitions: Data) -> Topic:
        known = broker.core.cluster.topics.get(name)
        if version < 13 or known is None:
            return Topic(name=name, partition_data=list(partitions))
        return Topic(topic_id=known.id, partition_data=list(partitions))

    plain = build_batch([(NOW_MS, b"key", b"value", ())])
    records = case.data if rng.random() < 0.5 else sound(rng, rng.randrange(5)).encode()
    data = Data(index=rng.choice((0, 0, 0, 1, 1, 7)), records=records)
    topics = [topic(rng.choice((case.topic,) * 9 + ("unknown", "__consumer_offsets")), data)]
    if rng.random() < 0.1:
        topics[0].partition_data.append(Data(index=1, records=plain))
    if rng.random() < 0.1:
        topics.append(topic("compact", Data(index=0, records=plain)))
    return ProduceRequest(
        transactional_id=rng.choice((None,) * 9 + ("", "mine")),
        acks=rng.choice((1, 1, 1, -1, -1, -1, 0, 2)),
        timeout_ms=1000,
        topic_data=topics,
    )


def changed(rng: random.Random, frame: bytes) -> bytes:
    """The request as it is, as a rule; or with a byte that is another one, or more behind it, or not all of it."""
    kind = rng.choice(("",) * 8 + ("byte", "front", "behind", "cut"))
    if kind in ("byte", "front"):
        at = rng.randrange(8, min(len(frame), 60 if kind == "front" else len(frame)))
        return frame[:at] + bytes((rng.randrange(256),)) + frame[at + 1 :]
    if kind == "behind":
        return frame + rng.randbytes(3)
    return frame[: -rng.randrange(1, 5)] if kind == "cut" else frame


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_sent_comes_to_the_same(both: tuple[Shorter, Shorter], seed: int) -> None:
    first, second = both
    rng = random.Random(seed)
    for case in cases(seed, 600):
        version = rng.choice((8, 9, 10, 11, 12, 13, 13))
        client_id = rng.choice(("client", "", None, "é", "x" * 300))
        frame = changed(
            rng, encode_request(request(rng, first, case, version), version, rng.getrandbits(31), client_id)
        )
        assert first.outcome(frame) == second.outcome(frame), (case.name, version, frame[:80])
    assert first.logs() == second.logs()
    assert any(first.logs().values())
    assert first.at_once > 30
    for one, other in zip(first.core.partitions, second.core.partitions, strict=True):
        assert (one.appended_bytes, one.log.log_end_offset) == (other.appended_bytes, other.log.log_end_offset)


@pytest.mark.parametrize("version", range(9, 14))
def test_producers_that_count_are_told_of_repeats_gaps_and_fences(both: tuple[Shorter, Shorter], version: int) -> None:
    first, second = both
    sent = [(1, 0, 0), (1, 0, 3), (1, 0, 0), (1, 0, 9), (1, 1, 0), (1, 0, 6), (2, 0, 5), (-1, -1, -1)]
    said = []
    for producer_id, epoch, sequence in sent:
        batch = build_batch(
            [(NOW_MS, None, b"value", ())] * 3, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
        )
        topic = Topic(name="plain", topic_id=first.core.cluster.topics["plain"].id)
        topic.partition_data = [Data(index=0, records=batch)]
        frame = encode_request(ProduceRequest(acks=-1, timeout_ms=1, topic_data=[topic]), version, 7, "client")
        payload = first.outcome(frame)
        assert payload == second.outcome(frame)
        assert isinstance(payload, bytes)
        answer = decode_response(ProduceResponse, version, payload)[1].responses[0].partition_responses[0]
        said.append((answer.error_code, answer.base_offset))
    gap, fenced = codes.OUT_OF_ORDER_SEQUENCE_NUMBER, codes.INVALID_PRODUCER_EPOCH
    assert said == [(0, 0), (0, 3), (0, 0), (gap, -1), (0, 6), (fenced, -1), (0, 9), (0, 12)]
    assert first.at_once == len(sent)
    assert first.logs() == second.logs()


def one_batch(
    broker: DiskBroker, topic: str, version: int = 9, records: Sequence[Any] = ONE_RECORD, codec: str = "none"
) -> bytes:
    """A request to produce one batch."""
    known = broker.core.cluster.topics.get(topic)
    data = Topic(name=topic) if version < 13 or known is None else Topic(topic_id=known.id)
    data.partition_data = [Data(index=0, records=build_batch(records, codec=codec))]
    return encode_request(ProduceRequest(acks=1, timeout_ms=1, topic_data=[data]), version, 7, "client")


def produced(broker: Shorter, topic: str, version: int = 9, **batch: Any) -> int:
    """The error code for one batch, as a rule of one record."""
    payload = broker.outcome(one_batch(broker, topic, version, **batch))
    assert isinstance(payload, bytes)
    return decode_response(ProduceResponse, version, payload)[1].responses[0].partition_responses[0].error_code


@pytest.mark.parametrize("size", [1, 126, 127, 128, 249])
def test_a_length_that_goes_on_in_a_second_byte_is_not_taken_for_one_of_a_byte(tmp_path: Path, size: int) -> None:
    broker = Shorter(tmp_path / "data")
    name = "n" * size
    broker.create(name)
    frame = one_batch(broker, name)
    assert produced(broker, name) == codes.NONE
    assert broker.at_once == (size < 127)
    if size < 127:
        return
    at = frame.index(name.encode())
    outcome = broker.outcome(frame[: at - 2] + bytes((size + 1,)) + frame[at:])  # more than a byte can tell
    assert isinstance(outcome, str) and outcome.startswith("DecodeError")
    assert broker.core.partitions.led(name, 0).log.log_end_offset == 1


@pytest.mark.parametrize(
    ("records", "limits", "at_once"),
    [
        ([(NOW_MS, b"k", b"v" * 500, ())] * 100, [2 * MIB], True),
        ([(NOW_MS, b"k", b"v" * 500, ())] * 600, [2 * MIB], True),
        ([(NOW_MS, b"k", None, ())] * 2_500, [2 * MIB], True),
        ([(NOW_MS, b"k", random.Random(number).randbytes(200) * 9, ()) for number in range(120)], [2 * MIB], False),
        (
            [(NOW_MS + number, b"k", random.Random(number).randbytes(400), ()) for number in range(500)],
            [2 * MIB],
            False,
        ),
        (
            [(NOW_MS, b"k", random.Random(number).randbytes(1000) * 5, ()) for number in range(500)],
            [2 * MIB, 32 * MIB],
            False,
        ),
        ([(NOW_MS + 1_000_000_000, b"k", b"v" * 500, ())] * 100, [2 * MIB, 2 * MIB], False),
        ([(NOW_MS + 1_000_000_000, b"k", random.Random(1).randbytes(90_000), ())], [2 * MIB], False),
    ],
    ids=["small", "large", "many", "full", "large packed", "elsewhere", "small, refused", "large, refused"],
)
def test_what_is_large_is_decompressed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: list[Any], limits: list[int], at_once: bool
) -> None:
    broker = Shorter(tmp_path / "data")
    broker.create("t")
    asked: list[int] = []

    def seen(codec: int | str, packed: bytes, *, limit_bytes: int) -> bytes:
        asked.append(limit_bytes)
        return decompress(codec, packed, limit_bytes=limit_bytes)

    monkeypatch.setattr(produced_batches, "decompress", seen)
    assert produced(broker, "t", records=records, codec="gzip") in (codes.NONE, codes.INVALID_TIMESTAMP)
    refused = records[0][0] > NOW_MS
    assert asked == limits
    assert broker.at_once == at_once
    assert broker.core.partitions.led("t", 0).log.log_end_offset == (0 if refused else len(records))


def test_versions_whose_layout_is_unknown_are_not_read(tmp_path: Path) -> None:
    broker = Shorter(tmp_path / "data")
    broker.create("t")
    newest = registry.row_by_key(PRODUCE).max_version
    for number, version in enumerate(range(9, newest + 1), start=1):
        assert produced(broker, "t", version) == codes.NONE
        assert broker.at_once == number, f"version {version}: read its layout at once, or end the range before it"
    frame = memoryview(bytearray(one_batch(broker, "t", newest)))
    for other in (8, newest + 1):
        assert quick.answer_at_once(broker.core, broker.connection, frame, other, 7) is None


def test_a_topic_that_is_deleted_takes_nothing_and_a_new_one_of_its_name_does(tmp_path: Path) -> None:
    broker = Shorter(tmp_path / "data")
    broker.create("t")
    assert produced(broker, "t") == produced(broker, "t", 13) == codes.NONE
    assert broker.at_once == 2
    (before,) = broker.core.partitions
    broker.call(DeleteTopicsRequest(topics=[DeleteTopicsRequest.DeleteTopicState(name="t")], timeout_ms=1000), 6)
    broker.step()
    assert produced(broker, "t") == codes.UNKNOWN_TOPIC_OR_PARTITION
    broker.create("t")
    assert produced(broker, "t") == produced(broker, "t", 13) == codes.NONE
    assert broker.at_once == 4
    (after,) = broker.core.partitions
    assert (before.log.log_end_offset, after.log.log_end_offset) == (2, 2)


def test_who_may_not_write_is_refused(tmp_path: Path) -> None:
    acls = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    broker = Shorter(tmp_path / "data", {**acls, "super.users": "User:admin"})
    broker.connection.principal = "User:admin"
    for name in ("open", "shut"):
        broker.create(name)
    creation = CreateAclsRequest.AclCreation(
        resource_type=AclResourceType.TOPIC, resource_name="open", resource_pattern_type=PatternType.LITERAL,
        principal="User:alice", host="*", operation=AclOperation.WRITE, permission_type=AclPermission.ALLOW,
    )  # fmt: skip
    broker.call(CreateAclsRequest(creations=[creation]), 3)
    broker.connection.principal = "User:alice"
    assert produced(broker, "open") == codes.NONE
    assert produced(broker, "shut") == codes.TOPIC_AUTHORIZATION_FAILED
    assert broker.at_once == 1


def test_with_quotas_and_on_the_disk_first_all_is_counted_and_waited_for(tmp_path: Path) -> None:
    broker = Shorter(tmp_path / "data")
    broker.create("t")
    Entry = AlterClientQuotasRequest.EntryData
    entry = Entry(entity=[Entry.EntityData(entity_type="client-id", entity_name="client")])
    entry.ops = [Entry.OpData(key="producer_byte_rate", value=1.0)]
    broker.call(AlterClientQuotasRequest(entries=[entry]), 1)
    assert produced(broker, "t") == codes.NONE
    assert broker.connection.muted_until_s > broker.clock.monotonic_s()
    assert not broker.at_once
    synced = Shorter(tmp_path / "synced", fsync="always")
    synced.create("t")
    frame = memoryview(bytearray(one_batch(synced, "t")))
    assert quick.answer_at_once(synced.core, synced.connection, frame, 9, 7) is None
    synced.core.group_commit = None
    assert quick.answer_at_once(synced.core, synced.connection, frame, 9, 7) is not None


def test_a_bug_closes_the_connection_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broker = Shorter(tmp_path / "data")
    broker.create("t")
    partition = broker.core.partitions.led("t", 0)

    def fail(*given: Any, **named: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(partition.log, "append", fail)
    assert broker.outcome(one_batch(broker, "t")) == "CloseConnection: Produce failed"
    assert "a bug" in caplog.text
