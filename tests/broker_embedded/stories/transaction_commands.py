"""Commands of scripts: transactions. A function's name is the verb, with ``-`` for ``_``.

A producer is the script's name for it, which is its client's too, and its transactional id unless it is given one:
two producers with one id are two processes of which the later one counts.
"""

from __future__ import annotations

from typing import Any

from kafka_tools.protocol.enums import CoordinatorType
from kafka_tools.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_tools.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, Topic
from kafka_tools.protocol.messages.describe_producers import DescribeProducersRequest
from kafka_tools.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_tools.protocol.messages.end_txn import EndTxnRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.list_transactions import ListTransactionsRequest
from kafka_tools.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafka_tools.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from tests.broker_embedded.stories.broker import Broker, error, place, seconds
from tests.broker_embedded.stories.commands import Producer

COMMANDS = (
    "begin", "add_partitions", "add_offsets", "commit_in_transaction", "end", "transaction", "transactions",
    "producers", "marker",
)  # fmt: skip

_ADDED_IN = 3
"""The newest version that producers send; from 4 on brokers ask one another."""
_ENDED_IN = {1: 4, 2: 5}
"""By the version of transactions: from the second on (KIP-890) every end raises the epoch."""


def begin(story: Broker, name: str, id: str = "", timeout: str = "60s", version: str = "1", on: str = "") -> None:
    """``begin p id=orders timeout=60s version=2 on=yes``: a transactional producer starts, or starts over.

    One that goes ``on`` asks for its next epoch, and says which it has (KIP-360). ``version`` is that of transactions:
    with 2 a write adds its partition itself, and each end gives a new epoch (KIP-890).
    """
    owner = id or name
    # Asked first by every client: it makes the coordinator's topic.
    story.answer(name, FindCoordinatorRequest(key_type=CoordinatorType.TRANSACTION, coordinator_keys=[owner]))
    request = InitProducerIdRequest(transactional_id=owner, transaction_timeout_ms=round(seconds(timeout) * 1000))
    if on:
        request.producer_id, request.producer_epoch = story.kept[name].id, story.kept[name].epoch

    def show(found: Any) -> str:
        if found.error_code:
            return error(found.error_code)
        story.kept[name] = Producer(found.producer_id, found.producer_epoch, owner, int(version))
        return f"producer id {found.producer_id}, epoch {found.producer_epoch}"

    story.ask(name, request, show, 5)


def add_partitions(story: Broker, producer: str, *places: str) -> None:
    """``add-partitions p t-0 t-1``"""
    known: Producer = story.kept[producer]
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=known.transactional_id,
        v3_and_below_producer_id=known.id,
        v3_and_below_producer_epoch=known.epoch,
        v3_and_below_topics=[Topic(name=t, partitions=n) for t, n in _by_topic(places)],
    )

    def show(found: Any) -> list[str]:
        return [
            f"{topic.name}-{part.partition_index} {error(part.partition_error_code)}"
            for topic in found.results_by_topic_v3_and_below
            for part in topic.results_by_partition
        ]

    story.ask(producer, request, show, _ADDED_IN)


def add_offsets(story: Broker, producer: str, group: str) -> None:
    """``add-offsets p group=g``"""
    known: Producer = story.kept[producer]
    request = AddOffsetsToTxnRequest(
        transactional_id=known.transactional_id, producer_id=known.id, producer_epoch=known.epoch, group_id=group
    )
    story.ask(producer, request, lambda found: error(found.error_code))


def commit_in_transaction(story: Broker, producer: str, group: str, **places: str) -> None:
    """``commit-in-transaction p group=g t-0=5``: what counts when the transaction does."""
    known: Producer = story.kept[producer]
    OffsetsOf = TxnOffsetCommitRequest.RequestTopic
    request = TxnOffsetCommitRequest(
        transactional_id=known.transactional_id, producer_id=known.id, producer_epoch=known.epoch, group_id=group
    )
    for where, offset in places.items():
        topic, number = place(where)
        part = OffsetsOf.RequestPartition(partition_index=number, committed_offset=int(offset))
        request.topics.append(OffsetsOf(name=topic, partitions=[part]))

    def show(found: Any) -> list[str]:
        return [f"{t.name}-{p.partition_index} {error(p.error_code)}" for t in found.topics for p in t.partitions]

    story.ask(producer, request, show, 3 if known.version == 1 else None)


def end(story: Broker, producer: str, how: str) -> None:
    """``end p commit``, ``end p abort``"""
    if how not in ("commit", "abort"):
        raise ValueError(f"a transaction ends with commit or abort, not with '{how}'")
    known: Producer = story.kept[producer]
    request = EndTxnRequest(
        transactional_id=known.transactional_id,
        producer_id=known.id,
        producer_epoch=known.epoch,
        committed=how == "commit",
    )

    def show(found: Any) -> str:
        if found.error_code:
            return error(found.error_code)
        if found.producer_epoch >= 0 and known.version > 1:
            known.renewed(found.producer_id, found.producer_epoch)
            return f"ok, now producer id {known.id}, epoch {known.epoch}"
        return "ok"

    story.ask(producer, request, show, _ENDED_IN[known.version])


def transaction(story: Broker, name: str) -> None:
    """``transaction p``: what the coordinator knows of a transactional id."""
    (found,) = story.answer("client", DescribeTransactionsRequest(transactional_ids=[name])).transaction_states
    if found.error_code:
        story.say(name, error(found.error_code))
        return
    parts = ", ".join(f"{topic.topic}-{number}" for topic in found.topics for number in topic.partitions)
    held = f" with {parts}" if parts else ""
    story.say(name, f"{found.transaction_state}{held}; producer id {found.producer_id}, epoch {found.producer_epoch}")


def transactions(story: Broker, state: str = "") -> None:
    """``transactions state=Ongoing``: all of them."""
    states = [state] if state else []
    found = story.answer("client", ListTransactionsRequest(state_filters=states)).transaction_states
    for listed in found:
        story.say(listed.transactional_id, listed.transaction_state)
    if not found:
        story.say("transactions", "none")


def producers(story: Broker, where: str) -> None:
    """``producers t-0``: who has written to a partition, and what is open there."""
    topic, number = place(where)
    asked = DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=[number])
    found = story.answer("client", DescribeProducersRequest(topics=[asked])).topics[0].partitions[0]
    if found.error_code:
        story.say(where, error(found.error_code))
        return
    for each in found.active_producers:
        start = each.current_txn_start_offset
        text = f"open from {start} on" if start >= 0 else "nothing open"
        story.say(where, f"producer id {each.producer_id}, epoch {each.producer_epoch}: {text}")
    if not found.active_producers:
        story.say(where, "no producers")


def marker(story: Broker, where: str, producer: str, how: str = "abort") -> None:
    """``marker t-0 producer=p how=abort``: an administrator ends what hangs in one partition."""
    known: Producer = story.kept[producer]
    topic, number = place(where)
    Marker = WriteTxnMarkersRequest.WritableTxnMarker
    entry = Marker(
        producer_id=known.id,
        producer_epoch=known.epoch,
        transaction_result=how == "commit",
        topics=[Marker.WritableTxnMarkerTopic(name=topic, partition_indexes=[number])],
        coordinator_epoch=0,
    )

    def show(found: Any) -> str:
        return f"{where} {error(found.markers[0].topics[0].partitions[0].error_code)}"

    story.ask("client", WriteTxnMarkersRequest(markers=[entry]), show, 1)


def _by_topic(places: tuple[str, ...]) -> list[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for where in places:
        topic, number = place(where)
        found.setdefault(topic, []).append(number)
    return list(found.items())
