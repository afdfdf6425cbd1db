"""Sessions and other deadlines of members of consumer groups: a member that misses one is fenced."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_tools.errors import BrokerError

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.slices import Slices, Work
    from kafka_tools.broker_embedded.timers import Timer, Timers

log = logging.getLogger(__name__)

SESSION, REBALANCE, JOIN, SYNC = "session", "rebalance", "join", "sync"
"""Deadlines: to heartbeat, to give up partitions, and of classic members to join and to sync."""
_RETRY_MS, _RETRY_MISTAKE_MS = 500, 60_000
"""After which time that is tried again which could not be written, and that which failed as nothing should."""


class MemberTimers:
    """One timer per group, member and deadline."""

    def __init__(self, timers: Timers, slices: Slices) -> None:
        self._timers = timers
        self._slices = slices
        self._running: dict[str, dict[str, dict[str, Timer]]] = {}

    def start(
        self, group_id: str, member_id: str, deadline: str, after_ms: int, missed: Callable[[], Work[None]]
    ) -> None:
        """Do ``missed`` after a time, and not at the one that was set before. It is tried again if it fails."""
        running = self._running.setdefault(group_id, {}).setdefault(member_id, {})
        if deadline in running:
            running[deadline].cancel()

        def run() -> None:
            self._forget(group_id, member_id, deadline)
            self._slices.begin(missed(), done)

        def done(_: None, error: BaseException | None) -> None:
            if isinstance(error, BrokerError):
                log.warning("group %s: cannot remove member %s yet: %s", group_id, member_id, error)
                self.start_once(group_id, member_id, deadline, _RETRY_MS, missed)
            elif error is not None:
                log.error("group %s: cannot remove member %s yet", group_id, member_id, exc_info=error)
                self.start_once(group_id, member_id, deadline, _RETRY_MISTAKE_MS, missed)

        running[deadline] = self._timers.call_later(after_ms, run)

    def start_once(
        self, group_id: str, member_id: str, deadline: str, after_ms: int, missed: Callable[[], Work[None]]
    ) -> None:
        """As ``start``, unless it runs already."""
        if deadline not in self._of(group_id, member_id):
            self.start(group_id, member_id, deadline, after_ms, missed)

    def cancel(self, group_id: str, member_id: str, *deadlines: str) -> None:
        """Forget deadlines of a member; all if none is named."""
        running = self._of(group_id, member_id)
        for deadline in deadlines or tuple(running):
            if deadline in running:
                running[deadline].cancel()
                self._forget(group_id, member_id, deadline)

    def cancel_group(self, group_id: str) -> None:
        """Forget all deadlines of a group."""
        for running in self._running.pop(group_id, {}).values():
            for timer in running.values():
                timer.cancel()

    def cancel_all(self) -> None:
        """The groups are gone."""
        for group_id in list(self._running):
            self.cancel_group(group_id)

    def _of(self, group_id: str, member_id: str) -> dict[str, Timer]:
        return self._running.get(group_id, {}).get(member_id, {})

    def _forget(self, group_id: str, member_id: str, deadline: str) -> None:
        members = self._running.get(group_id, {})
        running = members.get(member_id, {})
        running.pop(deadline, None)
        if not running:
            members.pop(member_id, None)
        if not members:
            self._running.pop(group_id, None)
