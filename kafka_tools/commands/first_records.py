"""The first record at or after an offset of each partition, read with Fetch. Nothing is committed, no group is joined.

Transaction markers are not records. An offset without a record (removed by compaction, or a marker) leads to the next
record. Aborted records count, because readers of uncommitted records see them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.calls.records import grouped
from kafka_tools.admin.driver import AdminCall, Reply
from kafka_tools.admin.lookups import LeaderLookup
from kafka_tools.admin.outcomes import Outcome, Outcomes
from kafka_tools.clock import Deadline
from kafka_tools.errors import KafkaToolsError, LogError
from kafka_tools.net.broker_errors import broker_error
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.schema import Request
from kafka_tools.records.batches import batches
from kafka_tools.records.record import Record
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.connected import Connected
    from kafka_tools.protocol.messages.fetch import FetchResponse

NAMES_UP_TO = 12
"""The newest version of Fetch that names topics; later ones require ids."""
PARTITIONS_AT_ONCE = 200
PARTITION_BYTES = 64 * 1024
"""Bytes to read of a partition. A larger batch is read with a request of its own, which returns it as a whole."""
RESPONSE_BYTES = 16 * 1024 * 1024
MAX_WAIT_MS = 500
"""Wait for records that the leader has to read from tiered storage. Other records arrive immediately."""
BATCH_BYTES = 256 * 1024 * 1024
"""Maximum decompressed size of a batch."""
MOST_ROUNDS = 50
"""Maximum number of requests for a partition that contains only markers."""


class _Read(NamedTuple):
    """The result of one request: the record, or the offset to continue at. ``is_end``: there is nothing more."""

    record: Record | None
    next_offset: int
    is_end: bool


class FetchFirst(AdminCall[TopicPartition, _Read, "FetchResponse"]):
    """Partition -> offset to read from."""

    name = "read the first records"
    lookup = LeaderLookup()
    per_request = PARTITIONS_AT_ONCE

    offsets: Mapping[TopicPartition, int]

    def build(self, keys: list[TopicPartition], versions: NodeVersions, deadline: Deadline) -> tuple[Request, int]:
        from kafka_tools.protocol.messages.fetch import FetchRequest

        Topic = FetchRequest.Topic
        items = grouped(
            keys,
            lambda key: Topic.Partition(
                partition=key.partition, fetch_offset=self.offsets[key], partition_max_bytes=PARTITION_BYTES
            ),
        )
        topics = [Topic(topic=name, partitions=partitions) for name, partitions in items.items()]
        request = FetchRequest(max_wait_ms=MAX_WAIT_MS, min_bytes=1, max_bytes=RESPONSE_BYTES, topics=topics)
        return request, min(versions.newest(FetchRequest), NAMES_UP_TO)

    def interpret(self, reply: Reply[TopicPartition, _Read, FetchResponse]) -> None:
        for topic in reply.response.responses:
            for data in topic.partitions:
                key = TopicPartition(topic.topic, data.partition_index)
                if key not in self.offsets:
                    continue
                code = data.error_code or reply.response.error_code
                if code == error_codes.CORRUPT_MESSAGE:
                    reply.failed[key] = broker_error(code)  # another attempt would read the same bytes
                elif code:
                    reply.add_error(key, broker_error(code))
                else:
                    try:
                        reply.completed[key] = _read(self.offsets[key], data.records or b"", data.high_watermark)
                    except LogError as error:
                        reply.failed[key] = error


def _read(offset: int, records: bytes | bytearray | memoryview, high_watermark: int) -> _Read:
    next_offset = offset
    for batch in batches(records):
        if batch.last_offset < offset:
            continue
        next_offset = max(next_offset, batch.last_offset + 1)
        if batch.is_control:
            continue
        for record in batch.records(limit_bytes=BATCH_BYTES):
            if record.offset >= offset:
                return _Read(record, next_offset, False)
    return _Read(None, next_offset, next_offset >= high_watermark)


def first_records(
    admin: Connected, offsets: Mapping[TopicPartition, int], deadline: Deadline | None = None
) -> Outcomes[TopicPartition, Record | None]:
    """Partition -> its first record at or after an offset; None if there is no record up to the high watermark.

    The error of an offset outside the log is OFFSET_OUT_OF_RANGE.
    """
    deadline = deadline or admin.deadline()
    found: dict[TopicPartition, Outcome[Record | None]] = {}
    at = dict(offsets)
    for _ in range(MOST_ROUNDS):
        if not at:
            break
        outcomes = admin.run(FetchFirst(at), at, deadline=deadline)
        stuck: dict[TopicPartition, int] = {}
        further: dict[TopicPartition, int] = {}
        for key, outcome in outcomes.items():
            if outcome.error is not None:
                found[key] = Outcome(None, outcome.error)
                continue
            read = outcome.get()
            if read.record is not None or read.is_end:
                found[key] = Outcome(read.record)
            elif read.next_offset == at[key]:
                stuck[key] = at[key]  # its batch is larger than its share of the response
            else:
                further[key] = read.next_offset
        for key, offset in stuck.items():
            alone = admin.run(FetchFirst({key: offset}), [key], deadline=deadline)[key]
            if alone.error is not None:
                found[key] = Outcome(None, alone.error)
            elif alone.get().record is not None or alone.get().is_end:
                found[key] = Outcome(alone.get().record)
            elif alone.get().next_offset == offset:
                found[key] = Outcome(None, KafkaToolsError("the leader returned no record"))
            else:
                further[key] = alone.get().next_offset
        at = further
    for key in at:
        found[key] = Outcome(None, KafkaToolsError(f"no record among the offsets up to {at[key]}, only markers"))
    return Outcomes((key, found[key]) for key in offsets)
