"""Sessions and other deadlines of members of consumer groups: a member that misses one is fenced."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_tools.errors import BrokerError

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.timers import Timer, Timers

log = logging.getLogger(__name__)

SESSION, REBALANCE, JOIN, SYNC = "session", "rebalance", "join", "sync"
"""Deadlines: to heartbeat, to give up partitions, and of classic members to join and to sync."""
_RETRY_MS = 500


class MemberTimers:
    """One timer per group, member and deadline. They stay when a group changes its kind, as in Kafka."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._running: dict[tuple[str, str], dict[str, Timer]] = {}

    def start(self, group_id: str, member_id: str, deadline: str, after_ms: int, missed: Callable[[], None]) -> None:
        """Call ``missed`` after a time, and not at the one that was set before. It is tried again if it fails."""
        running = self._running.setdefault((group_id, member_id), {})
        if deadline in running:
            running[deadline].cancel()

        def run() -> None:
            self._forget(group_id, member_id, deadline)
            try:
                missed()
            except BrokerError as error:
                log.warning("group %s: member %s stays for now: %s", group_id, member_id, error)
                self.start(group_id, member_id, deadline, _RETRY_MS, missed)

        running[deadline] = self._timers.call_later(after_ms, run)

    def start_once(
        self, group_id: str, member_id: str, deadline: str, after_ms: int, missed: Callable[[], None]
    ) -> None:
        """As ``start``, unless it runs already."""
        if deadline not in self._running.get((group_id, member_id), {}):
            self.start(group_id, member_id, deadline, after_ms, missed)

    def cancel(self, group_id: str, member_id: str, *deadlines: str) -> None:
        """Forget deadlines of a member; all if none is named."""
        running = self._running.get((group_id, member_id), {})
        for deadline in deadlines or tuple(running):
            if deadline in running:
                running[deadline].cancel()
                self._forget(group_id, member_id, deadline)

    def cancel_all(self) -> None:
        """The groups are gone."""
        for group_id, member_id in list(self._running):
            self.cancel(group_id, member_id)

    def _forget(self, group_id: str, member_id: str, deadline: str) -> None:
        running = self._running.get((group_id, member_id), {})
        running.pop(deadline, None)
        if not running:
            self._running.pop((group_id, member_id), None)
