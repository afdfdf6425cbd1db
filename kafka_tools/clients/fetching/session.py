"""The fetch session of a consumer with one broker (KIP-227): later requests name only what changed.

Plain state without I/O. Follows ``FetchSessionHandler`` of Kafka's Java client.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import NamedTuple

from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_tools.values import TopicPartition

NO_SESSION, INITIAL_EPOCH = 0, 0
_MOST_EPOCH = 2**31 - 1


class AskedPartition(NamedTuple):
    """One partition of a fetch: what the broker keeps in the session. ``last_epoch``: of the record before."""

    topic_id: uuid.UUID
    offset: int
    leader_epoch: int
    last_epoch: int


class FetchSession:
    """One session; one request is under way at a time."""

    def __init__(self) -> None:
        self.id = NO_SESSION
        self.epoch = INITIAL_EPOCH
        self._partitions: dict[TopicPartition, AskedPartition] = {}

    def fill(self, request: FetchRequest, wanted: Mapping[TopicPartition, AskedPartition], most_bytes: int) -> None:
        """Put the next request for exactly the partitions ``wanted`` into ``request``."""
        request.session_id, request.session_epoch = self.id, self.epoch
        before = {} if self.epoch == INITIAL_EPOCH else self._partitions
        topics: dict[tuple[str, uuid.UUID], list[FetchRequest.Topic.Partition]] = {}
        for topic_partition, asked in wanted.items():
            if before.get(topic_partition) == asked:
                continue
            topics.setdefault((topic_partition.topic, asked.topic_id), []).append(
                FetchRequest.Topic.Partition(
                    partition=topic_partition.partition,
                    current_leader_epoch=asked.leader_epoch,
                    fetch_offset=asked.offset,
                    last_fetched_epoch=asked.last_epoch,
                    partition_max_bytes=most_bytes,
                )
            )
        gone: dict[tuple[str, uuid.UUID], list[int]] = {}
        for topic_partition, asked in before.items():
            now = wanted.get(topic_partition)
            # A topic that was created again has another id: its old partitions leave, the new ones are added.
            if now is None or now.topic_id != asked.topic_id:
                gone.setdefault((topic_partition.topic, asked.topic_id), []).append(topic_partition.partition)
        request.topics = [
            FetchRequest.Topic(topic=name, topic_id=topic_id, partitions=rows)
            for (name, topic_id), rows in topics.items()
        ]
        request.forgotten_topics_data = [
            FetchRequest.ForgottenTopic(topic=name, topic_id=topic_id, partitions=numbers)
            for (name, topic_id), numbers in gone.items()
        ]
        self._partitions = dict(wanted)

    def answered(self, response: FetchResponse) -> None:
        """Continue the session as the broker says."""
        if response.error_code == error_codes.FETCH_SESSION_ID_NOT_FOUND:
            self.id, self.epoch = NO_SESSION, INITIAL_EPOCH
        elif response.error_code or response.session_id == NO_SESSION:
            # The broker closes a session that a full request names. Without room for a session it names none.
            self.id = self.id if response.error_code else NO_SESSION
            self.epoch = INITIAL_EPOCH
        else:
            self.id = response.session_id
            self.epoch = 1 if self.epoch == _MOST_EPOCH else self.epoch + 1

    def lost(self) -> None:
        """No response came: the next request closes the session and begins another one."""
        self.epoch = INITIAL_EPOCH


SESSION_ERRORS = (
    error_codes.FETCH_SESSION_ID_NOT_FOUND,
    error_codes.INVALID_FETCH_SESSION_EPOCH,
    error_codes.FETCH_SESSION_TOPIC_ID_ERROR,
)
"""Errors after which the next request begins another session, without delay."""
