"""Transactions in every state and in wrong order: random walks that Kafka and the bundled broker take in step.

``python -m tests.against_kafka.transaction_walks --walks 200 --seed 1`` walks from seed on and prints every step whose
answers differ. A step is one request of a producer that may be the newest of its id, one that was replaced, or one that
makes numbers up; producer ids are each broker's own, so answers are compared by code and epoch. What is read in the
end, read committed, is compared too.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import click

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_tools.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, Topic
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_tools.protocol.messages.end_txn import EndTxnRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.list_transactions import ListTransactionsRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafka_tools.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from kafka_tools.records.build import build_batch
from tests.against_kafka.jars import NEWEST
from tests.broker_embedded.wire_client import WireClient

PARTITIONS = 3
SETTLE_S = 60.0


class Step(NamedTuple):
    """One request. ``producer``: which of the walk's producers asks. ``version`` of its API."""

    op: str
    producer: int
    version: int = 0
    argument: Any = None


def walk_of(seed: int, steps: int) -> list[Step]:
    """The steps of a walk: mostly a client's way through a transaction, by one of three kinds of client."""
    draw = random.Random(seed)
    kind = draw.choice(("old", "new", "mixed"))
    walk = [Step("init", 0, 4)]

    def version(op: str) -> int:
        old = {"init": (0, 4), "add": (0, 3), "produce": (7, 11), "end": (0, 4), "add_offsets": (0, 4)}
        new = {"init": (5, 5), "add": (3, 3), "produce": (12, 12), "end": (5, 5), "add_offsets": (4, 4)}
        old["commit"], new["commit"] = (0, 4), (5, 5)
        table = {"old": old, "new": new, "mixed": draw.choice((old, new))}[kind]
        return draw.randint(*table[op])

    while len(walk) < steps:
        producer = draw.choices((0, 1, 2), (8, 3, 1))[0]
        op = draw.choices(
            ("produce", "add", "end", "init", "add_offsets", "commit", "describe", "fetch_offsets", "verify", "marker",
             "list"),
            (20, 12, 14, 4, 4, 6, 3, 2, 3, 1, 1),
        )[0]  # fmt: skip
        if op == "produce":
            argument = draw.randrange(PARTITIONS), draw.choices(("next", "gap", "plain"), (20, 1, 1))[0]
            walk.append(Step(op, producer, version(op), argument))
        elif op == "add":
            partitions = tuple(draw.sample(range(PARTITIONS + (draw.random() < 0.1)), draw.randint(1, 2)))
            walk.append(Step(op, producer, version(op), partitions))
        elif op == "end":
            walk.append(Step(op, producer, version(op), draw.random() < 0.6))
        elif op == "init":
            argument = draw.choices((None, "own", "made up"), (6, 3, 1))[0]
            walk.append(Step(op, producer, 5 if argument else version(op), argument))
        elif op in ("add_offsets", "commit"):
            walk.append(Step(op, producer, version(op), draw.choices((-1, 4), (9, 1))[0]))
        else:
            walk.append(Step(op, producer, 0, draw.random() < 0.5))
    return walk


class Peer:
    """One broker, and the producers of one walk as it knows them."""

    def __init__(self, address: str, name: str) -> None:
        self.client = WireClient(address)
        self.name = name
        self.known = {0: (-1, -1), 1: (-1, -1), 2: (888_888, 0)}
        self.sequences: dict[tuple[int, int, int], int] = {}
        self.written = 0
        for key, kind in ((name, 1), (name, 0)):
            self._until(lambda k=key, t=kind: self.client.call(FindCoordinatorRequest(key=k, key_type=t), 2).error_code)
        wanted = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=PARTITIONS, replication_factor=1)
        assert self.client.call(CreateTopicsRequest(topics=[wanted], timeout_ms=30_000), 5).topics[0].error_code == 0
        self._until(lambda: max(self._fetch(number).error_code for number in range(PARTITIONS)))
        # A coordinator that was just made may still be loading its log.
        self._until(lambda: self._init(3, 4, None)[0])
        self._until(lambda: self._fetch_offsets(True)[0])

    def close(self) -> None:
        self.client.__exit__(None, None, None)

    def take(self, step: Step) -> tuple[Any, ...]:
        """The answer to a step, when it has come to rest."""
        answer: tuple[Any, ...] = getattr(self, f"_{step.op}")(step.producer, step.version, step.argument)
        self._settle()
        return answer

    def _until(self, ask: Any) -> None:
        deadline = time.monotonic() + SETTLE_S
        while ask() in (
            codes.COORDINATOR_NOT_AVAILABLE, codes.NOT_COORDINATOR, codes.COORDINATOR_LOAD_IN_PROGRESS,
            codes.CONCURRENT_TRANSACTIONS, codes.NOT_LEADER_OR_FOLLOWER, codes.UNKNOWN_TOPIC_OR_PARTITION,
        ):  # fmt: skip
            assert time.monotonic() < deadline, "the coordinator does not come"
            time.sleep(0.02)

    def _settle(self) -> None:
        """Wait until the markers of a decision are written."""
        deadline = time.monotonic() + SETTLE_S
        while self._state()[1].startswith("Prepare"):
            assert time.monotonic() < deadline, "the transaction is not completed"
            time.sleep(0.002)

    def _state(self) -> tuple[int, str, int, list[int]]:
        request = DescribeTransactionsRequest(transactional_ids=[self.name])
        (found,) = self.client.call(request, 0).transaction_states
        partitions = sorted(number for topic in found.topics if topic.topic == self.name for number in topic.partitions)
        return found.error_code, found.transaction_state, found.producer_epoch, partitions

    def _init(self, producer: int, version: int, argument: Any) -> tuple[Any, ...]:
        fields: dict[str, int] = {}
        if argument == "own":
            fields = dict(zip(("producer_id", "producer_epoch"), self.known[producer], strict=True))
        elif argument == "made up":
            fields = {"producer_id": 999_999, "producer_epoch": 3}
        request = InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=60_000, **fields)
        answer = self.client.call(request, version)
        if not answer.error_code:
            self.known[producer] = answer.producer_id, answer.producer_epoch
        return answer.error_code, answer.producer_epoch

    def _add(self, producer: int, version: int, partitions: Sequence[int]) -> tuple[Any, ...]:
        producer_id, epoch = self.known[producer]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name, v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=[Topic(name=self.name, partitions=list(partitions))],
        )  # fmt: skip
        (topic,) = self.client.call(request, version).results_by_topic_v3_and_below
        return tuple(sorted((each.partition_index, each.partition_error_code) for each in topic.results_by_partition))

    def _verify(self, producer: int, _: int, only: bool) -> tuple[Any, ...]:
        producer_id, epoch = self.known[producer]
        asked = AddPartitionsToTxnRequest.Transaction(
            transactional_id=self.name, producer_id=producer_id, producer_epoch=epoch, verify_only=only,
            topics=[Topic(name=self.name, partitions=[0, 1])],
        )  # fmt: skip
        (answer,) = self.client.call(AddPartitionsToTxnRequest(transactions=[asked]), 5).results_by_transaction
        (topic,) = answer.topic_results
        return tuple(sorted((each.partition_index, each.partition_error_code) for each in topic.results_by_partition))

    def _produce(self, producer: int, version: int, argument: tuple[int, str]) -> tuple[Any, ...]:
        partition, how = argument
        producer_id, epoch = self.known[producer]
        if producer_id < 0:
            return ("nobody",)
        key = producer_id, epoch, partition
        first = self.sequences.get(key, 0) + (5 if how == "gap" else 0)
        self.written += 1
        batch = build_batch(
            [(round(time.time() * 1000), None, b"%d" % self.written, ())], producer_id=producer_id,
            producer_epoch=epoch, base_sequence=first, transactional=how != "plain",
        )  # fmt: skip
        Data = ProduceRequest.TopicProduceData
        data = Data(name=self.name, partition_data=[Data.PartitionProduceData(index=partition, records=batch)])
        request = ProduceRequest(transactional_id=self.name, acks=-1, timeout_ms=30_000, topic_data=[data])
        answer = self.client.call(request, version).responses[0].partition_responses[0]
        if not answer.error_code:
            self.sequences[key] = first + 1
        return answer.error_code, answer.base_offset

    def _end(self, producer: int, version: int, commit: bool) -> tuple[Any, ...]:
        producer_id, epoch = self.known[producer]
        request = EndTxnRequest(
            transactional_id=self.name, producer_id=producer_id, producer_epoch=epoch, committed=commit
        )
        answer = self.client.call(request, version)
        if version >= 5 and not answer.error_code:
            self.known[producer] = answer.producer_id, answer.producer_epoch
        return answer.error_code, answer.producer_epoch

    def _add_offsets(self, producer: int, version: int, _: Any) -> tuple[Any, ...]:
        producer_id, epoch = self.known[producer]
        request = AddOffsetsToTxnRequest(
            transactional_id=self.name, producer_id=producer_id, producer_epoch=epoch, group_id=self.name
        )
        return (self.client.call(request, version).error_code,)

    def _commit(self, producer: int, version: int, generation: int) -> tuple[Any, ...]:
        producer_id, epoch = self.known[producer]
        Asked = TxnOffsetCommitRequest.RequestTopic
        self.written += 1
        partition = Asked.RequestPartition(partition_index=0, committed_offset=self.written, committed_metadata="")
        request = TxnOffsetCommitRequest(
            transactional_id=self.name, group_id=self.name, producer_id=producer_id, producer_epoch=epoch,
            topics=[Asked(name=self.name, partitions=[partition])],
        )  # fmt: skip
        if version >= 3:
            request.generation_id_or_member_epoch = generation
        return (self.client.call(request, version).topics[0].partitions[0].error_code,)

    def _describe(self, *_: Any) -> tuple[Any, ...]:
        return self._state()

    def _list(self, *_: Any) -> tuple[Any, ...]:
        pattern = rf"\Q{self.name}\E"
        request = ListTransactionsRequest(state_filters=["Ongoing", "Nonsense"], transactional_id_pattern=pattern)
        found = self.client.call(request, 2)
        names = [each.transactional_id for each in found.transaction_states]
        return found.error_code, self.name in names, found.unknown_state_filters

    def _fetch_offsets(self, *_: Any) -> tuple[Any, ...]:
        Asked = OffsetFetchRequest.RequestTopic
        found = []
        for stable in (False, True):
            topics = [Asked(name=self.name, partition_indexes=[0])]
            request = OffsetFetchRequest(group_id=self.name, topics=topics, require_stable=stable)
            answer = self.client.call(request, 7)
            if answer.error_code:
                return (answer.error_code,)
            partition = answer.topics[0].partitions[0]
            found.append((partition.committed_offset, partition.error_code))
        return (0, *found)

    def _marker(self, producer: int, _: int, commit: bool) -> tuple[Any, ...]:
        """A tool ends the transaction in a partition by hand, with a newer coordinator epoch than any."""
        producer_id, epoch = self.known[producer]
        if producer_id < 0:
            return ("nobody",)
        Marker = WriteTxnMarkersRequest.WritableTxnMarker
        at = Marker.WritableTxnMarkerTopic(name=self.name, partition_indexes=[2, 9])
        marker = Marker(producer_id=producer_id, producer_epoch=epoch, transaction_result=commit, topics=[at])
        (answer,) = self.client.call(WriteTxnMarkersRequest(markers=[marker]), 1).markers
        return tuple(
            sorted((each.partition_index, each.error_code) for topic in answer.topics for each in topic.partitions)
        )

    def _fetch(self, number: int) -> Any:
        Wanted = FetchRequest.Topic
        partition = Wanted.Partition(partition=number, fetch_offset=0, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, isolation_level=1,
            topics=[Wanted(topic=self.name, partitions=[partition])],
        )  # fmt: skip
        return self.client.call(request, 11).responses[0].partitions[0]

    def stored(self) -> list[tuple[int, int, list[int], bytes]]:
        """Of each partition: last stable offset, end, first offsets of what was aborted, and what is read committed."""
        result = []
        for number in range(PARTITIONS):
            found = self._fetch(number)
            aborted = sorted(each.first_offset for each in found.aborted_transactions or ())
            kept = bytearray(found.records or b"")
            result.append((found.last_stable_offset, found.high_watermark, aborted, _shape(bytes(kept))))
        return result


def _shape(data: bytes) -> bytes:
    """Batches without what differs by broker: producer ids, times, leader epochs."""
    from kafka_tools.records.batches import batches

    lines = []
    for view in batches(data):
        values = [record.key if view.is_control else record.value for record in view.records()]
        lines.append(f"{view.base_offset} {view.producer_epoch} {view.base_sequence} {view.attributes} {values}")
    return "\n".join(lines).encode()


def differences(addresses: tuple[str, str], seed: int, steps: int) -> Iterator[str]:
    """A line for each step of a walk whose answers differ; the first of them ends it."""
    name = f"walk-{seed}"
    real, ours = (Peer(address, name) for address in addresses)
    try:
        for number, step in enumerate(walk_of(seed, steps)):
            theirs, mine = real.take(step), ours.take(step)
            if step.op == "produce" and theirs[0] == codes.OUT_OF_ORDER_SEQUENCE_NUMBER and not mine[0]:
                return  # Kafka remembers the lowest sequence that it cannot verify, until it forgets the producer
            if theirs != mine:
                yield f"walk {seed}, step {number}, {step}: Kafka {theirs}, ours {mine}"
                return
        if real.stored() != ours.stored():
            yield f"walk {seed}: stored by Kafka {real.stored()}, by ours {ours.stored()}"
    finally:
        real.close()
        ours.close()


@click.command()
@click.option("--walks", default=100, show_default=True)
@click.option("--steps", default=40, show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(walks: int, steps: int, seed: int) -> None:
    """Walk on a Kafka that is started for it, and on the bundled broker."""
    import tempfile
    from pathlib import Path

    from tests.against_kafka.harness import RealKafka, Setup

    found = 0
    with tempfile.TemporaryDirectory() as folder, RealKafka.start(Setup(NEWEST), Path(folder) / "kafka") as kafka:
        with EmbeddedBroker() as broker:
            for at in range(seed, seed + walks):
                for line in differences((kafka.bootstrap_servers, broker.bootstrap_servers), at, steps):
                    found += 1
                    print(line, flush=True)
    print(f"{walks} walks of {steps} steps: {found} differ")


if __name__ == "__main__":
    main()
