"""Commands of scripts: topics, records, time, restarts, faults. A function's name is the verb, with ``-`` for ``_``."""

from __future__ import annotations

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
    "broker", "topic", "delete_topic", "config", "quota", "producer", "produce", "fetch", "offsets", "delete_records",
    "advance", "restart", "kill", "fault", "release", "record", "recorded", "clear_faults",
)  # fmt: skip

_FETCHED_IN = 11
"""The newest version that names topics, which a script reads better than ids."""
_PRODUCED_IN = 12


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
    """``quota user=alice producer_byte_rate=1000``; an empty limit removes one."""
    Entry = AlterClientQuotasRequest.EntryData
    given = {"user": user, "client-id": client}
    entity = [Entry.EntityData(entity_type=k, entity_name=v) for k, v in given.items() if v is not None]
    ops = [Entry.OpData(key=k, value=float(v or 0), remove=not v) for k, v in limits.items()]
    story.ask(
        "client",
        AlterClientQuotasRequest(entries=[Entry(entity=entity, ops=ops)]),
        lambda found: _first(found.entries),
    )


# Records


def producer(story: Broker, name: str) -> None:
    """``producer p``: an idempotent producer asks for its id."""

    def show(found: Any) -> str:
        story.kept[name] = [found.producer_id, found.producer_epoch, {}]
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
) -> None:
    """``produce t-0 x3 as=alice size=1000 acks=0 ago=1d producer=p sequence=0``

    So many records of so many bytes in one batch. An idempotent producer goes on where it was unless ``sequence``
    says otherwise: a repetition.
    """
    name, number = place(where)
    records = int(count.removeprefix("x"))
    options: dict[str, int] = {}
    if producer is not None:
        id, epoch, next_sequences = story.kept[producer]
        first = int(sequence) if sequence is not None else next_sequences.get(where, 0)
        next_sequences[where] = max(next_sequences.get(where, 0), first + records)
        options = {"producer_id": id, "producer_epoch": epoch, "base_sequence": first}
        as_ = producer
    now_ms = story.disk.clock.now_ms() - round(seconds(ago) * 1000)
    batch = build_batch([(now_ms, None, b"x" * int(size), ())] * records, **options)  # type: ignore[arg-type]
    Data = ProduceRequest.TopicProduceData
    part = Data.PartitionProduceData(index=number, records=batch)
    request = ProduceRequest(acks=int(acks), timeout_ms=1000, topic_data=[Data(name=name, partition_data=[part])])

    def show(found: Any) -> str:
        (answer,) = found.responses[0].partition_responses
        if answer.error_code:
            return f"{where} {error(answer.error_code)}"
        last = answer.base_offset + records - 1
        return f"{where} has offset{'' if records == 1 else 's'} {_range(answer.base_offset, last)}"

    story.ask(as_, request, show, _PRODUCED_IN)


def fetch(
    story: Broker, *places: str, start: str = "0", as_: str = "client", wait: str = "500ms", bytes: str = "1000000"
) -> None:
    """``fetch t-0 start=5 as=alice wait=500ms bytes=1000``"""
    Topic = FetchRequest.Topic
    topics = []
    for where in places:
        name, number = place(where)
        partition = Topic.Partition(partition=number, fetch_offset=int(start), partition_max_bytes=int(bytes))
        topics.append(Topic(topic=name, partitions=[partition]))
    request = FetchRequest(
        max_wait_ms=round(seconds(wait) * 1000), min_bytes=1, max_bytes=int(bytes), session_epoch=-1, topics=topics
    )

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
    return f"{shown}; the log is {part.log_start_offset} to {part.high_watermark}"


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
