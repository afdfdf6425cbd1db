"""Commands of scripts: topics, records, time, restarts, faults. A function's name is the verb, with ``-`` for ``_``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_tools.protocol.enums import ConfigOperation, ConfigResourceType
from kafka_tools.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_records import DeleteRecordsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.records.batches import batches
from kafka_tools.records.build import build_batch
from tests.broker_embedded.stories.broker import Broker, error, place, seconds

COMMANDS = (
    "broker", "topic", "delete_topic", "config", "quota", "producer", "produce", "fetch", "read", "offsets",
    "delete_records",
    "advance", "restart", "kill", "fault", "release", "record", "recorded", "clear_faults",
)  # fmt: skip

_MUCH_BYTES = 1_000_000
_FETCHED_IN = 11
"""The newest version that names topics, which a script reads better than ids."""
_PRODUCED_IN = 12
_PRODUCED_IN_TRANSACTIONS = {1: 11, 2: 12}
"""By the version of transactions: from the second on a write adds its partition."""


# The broker


def broker(story: Broker, **properties: str) -> None:
    """``broker key=value``: its server.properties, before the start or for the next one."""
    story.properties.update(properties)


def advance(story: Broker, time: str) -> None:
    """``advance 10s``: let time pass; what happens meanwhile is told with its moment."""
    story.advance(seconds(time))


def restart(story: Broker) -> None:
    """``restart``: stop cleanly and start again."""
    story.restart(kill=False)


def kill(story: Broker) -> None:
    """``kill``: start again on the files as kill -9 leaves them."""
    story.restart(kill=True)


# Topics and configs


def topic(story: Broker, name: str, partitions: str = "1", as_: str = "client", **configs: str) -> None:
    """``topic t partitions=2 retention.ms=1000``"""
    Topic = CreateTopicsRequest.CreatableTopic
    asked = Topic(name=name, num_partitions=int(partitions), replication_factor=1)
    asked.configs = [Topic.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()]
    story.ask(as_, CreateTopicsRequest(topics=[asked], timeout_ms=1000), lambda found: _first(found.topics))


def delete_topic(story: Broker, name: str) -> None:
    """``delete-topic t``"""
    Topic = DeleteTopicsRequest.DeleteTopicState
    request = DeleteTopicsRequest(topics=[Topic(name=name)], timeout_ms=1000)
    story.ask("client", request, lambda found: _first(found.responses))


def config(story: Broker, topic: str | None = None, group: str | None = None, **configs: str) -> None:
    """``config topic=t retention.ms=1000``; without topic and group the broker's own."""
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    kind, name = (ConfigResourceType.TOPIC, topic) if topic is not None else (ConfigResourceType.GROUP, group)
    if name is None:
        kind, name = ConfigResourceType.BROKER, "1"
    changes = [
        Resource.AlterableConfig(name=key, value=value, config_operation=ConfigOperation.SET)
        for key, value in configs.items()
    ]
    request = IncrementalAlterConfigsRequest(
        resources=[Resource(resource_type=kind, resource_name=name, configs=changes)]
    )
    story.ask("client", request, lambda found: _first(found.responses))


def quota(story: Broker, user: str | None = None, client: str | None = None, **limits: str) -> None:
    """``quota user=alice client=app producer_byte_rate=1000``, ``user=default``; an empty limit removes one."""
    Entry = AlterClientQuotasRequest.EntryData
    given = {"user": user, "client-id": client}
    entity = [
        Entry.EntityData(entity_type=kind, entity_name=None if name == "default" else name)
        for kind, name in given.items()
        if name is not None
    ]
    ops = [Entry.OpData(key=k, value=float(v or 0), remove=not v) for k, v in limits.items()]
    story.ask(
        "client",
        AlterClientQuotasRequest(entries=[Entry(entity=entity, ops=ops)]),
        lambda found: _first(found.entries),
    )


# Records


class Producer:
    """What a producer knows of itself: id and epoch, and by partition the sequence that is due."""

    def __init__(self, id: int, epoch: int, transactional_id: str | None = None, version: int = 1) -> None:
        """``version``: that of transactions."""
        self.id = id
        self.epoch = epoch
        self.transactional_id = transactional_id
        self.version = version
        self.sequences: dict[str, int] = {}

    def renewed(self, id: int, epoch: int) -> None:
        """A new epoch begins with sequence 0 everywhere."""
        self.id, self.epoch = id, epoch
        self.sequences.clear()


def producer(story: Broker, name: str) -> None:
    """``producer p``: an idempotent producer asks for its id."""

    def show(found: Any) -> str:
        story.kept[name] = Producer(found.producer_id, found.producer_epoch)
        code = found.error_code
        return error(code) if code else f"producer id {found.producer_id}, epoch {found.producer_epoch}"

    story.ask(name, InitProducerIdRequest(transactional_id=None), show)


def produce(
    story: Broker,
    where: str,
    count: str = "x1",
    as_: str = "client",
    size: str = "10",
    acks: str = "-1",
    producer: str | None = None,
    sequence: str | None = None,
    ago: str = "0s",
    key: str | None = None,
    value: str | None = None,
) -> None:
    """``produce t-0 x3 as=alice size=1000 acks=0 ago=1d producer=p sequence=0``, ``produce t-0 key=a,b value=one``

    So many records of so many bytes in one batch, or one with each key; without its value, as ``value=``, it is a
    tombstone. A producer with an id goes on where it was unless ``sequence`` says otherwise: a repetition.
    """
    name, number = place(where)
    keys = [None] * int(count.removeprefix("x")) if key is None else [each.encode() for each in key.split(",")]
    records = len(keys)
    version, owner = _PRODUCED_IN, None
    options: dict[str, Any] = {}
    if producer is not None:
        known: Producer = story.kept[producer]
        first = int(sequence) if sequence is not None else known.sequences.get(where, 0)
        known.sequences[where] = max(known.sequences.get(where, 0), first + records)
        options = {"producer_id": known.id, "producer_epoch": known.epoch, "base_sequence": first}
        if known.transactional_id is not None:
            options["transactional"] = True
            version, owner = _PRODUCED_IN_TRANSACTIONS[known.version], known.transactional_id
        as_ = producer
    now_ms = story.disk.clock.now_ms() - round(seconds(ago) * 1000)
    content = b"x" * int(size) if value is None else value.encode() or None
    batch = build_batch([(now_ms, each, content, ()) for each in keys], **options)
    Data = ProduceRequest.TopicProduceData
    part = Data.PartitionProduceData(index=number, records=batch)
    request = ProduceRequest(acks=int(acks), timeout_ms=1000, topic_data=[Data(name=name, partition_data=[part])])
    request.transactional_id = owner

    def show(found: Any) -> str:
        (answer,) = found.responses[0].partition_responses
        if answer.error_code:
            return f"{where} {error(answer.error_code)}"
        last = answer.base_offset + records - 1
        return f"{where} has offset{'' if records == 1 else 's'} {_range(answer.base_offset, last)}"

    story.ask(as_, request, show, version)


def fetch(
    story: Broker,
    *places: str,
    start: str = "0",
    as_: str = "client",
    wait: str = "500ms",
    bytes: str = "1000000",
    isolation: str = "uncommitted",
) -> None:
    """``fetch t-0 start=5 as=alice wait=500ms bytes=1000 isolation=committed``"""
    request = _fetch_request(places, int(start), int(bytes), isolation)
    request.max_wait_ms = round(seconds(wait) * 1000)

    def show(found: Any) -> list[str]:
        if found.error_code:
            return [error(found.error_code)]
        return [
            f"{topic.topic}-{part.partition_index} {_fetched(part)}"
            for topic in found.responses
            for part in topic.partitions
        ] or ["nothing"]

    story.ask(as_, request, show, _FETCHED_IN)


def _fetched(part: Any) -> str:
    if part.error_code:
        return error(part.error_code)
    found = [(batch.base_offset, batch.last_offset) for batch in batches(part.records or b"")]
    shown = f"offsets {_range(found[0][0], found[-1][1])}" if found else "no records"
    stable = f", stable to {part.last_stable_offset}" if part.last_stable_offset != part.high_watermark else ""
    return f"{shown}; the log is {part.log_start_offset} to {part.high_watermark}{stable}"


def _fetch_request(places: Sequence[str], start: int, most_bytes: int, isolation: str) -> FetchRequest:
    Topic = FetchRequest.Topic
    topics = []
    for where in places:
        name, number = place(where)
        partition = Topic.Partition(partition=number, fetch_offset=start, partition_max_bytes=most_bytes)
        topics.append(Topic(topic=name, partitions=[partition]))
    return FetchRequest(
        min_bytes=1, max_bytes=most_bytes, session_epoch=-1, topics=topics,
        isolation_level=("uncommitted", "committed").index(isolation),
    )  # fmt: skip


def read(story: Broker, where: str, start: str = "0", isolation: str = "uncommitted") -> None:
    """``read t-0 start=5 isolation=committed``: what a consumer gives its user, who sees no markers."""
    position, lines = int(start), []
    while True:
        request = _fetch_request([where], position, _MUCH_BYTES, isolation)
        part = story.answer("client", request, _FETCHED_IN).responses[0].partitions[0]
        if part.error_code:
            story.say(where, error(part.error_code))
            return
        aborted = sorted((each.first_offset, each.producer_id) for each in part.aborted_transactions or ())
        inside: set[int] = set()
        went_on = False
        for batch in batches(part.records or b""):
            went_on, position = True, batch.last_offset + 1
            while aborted and aborted[0][0] <= batch.last_offset:
                inside.add(aborted.pop(0)[1])
            if batch.is_control:
                inside.discard(batch.producer_id)
            elif not batch.is_transactional or batch.producer_id not in inside:
                lines += [f"{each.offset} {_shown(each.key)} -> {_shown(each.value)}" for each in batch.records()]
        if not went_on:
            break
    story.say(where, lines or "no records")


def _shown(data: bytes | None) -> str:
    return "null" if data is None else data.decode()


def offsets(story: Broker, where: str) -> None:
    """``offsets t-0``: where the log starts and ends."""
    name, number = place(where)
    Topic = ListOffsetsRequest.Topic
    ends = []
    for spec in (-2, -1):
        wanted = Topic(name=name, partitions=[Topic.Partition(partition_index=number, timestamp=spec)])
        found = story.answer("client", ListOffsetsRequest(replica_id=-1, topics=[wanted])).topics[0].partitions[0]
        ends.append(error(found.error_code) if found.error_code else found.offset)
    story.say(where, str(ends[0]) if isinstance(ends[0], str) else f"{ends[0]} to {ends[1]}")


def delete_records(story: Broker, where: str, before: str) -> None:
    """``delete-records t-0 before=5``; -1 for all."""
    name, number = place(where)
    Topic = DeleteRecordsRequest.Topic
    part = Topic.Partition(partition_index=number, offset=int(before))
    request = DeleteRecordsRequest(topics=[Topic(name=name, partitions=[part])], timeout_ms=1000)

    def show(found: Any) -> str:
        answer = found.topics[0].partitions[0]
        return error(answer.error_code) if answer.error_code else f"{where} starts at {answer.low_watermark}"

    story.ask("client", request, show)


# Faults


def fault(story: Broker, word: str, api: str, *given: str, name: str = "", **options: str) -> None:
    """``fault error produce NOT_LEADER_OR_FOLLOWER topic=t partition=0 times=2``, ``fault hold fetch name=h``

    The words of ``broker.faults``; ``name`` is for ``release``.
    """
    values: dict[str, Any] = {key: _value(key, value) for key, value in options.items()}
    arguments = [round(seconds(text) * 1000) if word == "delay" else text for text in given]
    story.kept[name or "fault"] = getattr(story.disk.faults, word)(api, *arguments, **values)


def _value(key: str, text: str) -> Any:
    if key in ("times", "skip", "partition", "bytes"):
        return None if text == "always" else int(text)
    return text == "yes" if key == "served" else text


def release(story: Broker, name: str, count: str | None = None) -> None:
    """``release h``, ``release h 1``"""
    story.kept[name].release(None if count is None else int(count))


def clear_faults(story: Broker) -> None:
    """``clear-faults``: all of them end."""
    story.disk.faults.clear()


def record(story: Broker, api: str, name: str, **options: str) -> None:
    """``record produce name=r``: what comes from now on."""
    story.kept[name] = story.disk.faults.record(api, **{key: _value(key, value) for key, value in options.items()})


def recorded(story: Broker, name: str) -> None:
    """``recorded r``: what came."""
    for entry in story.kept[name]:
        story.say(name, f"{entry.api} v{entry.version} of {entry.client_id} as {entry.principal}")
    story.kept[name].clear()


def _first(answers: Any) -> str:
    (answer,) = answers
    message = getattr(answer, "error_message", None)
    return error(answer.error_code) + (f": {message}" if answer.error_code and message else "")


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"
