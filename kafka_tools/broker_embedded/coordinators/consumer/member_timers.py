"""Sessions and other deadlines of members of consumer groups: a member that misses one is fenced."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_tools.errors import BrokerError

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.runtime import Runtime
    from kafka_tools.broker_embedded.slices import Work
    from kafka_tools.broker_embedded.timers import Timer

log = logging.getLogger(__name__)

SESSION, REBALANCE, JOIN, SYNC = "session", "rebalance", "join", "sync"
"""Deadlines: for a heartbeat, for revoking partitions, and for JoinGroup and SyncGroup of classic members."""
REASONS = {
    SESSION: "its session expired",
    REBALANCE: "it did not revoke its partitions in time",
    JOIN: "it did not join in time",
    SYNC: "it did not sync in time",
}
_RETRY_MS, _RETRY_MISTAKE_MS = 500, 60_000
"""The delay before a retry after a failed write, and after an unexpected error."""


class MemberTimers:
    """One timer per group, member and deadline."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._running: dict[str, dict[tuple[str, str], Timer]] = {}

    def start(
        self,
        group_id: str,
        member_id: str,
        deadline: str,
        after_ms: int,
        missed: Callable[[], Work[None]],
        *,
        once: bool = False,
    ) -> None:
        """Start or restart a deadline, after which ``missed`` runs. It is retried if it fails.

        ``once``: keep a deadline that is already running.
        """
        running = self._running.get(group_id, {})
        if (timer := running.get((member_id, deadline))) is not None:
            if once:
                return
            timer.cancel()

        def run() -> None:
            self.cancel(group_id, member_id, deadline)
            self._runtime.slices.begin(missed(), done)

        def done(_: None, error: BaseException | None) -> None:
            if isinstance(error, BrokerError):
                log.warning("group %s: cannot remove member %s yet: %s", group_id, member_id, error)
                self.start(group_id, member_id, deadline, _RETRY_MS, missed, once=True)
            elif error is not None:
                log.error("group %s: cannot remove member %s yet", group_id, member_id, exc_info=error)
                self.start(group_id, member_id, deadline, _RETRY_MISTAKE_MS, missed, once=True)

        timer = self._runtime.timers.call_later(after_ms, run)
        self._running.setdefault(group_id, running)[member_id, deadline] = timer

    def cancel(self, group_id: str, member_id: str, *deadlines: str) -> None:
        """Cancel deadlines of a member; all deadlines if no name is given."""
        running = self._running.get(group_id, {})
        for deadline in deadlines or REASONS:
            if timer := running.pop((member_id, deadline), None):
                timer.cancel()
        if not running:
            self._running.pop(group_id, None)

    def cancel_group(self, group_id: str) -> None:
        """Cancel all deadlines of a group."""
        for timer in self._running.pop(group_id, {}).values():
            timer.cancel()
