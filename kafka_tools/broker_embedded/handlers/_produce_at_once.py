"""The fast path for nearly every produce request: one batch for one partition that is stored unchanged.

Served from its bytes to those of its answer, without an object for each of their parts: of a request with one record
these are most of the work. Without this way, a whole request takes 66 % more CPU time of the broker for one record, and
19 % more for 570 of varied size (``python -m benchmarks.requests --without at-once``). ``produce`` is the reference for
all requests, and gives the same answer to these; any other is left to it, with nothing done.
"""

from __future__ import annotations

from struct import Struct as Layout
from struct import error as TooShort
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.handlers._stored import PartitionResponse, TopicResponse, store
from kafka_tools.broker_embedded.partitions.produce_rules import RejectedBatch
from kafka_tools.broker_embedded.partitions.produced_batches import take
from kafka_tools.protocol.enums import CODEC_BITS, TRANSACTIONAL_BIT, AclOperation, AclResourceType
from kafka_tools.protocol.headers import encode_response
from kafka_tools.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_tools.protocol.primitives import read_unsigned_varint
from kafka_tools.records.chain import FLAGS_POSITION, HEADER_BYTES

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.call import RequestBytes
    from kafka_tools.broker_embedded.connection import Connection
    from kafka_tools.broker_embedded.core import Core

_FIRST, _BY_ID, _LAST = 9, 13, 13
"""The first and last supported version; from ``_BY_ID`` on, requests contain topic ids instead of names."""
_PRODUCE = ProduceRequest.API_KEY
_CLIENT_ID_AT = 8
_ID_BYTES = 16
_NULL = -1
_ONE = 2
"""The encoded length of an array with one element."""
_MOST_IN_A_BYTE = 127
"""The length of a longer name has two bytes."""
_LARGEST_BYTES, _LARGEST_PACKED_BYTES = 72 * 1024, 16 * 1024
"""The maximum size of a batch, and of a compressed one. A batch that cannot be stored unchanged is checked again by
``produce``. For large batches, this costs more than the fast path saves for others."""
_WRITE, _TOPIC = AclOperation.WRITE, AclResourceType.TOPIC

_CLIENT_ID = Layout(">h")
_FRONT = Layout(">BBhiB")
"""From the tagged fields of the header on: the transactional id, acks, timeout, number of topics."""
_PARTITION = Layout(">Bi")
"""The number of partitions, and the index of the first one."""
_NO_TAGS = b"\0\0\0"
"""After the records: no tagged fields of the partition, the topic and the request."""

_ANSWER_FRONT = Layout(">iBB")
"""The correlation id, no tagged fields of the header, number of topics."""
_ANSWER_PARTITION = Layout(">BihqqqBB")
"""Number of partitions; index, error, base offset, append time, log start offset, no record errors, no message."""
_ANSWER_END = b"\0\0\0\0\0\0\0"
"""No tagged fields of the partition and the topic, no throttle time, no tagged fields."""


def answer_at_once(
    core: Core, connection: Connection, frame: RequestBytes, version: int, correlation_id: int
) -> bytes | None:
    """Serve a produce request; returns the payload of the response. None, with nothing done, for other requests."""
    if not _FIRST <= version <= _LAST or core.group_commit is not None or core.quotas.any:
        return None
    asked = _sole_batch(frame, by_id=version >= _BY_ID)
    if asked is None:
        return None
    topic, index, records = asked
    partition = core.partitions.appendable.find(topic, index, by_id=version >= _BY_ID)
    if partition is None:
        return None
    authorizer, name = core.authorizer, partition.id.topic
    if authorizer and not authorizer(connection.principal, connection.kafka_host, _WRITE, _TOPIC, name):
        return None
    now_ms = core.clock.now_ms()
    try:
        views = take(records, version, partition.limits, now_ms, partition.id)
    except RejectedBatch:
        return None
    stored = store(core, partition, views, now_ms)
    if isinstance(stored, PartitionResponse):
        core.counts.topics.refused(name, stored.error_code, len(records))
        core.counts.requests[_PRODUCE].failed_at_once(stored.error_code)
        answer = TopicResponse(name=name, topic_id=partition.topic_id, partition_responses=[stored])
        return encode_response(ProduceResponse(responses=[answer]), version, correlation_id)
    start = partition.log.log_start_offset
    return b"".join((
        _ANSWER_FRONT.pack(correlation_id, 0, _ONE),
        topic,
        _ANSWER_PARTITION.pack(_ONE, index, 0, stored.base_offset, stored.append_time_ms, start, 1, 0),
        _ANSWER_END,
    ))  # fmt: skip


def _sole_batch(frame: RequestBytes, *, by_id: bool) -> tuple[bytes, int, memoryview] | None:
    """(topic as in the request, partition, records) if the request contains only one, small batch; otherwise None."""
    try:
        (client_id_bytes,) = _CLIENT_ID.unpack_from(frame, _CLIENT_ID_AT)
        at = _CLIENT_ID_AT + _CLIENT_ID.size
        if client_id_bytes >= 0:
            if not bytes(frame[at : at + client_id_bytes]).isascii():
                return None
            at += client_id_bytes
        elif client_id_bytes != _NULL:
            return None
        tags, transactional_id, acks, _, topics = _FRONT.unpack_from(frame, at)
        if tags or transactional_id or topics != _ONE or acks not in (1, -1):
            return None
        at += _FRONT.size
        topic_bytes = _ID_BYTES if by_id else frame[at]
        if topic_bytes > _MOST_IN_A_BYTE:
            return None
        topic = bytes(frame[at : at + topic_bytes])
        partitions, index = _PARTITION.unpack_from(frame, at + topic_bytes)
        if partitions != _ONE:
            return None
        size, at = read_unsigned_varint(frame, at + topic_bytes + _PARTITION.size)
    except (TooShort, IndexError, ValueError):
        return None
    end = at + size - 1
    if frame[end:] != _NO_TAGS or not HEADER_BYTES <= end - at <= _LARGEST_BYTES:
        return None
    flags = frame[at + FLAGS_POSITION]
    if flags & TRANSACTIONAL_BIT or (flags & CODEC_BITS and end - at > _LARGEST_PACKED_BYTES):
        return None
    return topic, index, memoryview(frame)[at:end]
