"""Subscriptions by regular expression: resolves the matching topics in the background (KIP-848).

An expression is resolved for the first member that uses it, after topics were created, and regularly. A record stores
the matching topics. Like ``TopicRegexResolver`` and ``maybeUpdateRegularExpressions``.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.broker_embedded.coordinators.consumer.consumer_records import (
    epoch_record,
    expression_record,
    expression_tombstone,
    long_record,
)
from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.consumer.member import ConsumerMember, ResolvedExpression
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.texts.regular_expressions import InvalidPattern, Pattern, compile_pattern

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.consumer.group_topics import GroupTopics
    from kafka_tools.broker_embedded.coordinators.group_store import GroupStore
    from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord

log = logging.getLogger(__name__)

MIN_REFRESH_MS = 10_000
"""The minimum time between two resolutions of a group's expressions."""

MayDescribe = Callable[[str], bool]
"""Whether the requesting member may describe a topic. Expressions match only such topics."""

SAME, CHANGED, CHANGED_AND_RESOLVED = 0, 1, 2
"""The change of a member's expression. Its topics are known only for the last value."""


class _Change(NamedTuple):
    """The records of resolved expressions. ``epoch``: the group's next epoch, or None if it stays the same."""

    group: ConsumerGroup
    records: list[CoordinatorRecord]
    batch: bytes | None
    epoch: int | None


class Expressions:
    """Resolves expressions of groups. Each group has at most one resolution in progress."""

    def __init__(self, store: GroupStore, topics: GroupTopics) -> None:
        self._store = store
        self._runtime = store.runtime
        self._topics = topics
        self._underway: set[str] = set()

    def update(
        self,
        group: ConsumerGroup,
        old: ConsumerMember,
        new: ConsumerMember,
        may_describe: MayDescribe,
        records: list[CoordinatorRecord],
    ) -> tuple[int, Callable[[], None] | None]:
        """The change of the member's expression, and the work to start after the change is written.

        BrokerError INVALID_REGULAR_EXPRESSION.
        """
        status, wanted = self._changed(group, old, new, records)
        if not wanted and not group.expression_members:
            return status, None
        if group.id in self._underway:
            return status, None
        now_ms = self._runtime.now_ms()
        known = next(iter(group.expressions.values()), None)
        if known is not None and now_ms <= known.resolved_ms + MIN_REFRESH_MS:
            return status, None
        users = group.expression_members - _once(old.regex) + _once(new.regex)
        wanted = wanted or len(users) != len(group.expressions)
        wanted = wanted or (0 if known is None else known.version) < self._topics.newest_version
        wanted = (
            wanted
            or known is None
            or now_ms > known.resolved_ms + self._runtime.integer("group.consumer.regex.refresh.interval.ms")
        )
        if not wanted or not users:
            return status, None
        return status, lambda: self._begin(group.id, list(users), may_describe)

    def _changed(
        self, group: ConsumerGroup, old: ConsumerMember, new: ConsumerMember, records: list[CoordinatorRecord]
    ) -> tuple[int, bool]:
        """The change of the expression, and whether it must be resolved."""
        if old.regex == new.regex:
            return SAME, False
        if old.regex in group.expressions and group.expression_members[old.regex] == 1:
            records.append(expression_tombstone(group.id, old.regex))
        if not new.regex:
            return (CHANGED_AND_RESOLVED if old.regex else CHANGED), False
        if not group.expression_members[new.regex]:
            _check(new.regex)
            return CHANGED, True
        return (CHANGED_AND_RESOLVED if new.regex in group.expressions else CHANGED), False

    def _begin(self, group_id: str, expressions: Collection[str], may_describe: MayDescribe) -> None:
        self._underway.add(group_id)

        def done(_: None, error: BaseException | None) -> None:
            self._underway.discard(group_id)
            if error is not None:
                mistake = None if isinstance(error, BrokerError) else error
                log.error("group %s: cannot update its regular expressions: %s", group_id, error, exc_info=mistake)

        self._runtime.slices.later(self._resolve(group_id, expressions, may_describe), done)

    def _resolve(self, group_id: str, expressions: Collection[str], may_describe: MayDescribe) -> Work[None]:
        """Resolve expressions and write the result. The change is decided again if the group changed meanwhile."""
        resolved = yield from self._resolved(group_id, expressions, may_describe)

        def change() -> Work[_Change | None]:
            group = self._store.find_as(ConsumerGroup, group_id)
            return None if group is None else (yield from self._change(group, resolved))

        change_made = yield from self._topics.undisturbed(group_id, change)
        if change_made is None:
            return
        group, records, batch, epoch = change_made
        self._store.commit(group_id, records, batch)
        if epoch is not None:
            group.refreshed_at, group.refreshed_epoch = self._topics.serial, epoch

    def _resolved(
        self, group_id: str, expressions: Collection[str], may_describe: MayDescribe
    ) -> Work[dict[str, ResolvedExpression]]:
        """The topics that match each expression."""
        now_ms, version = self._runtime.now_ms(), self._topics.version
        matching: dict[str, set[str]] = {regex: set() for regex in expressions}
        compiled: dict[str, Pattern] = {}
        for regex in expressions:
            yield
            try:
                compiled[regex] = compile_pattern(regex)
            except InvalidPattern as error:  # an older broker accepted it
                log.error("group %s: ignoring regular expression '%s': %s", group_id, regex, error)
        for name in list(self._topics.cluster.topics):
            yield
            matched = [regex for regex, pattern in compiled.items() if pattern.matches(name)]
            if matched and may_describe(name):
                self._topics.prepare(name)
                for regex in matched:
                    matching[regex].add(name)
        return {regex: ResolvedExpression(frozenset(names), version, now_ms) for regex, names in matching.items()}

    def _change(self, group: ConsumerGroup, resolved: Mapping[str, ResolvedExpression]) -> Work[_Change]:
        """The change by resolved expressions that are still in use. BrokerError if it is too large."""
        used = {regex: found for regex, found in resolved.items() if group.expression_members[regex]}
        different, records = {}, []
        for regex, found in used.items():
            yield
            if found.topics != (group.expressions[regex].topics if regex in group.expressions else frozenset()):
                different[regex] = found
            record = yield from long_record(partial(expression_record, group.id, regex, found), len(found.topics))
            records.append(record)
        yield
        topics = group.topics_resolved(different)
        yield
        metadata_hash = self._topics.hash_of(topics)
        epoch = None
        if different or metadata_hash != group.metadata_hash:
            epoch = group.epoch + 1
            records.append(epoch_record(group.id, epoch, metadata_hash))
        return _Change(group, records, (yield from self._store.change_of(records)), epoch)


def _once(regex: str | None) -> Counter[str]:
    return Counter((regex,) if regex else ())


def _check(regex: str) -> None:
    try:
        compile_pattern(regex)
    except InvalidPattern as error:
        raise error_for(
            error_codes.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}.",
        ) from error
