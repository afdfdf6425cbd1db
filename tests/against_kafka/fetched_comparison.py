"""Records that Kafka 3.9.2 and the bundled broker convert for consumers of Fetch v0 to v3, from the same batches.

3.9 is the last release that knows these versions. Batches of every codec, with headers, without keys and values, of
LogAppendTime and of transactions are produced to both; then every offset is fetched in each old version.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import NamedTuple

from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafka_tools.protocol.messages.add_partitions_to_txn import Topic as TxnTopic
from kafka_tools.protocol.messages.end_txn import EndTxnRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.records.batches import batches
from kafka_tools.records.build import build_batch
from tests.broker_embedded.wire_client import WireClient, make_topics

OLD = (0, 1, 2, 3)
NOW_MS = 1_750_000_000_000
TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "append-time": {"message.timestamp.type": "LogAppendTime"},
    "transactions": {},
    "zstd": {"compression.type": "zstd"},
}
ROWS = [
    (NOW_MS, b"key", b"value" * 20, [("header", b"x")]),
    (NOW_MS + 5, None, b"no key" * 10, []),
    (NOW_MS - 7, b"no value", None, []),
    (NOW_MS + 1, b"", b"", [("a", None), ("b", b"")]),
]


class OldMessage(NamedTuple):
    """One record as an old consumer reads it. ``timestamp`` None: the broker's own time, or none at all."""

    magic: int
    codec: int
    timestamp_type: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None


class Fetched(NamedTuple):
    """One partition of an answer. ``wrappers``: the last offset and the number of records of each batch."""

    code: int
    high_watermark: int
    messages: list[OldMessage]
    wrappers: list[tuple[int, int]]


class OldConsumer:
    """Produces what is compared to one broker, and reads it in old versions."""

    def __init__(self, address: str, run: str) -> None:
        self._run = run
        self._client = WireClient(address)
        make_topics(self._client, {self._topic(name): configs for name, configs in TOPICS.items()})
        self.ends = dict.fromkeys(TOPICS, 0)

    def _topic(self, name: str) -> str:
        return f"{self._run}-{name}"

    def fill(self) -> None:
        for name in ("plain", "append-time"):
            for codec in (0, 1, 2, 3):
                self._produce(name, build_batch(ROWS, codec=codec), len(ROWS))
                self._produce(name, build_batch(ROWS[:1], codec=codec), 1)
        self._produce("zstd", build_batch(ROWS, codec=4), len(ROWS))
        for ends_well in (True, False, True):
            self._transaction(ends_well)

    def _transaction(self, commits: bool) -> None:
        """Two batches and the marker of how it ended."""
        name = f"{self._run}-id"
        while self._client.call(FindCoordinatorRequest(key=name, key_type=1), 1).error_code:
            pass  # its topic is being made
        while True:
            begun = self._client.call(InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000), 1)
            if not begun.error_code:
                break
            assert begun.error_code in (
                codes.COORDINATOR_NOT_AVAILABLE,
                codes.NOT_COORDINATOR,
                codes.COORDINATOR_LOAD_IN_PROGRESS,
                codes.CONCURRENT_TRANSACTIONS,
            ), begun
        told = {"producer_id": begun.producer_id, "producer_epoch": begun.producer_epoch}
        topic = TxnTopic(name=self._topic("transactions"), partitions=[0])
        asked = AddPartitionsToTxnRequest(v3_and_below_transactional_id=name, v3_and_below_topics=[topic],
                                          v3_and_below_producer_id=begun.producer_id,
                                          v3_and_below_producer_epoch=begun.producer_epoch)  # fmt: skip
        while self._client.call(asked, 1).results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code:
            pass  # the transaction before is not over everywhere
        for sequence, codec in ((0, 0), (len(ROWS), 1)):
            batch = build_batch(ROWS, codec=codec, transactional=True, base_sequence=sequence, **told)
            self._produce("transactions", batch, len(ROWS), name)
        assert not self._client.call(EndTxnRequest(transactional_id=name, committed=commits, **told), 1).error_code
        self.ends["transactions"] += 1

    def _produce(self, name: str, batch: bytes, records: int, transactional_id: str | None = None) -> None:
        TopicData = ProduceRequest.TopicProduceData
        data = TopicData(name=self._topic(name), partition_data=[TopicData.PartitionProduceData(records=batch)])
        request = ProduceRequest(acks=-1, timeout_ms=30_000, transactional_id=transactional_id, topic_data=[data])
        while True:
            code = self._client.call(request, 7).responses[0].partition_responses[0].error_code
            if not code:
                self.ends[name] += records
                return
            assert code in (codes.UNKNOWN_TOPIC_OR_PARTITION, codes.NOT_LEADER_OR_FOLLOWER), code

    def fetch(self, name: str, version: int, offset: int, most_bytes: int = 1 << 20) -> Fetched:
        Topic = FetchRequest.Topic
        wanted = Topic.Partition(partition=0, fetch_offset=offset, partition_max_bytes=most_bytes)
        request = FetchRequest(topics=[Topic(topic=self._topic(name), partitions=[wanted])], max_bytes=1 << 20)
        answer = self._client.call(request, version).responses[0].partitions[0]
        data = bytes(answer.records or b"")
        messages, wrappers = [], []
        for message, wrapper in _read(data, own_time=name == "append-time"):
            messages += message
            wrappers.append(wrapper)
        return Fetched(answer.error_code, answer.high_watermark, messages, wrappers)


def _read(data: bytes, *, own_time: bool) -> Iterator[tuple[list[OldMessage], tuple[int, int]]]:
    for view in batches(data):
        found = []
        for record in view.records():
            timestamp = None if own_time and record.timestamp > NOW_MS + 1_000_000 else record.timestamp
            found.append(OldMessage(view.magic, int(view.codec), view.timestamp_type, record.offset, timestamp,
                                    record.key, record.value))  # fmt: skip
        yield found, (view.last_offset, len(found))


def differences(real: str, ours: str) -> tuple[list[str], int, int]:
    """What is not alike, how many fetches were compared, and how many are equal message by message and in wrappers."""
    run = uuid.uuid4().hex[:8]
    theirs, mine = OldConsumer(real, run), OldConsumer(ours, run)
    for each in (theirs, mine):
        each.fill()
    assert theirs.ends == mine.ends
    found: list[str] = []
    count = equal = 0
    for name, end in theirs.ends.items():
        for version in OLD:
            for offset in range(end + 1):
                for most_bytes in (1 << 20, 150):
                    told, own = (each.fetch(name, version, offset, most_bytes) for each in (theirs, mine))
                    count += 1
                    equal += told == own
                    if not _is_alike(told, own):
                        found.append(f"{name} v{version} from {offset}, {most_bytes} bytes: theirs {told}, ours {own}")
    return found, count, equal


def _is_alike(theirs: Fetched, ours: Fetched) -> bool:
    """Whether an old consumer reads the same, but for what Kafka 3.9 does and ours does not:

    - it cuts an answer off where the records as they are stored would end, although converted ones are longer;
    - from the marker of a transaction on it sends the first batch twice;
    - it refuses the end of a topic whose compression.type is zstd too, which Kafka 4.3 does not.
    """
    if theirs == ours:
        return True
    if theirs.code == codes.UNSUPPORTED_COMPRESSION_TYPE:
        return not ours.code and not ours.messages
    read = list(dict.fromkeys(theirs.messages))
    is_beginning = bool(read) and ours.messages[: len(read)] == read
    return is_beginning and theirs[:2] == ours[:2]
