"""A consumer of a share group (KIP-932): records are acquired, locked for a while, and acknowledged one by one.

In implicit mode ``poll`` accepts what the ``poll`` before returned. In explicit mode
(``share.acknowledgement.mode=explicit``) the application acknowledges each record; ``poll`` refuses
to go on before that.
Follows ``ShareConsumerImpl`` of Kafka's Java client.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafka_tools.clients.group import GroupClient
from kafka_tools.clients.groups.heartbeats import MemberState
from kafka_tools.clients.groups.keep_alive import KeepAlive
from kafka_tools.clients.groups.share_heartbeats import ShareHeartbeats
from kafka_tools.clients.polled_client import PolledClient
from kafka_tools.clients.sharing.flow import ShareFlow, SharePlan
from kafka_tools.clients.sharing.held_records import AcknowledgeType, SharedRecord
from kafka_tools.clients.sharing.session import TopicIdPartition
from kafka_tools.clients.sharing.settings import ShareSettings
from kafka_tools.clients.threads.one_user import one_thread
from kafka_tools.clock import Clock, Deadline
from kafka_tools.errors import DeadlineExceeded, InputError, KafkaToolsError, LoginWanted, NetworkError
from kafka_tools.metrics.shown import shown
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.values import Many, Node, TopicPartition, several

if TYPE_CHECKING:
    from kafka_tools.metrics.names import MetricName
    from kafka_tools.net.connection import Pending
    from kafka_tools.net.given_settings import Given


AcknowledgementCallback = Callable[[dict[TopicPartition, set[int]], KafkaToolsError | None], None]
"""(partition -> offsets, error): called inside ``poll``, ``commit``, ``commit_async`` and ``close``."""


class ShareConsumer(PolledClient):
    """Reads records together with the other members of a share group, for one thread at a time.

    Use as a context manager: leaving it closes. ``config`` and keywords as for ``AdminClient``; ``on_acknowledged``
    learns what became of acknowledgements. Raises ConfigError for settings that a share group does not have.
    """

    def __init__(
        self,
        config: Given = None,
        *,
        settings: ShareSettings | None = None,
        on_acknowledged: AcknowledgementCallback | None = None,
        exchange: Exchange | None = None,
        clock: Clock | None = None,
        **given: Any,
    ) -> None:
        if given or not isinstance(config, ClientConfig):
            from kafka_tools.net.given_settings import client_config

            config = client_config(config, given, type(self).__name__)
        self.settings = settings or ShareSettings.load(config)
        consumer = self.settings.consumer
        super().__init__("share consumer", config, exchange, clock)
        self._metadata = ClusterMetadata(self._exchange, auto_create=consumer.allow_auto_create_topics)
        self._group = GroupClient(consumer, self._calls, self._clock, self._any_node)
        self._member = ShareHeartbeats(consumer)
        self._keep_alive: KeepAlive = KeepAlive(consumer, self._clock, self._calls, self._group, self._lock)
        self._flow = ShareFlow(self.settings, self._member.member_id, self._on_done)
        self._on_acknowledged = on_acknowledged
        self._completed: list[tuple[TopicPartition, set[int], KafkaToolsError | None]] = []
        self._results: dict[TopicPartition, KafkaToolsError | None] | None = None
        self._names: dict[uuid.UUID, str] = {}
        self._shown = shown(config["metrics.prometheus.port"], "kafka.consumer", self.metrics)

    # Subscription

    @one_thread
    def subscribe(self, topics: Many[str]) -> None:
        """Read these topics together with the group. Replaces the earlier subscription."""
        self._check_open()
        chosen = tuple(dict.fromkeys(several("topics", topics, "str")))
        if not chosen:
            self.unsubscribe()
            return
        self._metadata.watch(chosen)
        self._member.subscribe(chosen)
        self._group.membership = self._member

    @one_thread
    def unsubscribe(self) -> None:
        """Send what was acknowledged, release the rest, and leave the group."""
        self._check_open()
        self._leave(Deadline(self._clock, self.settings.consumer.request_timeout_ms / 1000))
        self._member.topics = ()

    @one_thread
    def subscription(self) -> tuple[str, ...]:
        """The topics subscribed to."""
        return self._member.topics

    @property
    def acquisition_lock_timeout_ms(self) -> int | None:
        """How long records are locked for this consumer, in milliseconds; None before a broker has said it."""
        return self._flow.acquisition_lock_timeout_ms

    # Records

    @one_thread
    def poll(self, timeout_s: float) -> list[SharedRecord]:
        """The next records, at most ``max.poll.records``; empty when none came within ``timeout_s`` seconds.

        Accepts the records of the last ``poll`` (implicit mode), or raises InputError while one of them is not
        acknowledged (explicit mode). Renewed records are returned again. Raises BrokerError for refusals that no retry
        mends, CorruptBatch for records that cannot be read.
        """
        self._check_open()
        if timeout_s < 0:
            raise InputError("Timeout must not be negative")
        if not self._member.topics:
            raise InputError("Consumer is not subscribed to any topics.")
        self._raise_held_back()
        self._tell()
        if not self.settings.is_explicit:
            self._flow.accept_rest()
        elif self._flow.unacknowledged:
            raise InputError(
                "All records must be acknowledged in explicit acknowledgement mode.",
                hint="call acknowledge for every record of the last poll",
            )
        self._flow.queue(self._until_s())
        metrics = self._flow.metrics
        if metrics is None:
            return self._poll(timeout_s)
        metrics.poll_begins()
        try:
            return self._poll(timeout_s)
        finally:
            metrics.poll_ends()

    def _poll(self, timeout_s: float) -> list[SharedRecord]:
        deadline = Deadline(self._clock, timeout_s)
        while True:
            self._check_wakeup()
            self._keep_alive.polled()
            records = self._flow.records(self.settings.consumer.max_poll_records, self._clock.monotonic_s())
            if records:
                self._send_what_is_due()
                return records
            self._advance(fetch=not self._flow.is_renewing)
            self._calls.turn(min(deadline.left_s(), self._wait_s()))
            self._tell()
            if deadline.expired and not self._flow.has_records:
                return []

    def _send_what_is_due(self) -> None:
        """Send acknowledgements while the application processes what is returned; the next call raises an error."""
        try:
            self._advance(fetch=False)
            self._calls.turn(0)
        except KafkaToolsError as error:
            self._held_back = error

    @one_thread
    def acknowledge(self, record: SharedRecord, type: AcknowledgeType = AcknowledgeType.ACCEPT) -> None:
        """Say what became of a record; sent with the next ``poll`` or ``commit``. InputError in implicit mode."""
        self._check_open()
        if not self.settings.is_explicit:
            raise InputError(
                "Implicit acknowledgement of delivery is being used.",
                hint="set share.acknowledgement.mode=explicit to acknowledge records one by one",
            )
        held = self._flow.acknowledged(record)
        if held is None:
            raise InputError(
                f"The record cannot be acknowledged: {record.topic}-{record.partition} at offset {record.offset}",
                hint="acknowledge each record once, before the next poll",
            )
        held.acknowledge(record.offset, AcknowledgeType(type))

    @one_thread
    def commit(self, timeout_s: float | None = None) -> dict[TopicPartition, KafkaToolsError | None]:
        """Send the acknowledgements and wait: partition -> None, or why its acknowledgements had no effect.

        Accepts the records of the last ``poll`` first in implicit mode. Raises DeadlineExceeded after ``timeout_s``
        (default ``default.api.timeout.ms``).
        """
        self._check_open()
        api_timeout_s = self.settings.consumer.default_api_timeout_ms / 1000
        deadline = Deadline(self._clock, api_timeout_s if timeout_s is None else timeout_s)
        self._results = {}
        try:
            self._begin_commit(self._clock.monotonic_s() + deadline.left_s())
            while self._flow.has_acknowledgements:
                self._check_wakeup()
                self._advance(fetch=False)
                if deadline.expired:
                    raise DeadlineExceeded(
                        f"Timeout of {round(deadline.timeout_s * 1000)}ms expired before the acknowledgements were sent"
                    )
                if self._flow.has_acknowledgements:
                    self._calls.turn(min(deadline.left_s(), self._wait_s()))
            return self._results
        finally:
            self._results = None
            self._tell()

    @one_thread
    def commit_async(self) -> None:
        """Start to send the acknowledgements. ``on_acknowledged`` gets the result inside a later call."""
        self._check_open()
        self._begin_commit(self._until_s())
        self._advance(fetch=False)
        self._calls.turn(0)
        self._tell()

    def _begin_commit(self, until_s: float) -> None:
        self._tell()
        if not self.settings.is_explicit:
            self._flow.accept_rest()
        self._flow.queue(until_s)

    @one_thread
    def metrics(self) -> dict[MetricName, object]:
        """The metrics by name, with Kafka's names and groups: numbers. The first call starts the measurement."""
        if self._flow.metrics is None:
            from kafka_tools.clients.sharing.metrics import ShareConsumerMetrics

            self._flow.metrics = ShareConsumerMetrics(self._clock, self._exchange.config.client_id)
        return self._flow.metrics.values()

    # End

    def _say_goodbye(self, deadline: Deadline) -> None:
        """Send the acknowledgements, release all other records, leave the group."""
        self._leave(deadline)
        self._tell()

    def _leave(self, deadline: Deadline) -> None:
        """End the share sessions, then the membership. What cannot be sent in time the brokers release themselves."""
        self._flow.queue(self._clock.monotonic_s() + deadline.left_s())
        nodes = dict(self._metadata.nodes)
        with contextlib.suppress(NetworkError):
            while True:
                for plan in self._flow.closing(nodes, self._busy(), self._clock.monotonic_s()):
                    self._send(plan)
                if deadline.expired or not self._busy():
                    break
                self._calls.turn(deadline.left_s())
        self._flow.forget()
        self._group.leave(max(deadline.left_s(), 0.001))
        while self._calls.is_under_way("leave") and not deadline.expired:
            self._calls.turn(deadline.left_s())

    # The machine

    def _advance(self, *, fetch: bool) -> None:
        """Start everything due: metadata, coordinator, heartbeat, acknowledgements, fetches."""
        self._update_metadata()
        self._advance_membership()
        now_s = self._clock.monotonic_s()
        for plan in self._flow.plans(self._leaders(), self._metadata.nodes, self._busy(), now_s, fetch=fetch):
            self._send(plan)

    def _advance_membership(self) -> None:
        member = self._member
        if member.failure is not None:
            raise member.failure
        if member.must_drop:
            self._flow.forget()
            member.rejoin()
        self._group.step()

    def _leaders(self) -> dict[TopicIdPartition, Node]:
        """The assigned partitions whose topic and leader are known."""
        if self._member.state is not MemberState.STABLE:
            return {}
        found: dict[TopicIdPartition, Node] = {}
        for topic_id, numbers in self._member.target.items():
            name = self._names.get(topic_id)
            for number in numbers:
                node = None if name is None else self._metadata.leader(TopicPartition(name, number))
                if node is None:
                    self._metadata.request_update()
                else:
                    found[topic_id, number] = node
        return found

    def _send(self, plan: SharePlan) -> None:
        def then(pending: Pending) -> None:
            now_s = self._clock.monotonic_s()
            if pending.error is None:
                self._flow.take(plan, pending.response, self._names, now_s)
            else:
                self._flow.on_failure(plan, pending.error, now_s)
                if not isinstance(pending.error, NetworkError):
                    raise pending.error
            if self._flow.metadata_is_wrong:
                self._flow.metadata_is_wrong = False
                self._metadata.request_update()

        settings = self.settings.consumer
        timeout_s = (settings.request_timeout_ms + settings.fetch_max_wait_ms) / 1000
        self._calls.start(("share", plan.node.id), plan.node, plan.build, timeout_s, then)

    def _busy(self) -> list[int]:
        return [key[1] for key in self._calls.under_way() if isinstance(key, tuple) and key[0] == "share"]

    def _update_metadata(self) -> None:
        if self._metadata.update_due and not self._calls.is_under_way("metadata"):
            timeout_s = self.settings.consumer.request_timeout_ms / 1000
            request = self._metadata.request()
            self._calls.start("metadata", self._any_node(), request, timeout_s, self._on_metadata)

    def _on_metadata(self, pending: Pending) -> None:
        if pending.error is None:
            self._metadata.take(pending.response)
            self._names = {topic.topic_id: name for name, topic in self._metadata.topics.items()}
        elif isinstance(pending.error, NetworkError) and not isinstance(pending.error, LoginWanted):
            self._metadata.request_update()
        else:
            raise pending.error

    def _any_node(self) -> Node:
        return self._metadata.next_node(self.settings.consumer.request_timeout_ms / 1000)

    def _wait_s(self) -> float:
        wait_s = self._group.wait_s()
        if self._metadata.update_wanted or self._flow.has_acknowledgements:
            wait_s = min(wait_s, self.settings.consumer.retry_backoff_ms / 1000)
        elif not self._calls.is_under_way("metadata"):
            wait_s = min(wait_s, self._metadata.update_in_s())
        if not self._busy():
            wait_s = min(wait_s, self.settings.consumer.retry_backoff_ms / 1000)  # a leader or an assignment may come
        return max(wait_s, 0.001)

    def _until_s(self) -> float:
        return self._clock.monotonic_s() + self.settings.consumer.default_api_timeout_ms / 1000

    def _on_done(self, place: TopicPartition, offsets: set[int], error: KafkaToolsError | None) -> None:
        self._completed.append((place, offsets, error))
        if self._results is not None:
            self._results[place] = self._results.get(place) or error

    def _tell(self) -> None:
        """Tell the application what became of its acknowledgements."""
        completed, self._completed = self._completed, []
        if self._on_acknowledged is not None:
            for place, offsets, error in completed:
                with self._lock.released():
                    self._on_acknowledged({place: offsets}, error)
