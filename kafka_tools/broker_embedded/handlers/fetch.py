"""Fetch (1): stored batches from an offset on, now or when enough bytes are available.

- Waits up to max_wait_ms until min_bytes can be read. An error or a changed session is answered immediately.
- max_bytes and partition_max_bytes are soft limits: the first batch is always complete (v3 and later).
- Only small amounts are read here. Otherwise the response contains ranges of files, which are read during sending.
- v0 to v3 get batches converted to magic 0 or 1, which is impossible for zstd.
- v4: isolation level 1 ends at the last stable offset and lists aborted transactions.
- v7: fetch sessions (KIP-227). v9: leader epochs are checked. v12: divergence by epoch. v13: topic ids.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from kafka_tools.broker_embedded.answers import encode_with_files
from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.partitions.down_conversion import NotConvertible, down_converted
from kafka_tools.broker_embedded.partitions.fetch_sessions import BAD_EPOCH, Asked, Context, Key
from kafka_tools.broker_embedded.partitions.partition import Partition
from kafka_tools.broker_embedded.purgatory import LATER, Later, Parked
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.serving import failure
from kafka_tools.broker_embedded.slices import Work, whole
from kafka_tools.errors import BrokerError, LogError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation, AclResourceType, IsolationLevel
from kafka_tools.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_tools.storage.log.file_range import FileRange
from kafka_tools.storage.log.partition_log import PartitionLog
from kafka_tools.storage.log.reading import OffsetOutOfRange
from kafka_tools.values import TopicPartition

VERSIONS = (0, 18)
AUTHORIZE = ()

_READ, _TOPIC = AclOperation.READ, AclResourceType.TOPIC

log = logging.getLogger(__name__)

TopicAnswer = FetchResponse.FetchableTopicResponse
Answer = TopicAnswer.PartitionData

_NO_EPOCH = Answer.EpochEndOffset()
_NO_LEADER = Answer.LeaderIdAndEpoch()
_NO_SNAPSHOT = Answer.SnapshotId()
_NOTHING_ABORTED: list[Answer.AbortedTransaction] = []
"""A shared empty list for responses with errors: a request may contain hundreds of thousands of partitions."""

READ_COMMITTED = IsolationLevel.READ_COMMITTED
_STORED_AS_IS = 4
"""The first version in which records are sent as they are stored."""

_BEFORE_READING = (
    error_codes.UNKNOWN_TOPIC_OR_PARTITION,
    error_codes.TOPIC_AUTHORIZATION_FAILED,
    error_codes.UNKNOWN_TOPIC_ID,
)


_AT_ONCE = 1000
"""Maximum number of partitions that are read without slices when a parked fetch ends."""
_STEP = 200
"""Number of partitions between one ``yield`` and the next if each takes very little time."""
_IN_MEMORY_BYTES = 64 * 1024
"""The bytes of a response that are read immediately. The rest is sent from its files (``FileRange``), as in Kafka."""
_CONVERTED_BYTES = 4 * 1024 * 1024
"""Maximum number of bytes to read and convert for an old client. The client fetches the rest later."""


def handle(call: Call) -> Work[FetchResponse | Parked]:
    request = call.request
    wanted, forgotten = yield from _named(call)
    uses_ids = call.version >= 13
    epoch = request.session_epoch if call.version >= 7 else -1
    session_id = request.session_id if call.version >= 7 else 0
    context = call.broker.fetch_sessions.context(session_id, epoch, uses_ids, wanted, forgotten)
    if context.error:
        return FetchResponse(error_code=context.error)
    fetch = _Fetch(call, context)
    if fetch.enough((yield from fetch.read())):
        return (yield from fetch.respond())
    fetch.parked = Parked(request.max_wait_ms, fetch.try_complete, keys=fetch.watched())
    if fetch.may_be_enough():  # records arrived during a slice, before ``watched``
        call.broker.timers.call_later(0, fetch.look_again)
    return fetch.parked


def _named(call: Call) -> Work[tuple[dict[Key, Asked], list[Key]]]:
    """The requested partitions, and those that the session must forget. Their topics may be deleted."""
    topics_by_id = call.broker.cluster.topics_by_id
    wanted: dict[Key, Asked] = {}
    for topic in call.request.topics:
        name: str | None = topic.topic
        if call.version >= 13:
            found = topics_by_id.get(topic.topic_id)
            name = None if found is None else found.name
        for partition in topic.partitions:
            wanted[Key(topic.topic, topic.topic_id, partition.partition)] = Asked(name, partition)
            if not len(wanted) % _STEP:
                yield
        yield
    forgotten: list[Key] = []
    for topic in call.request.forgotten_topics_data:
        forgotten += [Key(topic.topic, topic.topic_id, number) for number in topic.partitions]
        yield
    return wanted, forgotten


class _Fetch:
    """One fetch in progress. A parked fetch is read again only after enough bytes have arrived."""

    def __init__(self, call: Call, context: Context) -> None:
        self.call = call
        self.context = context
        self.answers: list[tuple[Key, Asked, FetchResponse.FetchableTopicResponse.PartitionData]] = []
        self._read_bytes = 0
        self._seen: dict[TopicPartition, tuple[Partition, int, int, bool]] = {}
        """Each partition with its appended_bytes and last stable offset when it was read, and whether that offset
        limited the read."""
        configs = call.broker.configs.broker
        most = min(configs.integer("fetch.max.bytes"), call.broker.throttling.most_fetched(call))
        self._max_bytes = min(call.request.max_bytes, most)
        self._min_bytes: int = min(call.request.min_bytes, self._max_bytes)
        if call.version < _STORED_AS_IS:
            self._max_bytes = min(self._max_bytes, _CONVERTED_BYTES)
        self._in_memory_bytes = 0
        self._is_full = False
        """Whether the response has reached its maximum size, so that waiting is useless."""
        self.parked: Parked | None = None

    def read(self) -> Work[int]:
        """Read every partition once; returns the number of bytes."""
        self.answers.clear()
        self._seen.clear()
        self._in_memory_bytes = 0
        self._is_full = False
        left, total = self._max_bytes, 0
        # A session's partitions may change between slices, so use a copy.
        for key, asked in list(self.context.asked.items()):
            yield
            answer = self._partition(key, asked, left, first=total == 0)
            size = len(answer.records or b"")
            total += size
            left -= size
            self.answers.append((key, asked, answer))
        self._read_bytes = total
        return total

    def enough(self, total: int) -> bool:
        request = self.call.request
        if request.max_wait_ms <= 0 or total >= self._min_bytes or self._is_full or not self.context.asked:
            return True
        return any(answer.error_code or answer.diverging_epoch.epoch != -1 for _, _, answer in self.answers)

    def watched(self) -> list[TopicPartition]:
        """The partitions whose changes may complete the fetch."""
        return list(self._seen)

    def try_complete(self, expired: bool) -> FetchResponse | Later | None:
        if not expired and not self.may_be_enough():
            return None
        if len(self.context.asked) > _AT_ONCE:
            self.call.broker.slices.later(self._again(), self._made)
            return LATER
        if not self.enough(whole(self.read())):
            if not expired:
                return None
            self.call.broker.counts.expired_fetches.add()
        return whole(self.respond())

    def look_again(self) -> None:
        assert self.parked is not None
        self.parked.check()

    def _again(self) -> Work[FetchResponse]:
        yield from self.read()
        return (yield from self.respond())

    def _made(self, response: FetchResponse | None, error: BaseException | None) -> None:
        assert self.parked is not None
        self.parked.complete(response if response is not None else failure(self.call, error or AssertionError()))

    def may_be_enough(self) -> bool:
        """Whether min_bytes may be available after the bytes that arrived since the read, or a partition is deleted.

        A read_committed client gets nothing before the last stable offset moves, and then perhaps more bytes than
        arrived: it may also release records that it held back.
        """
        hosted, committed = self.call.broker.partitions, self.call.request.isolation_level == READ_COMMITTED
        total = self._read_bytes
        for id, (partition, appended_bytes, stable, is_held_back) in self._seen.items():
            if hosted.get(*id) is not partition:
                return True
            came = partition.appended_bytes - appended_bytes
            if committed and came:
                if partition.last_stable_offset == stable:
                    continue
                if is_held_back:
                    return True
            total += came
        return total >= self._min_bytes

    def respond(self) -> Work[FetchResponse]:
        context, version = self.context, self.call.version
        response = FetchResponse(session_id=context.session.id if context.session else 0)
        if context.is_overtaken:
            response.error_code = BAD_EPOCH
            return response
        by_topic: dict[Any, FetchResponse.FetchableTopicResponse] = {}
        with_data = []
        told = []
        sent: dict[str, tuple[int, int]] = {}
        for number, (key, asked, answer) in enumerate(self.answers):
            if not number % _STEP:
                yield
            changed = asked.changed(answer)
            if not changed and not context.full:
                continue
            told.append(asked)
            if answer.records:
                with_data.append(key)
            if asked.topic is not None:
                partitions, size = sent.get(asked.topic, (0, 0))
                sent[asked.topic] = partitions + 1, size + len(answer.records or b"")
            name = key.topic_id if version >= 13 else key.topic
            topic = by_topic.get(name)
            if topic is None:
                topic = by_topic[name] = TopicAnswer(topic=key.topic, topic_id=key.topic_id)
                response.responses.append(topic)
            topic.partitions.append(answer)
        for topic_name, (partitions, size) in sent.items():
            self.call.broker.counts.topics.fetched(topic_name, partitions, size)
        if context.session is not None:
            self.call.on_throttled = partial(self._untold, told)
            if with_data:
                context.session.served(with_data)
        return response

    def _untold(self, told: list[Asked]) -> None:
        """The response is not sent: end a session that it would start, otherwise send its partitions again later."""
        session = self.context.session
        if session is not None and self.context.full:
            self.call.broker.fetch_sessions.end(session.id)
        for asked in told:
            asked.forget_told()

    def _partition(
        self, key: Key, asked: Asked, left: int, *, first: bool
    ) -> FetchResponse.FetchableTopicResponse.PartitionData:
        call, topic, wanted = self.call, asked.topic, asked.wanted
        try:
            if topic is None:
                raise error_for(error_codes.UNKNOWN_TOPIC_ID)
            if not call.allowed(_READ, _TOPIC, topic):
                raise error_for(error_codes.TOPIC_AUTHORIZATION_FAILED)
            if call.version >= 13 and key.topic_id not in call.broker.cluster.topics_by_id:
                raise error_for(self._gone(topic))
            # Only here, any epoch below 0 means no epoch.
            partition = call.broker.partitions.led(topic, key.partition, max(wanted.current_leader_epoch, -1))
            return self._read(partition, wanted, left, first)
        except BrokerError as error:
            before_reading = error.code.code in _BEFORE_READING and self.parked is None
            return _error(key.partition, _known_code(error.code.code, call.version), before_reading=before_reading)
        except OffsetOutOfRange:
            return _error(key.partition, error_codes.OFFSET_OUT_OF_RANGE)
        except NotConvertible as error:
            return _error(key.partition, error.code)
        except (LogError, OSError) as error:
            log.error("cannot read %s-%d: %s", topic, key.partition, error)
            call.broker.counts.topics.fetch_failed(topic or "")
            return _error(key.partition, _known_code(error_codes.KAFKA_STORAGE_ERROR, call.version))

    def _gone(self, name: str) -> int:
        """The error code for a topic that was deleted since the request. As in Kafka, its name is still known."""
        is_another = self.call.broker.cluster.topic(name) is not None
        return error_codes.INCONSISTENT_TOPIC_ID if is_another else error_codes.UNKNOWN_TOPIC_OR_PARTITION

    def _read(
        self, partition: Partition, wanted: FetchRequest.Topic.Partition, left: int, first: bool
    ) -> FetchResponse.FetchableTopicResponse.PartitionData:
        opened, request, version = partition.log, self.call.request, self.call.version
        stable = opened.last_stable_offset
        self._seen[partition.id] = partition, partition.appended_bytes, stable, stable < opened.log_end_offset
        answer = Answer(
            partition_index=wanted.partition,
            high_watermark=opened.log_end_offset,
            last_stable_offset=stable,
            log_start_offset=opened.log_start_offset,
            aborted_transactions=[] if request.isolation_level == READ_COMMITTED else None,
            records=b"",
        )
        if wanted.last_fetched_epoch >= 0:
            epoch, end = opened.epochs.end_offset(wanted.last_fetched_epoch, opened.log_end_offset)
            if epoch < 0:  # an unknown epoch
                return _error(wanted.partition, error_codes.OFFSET_OUT_OF_RANGE)
            if epoch < wanted.last_fetched_epoch or end < wanted.fetch_offset:
                answer.aborted_transactions = None
                answer.diverging_epoch = Answer.EpochEndOffset(epoch=epoch, end_offset=end)
                return answer
        limit = stable if request.isolation_level == READ_COMMITTED else None
        whole_first = first and version >= 3
        size = min(wanted.partition_max_bytes, left)
        if size <= 0 and not whole_first:
            opened.read(wanted.fetch_offset, 0, whole_first=False)  # still raises for an offset out of range
            return answer
        data = self._data(opened, wanted.fetch_offset, max(size, 0), limit, whole_first)
        if data and request.isolation_level == READ_COMMITTED:
            end = min(stable, opened.end_of_read(wanted.fetch_offset, len(data)))
            answer.aborted_transactions = [
                Answer.AbortedTransaction(producer_id=producer_id, first_offset=first_offset)
                for producer_id, first_offset in opened.aborted_transactions(wanted.fetch_offset, end)
            ]
        if size < wanted.partition_max_bytes:
            more = opened.range(wanted.fetch_offset, wanted.partition_max_bytes, limit_offset=limit)
            self._is_full = self._is_full or (more is not None and len(more) > len(data))
        answer.records = data  # type: ignore[assignment]  # a range of a file is written by sending.encode_with_files
        return answer

    def _data(
        self, opened: PartitionLog, offset: int, size: int, limit: int | None, whole_first: bool
    ) -> bytes | FileRange:
        version = self.call.version
        if version < _STORED_AS_IS:
            data = opened.read(offset, size, limit_offset=limit, whole_first=whole_first)
            return down_converted(data, version, offset) if data else b""
        if size > _IN_MEMORY_BYTES - self._in_memory_bytes:
            found = opened.range(offset, size, limit_offset=limit)
            if found is not None and len(found) > _IN_MEMORY_BYTES - self._in_memory_bytes:
                self.call.encode = encode_with_files
                return found
            if found is not None:
                size = len(found)
        data = opened.read(offset, size, limit_offset=limit, whole_first=whole_first)
        self._in_memory_bytes += len(data)
        return data


def _known_code(code: int, version: int) -> int:
    """Clients before v6 do not know KAFKA_STORAGE_ERROR and get NOT_LEADER_OR_FOLLOWER."""
    return error_codes.NOT_LEADER_OR_FOLLOWER if code == error_codes.KAFKA_STORAGE_ERROR and version < 6 else code


def _error(
    number: int, code: int, *, before_reading: bool = False
) -> FetchResponse.FetchableTopicResponse.PartitionData:
    return Answer(
        partition_index=number,
        error_code=code,
        high_watermark=-1,
        # In Kafka the list is null if reading failed, and empty for errors before reading.
        aborted_transactions=_NOTHING_ABORTED if before_reading else None,
        records=b"",
        diverging_epoch=_NO_EPOCH,
        current_leader=_NO_LEADER,
        snapshot_id=_NO_SNAPSHOT,
    )
