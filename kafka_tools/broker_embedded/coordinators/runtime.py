"""Shared by all coordinators: access to the broker, and the log of their state, an internal topic.

A change takes effect after it is appended; a start replays the log (``replaying``). A key is an int16 record type and
the key struct. A value is an int16 version and the value struct, as in Kafka's ``CoordinatorRecordSerde``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from heapq import merge
from operator import itemgetter
from struct import Struct as Layout
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work, to_thread, whole
from kafka_tools.errors import BrokerError, EncodeError, LogError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.codec import encode, encode_versioned
from kafka_tools.protocol.schema import Stored
from kafka_tools.records.chain import HEADER_BYTES, RECORD_OVERHEAD_BYTES
from kafka_tools.storage.producer_state import StaleProducerEpoch
from kafka_tools.texts.java_hashing import positive_hash
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.features import FinalizedFeatures
    from kafka_tools.broker_embedded.cluster.journal import Journal
    from kafka_tools.broker_embedded.cluster.metadata import Cluster
    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.metrics.counts import Counts
    from kafka_tools.broker_embedded.partitions.hosted import Partitions
    from kafka_tools.broker_embedded.partitions.partition import Partition
    from kafka_tools.broker_embedded.partitions.topic_changes import TopicChanges
    from kafka_tools.broker_embedded.purgatory import Purgatory
    from kafka_tools.broker_embedded.slices import Slices
    from kafka_tools.broker_embedded.timers import Timers
    from kafka_tools.records.batches import BatchView
    from kafka_tools.records.build import Row

log = logging.getLogger(__name__)

T = TypeVar("T")
S = TypeVar("S")

IsHeld = Callable[[TopicPartition, int], bool]
"""(partition of a coordinator's topic, the topic's number of partitions) -> whether it must stay unread for now."""

_INT16 = Layout(">h")
_MOST_AT_ONCE = 200
"""A batch with more records is built on another thread, and a record with more elements is encoded there."""
_MOST_TRIES = 3
_RUN = 1000
"""Number of groups or transactions that are sorted in one slice."""
_ID = itemgetter(0)
_MOST_COMPRESSED_BYTES = 8 * 1024 * 1024
"""A larger change is refused without an attempt to compress it, in bytes."""


class CoordinatorRecord(NamedTuple):
    """One change. ``value`` None is a tombstone; ``version`` is the value's.

    ``elements``: the approximate number of elements in the value. A record with very many is encoded on another thread.
    ``read``: the decoded content of the value, if the creator of the record already has it.
    """

    key: Stored
    value: Stored | None
    version: int = 0
    elements: int = 0
    read: object = None


def partition_for(key: str, partitions: int) -> int:
    """The partition that contains a group or transactional id."""
    return positive_hash(key) % partitions


class Runtime(NamedTuple):
    """The parts of the broker that every coordinator works with."""

    journal: Journal
    cluster: Cluster
    configs: ConfigStore
    features: FinalizedFeatures
    partitions: Partitions
    topics: TopicChanges
    purgatory: Purgatory
    timers: Timers
    slices: Slices
    background: Slices
    """Runs the loading of partitions while requests are served."""
    is_held: IsHeld
    counts: Counts

    def integer(self, name: str) -> int:
        """The broker's value of a config."""
        return self.configs.broker.integer(name)

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return self.timers.clock.now_ms()

    def begin(self, work: Work[None], failed: str) -> None:
        """Begin work that no request waits for. ``failed`` is logged if it fails."""

        def done(_: None, error: BaseException | None) -> None:
            if isinstance(error, BrokerError):
                log.warning("%s: %s", failed, error)
            elif error is not None:
                log.error("%s", failed, exc_info=error)

        self.slices.begin(work, done)

    def repeat(self, interval: str, sweep: Callable[[], Work[None]], failed: str) -> None:
        """Repeat work. Each pause is the value of the config ``interval``. ``failed`` is logged if the work fails."""

        def done(_: None, error: BaseException | None) -> None:
            if error is not None:
                log.error("%s", failed, exc_info=error)
            self.repeat(interval, sweep, failed)

        def due() -> None:
            self.slices.later(sweep(), done)

        self.timers.call_later(self.integer(interval), due)


class CoordinatorLog:
    """One internal topic that this broker leads. It is created when it is first needed.

    ``codec_config``: the broker config with the id of the codec; None: no compression.
    """

    def __init__(self, runtime: Runtime, topic: str, codec_config: str | None = None) -> None:
        self._runtime = runtime
        self._codec_config = codec_config
        self.topic = topic

    @property
    def partitions(self) -> int:
        """The topic's number of partitions; 0 while it does not exist."""
        found = self._runtime.cluster.topic(self.topic)
        return len(found.partitions) if found else 0

    def ensured(self) -> Work[None]:
        """Create the topic with its defaults if it is missing, in slices. BrokerError if that fails."""
        cluster, topics = self._runtime.cluster, self._runtime.topics
        if cluster.topic(self.topic) is None:
            yield from topics.settled(self.topic)
            if cluster.topic(self.topic) is None:
                yield from topics.auto_create(self.topic)

    def append(self, partition: int, records: Iterable[CoordinatorRecord]) -> None:
        """Append all records atomically, as one batch. BrokerError with the code that a produce request would get."""
        self.append_batch(partition, whole(self.batch_of(records)))

    def batch_of(self, records: Iterable[CoordinatorRecord], producer: tuple[int, int] | None = None) -> Work[bytes]:
        """Build the batch of many records for ``append_batch``, in slices.

        ``producer``: the id and epoch of the producer whose transaction they belong to. BrokerError MESSAGE_TOO_LARGE,
        or INVALID_REQUEST for values that cannot be encoded.
        """
        from kafka_tools.records.build import build_batch

        now_ms = self._runtime.now_ms()
        limit = self._limit
        codec = 0 if self._codec_config is None else self._runtime.integer(self._codec_config)
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
        """Split items, in slices, so that the records of each list fit into one batch. For changes without atomicity.

        ``most``: the maximum number of items in a list.
        """
        limit = self._limit
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
        """Append a batch of ``batch_of``; raises like ``append``."""
        found = self._led(partition)
        if found is None:
            raise error_for(error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"{self.topic}-{partition} does not exist")
        try:
            if producer is not None:
                found.log.producers.check_epoch(*producer, found.id)
            appended = found.log.append(bytearray(batch), leader_epoch=found.leader_epoch, from_client=False)
        except StaleProducerEpoch as error:
            raise error_for(error_codes.INVALID_PRODUCER_EPOCH, str(error)) from error
        except (LogError, OSError) as error:  # the partition log has logged it
            log.debug("cannot append to %s: %s", found.id, error)
            raise error_for(error_codes.KAFKA_STORAGE_ERROR, str(error)) from error
        found.appended_bytes += len(batch)
        counts = self._runtime.counts.topics.of(self.topic)
        counts.appended(appended.last_offset - appended.base_offset + 1, len(batch))
        self._runtime.purgatory.wake(found.id)

    @property
    def _limit(self) -> int:
        return self._runtime.configs.topic(self.topic).integer("max.message.bytes")

    def _led(self, partition: int) -> Partition | None:
        return self._runtime.partitions.get(self.topic, partition)

    def leader_epoch(self, partition: int) -> int:
        """The leader epoch of a partition, used as the coordinator's epoch; -1 if it does not exist."""
        found = self._led(partition)
        return -1 if found is None else found.leader_epoch

    def is_held(self, partition: int) -> bool:
        """Whether a partition must stay unread after a start (``Runtime.is_held``)."""
        return self._runtime.is_held(TopicPartition(self.topic, partition), self.partitions)

    def size_bytes(self, partition: int) -> int:
        """The size of a partition's log; 0 if it does not exist."""
        found = self._led(partition)
        return 0 if found is None else found.log.size_bytes

    def keep_whole(self, partition: int, wanted: bool) -> None:
        """Disable or enable compaction of a partition's log. It is disabled while the log is being loaded."""
        found = self._led(partition)
        if found is not None:
            found.kept_whole = wanted

    def tail(self, partition: int) -> Iterator[BatchView | None]:
        """Every batch of a partition from its log start, and None whenever the end is reached.

        Between two batches the log may grow, roll, or lose old segments. Raises LogError for a partition that is
        offline, and CorruptBatch for damaged bytes.
        """
        if (self.topic, partition) in self._runtime.partitions.offline:
            raise LogError(f"{self.topic}-{partition} is offline")
        found = self._led(partition)
        next_offset: int | None = None
        while found is not None:
            segments = found.log.segments
            for view in found.log.walk(next_offset):
                next_offset = view.last_offset + 1
                yield view
                if found.log.segments is not segments:
                    break
            else:
                yield None
        while True:
            yield None


_NOT_AVAILABLE = {
    error_codes.UNKNOWN_TOPIC_OR_PARTITION: error_codes.COORDINATOR_NOT_AVAILABLE,
    error_codes.NOT_ENOUGH_REPLICAS: error_codes.COORDINATOR_NOT_AVAILABLE,
    error_codes.NOT_ENOUGH_REPLICAS_AFTER_APPEND: error_codes.COORDINATOR_NOT_AVAILABLE,
    error_codes.NOT_LEADER_OR_FOLLOWER: error_codes.NOT_COORDINATOR,
    error_codes.KAFKA_STORAGE_ERROR: error_codes.NOT_COORDINATOR,
}
_TOO_LARGE = (error_codes.MESSAGE_TOO_LARGE, error_codes.RECORD_LIST_TOO_LARGE, error_codes.INVALID_FETCH_SIZE)
TRANSACTION_CODES = {**_NOT_AVAILABLE, **dict.fromkeys(_TOO_LARGE, error_codes.UNKNOWN_SERVER_ERROR)}
GROUP_CODES = {**TRANSACTION_CODES, error_codes.REQUEST_TIMED_OUT: error_codes.REBALANCE_IN_PROGRESS}
OFFSET_CODES = {**_NOT_AVAILABLE, **dict.fromkeys(_TOO_LARGE, error_codes.INVALID_COMMIT_OFFSET_SIZE)}
"""Failed appends: the code of the log -> the code for a client of a coordinator."""


def mapped_code(error: BrokerError, codes: Mapping[int, int]) -> int:
    """The coordinator's error code for an error of its log."""
    code: int = error.code.code
    return codes.get(code, code)


@contextmanager
def mapped_errors(codes: Mapping[int, int]) -> Iterator[None]:
    """Raise BrokerErrors of the log with the coordinator's error codes."""
    try:
        yield
    except BrokerError as error:
        raise error_for(mapped_code(error, codes), error.broker_message) from error


def undisturbed(seen: Callable[[], object], make: Callable[[], Work[T]]) -> Work[T]:
    """The result of work in slices during which the value of ``seen`` did not change.

    After a change the work starts again, even if it failed. After several tries it runs without slices.
    """
    for _ in range(_MOST_TRIES):
        before = seen()
        try:
            made = yield from make()
        except Exception:
            if seen() == before:
                raise
            continue
        if seen() == before:
            return made
    return whole(make())


def in_order(known: Mapping[str, S], shown: Callable[[S], T | None]) -> Work[Iterator[T]]:
    """The results of ``shown`` for groups or transactions, except None, in the order of their ids."""
    entries = list(known.items())
    runs: list[list[tuple[str, T]]] = []
    for first in range(0, len(entries), _RUN):
        found = []
        for id, each in entries[first : first + _RUN]:
            yield
            if (entry := shown(each)) is not None:
                found.append((id, entry))
        runs.append(sorted(found, key=_ID))
    return (entry for _, entry in merge(*runs, key=_ID))


def encode_key(key: Stored) -> bytes:
    """The record type, then the key (always in version 0)."""
    assert key.ID is not None
    return _INT16.pack(key.ID) + encode(key, 0)


def _encoded(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    try:
        value = None if record.value is None else encode_versioned(record.value, record.version)
        return encode_key(record.key), value
    except EncodeError as error:  # an older broker may have accepted longer values
        raise error_for(error_codes.INVALID_REQUEST, str(error)) from error
