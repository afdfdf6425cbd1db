"""The log that every coordinator keeps its state in: a partition of an internal topic.

A change is appended first and holds only then; a start replays the log (``replaying``). Keys are an int16 record type
and the key struct, values an int16 version and the value struct, as in Kafka's ``CoordinatorRecordSerde``. Knows no
groups and no transactional ids.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from struct import Struct as Layout
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work, to_thread, whole
from kafka_tools.errors import EncodeError, LogError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.codec import encode, encode_versioned
from kafka_tools.protocol.schema import Stored
from kafka_tools.records.chain import HEADER_BYTES, RECORD_OVERHEAD_BYTES
from kafka_tools.storage.producer_state import StaleProducerEpoch
from kafka_tools.texts.java_hashing import positive_hash
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.coordinators.state_topics import StateTopics
    from kafka_tools.clock import Clock
    from kafka_tools.records.batches import BatchView
    from kafka_tools.records.build import Row

log = logging.getLogger(__name__)

T = TypeVar("T")

_INT16 = Layout(">h")
_MOST_AT_ONCE = 200
"""A batch of more records is built on another thread, and a record of more elements encoded there."""
_MOST_COMPRESSED_BYTES = 8 * 1024 * 1024
"""Bytes: a larger change is refused without compressing it to see whether it fits."""


class CoordinatorRecord(NamedTuple):
    """One change. ``value`` None is a tombstone; ``version`` is the value's.

    ``elements``: about how many the value has. A record with very many is encoded on another thread.
    ``read``: what whoever replays it would read from its value, where whoever made it has that.
    """

    key: Stored
    value: Stored | None
    version: int = 0
    elements: int = 0
    read: object = None


def partition_for(key: str, partitions: int) -> int:
    """The partition that holds a group or transactional id."""
    return positive_hash(key) % partitions


class CoordinatorLog:
    """Appends to, and reads, one internal topic that this broker leads.

    ``codec_config`` names the broker config that holds the codec's id; None: nothing is compressed.
    """

    def __init__(
        self, topics: StateTopics, configs: ConfigStore, clock: Clock, topic: str, codec_config: str | None
    ) -> None:
        self._topics = topics
        self._configs = configs
        self._clock = clock
        self._codec_config = codec_config
        self.topic = topic

    @property
    def partitions(self) -> int:
        """How many partitions the topic has; 0 while it does not exist."""
        return self._topics.partitions(self.topic)

    def ensured(self) -> Work[None]:
        """Make the topic if it is missing. BrokerError if it cannot be made."""
        return self._topics.ensured(self.topic)

    def append(
        self, partition: int, records: Sequence[CoordinatorRecord], *, producer: tuple[int, int] | None = None
    ) -> None:
        """Append all records as one batch, which makes them atomic. Kept when this returns.

        ``producer``: the id and epoch of a producer to whose transaction they belong. Raises BrokerError with the code
        a produce request would get.
        """
        self.append_batch(partition, whole(self.batch_of(records, producer)), producer=producer)

    def batch_of(self, records: Iterable[CoordinatorRecord], producer: tuple[int, int] | None = None) -> Work[bytes]:
        """The batch of many records, in slices, for ``append_batch``.

        BrokerError MESSAGE_TOO_LARGE, or INVALID_REQUEST for what such records cannot hold.
        """
        from kafka_tools.records.build import build_batch

        now_ms = self._clock.now_ms()
        limit = self._configs.topic(self.topic).integer("max.message.bytes")
        codec = 0 if self._codec_config is None else self._configs.broker.integer(self._codec_config)
        most_bytes = max(limit, _MOST_COMPRESSED_BYTES) if codec else limit
        rows: list[Row] = []
        size_bytes = 0
        for record in records:
            yield
            if record.elements > _MOST_AT_ONCE:
                key, value = yield from to_thread(partial(_encoded, record))
            else:
                key, value = _encoded(record)
            size_bytes += len(key) + len(value or b"")
            if size_bytes > most_bytes:
                raise error_for(error_codes.MESSAGE_TOO_LARGE, f"a change of more than {most_bytes} bytes")
            rows.append((now_ms, key, value, ()))
        producer_id, epoch = producer or (-1, -1)

        def build() -> bytes:
            return build_batch(
                rows, codec=codec, producer_id=producer_id, producer_epoch=epoch, transactional=producer is not None
            )

        batch = build() if len(rows) <= _MOST_AT_ONCE else (yield from to_thread(build))
        if len(batch) > limit:
            raise error_for(error_codes.MESSAGE_TOO_LARGE, f"a change of {len(batch)} bytes is above {limit}")
        return batch

    def in_batches(
        self, items: Iterable[T], records_of: Callable[[T], Iterable[CoordinatorRecord]], most: int | None = None
    ) -> Work[list[list[T]]]:
        """Items in runs whose records fit into a batch each, in slices: for changes that need not be atomic.

        ``most``: so many of them at most are in one.
        """
        limit = self._configs.topic(self.topic).integer("max.message.bytes")
        runs: list[list[T]] = []
        size_bytes = limit
        for item in items:
            yield
            encoded = map(_encoded, records_of(item))
            needed_bytes = sum(RECORD_OVERHEAD_BYTES + len(key) + len(value or b"") for key, value in encoded)
            if size_bytes + needed_bytes > limit or len(runs[-1]) == most:
                runs.append([])
                size_bytes = HEADER_BYTES
            runs[-1].append(item)
            size_bytes += needed_bytes
        return runs

    def append_batch(self, partition: int, batch: bytes, *, producer: tuple[int, int] | None = None) -> None:
        """Append what ``batch_of`` has made; raises as ``append``."""
        try:
            self._topics.append(self.topic, partition, batch, producer=producer)
        except KeyError as error:
            raise error_for(
                error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"{self.topic}-{partition} does not exist"
            ) from error
        except StaleProducerEpoch as error:
            raise error_for(error_codes.INVALID_PRODUCER_EPOCH, str(error)) from error
        except (LogError, OSError) as error:  # the log has told it
            log.debug("cannot append to %s-%d: %s", self.topic, partition, error)
            raise error_for(error_codes.KAFKA_STORAGE_ERROR, str(error)) from error

    def is_held(self, partition: int) -> bool:
        """Whether somebody wants a partition to stay unread after a start."""
        return self._topics.is_held(TopicPartition(self.topic, partition), self.partitions)

    def size_bytes(self, partition: int) -> int:
        """How much there is to read in a partition."""
        return self._topics.size_bytes(self.topic, partition)

    def keep_whole(self, partition: int, wanted: bool) -> None:
        """Whether the log is left as it is, but for what is appended: while it is read nothing is compacted away."""
        self._topics.keep_whole(self.topic, partition, wanted)

    def tail(self, partition: int) -> Iterator[BatchView | None]:
        """Every batch of a partition, oldest first, and None whenever there is no other one yet.

        Raises CorruptBatch where bytes have changed since they were written.
        """
        return self._topics.tail(self.topic, partition)


def encode_key(key: Stored) -> bytes:
    """The record type, then the key (always in version 0)."""
    assert key.ID is not None
    return _INT16.pack(key.ID) + encode(key, 0)


def _encoded(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    try:
        value = None if record.value is None else encode_versioned(record.value, record.version)
        return encode_key(record.key), value
    except EncodeError as error:  # what an older broker took may be too long
        raise error_for(error_codes.INVALID_REQUEST, str(error)) from error
