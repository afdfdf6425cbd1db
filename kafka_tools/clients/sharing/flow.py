"""What a share consumer sends to the leaders of its partitions, and what their responses mean.

One request per broker at a time: a fetch, which carries acknowledgements if it can, or an acknowledgement alone. Plain
state without I/O. Follows ``ShareConsumeRequestManager`` of Kafka's Java client.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.clients.sharing.acquired_data import AcquiredData, AcquiredPartition
from kafka_tools.clients.sharing.held_records import Acknowledged, HeldRecords, SharedRecord
from kafka_tools.clients.sharing.session import SESSION_LOST, ShareSession, TopicIdPartition, renews
from kafka_tools.clients.sharing.settings import ShareSettings
from kafka_tools.errors import KafkaToolsError, UnsupportedVersion
from kafka_tools.net.rights import refused
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from kafka_tools.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from kafka_tools.values import Node, TopicPartition

if TYPE_CHECKING:
    from kafka_tools.clients.sharing.metrics import ShareConsumerMetrics
    from kafka_tools.net.versions import NodeVersions

RENEW_VERSION = 2
"""First ShareAcknowledge that renews locks (KIP-1222, Kafka 4.2)."""


class Acknowledgement(NamedTuple):
    """Acknowledgements of one partition under way. ``offsets``: those of the application, without gaps.

    ``until_s``: no attempt after this moment, in monotonic seconds.
    """

    held: HeldRecords
    batches: list[Acknowledged]
    offsets: set[int]
    until_s: float


class SharePlan(NamedTuple):
    """One request for one node, with the acknowledgements in it."""

    node: Node
    request: ShareFetchRequest | ShareAcknowledgeRequest
    carried: dict[TopicIdPartition, Acknowledgement]
    planned_s: float

    def build(self, versions: NodeVersions) -> ShareFetchRequest | ShareAcknowledgeRequest:
        """The request. Raises UnsupportedVersion for a renewal that the node does not know."""
        request = self.request
        renews_locks = isinstance(request, ShareAcknowledgeRequest) and request.is_renew_ack
        if renews_locks and versions.newest(ShareAcknowledgeRequest) < RENEW_VERSION:
            raise UnsupportedVersion(
                f"{self.node} cannot renew acquisition locks",
                hint="an acknowledgement with RENEW needs Kafka 4.2 or later",
            )
        return request


Done = Callable[[TopicPartition, set[int], KafkaToolsError | None], None]
"""(partition, offsets, error): the acknowledgements of these records arrived, or did not."""


class ShareFlow:
    """Sessions, acquired records and acknowledgements of one share consumer."""

    def __init__(self, settings: ShareSettings, member_id: str, done: Done) -> None:
        self.acquisition_lock_timeout_ms: int | None = None
        self.metadata_is_wrong = False
        """Whether some leader has moved: the owner refreshes the metadata and sets this to False."""
        self.metrics: ShareConsumerMetrics | None = None
        """What was done since ``ShareConsumer.metrics`` was called first; None before."""
        self._settings = settings
        self._member_id = member_id
        self._done = done
        self._sessions: dict[int, ShareSession] = {}
        self._held: dict[tuple[int, TopicIdPartition], HeldRecords] = {}
        self._waiting: dict[int, dict[TopicIdPartition, Acknowledgement]] = {}
        self._under_way = 0
        self._buffer: deque[tuple[HeldRecords, AcquiredData]] = deque()
        self._renewed: deque[tuple[HeldRecords, SharedRecord]] = deque()
        self._retry_at_s: dict[int, float] = {}

    # Acknowledgements

    def acknowledged(self, record: SharedRecord) -> HeldRecords | None:
        """Where a returned record is held; None if this consumer no longer holds it."""
        place = TopicPartition(record.topic, record.partition)
        for held in self._held.values():
            if held.topic_partition == place and record.offset in held.records:
                return held
        return None

    def accept_rest(self) -> None:
        """Accept every returned record without acknowledgement (implicit mode)."""
        for held in self._held.values():
            held.accept_rest()

    @property
    def unacknowledged(self) -> int:
        return sum(held.unacknowledged for held in self._held.values())

    @property
    def is_renewing(self) -> bool:
        return any(held.is_renewing for held in self._held.values())

    @property
    def has_acknowledgements(self) -> bool:
        """Whether some acknowledgements are waiting or under way."""
        return bool(self._waiting or self._under_way)

    def queue(self, until_s: float) -> None:
        """Let every acknowledgement leave with the next request to its broker."""
        for (node_id, place), held in list(self._held.items()):
            batches, offsets = held.take()
            if batches:
                self._wait_for(node_id, place, Acknowledgement(held, batches, offsets, until_s))
            elif held.is_idle and not any(held is other for other, _ in (*self._buffer, *self._renewed)):
                del self._held[node_id, place]

    # Requests

    def plans(
        self,
        assigned: Mapping[TopicIdPartition, Node],
        nodes: Mapping[int, Node],
        busy: Collection[int],
        now_s: float,
        *,
        fetch: bool,
    ) -> list[SharePlan]:
        """The requests that can be sent now; ``fetch``: also those that get new records."""
        wanted: dict[int, set[TopicIdPartition]] = {}
        if fetch:
            for place, node in assigned.items():
                wanted.setdefault(node.id, set()).add(place)
        found = []
        for node_id in sorted(self._waiting.keys() | wanted.keys()):
            if node_id in busy or now_s < self._retry_at_s.get(node_id, 0.0) or node_id not in nodes:
                self._expire(node_id, now_s)
                continue
            session = self._sessions.get(node_id)
            if session is None:
                session = self._sessions[node_id] = ShareSession(self._settings, self._member_id)
            if session.is_new:
                self._fail_waiting(node_id, error_codes.SHARE_SESSION_NOT_FOUND)
            plan = self._plan(nodes[node_id], session, wanted.get(node_id, set()), now_s)
            if plan is not None:
                found.append(plan)
        return self._begun(found)

    def closing(self, nodes: Mapping[int, Node], busy: Collection[int], now_s: float) -> list[SharePlan]:
        """The last request to each broker: acknowledges, ends the session, releases everything else."""
        found = []
        for node_id, session in list(self._sessions.items()):
            if node_id in busy or node_id not in nodes:
                continue
            del self._sessions[node_id]
            if not session.is_new:
                carried = self._waiting.pop(node_id, {})
                request = session.acknowledge({each: carried[each].batches for each in carried}, close=True)
                found.append(SharePlan(nodes[node_id], request, carried, now_s))
        return self._begun(found)

    def _begun(self, plans: list[SharePlan]) -> list[SharePlan]:
        self._under_way += len(plans)
        if self.metrics is not None:
            for plan in plans:
                for acknowledgement in plan.carried.values():
                    self.metrics.acknowledgements_sent(len(acknowledgement.offsets))
        return plans

    def forget(self) -> None:
        """Drop what is held: the member is no longer in the group, or leaves it."""
        self._held.clear()
        self._buffer.clear()
        self._renewed.clear()

    # Responses

    def take(
        self,
        plan: SharePlan,
        response: ShareFetchResponse | ShareAcknowledgeResponse,
        names: Mapping[uuid.UUID, str],
        now_s: float,
    ) -> None:
        """Process a response. Raises BrokerError for refusals that no retry mends."""
        self._under_way -= 1
        self.acquisition_lock_timeout_ms = response.acquisition_lock_timeout_ms or self.acquisition_lock_timeout_ms
        session = self._sessions.get(plan.node.id)
        if session is not None:
            session.answered(response.error_code)
        carried = dict(plan.carried)
        failure: KafkaToolsError | None = None
        if self.metrics is not None and isinstance(response, ShareFetchResponse):
            rows = [row for topic in response.responses for row in topic.partitions]
            size_bytes = sum(len(row.records or b"") for row in rows)
            acquired = sum(each.last_offset - each.first_offset + 1 for row in rows for each in row.acquired_records)
            self.metrics.fetched(now_s - plan.planned_s, response.throttle_time_ms, size_bytes, acquired)
        if response.error_code:
            self._finish_all(plan, carried, response.error_code, now_s)
            failure = self._on_error(plan, response.error_code, "every partition", response.error_message, now_s)
        for topic in response.responses:
            for row in topic.partitions:
                place = topic.topic_id, row.partition_index
                code = row.acknowledge_error_code if isinstance(row, AcquiredPartition) else row.error_code
                if place in carried:
                    self._finish(plan.node.id, place, carried.pop(place), code, now_s)
                if isinstance(row, AcquiredPartition):
                    try:
                        self._take_records(plan, topic.topic_id, row, names, now_s)
                    except KafkaToolsError as error:
                        failure = failure or error
        for acknowledgement in carried.values():
            self._report(acknowledgement, KafkaToolsError(f"{plan.node} did not answer for an acknowledged partition"))
        if failure is not None:
            raise failure

    def on_failure(self, plan: SharePlan, error: KafkaToolsError, now_s: float) -> None:
        """No response came: the session begins anew, and the broker releases what was acquired in it."""
        self._under_way -= 1
        self.metadata_is_wrong = True
        session = self._sessions.get(plan.node.id)
        if session is not None:
            session.lost()
        for acknowledgement in plan.carried.values():
            self._report(acknowledgement, error)
        self._back_off(plan.node.id, now_s)

    def records(self, limit: int, now_s: float) -> list[SharedRecord]:
        """Up to ``limit`` acquired records, renewed ones first. Raises CorruptBatch after what was before it.

        Records whose lock ended while they waited here are left out: another member may have them.
        """
        out: list[SharedRecord] = []
        while self._renewed and len(out) < limit:
            held, record = self._renewed.popleft()
            held.add([record])
            out.append(record)
        while self._buffer and len(out) < limit:
            held, data = self._buffer[0]
            if now_s < data.expires_s:
                taken = data.take(limit - len(out))
                held.add(taken)
                out += taken
            if not data.is_empty and now_s < data.expires_s:
                continue
            if data.failure is not None and out:
                break
            self._buffer.popleft()
            if data.failure is not None:
                raise data.failure
        return out

    @property
    def has_records(self) -> bool:
        """Whether ``records`` may return some without another fetch."""
        return bool(self._buffer or self._renewed)

    # Inside

    def _plan(self, node: Node, session: ShareSession, wanted: set[TopicIdPartition], now_s: float) -> SharePlan | None:
        waiting = self._waiting.pop(node.id, {})
        batches = {place: each.batches for place, each in waiting.items()}
        if wanted and wanted >= batches.keys() and not any(map(renews, batches.values())):
            return SharePlan(node, session.fetch(wanted, batches), waiting, now_s)
        return SharePlan(node, session.acknowledge(batches), waiting, now_s) if waiting else None

    def _take_records(
        self,
        plan: SharePlan,
        topic_id: uuid.UUID,
        row: AcquiredPartition,
        names: Mapping[uuid.UUID, str],
        now_s: float,
    ) -> None:
        topic_partition = TopicPartition(names.get(topic_id, str(topic_id)), row.partition_index)
        if row.error_code:
            failure = self._on_error(plan, row.error_code, f"partition {topic_partition}", row.error_message, now_s)
            if failure is not None:
                raise failure
            return
        if not row.acquired_records:
            return
        lock_ms = self.acquisition_lock_timeout_ms
        data = AcquiredData(
            topic_partition,
            row,
            check_crcs=self._settings.consumer.check_crcs,
            expires_s=float("inf") if lock_ms is None else now_s + lock_ms / 1000,
        )
        key = plan.node.id, (topic_id, row.partition_index)
        held = self._held.setdefault(key, HeldRecords(topic_partition))
        for each in data.without_record:
            held.add_range(each)
        self._buffer.append((held, data))

    def _finish(
        self, node_id: int, place: TopicIdPartition, acknowledgement: Acknowledgement, code: int, now_s: float
    ) -> None:
        """One partition's acknowledgements were answered: done, sent again, or failed."""
        row = error_codes.error(code)
        if code and row.refresh_metadata:
            self.metadata_is_wrong = True
        elif code and row.retriable and now_s < acknowledgement.until_s:
            self._wait_for(node_id, place, acknowledgement)
            self._back_off(node_id, now_s)
            return
        error = refused(ShareAcknowledgeRequest, code, _about(acknowledgement)) if code else None
        self._report(acknowledgement, error)

    def _finish_all(
        self, plan: SharePlan, carried: dict[TopicIdPartition, Acknowledgement], code: int, now_s: float
    ) -> None:
        for place in list(carried):
            self._finish(plan.node.id, place, carried.pop(place), code, now_s)

    def _report(self, acknowledgement: Acknowledgement, error: KafkaToolsError | None) -> None:
        held = acknowledgement.held
        if error is not None and self.metrics is not None:
            self.metrics.acknowledgements_failed(len(acknowledgement.offsets))
        for record in held.done(acknowledgement.batches, failed=error is not None):
            self._renewed.append((held, record))
        if acknowledgement.offsets:
            self._done(held.topic_partition, acknowledgement.offsets, error)

    def _fail_waiting(self, node_id: int, code: int) -> None:
        for acknowledgement in self._waiting.pop(node_id, {}).values():
            self._report(acknowledgement, refused(ShareAcknowledgeRequest, code, _about(acknowledgement)))

    def _expire(self, node_id: int, now_s: float) -> None:
        waiting = self._waiting.get(node_id, {})
        for place in [place for place, each in waiting.items() if now_s >= each.until_s]:
            acknowledgement = waiting.pop(place)
            self._report(
                acknowledgement,
                refused(ShareAcknowledgeRequest, error_codes.REQUEST_TIMED_OUT, _about(acknowledgement)),
            )
        if not waiting:
            self._waiting.pop(node_id, None)

    def _wait_for(self, node_id: int, place: TopicIdPartition, new: Acknowledgement) -> None:
        waiting = self._waiting.setdefault(node_id, {})
        old = waiting.get(place)
        if old is not None:
            batches, until_s = sorted([*old.batches, *new.batches]), max(old.until_s, new.until_s)
            new = Acknowledgement(new.held, batches, old.offsets | new.offsets, until_s)
        waiting[place] = new

    def _on_error(
        self, plan: SharePlan, code: int, about: str, message: str | None, now_s: float
    ) -> KafkaToolsError | None:
        """What to raise; None for an error that may go away."""
        row = error_codes.error(code)
        self._back_off(plan.node.id, now_s)
        if row.retriable or code in SESSION_LOST:
            self.metadata_is_wrong = self.metadata_is_wrong or row.refresh_metadata
            return None
        return refused(type(plan.request), code, f"{about}, fetching from {plan.node}", message)

    def _back_off(self, node_id: int, now_s: float) -> None:
        self._retry_at_s[node_id] = now_s + self._settings.consumer.retry_backoff_ms / 1000


def _about(acknowledgement: Acknowledgement) -> str:
    return f"acknowledgements of {acknowledgement.held.topic_partition}"
