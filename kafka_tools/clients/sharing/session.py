"""The share session of a member with one broker: which partitions it has, and the number of the next request.

Plain state without I/O. The broker accepts the requests of a session only in their order, so one is under way at a
time. Follows ``ShareSessionHandler`` and ``ShareRequestMetadata`` of Kafka's Java client.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import TypeAlias, TypeVar

from kafka_tools.clients.sharing.held_records import Acknowledged, AcknowledgeType
from kafka_tools.clients.sharing.settings import ShareSettings
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from kafka_tools.protocol.messages.share_fetch import ShareFetchRequest

INITIAL_EPOCH, FINAL_EPOCH = 0, -1
_MOST_EPOCH = 2**31 - 1

TopicIdPartition: TypeAlias = tuple[uuid.UUID, int]
Batches: TypeAlias = Mapping[TopicIdPartition, list[Acknowledged]]

SESSION_LOST = (
    error_codes.SHARE_SESSION_NOT_FOUND,
    error_codes.INVALID_SHARE_SESSION_EPOCH,
    error_codes.SHARE_SESSION_LIMIT_REACHED,
)

A = TypeVar(
    "A",
    ShareFetchRequest.FetchTopic.FetchPartition.AcknowledgementBatch,
    ShareAcknowledgeRequest.AcknowledgeTopic.AcknowledgePartition.AcknowledgementBatch,
)


class ShareSession:
    """One session. ``is_new``: the next request begins it, so it cannot carry acknowledgements."""

    def __init__(self, settings: ShareSettings, member_id: str) -> None:
        self._settings = settings
        self._member_id = member_id
        self._epoch = INITIAL_EPOCH
        self._partitions: set[TopicIdPartition] = set()

    @property
    def is_new(self) -> bool:
        return self._epoch == INITIAL_EPOCH

    def fetch(self, wanted: Iterable[TopicIdPartition], batches: Batches) -> ShareFetchRequest:
        """Fetch from ``wanted``; acknowledge ``batches`` on the way, which must be of these and renew nothing."""
        goal = set(wanted)
        if self.is_new:
            self._partitions = set()
            batches = {}
        rows: dict[uuid.UUID, list[ShareFetchRequest.FetchTopic.FetchPartition]] = {}
        for topic_id, number in sorted((goal - self._partitions) | batches.keys()):
            rows.setdefault(topic_id, []).append(
                ShareFetchRequest.FetchTopic.FetchPartition(
                    partition_index=number,
                    acknowledgement_batches=_batches(
                        ShareFetchRequest.FetchTopic.FetchPartition.AcknowledgementBatch,
                        batches.get((topic_id, number), ()),
                    ),
                )
            )
        gone: dict[uuid.UUID, list[int]] = {}
        for topic_id, number in sorted(self._partitions - goal):
            gone.setdefault(topic_id, []).append(number)
        self._partitions = goal
        settings = self._settings.consumer
        return ShareFetchRequest(
            group_id=settings.group_id,
            member_id=self._member_id,
            share_session_epoch=self._epoch,
            max_wait_ms=settings.fetch_max_wait_ms,
            min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_max_bytes,
            max_records=settings.max_poll_records,
            batch_size=settings.max_poll_records,
            share_acquire_mode=1 if self._settings.is_limit_strict else 0,
            topics=[ShareFetchRequest.FetchTopic(topic_id=each, partitions=rows[each]) for each in rows],
            forgotten_topics_data=[
                ShareFetchRequest.ForgottenTopic(topic_id=each, partitions=gone[each]) for each in gone
            ],
        )

    def acknowledge(self, batches: Batches, *, close: bool = False) -> ShareAcknowledgeRequest:
        """Acknowledge without fetching; ``close`` also ends the session, which releases all other records."""
        assert not self.is_new
        rows: dict[uuid.UUID, list[ShareAcknowledgeRequest.AcknowledgeTopic.AcknowledgePartition]] = {}
        for topic_id, number in sorted(batches):
            rows.setdefault(topic_id, []).append(
                ShareAcknowledgeRequest.AcknowledgeTopic.AcknowledgePartition(
                    partition_index=number,
                    acknowledgement_batches=_batches(
                        ShareAcknowledgeRequest.AcknowledgeTopic.AcknowledgePartition.AcknowledgementBatch,
                        batches[topic_id, number],
                    ),
                )
            )
        return ShareAcknowledgeRequest(
            group_id=self._settings.consumer.group_id,
            member_id=self._member_id,
            share_session_epoch=FINAL_EPOCH if close else self._epoch,
            is_renew_ack=any(renews(each) for each in batches.values()),
            topics=[ShareAcknowledgeRequest.AcknowledgeTopic(topic_id=each, partitions=rows[each]) for each in rows],
        )

    def answered(self, code: int) -> None:
        """The broker answered with this error of the whole request: the session goes on, or begins again."""
        if code in SESSION_LOST:
            self.lost()
        else:
            self._epoch = 1 if self._epoch == _MOST_EPOCH else self._epoch + 1

    def lost(self) -> None:
        """No response came, or the broker has no such session: begin a new one, without its acquired records."""
        self._epoch = INITIAL_EPOCH


def renews(acknowledged: Iterable[Acknowledged]) -> bool:
    """Whether some lock is to be renewed, which a fetch cannot do."""
    return any(each.type == AcknowledgeType.RENEW for each in acknowledged)


def _batches(cls: type[A], acknowledged: Iterable[Acknowledged]) -> list[A]:
    return [
        cls(first_offset=first, last_offset=last, acknowledge_types=[int(kind)]) for first, last, kind in acknowledged
    ]
