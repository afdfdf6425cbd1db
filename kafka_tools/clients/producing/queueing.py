"""What ``send`` and ``send_many`` share: the topic of a record, its largest size, and the wait for memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NoReturn

from kafka_tools.clock import Deadline
from kafka_tools.errors import DeadlineExceeded, InputError, KafkaToolsError
from kafka_tools.records.chain import HEADER_BYTES, RECORD_OVERHEAD_BYTES
from kafka_tools.values import can_be_sent

if TYPE_CHECKING:
    from kafka_tools.clients.producing.accumulator import Accumulator
    from kafka_tools.clients.settings import ProducerSettings
    from kafka_tools.clients.threads.lock import ClientLock
    from kafka_tools.clock import Clock
    from kafka_tools.net.metadata import ClusterMetadata
    from kafka_tools.net.topic_metadata import TopicMetadata

OVERHEAD_BYTES = HEADER_BYTES + RECORD_OVERHEAD_BYTES
"""The most that a batch of one record has beside the record's key, value and headers."""


class RecordTooLarge(InputError):
    """A record is above ``max.request.size`` or ``buffer.memory``."""


class QueueingCalls(ABC):
    """The part of a producer that lets records in."""

    settings: ProducerSettings
    _lock: ClientLock
    _clock: Clock
    _metadata: ClusterMetadata
    _accumulator: Accumulator
    _closed: bool
    _broken: KafkaToolsError | None

    @abstractmethod
    def _turn(self, deadline: Deadline, hurry: bool) -> None: ...

    def _is_closed(self) -> KafkaToolsError:
        return self._broken or KafkaToolsError("Cannot perform operation after producer has been closed")

    def _known(self, topic: str) -> TopicMetadata:
        """A topic with partitions that have a leader."""
        info = self._metadata.topics.get(topic) if isinstance(topic, str) else None
        return self._look_up(topic) if info is None or not info.available else info

    def _look_up(self, topic: str) -> TopicMetadata:
        if not (isinstance(topic, str) and can_be_sent(topic)):
            raise InputError(f"invalid topic {topic!r}: expected its name as a str")
        with self._lock:
            if self._closed:
                raise self._is_closed()
            try:
                return self._metadata.wait_for_topic(topic, self._deadline(self.settings.max_block_ms))
            except KafkaToolsError as error:
                if self._closed:
                    raise self._is_closed() from error
                raise

    def _refuse(self, size_bytes: int, index: int | None = None) -> NoReturn:
        """Raise RecordTooLarge, naming the setting, and the record of several."""
        total_bytes = size_bytes + OVERHEAD_BYTES
        name, limit_bytes = "buffer.memory", self.settings.buffer_memory_bytes
        if total_bytes > self.settings.max_request_size_bytes:
            name, limit_bytes = "max.request.size", self.settings.max_request_size_bytes
        raise RecordTooLarge(
            f"{'The message' if index is None else f'records[{index}]'} is {total_bytes} bytes when serialized "
            f"which is larger than {limit_bytes}, which is the value of the {name} configuration."
        )

    def _wait_for_memory(self, size_bytes: int) -> None:
        deadline = self._deadline(self.settings.max_block_ms)
        while self._accumulator.buffered_bytes + size_bytes > self.settings.buffer_memory_bytes:
            if self._closed:
                raise self._is_closed()
            if deadline.expired:
                raise DeadlineExceeded(
                    f"Failed to allocate {size_bytes} bytes within the configured max blocking time "
                    f"{self.settings.max_block_ms} ms.",
                    hint="brokers accept records more slowly than they are sent; check buffer.memory",
                )
            self._turn(deadline, hurry=True)

    def _deadline(self, timeout_ms: int) -> Deadline:
        return Deadline(self._clock, timeout_ms / 1000)
