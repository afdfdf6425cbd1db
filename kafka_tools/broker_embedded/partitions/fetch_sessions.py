"""Incremental fetch sessions: the broker keeps the partitions that a client reads between its requests.

Rules of KIP-227 as in Kafka's ``FetchManager``, ``FetchSession`` and its contexts: epoch 0 starts a
session, -1 ends it, any other must be the next one. An incremental answer contains only changed partitions.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import uuid

    from kafka_tools.broker_embedded.configs.store import ConfigStore

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_LAST_EPOCH = 2**31 - 1

_MOST_PARTITIONS = 100_000
"""Limit of partitions in all sessions: slots alone do not limit memory, because clients choose a session's size."""

SESSION_NOT_FOUND, BAD_EPOCH, TOPIC_ID_MISMATCH = 70, 71, 106


class Key(NamedTuple):
    """A partition as in a request: with the topic's name before v13, with only the topic id since then.

    The other field is empty, as in a request. The key stays the same if the topic is deleted meanwhile
    (``FetchSession.CachedPartition``).
    """

    topic: str
    topic_id: uuid.UUID
    partition: int


class Asked:
    """The fetch parameters of one partition, and the values last sent for it.

    ``topic`` is the name of its topic when the client first asked for it; None for an id that no topic had.
    """

    __slots__ = ("told_high_watermark", "told_start", "topic", "wanted")

    def __init__(self, topic: str | None, wanted: Any) -> None:
        self.topic = topic
        self.wanted = wanted
        self.forget_told()

    def forget_told(self) -> None:
        """Make the next answer contain this partition."""
        self.told_high_watermark = -1
        self.told_start = -1

    def changed(self, answer: Any) -> bool:
        """Whether an incremental answer must contain this partition. Stores the sent values."""
        changed = bool(
            answer.records
            or answer.error_code
            or answer.high_watermark != self.told_high_watermark
            or answer.log_start_offset != self.told_start
            or answer.diverging_epoch.epoch != -1
        )
        # A partition with an error is sent again when the error is over.
        self.told_high_watermark = -1 if answer.error_code else answer.high_watermark
        self.told_start = answer.log_start_offset
        return changed


class Session:
    """One client's partitions in the order in which they are served; ``epoch`` is the next one expected."""

    def __init__(self, id: int, uses_topic_ids: bool) -> None:
        self.id = id
        self.uses_topic_ids = uses_topic_ids
        self.epoch = 1
        self.asked: dict[Key, Asked] = {}

    def update(self, wanted: Mapping[Key, Asked], forgotten: Iterable[Key]) -> None:
        for key, asked in wanted.items():
            known = self.asked.get(key)
            if known is None:
                self.asked[key] = asked
            else:
                known.wanted = asked.wanted
        for key in forgotten:
            self.asked.pop(key, None)

    def served(self, keys: Iterable[Key]) -> None:
        """Move partitions with data to the end, so that the size limit starves no partition."""
        for key in keys:
            asked = self.asked.pop(key, None)
            if asked is not None:
                self.asked[key] = asked


class Context(NamedTuple):
    """The partitions of one fetch, and the session it belongs to, if any.

    ``error`` is set instead if the session cannot continue. ``full`` answers contain every partition. ``epoch`` is the
    session's epoch after this request.
    """

    error: int
    session: Session | None
    asked: dict[Key, Asked]
    full: bool
    epoch: int = INITIAL_EPOCH

    @property
    def is_overtaken(self) -> bool:
        """Whether another request used the session while this one waited. Then this one gets BAD_EPOCH."""
        return not self.full and self.session is not None and self.session.epoch != self.epoch


class FetchSessions:
    """All sessions, the least recently used first. The oldest is removed when no slot is free."""

    def __init__(self, configs: ConfigStore) -> None:
        self._configs = configs
        self._sessions: dict[int, Session] = {}
        self.partitions = 0
        """The number of partitions in all sessions."""

    def __len__(self) -> int:
        return len(self._sessions)

    def context(
        self, session_id: int, epoch: int, uses_topic_ids: bool, wanted: dict[Key, Asked], forgotten: list[Key]
    ) -> Context:
        """The context of a request with this session id and epoch."""
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self.end(session_id)
            if epoch == FINAL_EPOCH or not wanted:
                return Context(0, None, wanted, True)
            return Context(0, self._begin(uses_topic_ids, wanted), wanted, True)
        known = self._sessions.get(session_id)
        if known is None:
            return Context(SESSION_NOT_FOUND, None, {}, False)
        if known.epoch != epoch:
            return Context(BAD_EPOCH, None, {}, False)
        if known.uses_topic_ids != uses_topic_ids:
            return Context(TOPIC_ID_MISMATCH, None, {}, False)
        self._sessions[session_id] = self._sessions.pop(session_id)
        before = len(known.asked)
        known.update(wanted, forgotten)
        self.partitions += len(known.asked) - before
        if not known.asked:
            self.end(session_id)
            return Context(0, None, {}, True)
        self._make_room(len(self._sessions), 0)
        known.epoch = 1 if known.epoch == _LAST_EPOCH else known.epoch + 1
        return Context(0, known, known.asked, False, known.epoch)

    def partitions_of(self, session_id: int) -> list[Key]:
        """The partitions of a session; none for an unknown id."""
        session = self._sessions.get(session_id)
        return [] if session is None else list(session.asked)

    def _begin(self, uses_topic_ids: bool, asked: dict[Key, Asked]) -> Session | None:
        """A new session; None if there is no room. Then the client continues without a session."""
        slots = self._configs.broker.integer("max.incremental.fetch.session.cache.slots")
        if slots <= 0 or len(asked) > _MOST_PARTITIONS:
            return None
        self._make_room(slots - 1, len(asked))
        id = random.randrange(1, 2**31)
        while id in self._sessions:
            id = random.randrange(1, 2**31)
        session = self._sessions[id] = Session(id, uses_topic_ids)
        session.asked = asked
        self.partitions += len(asked)
        return session

    def _make_room(self, sessions: int, partitions: int) -> None:
        """Remove the oldest until at most ``sessions`` are left, with room for ``partitions``."""
        while self._sessions and (len(self._sessions) > sessions or self.partitions + partitions > _MOST_PARTITIONS):
            self.end(next(iter(self._sessions)))

    def end(self, session_id: int) -> None:
        """Remove the session of this id, if there is one."""
        gone = self._sessions.pop(session_id, None)
        if gone is not None:
            self.partitions -= len(gone.asked)
