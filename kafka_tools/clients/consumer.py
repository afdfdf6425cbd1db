"""A consumer: everything but heartbeats happens inside the caller's calls, most of it in ``poll``.

Assigns partitions itself or through a classic group. The parts are ``subscription``, ``membership`` and ``group`` (the
group), ``keep_alive`` (what a background thread does for it between calls), ``positions``, ``resets``, ``fetcher`` and
``lookup`` (the partitions), ``auto_commit``, and ``calls`` (requests in progress).
Follows ``KafkaConsumer`` of Kafka's Java client.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_tools.clients.auto_commit import AutoCommit
from kafka_tools.clients.fetched_data import ConsumedRecord
from kafka_tools.clients.fetcher import Fetcher, MeasuredConsumer, Plan
from kafka_tools.clients.fetching.lookup import FoundOffset, OffsetLookup
from kafka_tools.clients.fetching.offset_query import OffsetQuery, check_time
from kafka_tools.clients.fetching.validation import Validation
from kafka_tools.clients.group import GroupClient, OffsetAndMetadata, is_retriable
from kafka_tools.clients.groups.committed import GroupMetadata, checked_offsets, committing
from kafka_tools.clients.groups.keep_alive import KeepAlive
from kafka_tools.clients.groups.listeners import Listener, RebalanceListeners
from kafka_tools.clients.interceptors import ConsumerInterceptor, ConsumerInterceptors
from kafka_tools.clients.polled_client import ConsumerWokenUp as ConsumerWokenUp
from kafka_tools.clients.polled_client import PolledClient
from kafka_tools.clients.positions import EARLIEST, LATEST, Position, Positions
from kafka_tools.clients.resets import Resets
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.clients.subscription import Chosen, Subscription, SubscriptionPattern
from kafka_tools.clients.threads.one_user import one_thread
from kafka_tools.clock import Clock, Deadline
from kafka_tools.errors import BrokerError, InputError, KafkaToolsError, LoginWanted, NetworkError
from kafka_tools.metrics.shown import shown
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.net.rights import with_right
from kafka_tools.net.topic_metadata import TopicMetadata
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.texts.name_patterns import NamePattern
from kafka_tools.values import Many, Node, TopicPartition, check_keys, several

if TYPE_CHECKING:
    from kafka_tools.clients.fetching.polled_columns import PolledColumns
    from kafka_tools.net.connection import Pending
    from kafka_tools.net.given_settings import Given

T = TypeVar("T")

Start = Callable[[Callable[..., None]], bool]
"""Starts a request, whose end is a call of the function given; whether it could be started."""


class Consumer(MeasuredConsumer, PolledClient):
    """Reads records, for one thread at a time. Use as a context manager: leaving it closes.

    ``config`` and keywords as for ``AdminClient``; ``settings`` defaults to what they say (Kafka's defaults).
    ``interceptors`` see the records of each ``poll``, in this order (KIP-42).
    Raises ConfigError for settings that contradict each other.
    """

    def __init__(
        self,
        config: Given = None,
        *,
        settings: ConsumerSettings | None = None,
        interceptors: Sequence[ConsumerInterceptor] = (),
        exchange: Exchange | None = None,
        clock: Clock | None = None,
        **given: Any,
    ) -> None:
        if given or not isinstance(config, ClientConfig):
            from kafka_tools.net.given_settings import client_config

            config = client_config(config, given, type(self).__name__)
        self.settings = settings or ConsumerSettings.load(config)
        super().__init__("consumer", config, exchange, clock)
        self._metadata = ClusterMetadata(self._exchange, auto_create=self.settings.allow_auto_create_topics)
        self._positions = Positions()
        self._group = (
            GroupClient(self.settings, self._calls, self._clock, self._any_node, self._metadata.topic_id)
            if self.settings.group_id
            else None
        )
        self._lookup = OffsetLookup(self.settings, self._calls, self._metadata)
        self._resets = Resets(self.settings, self._clock, self._positions, self._group, self._lookup)
        self._validation = Validation(
            self.settings, self._calls, self._clock, self._metadata, self._positions, self._resets.by_policy
        )
        self._fetcher = Fetcher(
            self.settings, self._metadata, self._positions, self._resets.by_policy, self._validation
        )
        self._auto_commit = AutoCommit(self.settings, self._clock, self._positions, self._group)
        parts = (self._calls, self._metadata, self._positions, self._fetcher, self._group, self._auto_commit)
        self._subscription = Subscription(self.settings, *parts, self._clock, self._lock.released)
        self._interceptors = ConsumerInterceptors(interceptors, self._lock.released) if interceptors else None
        if self._group is not None:
            if self._interceptors is not None:
                self._group.on_commit = self._interceptors.on_commit
            self._keep_alive = KeepAlive(self.settings, self._clock, self._calls, self._group, self._lock)
        self._shown = shown(config["metrics.prometheus.port"], "kafka.consumer", self.metrics)

    # Subscriptions

    @one_thread
    def subscribe(
        self,
        topics: Many[str] | re.Pattern[str] | NamePattern | SubscriptionPattern,
        *,
        on_assigned: Listener | None = None,
        on_revoked: Listener | None = None,
        on_lost: Listener | None = None,
    ) -> None:
        """Read ``topics``: names, or a pattern that must match whole names. Replaces the earlier subscription.

        With ``group.id`` the partitions are shared with the group, and the listeners are called inside ``poll``:
        ``on_revoked`` while the partitions can still be committed, ``on_lost`` (or else ``on_revoked``) when another
        member may have them already. Without group this consumer reads all partitions, new ones from their start.
        Raises InputError when partitions were assigned by hand.
        """
        self._check_open()
        if topics is None:
            raise InputError("Topic pattern to subscribe to cannot be null")
        if len(self._positions) and not self._subscription.active:
            raise InputError("subscribing to topics and assigning partitions cannot be combined")
        chosen: Chosen
        if isinstance(topics, re.Pattern | NamePattern | SubscriptionPattern):
            chosen = topics
        else:
            chosen = tuple(dict.fromkeys(several("topics", topics, "str")))
        if chosen:
            self._subscription.begin(chosen, RebalanceListeners(on_assigned, on_revoked, on_lost))
        else:
            self.unsubscribe()

    @one_thread
    def assign(self, partitions: Many[TopicPartition]) -> None:
        """Read exactly these partitions, without group management. InputError while subscribed to topics."""
        self._check_open()
        if self._subscription.active:
            raise InputError("subscribing to topics and assigning partitions cannot be combined")
        chosen = several("partitions", partitions, "TopicPartition")
        self._positions.replace(chosen, keep=True)
        self._metadata.watch({topic for topic, _ in chosen})

    @one_thread
    def unsubscribe(self) -> None:
        """Leave the group and drop every partition."""
        self._check_open()
        self._subscription.end(self.settings.request_timeout_ms / 1000)
        self._positions.replace((), keep=False)
        self._fetcher.drop()

    @one_thread
    def assignment(self) -> list[TopicPartition]:
        """The partitions read now, in order of assignment."""
        return list(self._positions)

    @one_thread
    def subscription(self) -> tuple[str, ...]:
        """The topics subscribed to; for a pattern those that match it now."""
        return self._subscription.topics

    @one_thread
    def unknown_topics(self) -> list[str]:
        """Topics subscribed to, or with partitions assigned, that the brokers do not know at this moment."""
        names = {*self._subscription.topics, *(topic for topic, _ in self._positions)}
        known = self._metadata.topics
        return sorted(
            name for name in names if name in known and known[name].error == error_codes.UNKNOWN_TOPIC_OR_PARTITION
        )

    @one_thread
    def unknown_partitions(self) -> list[TopicPartition]:
        """Partitions assigned by number that their topics do not have at this moment."""
        known = self._metadata.topics
        return sorted(
            each
            for each in self._positions
            if each.topic in known
            and not known[each.topic].error
            and each.partition not in known[each.topic].partitions
        )

    # Reading

    @one_thread
    def poll(self, timeout_s: float) -> list[ConsumedRecord]:
        """The next records, at most ``max.poll.records``; empty when none came within ``timeout_s`` seconds.

        Joins the group, commits automatically and resets positions on the way. Raises BrokerError for refusals that
        no retry mends, CorruptBatch for bytes that are not records, ConnectFailed when no bootstrap server answers.
        Records that are there are returned before anything is raised: ``wakeup`` and errors wait for the next call.
        """
        records = self._poll(timeout_s, lambda: self._fetcher.records(self.settings.max_poll_records))
        if records and self._interceptors is not None:
            return self._interceptors.on_consume(records)
        return records

    @one_thread
    def poll_columns(self, timeout_s: float) -> list[PolledColumns]:
        """As ``poll``, but whole batches as numpy columns: many times faster, whatever ``max.poll.records`` is.

        One entry per partition and run of batches. Raises InputError for a consumer with interceptors, which expect
        records.
        """
        if self._interceptors is not None:
            raise InputError("poll_columns has no records for interceptors: call poll")
        return self._poll(timeout_s, self._fetcher.columns)

    def _poll(self, timeout_s: float, buffered: Callable[[], list[T]]) -> list[T]:
        self._check_open()
        if timeout_s < 0:
            raise InputError("Timeout must not be negative")
        if not (len(self._positions) or self._subscription.active):
            raise InputError("Consumer is not subscribed to any topics or assigned any partitions")
        self._raise_held_back()
        self._fetcher.polled()
        deadline = Deadline(self._clock, timeout_s)
        while True:
            self._check_wakeup()
            if self._keep_alive is not None:
                self._keep_alive.polled()
            self._advance()
            if not self._subscription.is_rebalancing:
                records = buffered()
                if records:
                    self._look_ahead()
                    return records
                self._send_fetches()
            self._calls.turn(min(deadline.left_s(), self._wait_s()))
            if deadline.expired and not (self._fetcher.has_data and not self._subscription.is_rebalancing):
                return []

    def _look_ahead(self) -> None:
        """Send the next fetches, so that they are in progress while the caller processes the returned records.

        The positions are already after these records, so the next ``poll`` raises an error that occurs now.
        """
        try:
            self._send_fetches()
            self._calls.turn(0)
        except KafkaToolsError as error:
            self._held_back = error

    @one_thread
    def pause(self, partitions: Many[TopicPartition]) -> None:
        """Hand out nothing from these assigned partitions until ``resume``; causes no rebalance."""
        for topic_partition in several("partitions", partitions, "TopicPartition"):
            self._assigned(topic_partition, "pause").paused = True

    @one_thread
    def resume(self, partitions: Many[TopicPartition]) -> None:
        """Undo ``pause``; partitions that are not paused stay as they are."""
        for topic_partition in several("partitions", partitions, "TopicPartition"):
            self._assigned(topic_partition, "resume").paused = False

    @one_thread
    def paused(self) -> list[TopicPartition]:
        return [topic_partition for topic_partition, position in self._positions.items() if position.paused]

    # Positions

    @one_thread
    def seek(self, topic_partition: TopicPartition, offset: int) -> None:
        """Return ``offset`` next."""
        if offset < 0:
            raise InputError("seek offset must not be a negative number")
        self._assigned(topic_partition, "seek").seek(offset)

    @one_thread
    def seek_to_beginning(self, partitions: Many[TopicPartition] = ()) -> None:
        """Go to the log start, looked up at the next ``poll`` or ``position``; all assigned ones if none is given."""
        self._request_resets(partitions, EARLIEST)

    @one_thread
    def seek_to_end(self, partitions: Many[TopicPartition] = ()) -> None:
        """Go to the log end (the last stable offset with read_committed), as ``seek_to_beginning``."""
        self._request_resets(partitions, LATEST)

    @one_thread
    def position(self, topic_partition: TopicPartition, timeout_s: float | None = None) -> int:
        """The offset handed out next; looks it up if need be."""
        position = self._positions.get(topic_partition)
        self._check_open()
        if position is None:
            raise InputError("You can only check the position for partitions assigned to this consumer.")
        deadline = self._deadline(timeout_s)
        while position.offset is None:
            self._check_wakeup()
            self._advance()
            if position.offset is None:
                check_time(deadline, f"the position for partition {topic_partition} could be determined")
                self._calls.turn(min(deadline.left_s(), self._wait_s()))
        return position.offset

    def _request_resets(self, partitions: Many[TopicPartition], timestamp: int) -> None:
        self._check_open()
        if partitions is None:
            raise InputError("Partitions collection cannot be null")
        for topic_partition in several("partitions", partitions, "TopicPartition") or list(self._positions):
            self._assigned(topic_partition, "seek in").request_reset(timestamp)

    def _assigned(self, topic_partition: TopicPartition, what: str) -> Position:
        self._check_open()
        return self._positions.assigned(topic_partition, what)

    # Commits

    @one_thread
    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Commit ``offsets``, or every position, and wait until the coordinator has them.

        Retries what a retry may mend. Raises BrokerError for the rest (with a hint when the group has moved on),
        DeadlineExceeded after ``timeout_s`` (default ``default.api.timeout.ms``).
        """
        group = self._require_group()
        chosen = self._auto_commit.consumed() if offsets is None else checked_offsets(offsets)
        if not chosen:
            return
        what = "successfully committing the current consumed offsets" if offsets is None else committing(chosen)
        self._ask_again(self._fetcher.measured_commit(group, chosen), self._deadline(timeout_s), what)

    @one_thread
    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        done: Callable[[KafkaToolsError | None], None] | None = None,
    ) -> None:
        """Start a commit; ``done(error)`` is called from a later ``poll`` or other call. Never raises for brokers."""
        group = self._require_group()
        chosen = self._auto_commit.consumed() if offsets is None else checked_offsets(offsets)

        def answer(error: KafkaToolsError | None) -> None:
            if done is not None:
                with self._lock.released():
                    done(error)

        if chosen and not group.commit(chosen, answer):
            answer(NetworkError(f"the coordinator of group '{group.group_id}' is not known yet"))

    @one_thread
    def committed(
        self, partitions: Many[TopicPartition], timeout_s: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The committed offset of each partition, None where there is none. Errors as ``commit``."""
        group = self._require_group()
        wanted = several("partitions", partitions, "TopicPartition")
        deadline = self._deadline(timeout_s)
        which = f"partition{'' if len(wanted) == 1 else 's'} {', '.join(map(str, wanted))}"
        what = f"the last committed offset for {which} could be determined"
        found, _ = self._ask_again(lambda done: group.fetch_committed(wanted, done), deadline, what)
        return {topic_partition: found.get(topic_partition) for topic_partition in wanted}

    @one_thread
    def group_metadata(self) -> GroupMetadata:
        """Who this member is, for ``Producer.send_offsets_to_transaction``. InputError without ``group.id``."""
        return self._require_group().metadata()

    def _require_group(self) -> GroupClient:
        self._check_open()
        if self._group is None:
            raise InputError("committed offsets need a group: set group.id")
        return self._group

    # Topics and offsets, independent of the assignment

    @one_thread
    def partitions_for(self, topic: str, timeout_s: float | None = None) -> TopicMetadata:
        """The topic's partitions and leaders; BrokerError when it is refused, DeadlineExceeded when it is not there."""
        self._check_open()
        return self._metadata.wait_for_topic(topic, self._deadline(timeout_s))

    @one_thread
    def beginning_offsets(
        self, partitions: Many[TopicPartition], timeout_s: float | None = None
    ) -> dict[TopicPartition, int]:
        """The log start offset of each partition."""
        return self._ends(EARLIEST, partitions, timeout_s)

    @one_thread
    def end_offsets(
        self, partitions: Many[TopicPartition], timeout_s: float | None = None
    ) -> dict[TopicPartition, int]:
        """The high watermark of each partition; the last stable offset with read_committed."""
        return self._ends(LATEST, partitions, timeout_s)

    @one_thread
    def offsets_for_times(
        self, times: Mapping[TopicPartition, int], timeout_s: float | None = None
    ) -> dict[TopicPartition, FoundOffset | None]:
        """The first offset whose timestamp is at or after the time (ms) given; None where there is none."""
        check_keys("times", times, "TopicPartition")
        for topic_partition, time_ms in times.items():
            if time_ms < 0:
                raise InputError(
                    f"The target time for partition {topic_partition} is {time_ms}. The target time cannot be negative."
                )
        return self._look_up(times, timeout_s)

    def _ends(
        self, timestamp: int, partitions: Many[TopicPartition], timeout_s: float | None
    ) -> dict[TopicPartition, int]:
        wanted = dict.fromkeys(several("partitions", partitions, "TopicPartition"), timestamp)
        return {key: found.offset if found else 0 for key, found in self._look_up(wanted, timeout_s).items()}

    def _look_up(
        self, targets: Mapping[TopicPartition, int], timeout_s: float | None
    ) -> dict[TopicPartition, FoundOffset | None]:
        self._check_open()
        query = OffsetQuery(self.settings, self._calls, self._metadata, self._lookup)

        def step() -> None:
            self._check_wakeup()
            self._update_metadata()

        return query.run(targets, self._deadline(timeout_s), step)

    # End

    def _say_goodbye(self, deadline: Deadline) -> None:
        """Commit (with ``enable.auto.commit``) and leave the group.

        The next owners of the partitions read records again whose offsets could not be committed in time.
        """
        if self._group is None or self._group.membership is None:
            return
        if self._auto_commit.enabled and self._group.coordinator is not None and not deadline.expired:
            self._commit_before_leaving(deadline)
        self._subscription.end(max(deadline.left_s(), 0.001))
        while self._calls.is_under_way("leave") and not deadline.expired:
            self._calls.turn(deadline.left_s())

    def _commit_before_leaving(self, deadline: Deadline) -> None:
        # If it fails, the next owners of the partitions return the records again: at-least-once delivery.
        with contextlib.suppress(BrokerError, NetworkError):
            self.commit(timeout_s=deadline.left_s())

    def _end(self) -> None:
        super()._end()
        if self._interceptors is not None:
            self._interceptors.close()

    # The machine

    def _advance(self) -> None:
        """Start everything due before records can come: metadata, coordinator and membership, positions, commits."""
        self._update_metadata()
        self._subscription.advance()
        if not self._subscription.is_rebalancing:
            self._resets.advance()
            self._validation.advance()
            self._auto_commit.advance()

    def _update_metadata(self) -> None:
        if self._metadata.update_due and not self._calls.is_under_way("metadata"):
            timeout_s = self.settings.request_timeout_ms / 1000
            node = self._any_node()
            self._calls.start("metadata", node, self._metadata.request(), timeout_s, self._on_metadata)

    def _on_metadata(self, pending: Pending) -> None:
        if pending.error is None:
            self._metadata.take(pending.response)
        elif isinstance(pending.error, NetworkError) and not isinstance(pending.error, LoginWanted):
            self._metadata.request_update()
        else:
            raise pending.error
        for name in {*self._subscription.topics, *(topic for topic, _ in self._positions)}:
            self._refuse_topic(name)

    def _refuse_topic(self, name: str) -> None:
        topic = self._metadata.topics.get(name)
        if topic is not None and topic.error in _FATAL_TOPIC_ERRORS:
            row = error_codes.error(topic.error)
            raise BrokerError(row, f"topic '{name}': {with_right(row.text, MetadataRequest, topic.error)}")

    def _any_node(self) -> Node:
        return self._metadata.next_node(self.settings.request_timeout_ms / 1000)

    def _send_fetches(self) -> None:
        busy = [key[1] for key in self._calls.under_way() if isinstance(key, tuple) and key[0] == "fetch"]
        for plan in self._fetcher.plan(busy, self._clock.monotonic_s()):
            self._send_fetch(plan)

    def _send_fetch(self, plan: Plan) -> None:
        def then(pending: Pending) -> None:
            now_s = self._clock.monotonic_s()
            if pending.error is None:
                self._fetcher.take(plan, pending.response, now_s)
            elif isinstance(pending.error, NetworkError):
                self._fetcher.on_failure(plan, now_s)
            else:
                raise pending.error

        timeout_s = (self.settings.request_timeout_ms + self.settings.fetch_max_wait_ms) / 1000
        self._calls.start(("fetch", plan.node.id), plan.node, plan.build, timeout_s, then)

    def _wait_s(self) -> float:
        """Seconds until something may be due if no response comes."""
        wait_s = self._group.wait_s() if self._group is not None else float("inf")
        if not self._positions.all_known or self._metadata.update_wanted or self._subscription.is_rebalancing:
            wait_s = min(wait_s, self.settings.retry_backoff_ms / 1000)
        else:
            wait_s = min(wait_s, self._auto_commit.due_in_s(), self._positions.retry_in_s(self._clock.monotonic_s()))
            if not self._calls.is_under_way("metadata"):
                wait_s = min(wait_s, self._metadata.update_in_s())
        return max(wait_s, 0.001)

    def _ask_again(self, start: Start, deadline: Deadline, what: str) -> tuple[Any, ...]:
        """As ``_ask``, again while the error, the last argument of ``done``, may go away. Raises any other error."""
        while True:
            answer = self._ask(start, deadline, what)
            if answer[-1] is None:
                return answer
            if not is_retriable(answer[-1]):
                raise answer[-1]
            check_time(deadline, what)
            backoff = Deadline(self._clock, min(self.settings.retry_backoff_ms / 1000, deadline.left_s()))
            self._run(partial(_is_over, backoff), deadline, what, most_s=backoff.left_s)

    def _ask(self, start: Start, deadline: Deadline, what: str) -> tuple[Any, ...]:
        """Start a request as soon as it can be, wait, and return what its ``done`` was called with."""
        answers: list[tuple[Any, ...]] = []
        self._run(lambda: start(lambda *answer: answers.append(answer)), deadline, what)
        self._run(lambda: bool(answers), deadline, what)
        return answers[0]

    def _run(
        self,
        step: Callable[[], bool],
        deadline: Deadline,
        what: str,
        most_s: Callable[[], float] = lambda: float("inf"),
    ) -> None:
        """Turn until ``step()`` is true; DeadlineExceeded, naming ``what``, when the deadline passes first.

        ``most_s()``: the longest wait until ``step()`` may be true, if nothing arrives.
        """
        while not step():
            self._check_wakeup()
            check_time(deadline, what)
            if self._group is not None:
                self._group.keep_alive()
            self._calls.turn(min(deadline.left_s(), self._wait_s(), most_s()))

    def _deadline(self, timeout_s: float | None) -> Deadline:
        return Deadline(self._clock, self.settings.default_api_timeout_ms / 1000 if timeout_s is None else timeout_s)


_FATAL_TOPIC_ERRORS = (error_codes.INVALID_TOPIC_EXCEPTION, error_codes.TOPIC_AUTHORIZATION_FAILED)


def _is_over(deadline: Deadline) -> bool:
    return deadline.expired
