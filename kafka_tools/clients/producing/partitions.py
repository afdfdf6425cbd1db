"""The partition of a record: the one that is given, that a function or the key chooses, or a sticky one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from kafka_tools.clients.producing.partitioner import StickyPartitioner, partition_for_key, partitions_for_keys
from kafka_tools.clients.producing.record_run import RecordRun
from kafka_tools.clients.settings import ProducerSettings
from kafka_tools.errors import InputError
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.net.topic_metadata import TopicMetadata
from kafka_tools.values import as_int

Partitioner = Callable[[str, bytes | None, Sequence[int]], int]
"""(topic, key, its partitions) -> the partition of a record."""


class PartitionChoice:
    """The choice of one producer."""

    def __init__(
        self, settings: ProducerSettings, metadata: ClusterMetadata, partitioner: Partitioner | None, random: Random
    ) -> None:
        self._settings = settings
        self._metadata = metadata
        self._partitioner = partitioner
        self._random = random
        self._sticky: dict[str, StickyPartitioner] = {}

    def chosen(self, info: TopicMetadata, key: bytes | None, partition: int | None) -> int | None:
        """The partition that the caller, the function or the key chooses, None if none of them does.

        Runs code of the user, so it is called without the producer's lock. Raises InputError for a number that the
        topic does not have.
        """
        if partition is None and self._partitioner is not None:
            partition = self._partitioner(info.name, key, sorted(info.partitions))
        if partition is not None:
            number = as_int(partition)
            if number is None or number not in info.partitions:
                raise InputError(
                    f"Invalid partition {partition!r} for topic '{info.name}': it has partitions 0 to "
                    f"{len(info.partitions) - 1}"
                )
            return number
        if key is not None and not self._settings.ignore_keys:
            return partition_for_key(key, len(info.partitions))
        return None

    def chosen_many(
        self, info: TopicMetadata, keys: Sequence[bytes | None] | None, count: int, partition: int | None
    ) -> list[int | None] | int | None:
        """As ``chosen`` for ``count`` records: a partition for all of them, or one for each."""
        if partition is not None or (keys is None and self._partitioner is None):
            return self.chosen(info, None, partition)
        every = [None] * count if keys is None else keys
        if self._partitioner is None and len(info.partitions) == 1:
            return self.chosen(info, b"", None)
        if self._partitioner is not None or self._settings.ignore_keys or None in set(every):
            return [self.chosen(info, key, None) for key in every]
        return [*partitions_for_keys([key for key in every if key is not None], len(info.partitions))]

    def stick(self, info: TopicMetadata, size_bytes: int) -> int:
        """The partition of a record of ``size_bytes`` that nothing else chooses."""
        return self._sticky_of(info).choose(info.available, size_bytes, self._near_of(info))

    def stick_run(self, info: TopicMetadata, run: RecordRun, start: int, stop: int) -> tuple[int, int]:
        """As ``stick`` for the records from ``start``: the partition, and the end of those that go there."""
        sticky = self._sticky_of(info)
        left_bytes = sticky.left_bytes(info.available, self._near_of(info))
        end = min(stop, run.most(start, stop, left_bytes - 1) + 1)
        return sticky.chose(run.size_bytes(start, end)), end

    def _sticky_of(self, info: TopicMetadata) -> StickyPartitioner:
        sticky = self._sticky.get(info.name)
        if sticky is None:
            sticky = self._sticky[info.name] = StickyPartitioner(self._settings.batch_size_bytes, self._random)
        return sticky

    def _near_of(self, info: TopicMetadata) -> Callable[[], Sequence[int]] | None:
        return partial(self._near, info) if self._settings.near_rack else None

    def _near(self, info: TopicMetadata) -> list[int]:
        """The partitions whose leader is in the producer's own rack."""
        nodes, rack = self._metadata.nodes, self._settings.near_rack
        leaders = ((number, nodes.get(info.partitions[number].leader_id)) for number in info.available)
        return [number for number, leader in leaders if leader is not None and leader.rack == rack]
