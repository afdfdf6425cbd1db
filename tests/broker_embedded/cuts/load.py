"""What the clients do, and a history of it: what was asked, and what was acknowledged or shown, at which point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation, AclPermission, AclResourceType, PatternType
from kafka_tools.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafka_tools.protocol.messages.create_acls import CreateAclsRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_records import DeleteRecordsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.records.batches import batches
from kafka_tools.records.build import build_batch
from tests.broker_embedded.cuts.clients import Stopped, Turns
from tests.broker_embedded.disk_broker import fetch_request
from tests.broker_embedded.transactional_client import Client

PLAIN, IDEMPOTENT, COMPACTED, OLD, NEW = "plain", "idempotent", "compacted", "old-style", "new-style"
TOPICS = (PLAIN, IDEMPOTENT, COMPACTED, OLD, NEW, "t")
PARTITIONS = 2
GROUP = "plain-group"
_AGAIN = (error_codes.CONCURRENT_TRANSACTIONS, error_codes.NOT_COORDINATOR, error_codes.COORDINATOR_NOT_AVAILABLE)

Place = tuple[str, int, int]
"""Topic, partition, offset."""


class Fact(NamedTuple):
    """``kind`` of a fact and what it says, from point ``at`` of the trace on."""

    at: int
    kind: str
    said: Any


class History:
    """``now`` tells the point of the trace."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.facts: list[Fact] = []

    def add(self, kind: str, said: Any) -> None:
        """It is so from now on."""
        self.facts.append(Fact(self._now(), kind, said))

    def until(self, cut: int, kind: str) -> list[Any]:
        """All of a kind that was said up to a point of the trace."""
        return [fact.said for fact in self.facts if fact.kind == kind and fact.at <= cut]


def _check(client: Turns, code: int) -> None:
    """A client whose disk may refuse ends with the first error, since what it asked for is in doubt."""
    if code and client.may_be_refused:
        raise Stopped
    assert not code, error_codes.error(code).name


def _produced(client: Turns, topic: str, partition: int, batch: bytes) -> int:
    Data = ProduceRequest.TopicProduceData
    data = Data(name=topic, partition_data=[Data.PartitionProduceData(index=partition, records=batch)])
    acks = client.dice.choice((1, -1))
    answer = client.call(ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[data]), 9)
    answered = answer.responses[0].partition_responses[0]
    _check(client, answered.error_code)
    return int(answered.base_offset)


def plain(history: History, name: str, first: int) -> Callable[[Turns], None]:
    """A producer whose every batch is acknowledged by its first offset."""

    def work(client: Turns) -> None:
        number = first
        while True:
            partition = client.dice.randrange(PARTITIONS)
            size = client.dice.choice((1, 1, 3, 40))
            values = [b"%s %d" % (name.encode(), number + at) * client.dice.choice((1, 30)) for at in range(size)]
            number += size
            base = _produced(client, PLAIN, partition, client.batch(*values))
            for at, value in enumerate(values):
                history.add("record", ((PLAIN, partition, base + at), value))

    return work


def idempotent(history: History, producer: int) -> Callable[[Turns], None]:
    """One that repeats what it has sent; the same answer is expected."""

    def work(client: Turns) -> None:
        given = client.call(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4)
        _check(client, given.error_code)
        history.add("producer id", given.producer_id)
        sequence = 0
        while True:
            values = [b"%d %d" % (producer, sequence + at) for at in range(client.dice.randrange(1, 4))]
            batch = client.batch(*values, producer_id=given.producer_id, producer_epoch=0, base_sequence=sequence)
            history.add("sending", (producer, batch, values))
            base = _produced(client, IDEMPOTENT, 0, batch)
            for at, value in enumerate(values):
                history.add("record", ((IDEMPOTENT, 0, base + at), value))
            if client.dice.random() < 0.3:
                assert _produced(client, IDEMPOTENT, 0, batch) == base
            sequence += len(values)

    return work


def compacted(history: History, first: int) -> Callable[[Turns], None]:
    """Ever newer values of a few keys."""

    def work(client: Turns) -> None:
        number = first
        while True:
            number += 1
            key = b"k%d" % client.dice.randrange(4)
            now_ms = client.now_ms()
            _produced(client, COMPACTED, 0, build_batch([(now_ms, key, b"%d" % number, ())]))
            history.add("key", (key, number))

    return work


def transactional(history: History, topic: str, first: int, *, bumps: bool) -> Callable[[Turns], None]:
    """Transactions over all partitions of a topic and the offset of a group."""

    def ok(client: Turns, call: Callable[[], int]) -> None:
        for _ in range(1000):
            code = call()
            again = (error_codes.CONCURRENT_TRANSACTIONS,) if client.may_be_refused else _AGAIN
            if code not in again:
                _check(client, code)
                return
        raise AssertionError("it is to be tried again for ever")

    def work(client: Turns) -> None:
        producer = Client(client, f"id of {topic}", bumps=bumps)
        ok(client, producer.init)
        history.add("transactional id", producer.id)
        number = first
        while True:
            number += 1
            transact(client, producer, number)
            if client.dice.random() < 0.2:
                ok(client, producer.init)

    def transact(client: Turns, producer: Client, number: int) -> None:
        values = [b"%d %d" % (number, partition) for partition in range(PARTITIONS)]
        history.add("begins", (topic, number, values))
        if not bumps:
            ok(client, lambda: max(producer.add(*range(PARTITIONS), topic=topic)))
            ok(client, producer.add_offsets)
        for partition, value in enumerate(values):
            answer = producer.produce(value, partition=partition, topic=topic)
            _check(client, answer.error_code)
        ok(client, lambda: producer.commit_offset(number, version=5 if bumps else 3, group=f"group of {topic}"))
        commits = client.dice.random() < 0.7
        history.add("ends", (topic, number, commits))
        ok(client, lambda: producer.end(commits))
        history.add("ended", (topic, number, commits))

    return work


def committer(history: History, first: int) -> Callable[[Turns], None]:
    """A group that commits ever higher offsets."""

    def work(client: Turns) -> None:
        offset = first
        while True:
            offset += client.dice.randrange(1, 5)
            Topic = OffsetCommitRequest.RequestTopic
            topic = Topic(name=PLAIN, partitions=[Topic.RequestPartition(partition_index=0, committed_offset=offset)])
            request = OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=-1, topics=[topic])
            history.add("committing", offset)
            (answered,) = client.call(request, 8).topics[0].partitions
            if answered.error_code not in _AGAIN:
                _check(client, answered.error_code)
                history.add("committed", offset)

    return work


def reader(history: History) -> Callable[[Turns], None]:
    """A consumer: what it was shown is there for good."""

    def work(client: Turns) -> None:
        next_offsets = {(topic, partition): 0 for topic in (PLAIN, IDEMPOTENT, OLD) for partition in range(PARTITIONS)}
        while True:
            topic, partition = at = client.dice.choice(list(next_offsets))
            request = fetch_request(
                topic, next_offsets[at], partition=partition, max_wait_ms=0, isolation_level=int(topic == OLD)
            )
            (found,) = client.call(request, 11).responses[0].partitions
            if found.error_code == error_codes.OFFSET_OUT_OF_RANGE:
                next_offsets[at] += 1
                continue
            _check(client, found.error_code)
            for view in batches(bytes(found.records)):
                for record in () if view.is_control else view.records():
                    if record.offset >= next_offsets[at]:
                        history.add("record", ((topic, partition, record.offset), record.value))
                next_offsets[at] = view.last_offset + 1

    return work


def changes(history: History, first: int) -> Callable[[Turns], None]:
    """Topics, configs, credentials, ACLs and log starts."""

    def work(client: Turns) -> None:
        number = first
        while True:
            number += 1
            kind = client.dice.choice((_topic, _config, _user, _acl, _log_start))
            kind(client, history, number)

    return work


def _topic(client: Turns, history: History, number: int) -> None:
    name = f"topic-{number}"
    _make_topic(client, name)
    history.add("made", name)
    value = b"in %s" % name.encode()
    base = _produced(client, name, 0, client.batch(value))
    history.add("record", ((name, 0, base), value))
    if client.dice.random() < 0.5:
        history.add("deleting", name)
        answer = client.call(DeleteTopicsRequest(topic_names=[name], timeout_ms=1000), 5)
        _check(client, answer.responses[0].error_code)
        history.add("deleted", name)
        if client.dice.random() < 0.5:
            history.add("making again", name)
            _make_topic(client, name)
            history.add("made again", name)
            value = b"again in %s" % name.encode()
            if _produced(client, name, 0, client.batch(value)):
                raise AssertionError(f"{name} does not begin at 0")
            history.add("again", (name, value))


def _make_topic(client: Turns, name: str) -> None:
    Topic = CreateTopicsRequest.CreatableTopic
    wanted = CreateTopicsRequest(topics=[Topic(name=name, num_partitions=2, replication_factor=1)])
    _check(client, client.call(wanted, 5).topics[0].error_code)


def _config(client: Turns, history: History, number: int) -> None:
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    change = Resource.AlterableConfig(name="retention.ms", config_operation=0, value=str(10**9 + number))
    history.add("setting", 10**9 + number)
    request = IncrementalAlterConfigsRequest(
        resources=[Resource(resource_type=2, resource_name=PLAIN, configs=[change])]
    )
    _check(client, client.call(request, 1).responses[0].error_code)
    history.add("set", 10**9 + number)


def _user(client: Turns, history: History, number: int) -> None:
    Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
    change = Upsertion(name=f"user-{number}", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"p" * 32)
    request = AlterUserScramCredentialsRequest(deletions=[], upsertions=[change])
    _check(client, client.call(request, 0).results[0].error_code)
    history.add("user", f"user-{number}")


def _acl(client: Turns, history: History, number: int) -> None:
    creation = CreateAclsRequest.AclCreation(
        resource_type=AclResourceType.TOPIC, resource_name=f"acl-{number}",
        resource_pattern_type=PatternType.LITERAL, principal="User:a", host="*",
        operation=AclOperation.READ, permission_type=AclPermission.ALLOW,
    )  # fmt: skip
    _check(client, client.call(CreateAclsRequest(creations=[creation]), 3).results[0].error_code)
    history.add("acl", f"acl-{number}")


def _log_start(client: Turns, history: History, number: int) -> None:
    partition = client.dice.randrange(PARTITIONS)
    known: Sequence[Place] = [said[0] for said in history.until(1 << 62, "record") if said[0][:2] == (PLAIN, partition)]
    if not known:
        return
    offset = client.dice.choice(known)[2]
    Topic = DeleteRecordsRequest.Topic
    topic = Topic(name=PLAIN, partitions=[Topic.Partition(partition_index=partition, offset=offset)])
    history.add("cutting", (partition, offset))
    (answered,) = client.call(DeleteRecordsRequest(topics=[topic], timeout_ms=1000), 2).topics[0].partitions
    _check(client, answered.error_code)
    history.add("cut", (partition, answered.low_watermark))
