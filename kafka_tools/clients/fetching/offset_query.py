"""A question about offsets that a caller waits for: begin, end, and by time. Asks again what may be answered later."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kafka_tools.clients.calls import Calls
from kafka_tools.clients.fetching.lookup import FoundOffset, OffsetLookup
from kafka_tools.clients.group import is_retriable
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.clock import Deadline
from kafka_tools.errors import DeadlineExceeded, InputError, KafkaToolsError
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.values import TopicPartition


class OffsetQuery:
    """Independent of the assignment."""

    def __init__(
        self, settings: ConsumerSettings, calls: Calls, metadata: ClusterMetadata, lookup: OffsetLookup
    ) -> None:
        self._settings = settings
        self._calls = calls
        self._metadata = metadata
        self._lookup = lookup

    def run(
        self, targets: Mapping[TopicPartition, int], deadline: Deadline, step: Callable[[], None]
    ) -> dict[TopicPartition, FoundOffset | None]:
        """The offset of each target (partition -> timestamp, or EARLIEST, LATEST); None where there is none.

        ``step`` is called before each turn. Raises InputError for a partition that does not exist, the first error
        that no retry mends, and DeadlineExceeded.
        """
        found: dict[TopicPartition, FoundOffset | None] = {}
        fatal: list[KafkaToolsError] = []

        def answered(
            topic_partition: TopicPartition, answer: FoundOffset | None, error: KafkaToolsError | None
        ) -> None:
            if error is None:
                found[topic_partition] = answer
            elif not is_retriable(error):
                fatal.append(error)

        self._check_partitions(targets, deadline)
        while len(found) < len(targets):
            left = {key: value for key, value in targets.items() if key not in found}
            step()
            self._lookup.start(left, answered)
            self._calls.turn(min(deadline.left_s(), self._settings.retry_backoff_ms / 1000))
            if fatal:
                raise fatal[0]
            if len(found) < len(targets):
                check_time(deadline, f"the offsets of {', '.join(map(str, left))} could be determined")
        return {topic_partition: found[topic_partition] for topic_partition in targets}

    def _check_partitions(self, targets: Mapping[TopicPartition, int], deadline: Deadline) -> None:
        for topic in {topic for topic, _ in targets}:
            info = self._metadata.wait_for_topic(topic, deadline)
            for topic_partition in targets:
                if topic_partition.topic == topic and topic_partition.partition not in info.partitions:
                    raise InputError(f"topic '{topic}' has no partition {topic_partition.partition}")


def check_time(deadline: Deadline, what: str) -> None:
    """Raise DeadlineExceeded, naming ``what`` in Kafka's words, if the time is over."""
    if deadline.expired:
        raise DeadlineExceeded(f"Timeout of {round(deadline.timeout_s * 1000)}ms expired before {what}")
